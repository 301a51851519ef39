#!/usr/bin/env python3
"""Compiles and runs the C++ of README.md and docs/**/*.md, and compares what it prints with what the page says.

    check_snippets.py <scratch folder> [--library <archive>] [--first <header>] -- <compiler> <flags...>
    check_snippets.py --self-test -- <compiler> <flags...>

A ```cpp block is a program if it begins with `#include` and has an `int main`, or begins with `// file: <name>.cpp`.
Without an `int main` it is only compiled. `// file: <name>` with another ending is written for the page's later blocks
to include. Where the next block of the page is ```text, it is the program's output: a line `...` there stands for any
number of lines, `...` within a line for any characters. The programs of one page run in order in one scratch folder,
which also shows the repository's own files and folders.

`--first` is a header that every snippet includes before all else. It is compiled ahead, once alone and once together with
primsel/primsel.hpp, for those that include that; by clang with its functions, too, which are then in an object of their own.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 600
WHOLE = "#include <primsel/primsel.hpp>"


@dataclasses.dataclass
class Snippet:
    where: str  # page and line of the block
    folder: pathlib.Path
    name: str
    text: str
    output: list | None  # the lines of the ```text block that follows

    def is_source(self):
        return self.name.endswith(".cpp")

    def has_main(self):
        return "int main" in self.text


def blocks_of(page):
    """(line number, language, lines) of each fenced block."""
    opened = None
    for number, line in enumerate(page.splitlines(), start=1):
        fence = re.match(r"^```(\S*)", line)
        if opened is None and fence:
            opened = (number, fence.group(1), [])
        elif opened is not None and fence:
            yield opened
            opened = None
        elif opened is not None:
            opened[2].append(line)


def snippets_of(page, name, folder):
    """The snippets of a page, and the lines of its ```cpp blocks that are none."""
    snippets, others = [], []
    blocks = list(blocks_of(page))
    for index, (number, language, lines) in enumerate(blocks):
        if language != "cpp" or not lines:
            continue
        text = "\n".join(lines) + "\n"
        file = re.match(r"// file: (\S+)$", lines[0])
        if not file and not (lines[0].startswith("#include") and "int main" in text):
            others.append(f"{name}:{number}")
            continue
        following = blocks[index + 1] if index + 1 < len(blocks) else (0, "", [])
        snippets.append(Snippet(f"{name}:{number}", folder, file.group(1) if file else f"line_{number}.cpp", text,
                                following[2] if following[1] == "text" else None))
    return snippets, others


def matches(output, expected):
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line.rstrip()).replace(re.escape("..."), ".*") + "\n"
    output = "".join(line.rstrip() + "\n" for line in output.splitlines())
    return re.fullmatch(pattern, output) is not None


def precompile(header, text, command):
    """A header of the text, precompiled, and the objects that its users link."""
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(text, encoding="utf-8")
    precompiled = header.with_suffix(".hpp.gch")
    if "clang" not in pathlib.Path(command[0]).name:
        subprocess.run([*command, "-x", "c++-header", header, "-o", precompiled], check=True)
        return header, []
    subprocess.run([*command, "-fpch-codegen", "-x", "c++-header", header, "-o", precompiled], check=True)
    functions = header.with_suffix(".o")
    subprocess.run([*command, "-c", precompiled, "-o", functions], check=True)
    return header, [functions]


def compile_snippet(snippet, command, libraries, ahead=None):
    """The compiler's message if it fails, or None."""
    if ahead:
        header, objects = ahead[WHOLE in snippet.text]
        command, libraries = [*command, "-include", header], [*objects, *libraries]
    source = snippet.folder / snippet.name
    result = [*libraries, "-o", source.with_suffix("")] if snippet.has_main() else ["-fsyntax-only"]
    done = subprocess.run([*command, f"-I{snippet.folder}", source, *result], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{snippet.where}: does not compile:\n{done.stderr}"


def run_snippet(snippet):
    """What is wrong with the run, or None."""
    program = (snippet.folder / snippet.name).with_suffix("")
    done = subprocess.run([program], cwd=snippet.folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode != 0:
        return f"{snippet.where}: exits with {done.returncode}:\n{done.stdout}{done.stderr}"
    if snippet.output is not None and not matches(done.stdout, snippet.output):
        expected = "\n".join(snippet.output)
        return f"{snippet.where}: prints\n{done.stdout}\nwhere the page says\n{expected}"
    return None


def check(top, scratch, command, libraries=(), first=None):
    """Findings, the number of snippets, and the ```cpp blocks that are not programs."""
    pages = [page for page in [top / "README.md", *sorted(top.glob("docs/**/*.md"))] if page.is_file()]
    shutil.rmtree(scratch, ignore_errors=True)
    snippets, others = [], []
    for page in pages:
        name = page.relative_to(top).as_posix()
        folder = scratch / name.replace("/", "_").removesuffix(".md")
        folder.mkdir(parents=True)
        for entry in top.iterdir():
            if entry.name not in ("build", ".git"):
                (folder / entry.name).symlink_to(entry)
        found, rest = snippets_of(page.read_text(encoding="utf-8"), name, folder)
        snippets, others = snippets + found, others + rest
    findings = []
    for snippet in snippets:
        file = snippet.folder / snippet.name
        if file.exists():
            findings.append(f"{snippet.where}: the name {snippet.name} is taken")
            continue
        file.write_text(snippet.text, encoding="utf-8")
    if findings:
        return findings, len(snippets), others

    sources = [snippet for snippet in snippets if snippet.is_source()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = {"first": f"#include <{first}>\n", "whole": f"#include <{first}>\n{WHOLE}\n"} if first else {}
        ahead = list(pool.map(lambda name: precompile(scratch / "precompiled" / f"{name}.hpp", texts[name], command), texts))
        compiled = pool.map(lambda each: compile_snippet(each, command, libraries, ahead), sources)
        for snippet, finding in zip(sources, compiled):
            if not finding and snippet.has_main():
                finding = run_snippet(snippet)
            if finding:
                findings.append(finding)
    return findings, len(snippets), others


def self_test(command):
    """Pages that must pass, and pages that must be rejected in the given words."""
    hello = '```cpp\n#include <cstdio>\nint main() { std::puts("hello\\nbig\\nworld"); }\n```\n'
    cases = [
        ("no code\n```cpp\nint fragment\n```\n", 0, None),
        (hello, 1, None),
        (hello + "prints\n```text\nhello\nbig\nworld\n```\n", 1, None),
        (hello + "prints\n```text\nhello\n...\n```\n", 1, None),
        (hello + "prints\n```text\n...\nw...d\n```\n", 1, None),
        (hello + "prints\n```text\nhello\nworld\n```\n", 1, "where the page says"),
        (hello + "prints\n```text\nhello\nbig\n```\n", 1, "where the page says"),
        ("```cpp\n#include <cstdio>\nint main() { return 3; }\n```\n", 1, "exits with 3"),
        ("```cpp\n// file: wrong.cpp\nint answer() { return }\n```\n", 1, "does not compile"),
        ('```cpp\n// file: part.hpp\nint part();\n```\n```cpp\n// file: part.cpp\n#include "part.hpp"\nint part() { return 1; }\n'
         "```\n", 2, None),
        (hello.replace("#include", "// file: a.cpp\n#include") * 2, 2, "the name a.cpp is taken"),
    ]
    for page, count, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder) / "top"
            (top / "docs" / "room").mkdir(parents=True)
            (top / "docs" / "room" / "page.md").write_text(page, encoding="utf-8")
            findings, found, _ = check(top, pathlib.Path(folder) / "scratch", command)
        if found != count or (expected is None) != (not findings) or (expected and expected not in findings[0]):
            return [f"on the page\n{page}expected {count} snippets and {expected!r}, got {found} and {findings}"]
    return []


def main(arguments):
    if "--" not in arguments[1:]:
        print(__doc__)
        return 2
    scratch, *options = arguments[: arguments.index("--")]
    command = arguments[arguments.index("--") + 1 :]
    if scratch == "--self-test":
        findings = self_test(command)
    else:
        named = dict(zip(options[::2], options[1::2]))
        libraries = [named["--library"]] if "--library" in named else []
        findings, count, others = check(TOP, pathlib.Path(scratch), command, libraries, named.get("--first"))
        print(f"{count} snippets checked; blocks that are not programs: {', '.join(others) or 'none'}")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
