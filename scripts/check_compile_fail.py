#!/usr/bin/env python3
"""Checks that a file does not compile, and that the compiler says why in the words that the file expects.

    check_compile_fail.py <file> [--precompiled <folder>] [--skip-fixed] -- <compiler> <flags...>
    check_compile_fail.py --precompile <folder> <header>... -- <compiler> <flags...>
    check_compile_fail.py --self-test -- <compiler> <flags...>

The file begins with one or more lines `// expect: <part of the compiler's message>`. One that begins with `primsel: ` is the
compiler's first error, of which it says no more than fits on a page. Where the file has an
`#ifdef PRIMSEL_TEST_FIXED`, that version must compile: the failure is then for the right reason. One compiler may check that for
another, which `--skip-fixed` then spares it.

`--precompile` reads headers once for many files: those whose first include is one of them take it from the folder.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


LINES = 100  # of a page


def is_clang(command):
    return "clang" in pathlib.Path(command[0]).name


def precompiled_header(header, folder, command):
    return pathlib.Path(folder) / (header + (".pch" if is_clang(command) else ".gch"))


def precompile(headers, folder, command):
    """What is wrong with the headers, as text, or None."""
    for header in headers:
        output = precompiled_header(header, folder, command)
        output.parent.mkdir(parents=True, exist_ok=True)
        source = output.with_suffix(".source.hpp")
        source.write_text(f"#include <{header}>\n", encoding="utf-8")
        instantiated = ["-fpch-instantiate-templates"] if is_clang(command) else []
        result = subprocess.run([*command, *instantiated, "-x", "c++-header", str(source), "-o", str(output)], capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            return f"{header} does not compile:\n{result.stderr}"
    return None


def flags_of_precompiled(file, folder, command):
    """The flags that give the file its first include from the folder; none if it is not there."""
    include = re.search(r"^#include <(.+)>", pathlib.Path(file).read_text(encoding="utf-8"), re.MULTILINE)
    header = precompiled_header(include.group(1), folder, command) if folder and include else None
    if header is None or not header.is_file():
        return []
    # g++ looks for <header>.gch in every include folder, wherever the header is; clang wants it named.
    return ["-include-pch", str(header)] if is_clang(command) else [f"-I{folder}"]


def compile_file(file, command, *extra):
    result = subprocess.run([*command, "-fsyntax-only", *extra, str(file)], capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stderr


def check(file, command, folder=None, skip_fixed=False):
    """What is wrong with the file, as text, or None."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    head = re.match(r"(// expect: .+\n)+", text)
    if not head:
        return "the first line is not `// expect: <part of the message>`"
    command = [command[0], *flags_of_precompiled(file, folder, command), *command[1:]]
    compiles, message = compile_file(file, command)
    if compiles:
        return "compiles, but should not"
    for expected in re.findall(r"^// expect: (.+)$", head.group(), re.MULTILINE):
        if expected not in message:
            return f"the message does not contain '{expected}'; it is:\n{message}"
        if expected.startswith("primsel: "):
            first = next((line for line in message.splitlines() if "error: " in line), "")
            if expected not in first:
                return f"the first error is not '{expected}'; the message is:\n{message}"
            if message.count("\n") > LINES:
                return f"the message is longer than {LINES} lines:\n{message}"
    if "PRIMSEL_TEST_FIXED" in text and not skip_fixed:
        compiles, message = compile_file(file, command, "-DPRIMSEL_TEST_FIXED")
        if not compiles:
            return f"does not compile with -DPRIMSEL_TEST_FIXED either:\n{message}"
    return None


def self_test(command):
    """Files that the check must pass or reject, and in which words."""
    wrong = 'static_assert(sizeof(int) == 1, "an int is one byte");\n'
    fixable = f"#ifndef PRIMSEL_TEST_FIXED\n{wrong}#endif\n"
    cases = [
        ("// expect: an int is one byte\n" + wrong, None),
        ("// expect: an int is one byte\n" + fixable, None),
        (wrong, "the first line is not"),
        ("// expect: an int is one byte\nint answer = 42;\n", "compiles, but should not"),
        ("// expect: an int is two bytes\n" + wrong, "does not contain 'an int is two bytes'"),
        ("// expect: an int is one byte\n// expect: and red\n" + wrong, "does not contain 'and red'"),
        ("// expect: primsel: one byte\n" + wrong.replace("an int is", "primsel:"), None),
        ("// expect: primsel: one byte\n" + wrong + wrong.replace("an int is", "primsel:"), "the first error is not"),
        ("// expect: primsel: one byte\n" + wrong.replace("an int is", "primsel:") + wrong * 100, "is longer than"),
        ("// expect: an int is one byte\n#ifdef PRIMSEL_TEST_FIXED\n#endif\n" + wrong, "with -DPRIMSEL_TEST_FIXED either"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "case.cpp"
        for text, expected in cases:
            file.write_text(text, encoding="utf-8")
            finding = check(file, command)
            if (finding is None) != (expected is None) or (expected and expected not in finding):
                return f"on\n{text}expected {expected!r}, got {finding!r}"
    return None


def main(arguments):
    if "--" not in arguments[1:]:
        print(__doc__)
        return 2
    what, *options = arguments[: arguments.index("--")]
    command = arguments[arguments.index("--") + 1 :]
    if what == "--self-test":
        finding = self_test(command)
    elif what == "--precompile":
        finding = precompile(options[1:], options[0], command)
    else:
        folder = options[options.index("--precompiled") + 1] if "--precompiled" in options else None
        finding = check(what, command, folder, "--skip-fixed" in options)
    if finding:
        print(f"{what}: {finding}")
    return 1 if finding else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
