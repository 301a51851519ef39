#!/usr/bin/env python3
"""Checks that the headers under include/primsel keep to the rooms of the house, in what they include and what they name.

    check_includes.py [<folder with the rooms>]    exit status 1 and one line per finding
    check_includes.py --self-test                  plants each kind of violation and sees it rejected

Rejected are: an include of a room that EDGES does not open, of another folder's detail/, of an umbrella header; a
circle of headers; headers of a system but in SYSTEM_DOORS; a header without #pragma once; quoted or missing primsel includes; <iostream> anywhere and <fstream>
outside io/; a name of another room's <room>::detail, and a namespace of another room; more public headers without a test of
their path, test/<header>.cpp, than MOST_UNTESTED. Tests may name the private names of the
room that they test, bench/arm, which judges loops, those of all; tools, examples and other benchmarks none.
"""
import pathlib
import re
import sys
import tempfile

# The rooms from the ground up; a room may include those before it,
ROOMS = ["core", "tensor", "pbqp", "layer", "network", "io", "gemm", "machine", "op", "primitive", "kernels", "cost", "learn",
         "plan", "engine", "frozen", "measure", "train", "prune", "dynamic", "forecast", "search", "onnx", "show"]
# except for these, which may include less.
ONLY = {
    "pbqp": ["core"],
    "layer": ["core", "tensor"],
    "network": ["core", "tensor", "layer"],
    "gemm": ["core", "tensor"],
    "machine": ["core", "gemm"],
    "op": ["core", "tensor", "layer", "gemm"],
    "primitive": ["core", "tensor", "gemm"],
    "show": [room for room in ROOMS if room not in ("io", "onnx", "show")],
}
EDGES = {room: ONLY.get(room, ROOMS[:position]) for position, room in enumerate(ROOMS)}

# Headers beside the rooms: the first two are open to every room, the umbrellas to none.
OPEN_TO_ALL = {"fwd.hpp": ["core"], "version.hpp": ["core"]}
UMBRELLAS = ["primsel.hpp", "train.hpp", "prune.hpp", "dynamic.hpp", "forecast.hpp"]

# The only headers that call a system: each has a form for POSIX and one for Windows, or is left out there; and the headers of
# systems.
SYSTEM_DOORS = ["core/amx.hpp", "core/cache_sizes.hpp", "core/huge_pages.hpp", "core/mapped_file.hpp", "core/own_process.hpp",
                "core/usable_threads.hpp", "core/windows.hpp", "dynamic/detail/system_file.hpp", "dynamic/linux_platform.hpp",
                "forecast/detail/child_process.hpp", "io/detail/descriptor_posix.hpp", "measure/detail/pinned_thread.hpp",
                "search/detail/redis_connection.hpp"]
OF_SYSTEM = re.compile(r"(sys/|net|arpa/|mach/)\w+[/\w]*\.h|(unistd|fcntl|sched|pthread|dirent|dlfcn|malloc|poll|signal|spawn|io|windows)\.h")

# Headers whose path has no test: they are tested through others, as most primitives by primitive/laws.cpp. It may only fall.
MOST_UNTESTED = 128

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes_of(text):
    """(line number, delimiter, path) of each include, not counting those in block comments."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text, flags=re.DOTALL)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def room_of(header):
    return header.split("/")[0] if "/" in header else header


def refusal(header, target):
    """Why `header` may not include `target` (both relative to the folder of the rooms), or None."""
    owner, detail, _ = target.rpartition("/detail/")
    if detail and not header.startswith(owner + "/"):
        return f"{owner}/detail/ is private to {owner}/"
    source_room, target_room = room_of(header), room_of(target)
    if source_room in UMBRELLAS or source_room == target_room:
        return None
    if target_room in UMBRELLAS:
        return "no header includes an umbrella"
    if source_room in OPEN_TO_ALL:
        allowed = OPEN_TO_ALL[source_room]
    elif source_room in EDGES:
        allowed = EDGES[source_room] + list(OPEN_TO_ALL)
    else:
        return f"the room {source_room}/ has no line in EDGES"
    if target_room in allowed or target in allowed:
        return None
    return f"{source_room} may include only: {', '.join(allowed)}"


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
PRIVATE = re.compile(r"\b(\w+)::detail::(\w+)")
NAMESPACE = re.compile(r"namespace ([\w: ]+) \{$")


def private_names(text, room):
    """(line number, name) of each name in another room's detail, not counting those in comments."""
    text = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    for match in PRIVATE.finditer(text):
        if match.group(1) in EDGES and match.group(1) != room:
            yield text.count("\n", 0, match.start()) + 1, match.group()


def foreign_namespaces(text, room):
    """(line number, namespace) of each namespace that belongs to another room or, as primsel::detail, to none."""
    opened = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("}  // namespace") and opened:
            opened.pop()
        elif match := NAMESPACE.match(line):
            parts = match.group(1).replace("primsel::inline PRIMSEL_ABI", "primsel").split("::")
            opened.append("::".join([*opened[-1:], *parts]))
            names = opened[-1].split("::")
            if names[0] == "primsel" and len(names) > 1 and names[1] != room and (names[1] in EDGES or names[1] == "detail"):
                yield number, opened[-1]


def check_users(top):
    """One line of text per private name in the programs and tests below the folder."""
    findings = []
    for folder in ("tools", "examples", "bench", "test"):
        for file in sorted((top / folder).rglob("*.[hc]pp")):
            path = file.relative_to(top)
            room = path.parts[1] if folder == "test" else ""
            if folder == "test" and room not in EDGES or path.is_relative_to("bench/arm"):
                continue
            for line, name in private_names(file.read_text(encoding="utf-8"), room):
                findings.append(f"{path}:{line}: names {name}, which is private")
    return findings


def untested(top):
    """The public headers without a test of their path, below their rooms."""
    root = top / "include" / "primsel"
    headers = [file.relative_to(root) for file in sorted(root.glob("*/**/*.hpp")) if "detail" not in file.parts]
    return [header.as_posix() for header in headers if not (top / "test" / header.with_suffix(".cpp")).is_file()]


def check_tested(top, most):
    """A finding if more headers than `most` have no test of their path."""
    bare = untested(top)
    return [f"{len(bare)} headers have no test of their path, {most} had: {', '.join(bare)}"] if len(bare) > most else []


def circles(graph):
    """Each circle found by depth-first search, as a list of headers that starts and ends with the same one."""
    found, done, path = [], set(), []

    def visit(header):
        if header in path:
            found.append(path[path.index(header):] + [header])
            return
        if header in done:
            return
        path.append(header)
        for target in graph.get(header, []):
            visit(target)
        path.pop()
        done.add(header)

    for header in sorted(graph):
        visit(header)
    return found


def check(root):
    """One line of text per finding in the folder of the rooms."""
    findings, graph = [], {}
    for file in sorted(root.rglob("*.hpp")):
        header = file.relative_to(root).as_posix()
        text = file.read_text(encoding="utf-8")
        graph[header] = []
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            findings.append(f"{header}: has no #pragma once")
        for line, name in private_names(text, room_of(header)):
            findings.append(f"{header}:{line}: names {name}, which is private")
        for line, name in foreign_namespaces(text, room_of(header)):
            findings.append(f"{header}:{line}: opens {name}, which is not its room's")
        for line, delimiter, path in includes_of(text):
            where = f"{header}:{line}: includes {path}"
            if delimiter == '"':
                findings.append(f"{where}: write <primsel/...>, not quotes")
            elif path == "iostream":
                findings.append(f"{where}: <iosfwd> or <ostream> is enough for a header")
            elif path == "fstream" and room_of(header) != "io":
                findings.append(f"{where}: only io/ touches files")
            elif OF_SYSTEM.fullmatch(path) and header not in SYSTEM_DOORS:
                findings.append(f"{where}: only {', '.join(SYSTEM_DOORS)} call a system")
            elif path.startswith("primsel/"):
                target = path.removeprefix("primsel/")
                graph[header].append(target)
                if not (root / target).is_file():
                    findings.append(f"{where}: no such header")
                elif reason := refusal(header, target):
                    findings.append(f"{where}: {reason}")
    findings += [f"circle: {' -> '.join(circle)}" for circle in circles(graph)]
    return findings


def self_test():
    """Each planted tree must give exactly the expected finding; the sound tree none."""
    outer = "namespace primsel::inline PRIMSEL_ABI {\n"
    sound = {
        "core/a.hpp": "",
        "core/detail/a.hpp": "",
        "core/b.hpp": "#include <primsel/core/detail/a.hpp>\n",
        "tensor/a.hpp": "#include <primsel/core/a.hpp>\n#include <vector>\n" + outer +
            "namespace tensor::detail {\nint i = tensor::detail::f();\n}  // namespace tensor::detail\n",
        "primitive/a.hpp": "/* #include <iostream>\n */ // #include <fstream>\n",
        "network/zoo/a.hpp": "#include <primsel/layer/a.hpp>\n#include <primsel/version.hpp>\n",
        "layer/a.hpp": "#include <primsel/tensor/a.hpp>\n",
        "io/a.hpp": "#include <fstream>\n#include <primsel/network/zoo/a.hpp>\n",
        "version.hpp": "#include <primsel/core/a.hpp>\n",
        "primsel.hpp": "#include <primsel/io/a.hpp>\n#include <primsel/network/zoo/a.hpp>\n",
        "train/a.hpp": "#include <primsel/tensor/a.hpp>\n",
        "train.hpp": "#include <primsel/train/a.hpp>\n",
    }
    planted = {
        "core may include only": {"core/a.hpp": "#include <primsel/tensor/a.hpp>\n", "tensor/a.hpp": ""},
        "network may include only": {"network/zoo/a.hpp": "#include <primsel/primitive/a.hpp>\n"},
        "core/detail/ is private to core/": {"tensor/a.hpp": "  #  include <primsel/core/detail/a.hpp>\n"},
        "circle: core/a.hpp -> core/b.hpp -> core/a.hpp": {
            "core/a.hpp": "#include <primsel/core/b.hpp>\n", "core/b.hpp": "#include <primsel/core/a.hpp>\n"},
        "circle: core/a.hpp -> core/a.hpp": {"core/a.hpp": "#include <primsel/core/a.hpp>\n"},
        "only io/ touches files": {"tensor/a.hpp": "#include <fstream>\n"},
        "<iosfwd> or <ostream>": {"io/a.hpp": "#include <iostream>\n"},
        "core/mapped_file.hpp, core/own_process.hpp": {"tensor/a.hpp": "#include <sys/mman.h>\n"},
        "not quotes": {"tensor/a.hpp": '#include "../core/a.hpp"\n'},
        "no such header": {"tensor/a.hpp": "#include <primsel/core/c.hpp>\n"},
        "names core::detail::f": {"tensor/a.hpp": "// core::detail::g()\nint i = core::detail::f();\n"},
        "opens primsel::core::detail": {"tensor/a.hpp": outer + "namespace core::detail {\n}  // namespace core::detail\n"},
        "opens primsel::detail": {"core/a.hpp": outer + "namespace detail {\n}  // namespace detail\n"},
        "no header includes an umbrella": {"fwd.hpp": "#include <primsel/primsel.hpp>\n"},
        "includes primsel/train.hpp: no header": {"io/a.hpp": "#include <primsel/train.hpp>\n"},
        "version.hpp may include only": {"version.hpp": "#include <primsel/tensor/a.hpp>\n"},
        "the room cellar/ has no line in EDGES": {"cellar/a.hpp": "#include <primsel/core/a.hpp>\n"},
        "io.hpp:1: includes primsel/io/a.hpp: gemm may": {"gemm/io.hpp": "#include <primsel/io/a.hpp>\n"},
    }

    def findings_of(tree):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for header, text in tree.items():
                file = root / header
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text + "#pragma once\n", encoding="utf-8")
            return check(root)

    failures = []
    if findings := findings_of(sound):
        failures.append(f"the sound tree is rejected: {findings}")
    for expected, change in planted.items():
        findings = findings_of(sound | change)
        if len(findings) != 1 or expected not in findings[0]:
            failures.append(f"expected one finding with '{expected}', got {findings}")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "bare.hpp").write_text("")
        if check(pathlib.Path(folder)) != ["bare.hpp: has no #pragma once"]:
            failures.append("a header without #pragma once is not rejected")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for file in ("include/primsel/a.hpp", "include/primsel/core/a.hpp", "include/primsel/core/detail/b.hpp",
                     "include/primsel/core/c.hpp", "test/core/c.cpp"):
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_text("")
        if untested(top) != ["core/a.hpp"] or check_tested(top, 1) or len(check_tested(top, 0)) != 1:
            failures.append("a header without a test is not counted")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        findings = self_test()
    else:
        top = pathlib.Path(__file__).resolve().parent.parent
        findings = check(pathlib.Path(arguments[0]) if arguments else top / "include" / "primsel")
        if not arguments:
            findings += check_users(top) + check_tested(top, MOST_UNTESTED)
            print(f"{len(untested(top))} public headers have no test of their path")
    print("\n".join(findings) if findings else "rooms: nothing to object to")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
