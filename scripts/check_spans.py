#!/usr/bin/env python3
"""Checks that what README.md, HACKING.md and docs/**/*.md name in `code spans` exists.

    check_spans.py <scratch folder> <list of headers> -- <compiler> <flags...>
    check_spans.py --self-test -- <compiler> <flags...>

Read from the sources: files, programs, targets of make and options exist; every other name is a word of the sources; a name
like `Type` is one of the headers; a `function(a, b)` takes so many arguments somewhere in the headers. By the compiler:
`Type::member`, `Type{.member = ...}`, `Type{member, ...}` and `object.member().member`, where OBJECTS tells the object's type.
UNCHECKED matches what other software names.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

TOP = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".cmake", ".txt", ".in", ".json", ".yml", ".yaml", ".toml")

# The type of an object that the pages speak of; on some pages it is another.
GRAPH = "primsel::Graph"
OBJECTS = {"engine": f"primsel::Engine<{GRAPH}>", "args": "primsel::ConvArgs", "query": "primsel::ConvQuery", "plan": "primsel::Plan",
           "graph": GRAPH, "kernels": "primsel::Kernels", "trainer": f"primsel::Trainer<{GRAPH}>", "coord": "primsel::Coord"}
OBJECTS_OF_PAGE = {"docs/dynamic/dynamic.md": {"engine": "primsel::dynamic::DynamicEngine<>"},
                   "docs/dynamic/governor.md": {"engine": "primsel::dynamic::DynamicEngine<>"},
                   "docs/primitive/gemm.md": {"args": "primsel::GemmArgs"}}
# How to write a template that has parameters without defaults.
ARGUMENTS = {"Engine": f"primsel::Engine<{GRAPH}>", "Trainer": f"primsel::Trainer<{GRAPH}>",
             "Governed": "primsel::dynamic::Governed<primsel::dynamic::LinuxPlatform, primsel::dynamic::MostAccurate>"}
UNCHECKED = re.compile(r"""
    /usr/bin/python3 | proc/stat | sys/.* | cpufreq/.* | hwmon.* | sched_\w+ | scaling_\w+ | unix:SOCKET |  # the system
    os\.fsencode | safetensors\.torch\..* | primsel\.Error |  # Python
    .*_MAX_CPU_ISA=.* | .*DIR/.* | (A|NAME)_\w+(\.csv)? |  # with a name of the user's
    (report|mulder2020|perf4sight2021|xun2019)/\w+\.\w+ | (intel|A)_layouts\.csv |  # written by a program, or in a data set
    (primitives|layouts)_(unknown|rows|mdrae|data) | (optimizer|best)/\.\.\. | winograd-mxm-rxr | -rx1 |  # put together by a program
    bulk\(n,\ task\)  # the caller's
""", re.VERBOSE)


@dataclass
class Span:
    page: str
    line: int
    text: str

    def where(self):
        return f"{self.page}:{self.line}: `{self.text}`"


def spans_of(text, page):
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for found in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", text, re.DOTALL):
        yield Span(page, text.count("\n", 0, found.start()) + 1, " ".join(found[2].replace("\\|", "|").split()))


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def arguments_at(text, at):
    """The top-level arguments of the parenthesis or brace that opens at `at`, and where it closes."""
    depth, begin, arguments = 0, at + 1, []
    for place in range(at, len(text)):
        # A comparison has a space before its sign, the list of a template has not.
        if text[place] in "([{" or (text[place] == "<" and re.match(r"\w", text[place - 1])):
            depth += 1
        elif text[place] in ")]}" or (text[place] == ">" and text[place - 1] not in "-= " and depth > 1):
            depth -= 1
        if (text[place] == "," and depth == 1) or depth == 0:
            arguments.append(text[begin:place].strip())
            begin = place + 1
        if depth == 0:
            return [argument for argument in arguments if argument], place
    return arguments, len(text)


class Repository:
    """What there is to name."""

    def __init__(self, top, pages):
        self.top = top
        self.files, code, headers, examples = [], [], [], []
        for file in sorted(top.rglob("*")):
            path = file.relative_to(top)
            if not file.is_file() or path.parts[0] in ("build", ".git"):
                continue
            self.files.append(path.as_posix())
            if path.parts[0] in ("docs", "single_include") or (file.suffix not in SOURCES and file.name != "Makefile"):
                continue
            if path.parts[:2] == ("test", "fuzz") and "corpus" in path.parts:
                continue
            text = file.read_text(encoding="utf-8", errors="replace")
            code.append(without_comments(text) if file.suffix in (".hpp", ".cpp") else text)
            if path.parts[0] == "include":
                headers.append(text)
            if path.parts[0] in ("examples", "tools") and file.suffix in (".hpp", ".cpp"):
                examples.append(text)
        self.folders = {parent.as_posix() for file in self.files for parent in pathlib.PurePath(file).parents}
        blocks = [block for page in pages for block in re.findall(r"^```cpp\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
        self.words = set(re.findall(r"[A-Za-z_]\w*", "\n".join(code + blocks)))
        self.options = set(re.findall(r"--?[A-Za-z][\w-]*", "\n".join(code)))
        self.headers = "\n".join(without_comments(text) for text in headers + blocks)
        self.header_words = set(re.findall(r"[A-Za-z_]\w*", self.headers + without_comments("\n".join(examples))))
        self.types = {}  # by name: the qualified name, and whether it is a template
        for text in headers:
            self.find_types(text)
        self.programs = self.find_programs()

    def find_types(self, text):
        """Those at namespace scope but for detail, as clang-format leaves them."""
        scope, before = [], ""
        for line in text.splitlines():
            declared = re.match(r"(?:struct|class|enum class|using|concept) (\w+)\b(?! ::)(?!;)", line)
            if opened := re.match(r"namespace ([\w: ]+?) \{", line):
                scope.append(opened[1].replace("inline PRIMSEL_ABI", "").strip(":").replace("::::", "::"))
            elif line.startswith("}  // namespace") and scope:
                scope.pop()
            elif declared and not any("detail" in each for each in scope):
                is_template = before.startswith(("template", "requires", "    requires"))
                self.types.setdefault(declared[1], ("::".join([*scope, declared[1]]), is_template))
            before = line

    def find_programs(self):
        programs = {"primsel"}
        for file in self.files:
            parts = pathlib.PurePath(file).with_suffix("").parts
            if parts[0] in ("examples", "tools", "bench") and file.endswith(".cpp"):
                programs.update(parts[1:], {"_".join(parts)})
            if file.endswith("CMakeLists.txt"):
                text = (self.top / file).read_text(encoding="utf-8")
                programs.update(re.findall(r"add_\w+\((\w+)", text))
                programs.update("test_" + name for name in re.findall(r"^set\(rooms_of_(\w+)", text, re.MULTILINE))
        return programs

    def has_path(self, path):
        path = re.sub(r"<[\w-]+>|\.\.\.", "*", path).rstrip("/")
        return any(fnmatch.fnmatchcase(each, path) or fnmatch.fnmatchcase(each, "*/" + path)
                   for each in (*self.files, *self.folders))

    def takes(self, function, count):
        """Whether the headers declare or call the function with so many arguments; count None: with any."""
        known = False
        for found in re.finditer(rf"\b{function}(?:<[^<>()]*>)?(?=[({{])", self.headers):
            known = True
            arguments, _ = arguments_at(self.headers, found.end())
            least = sum(1 for argument in arguments if not re.search(r" = |\.\.\.", argument))
            most = 99 if any("..." in argument for argument in arguments) else len(arguments)
            if count is None or least <= count <= most:
                return True
        return known and count is None


def is_type_name(word):
    return re.fullmatch(r"[A-Z]\w*[a-z]\w*", word) is not None


def check_options(span, repository):
    for option in re.findall(r"(?<!\S)--[A-Za-z][\w-]*", span.text):
        if option not in repository.options and not option.startswith("--benchmark_"):
            yield f"there is no option {option}"


def check_command(span, repository):
    words = span.text.split()
    program = words[0]
    if program == "make":
        known = re.findall(r"^([\w-]+):", (repository.top / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        yield from (f"there is no target {word}" for word in words[1:2] if word not in known)
    elif program.startswith("build/"):
        if program.split("/")[-1] not in repository.programs:
            yield f"there is no program {program}"
    elif "/" in program and not repository.has_path(program):
        yield f"there is no file {program}"
    elif program == "primsel" and len(words) > 1 and words[1] not in repository.words and not words[1].startswith("-"):
        yield f"there is no command {words[1]}"
    elif program.startswith(("test_", "reproduce_", "bench_")) and program not in repository.programs:
        yield f"there is no program {program}"
    if not re.match(r"cmake|vcpkg|conan|c\+\+|test_", program):
        yield from check_options(span, repository)


def check_names(span, repository):
    """What the sources do not have of the names in a span."""
    text = span.text
    if UNCHECKED.fullmatch(text):
        return
    words = text.split()
    if re.match(r"(primsel|make|cmake|c\+\+|conan|vcpkg|source|bench_\w+|reproduce_\w+|test_\w+) \S|(bench|build|scripts|test)/\S+ ", text + " ") \
            and (len(words) > 1 or "/" in text):
        yield from check_command(span, repository)
        return
    if text.startswith("-"):
        yield from check_options(span, repository)
        return
    if re.fullmatch(r"<[\w/.]+>", text):
        return
    if re.fullmatch(r"[\w.<>*{},+-]+/[\w./<>*-]*|[\w-]+\.(hpp|cpp|py|md)", text):
        if not repository.has_path(text):
            yield f"there is no file {text}"
        return
    code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    code = re.sub(r"\b(std(::\w+)+)", "", code)
    for word in dict.fromkeys(re.findall(r"(?<![\w$\\])[A-Za-z_]\w*", code)):
        if len(word) == 1:
            continue
        if is_type_name(word):
            if word not in repository.header_words:
                yield f"no header has {word}"
        elif word not in repository.words and word not in repository.programs:
            yield f"no source has {word}"
    for found in re.finditer(r"(?<![\w:.])(?:\w+(?:<[^<>()]*>)?(?:::|\.))?([A-Za-z_]\w+)(?:<[^<>()]*>)?\(", code):
        arguments, _ = arguments_at(code, found.end() - 1)
        count = None if not arguments or any(argument.startswith("...") for argument in arguments) else len(arguments)
        if found[1] in repository.header_words and not repository.takes(found[1], count):
            yield f"nothing in the headers takes {found[1]}({', '.join(arguments)})"


def type_text(name, repository, arguments):
    """The type as a program writes it, or None."""
    if name not in repository.types:
        return None
    qualified, is_template = repository.types[name]
    if not is_template:
        return qualified
    return arguments.get(name, f"{qualified}<>")


def checks_of(span, repository, objects, arguments):
    """(type, member, condition) for the compiler: the type has the member if the condition holds."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', span.text)
    for found in re.finditer(r"(?<![\w:.])(?:(?:ps|primsel)::)?([A-Z]\w*)(?:<[^<>]*>)?::(\w+)", text):
        if of := type_text(found[1], repository, arguments):
            yield of, found[2], "true"
    for found in re.finditer(r"(?<![\w:.])(?:(?:ps|primsel)::)?([A-Z]\w*)\{", text):
        if of := type_text(found[1], repository, arguments):
            for argument in arguments_at(text, found.end() - 1)[0]:
                if member := re.match(r"\.(\w+) = |([a-z]\w*)$", argument):
                    yield of, member[1] or member[2], "true" if member[1] else f"std::is_aggregate_v<{of}>"
    chain = re.fullmatch(r"(\w+)((?:\.\w+(?:\([^()]*\)|\[[^\[\]]*\])*)+)", text)
    objects = {**objects, **OBJECTS_OF_PAGE.get(span.page, {})}
    if chain and chain[1] in objects:
        expression = f"std::declval<{objects[chain[1]]}&>()"
        for member, behind in re.findall(r"\.(\w+)((?:\([^()]*\)|\[[^\[\]]*\])*)", chain[2]):
            yield f"std::remove_cvref_t<decltype({expression})>", member, "true"
            expression += f".{member}" + re.sub(r"\[[^\[\]]*\]", "[0]", behind)
            if re.search(r"\([^()]", behind):
                break


def program_of(spans, repository, headers, objects, arguments):
    members, lines = {}, []
    for span in spans:
        if UNCHECKED.fullmatch(span.text):
            continue
        for of, member, condition in checks_of(span, repository, objects, arguments):
            members[member] = None
            lines += [f'#line {span.line} "{span.page}"',
                      f'static_assert(!({condition}) || has_{member}<{of}>(), "there is no {member}");']
    text = [f"#include <{header}>" for header in headers] + ["#include <type_traits>", "#include <utility>", '#line 1 "spans"']
    for member in members:
        # A type that also inherits the name from elsewhere has it twice, and cannot name it, if it has it at all.
        text.append(f"struct name_{member} {{ int {member}; }};\n"
                    f"template <class T> struct both_{member} : T, name_{member} {{}};\n"
                    f"template <class T> constexpr bool has_{member}() {{\n"
                    f"    if constexpr (std::is_class_v<T>) return !requires {{ &both_{member}<T>::{member}; }};\n"
                    f"    else return requires {{ T::{member}; }};\n}}")
    return "\n".join([*text, *lines, ""])


def check(top, scratch, headers, command, objects=None, arguments=None):
    pages = [page for page in [top / "README.md", top / "HACKING.md", *sorted(top.glob("docs/**/*.md"))] if page.is_file()]
    texts = {page.relative_to(top).as_posix(): page.read_text(encoding="utf-8") for page in pages}
    repository = Repository(top, texts.values())
    spans = [span for name, text in texts.items() for span in spans_of(text, name)]
    findings = [f"{span.where()}: {finding}" for span in spans for finding in check_names(span, repository)]
    scratch.mkdir(parents=True, exist_ok=True)
    source = scratch / "spans.cpp"
    source.write_text(program_of(spans, repository, headers, objects or OBJECTS, arguments or ARGUMENTS), encoding="utf-8")
    done = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True, check=False)
    where = {(span.page, span.line): [] for span in spans}
    for span in spans:
        where[span.page, span.line].append(span.text)
    errors = re.findall(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", done.stderr, re.MULTILINE)
    for page, line, message in errors:
        texts = " ".join(f"`{text}`" for text in where.get((page, int(line)), []))
        findings.append(f"{page}:{line}: {texts}: {message}")
    if done.returncode != 0 and not errors:
        findings.append(f"does not compile:\n{done.stderr}")
    return findings, len(spans)


HEADER = """#pragma once
namespace a {
struct Plan {
    int seconds;
};
template <class T>
struct Engine {
    Plan plan() const;
    /// Not one of Plan: arch.
    void use(int g, int how = 0);
};
enum class Kind { wide };
namespace detail {
struct Inside {};
}  // namespace detail
}  // namespace a
"""


def self_test(command):
    """Spans that must pass, and those that must be found in the given words."""
    cases = [
        ("Plan", None), ("Plam", "no header has Plam"), ("seconds", None), ("secunds", "no source has secunds"),
        ("Plan::seconds", None), ("Plan::plan", "there is no plan"), ("Kind::wide", None), ("Kind::narrow", "no source has narrow"),
        ("Kind::plan", "there is no plan"), ("Engine::plan()", None), ("Engine<a::Plan>::seconds", "there is no seconds"),
        ("Plan{.seconds = 3}", None), ("Plan{.plan = 3}", "there is no plan"), ("Plan{seconds}", None), ("Plan{use}", "there is no use"),
        ("engine.plan().seconds", None), ("engine.plan().arch", "there is no arch"), ("engine.seconds", "there is no seconds"),
        ("engine.use(how)", None), ("use(g, how)", None), ("use()", None), ("use(g, g, g)", "nothing in the headers takes use(g, g, g)"),
        ("std::vector<Plan>", None), ("arch", "no source has arch"),
        ("a/plan.hpp", None), ("plan.hpp", None), ("a/engine.hpp", "there is no file a/engine.hpp"), ("include/*/*.hpp", None),
        ("primsel run NET --fast", None), ("primsel run NET --slow", "there is no option --slow"), ("--fast", None),
        ("primsel stop", "there is no command stop"), ("build/release/bin/primsel", None), ("build/release/bin/prinsel", "there is no program"),
        ("make check", None), ("make love", "there is no target love"), ("proc/stat", None),
    ]
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder) / "top"
        for path, text in (("include/a/plan.hpp", HEADER), ("tools/primsel/run.cpp", 'add_subcommand("run"), add_flag("--fast"); a::Engine<a::Plan> engine;\n'),
                           ("Makefile", "check:\n"), ("HACKING.md", "```sh\n`not a span`\n```\n")):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding="utf-8")
        (top / "README.md").write_text("\n".join(f"`{text}`" for text, _ in cases) + "\n", encoding="utf-8")
        findings, count = check(top, pathlib.Path(folder) / "scratch", ["a/plan.hpp"], [*command, f"-I{top / 'include'}"],
                                {"engine": "a::Engine<a::Plan>"}, {"Engine": "a::Engine<a::Plan>"})
    if count != len(cases):
        return [f"{count} spans of {len(cases)}"]
    wrong = []
    for line, (text, expected) in enumerate(cases, start=1):
        found = [finding for finding in findings if finding.startswith(f"README.md:{line}:")]
        if (expected is None) != (not found) or (expected and not any(expected in finding for finding in found)):
            wrong.append(f"`{text}`: expected {expected!r}, got {found}")
    return wrong


def main(arguments):
    if "--" not in arguments:
        print(__doc__)
        return 2
    command = arguments[arguments.index("--") + 1:]
    if arguments[0] == "--self-test":
        findings = self_test(command)
    else:
        listed = pathlib.Path(arguments[1]).read_text(encoding="utf-8").split()
        findings, count = check(TOP, pathlib.Path(arguments[0]), [header for header in listed if "/detail/" not in header], command)
        print(f"{count} code spans checked")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
