#!/usr/bin/env python3
"""Checks that docs/layer/layers.md names every layer type and option, and no others.

    check_layers.py [<folder with the headers> <page>]    exit status 1 and one line per finding
    check_layers.py --self-test
"""
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent


def types_of(header):
    """The types that a header declares in namespace layer, but not in its detail."""
    types, stack = set(), []
    for line in header.splitlines():
        opened = re.match(r"namespace ([\w: ]+?) ?\{$", line)
        if opened:
            stack.append(opened.group(1).split("::")[-1])
        elif line.startswith("}  // namespace"):
            stack.pop()
        declared = re.match(r"(?:struct|using) (\w+)\b(?! const| :: )", line)
        if declared and stack and stack[-1] == "layer":
            types.add(declared.group(1))
    return types


def check(folder, page):
    types = set()
    for header in sorted(pathlib.Path(folder).glob("*.hpp")):
        types |= types_of(header.read_text(encoding="utf-8"))
    text = re.sub(r"^```.*?^```", "", pathlib.Path(page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [line.split("|")[1] for line in rows]
    # Layers that only steps of training have are named by their parameters: users do not write them.
    named = {name for cell in cells for name in re.findall(r"`([A-Z]\w+)", cell) if not name.endswith("Params")}
    return [f"{page} does not name {name}" for name in sorted(types - named)] + [
        f"{page} has a row for {name}, which no header declares" for name in sorted(named - types)]


def self_test():
    header = ("namespace a::inline B {\nstruct Params {};\nnamespace layer {\nstruct One {};\n"
              "template <int n>\nusing Two = One;\nnamespace detail {\nstruct Inside {};\n}  // namespace detail\n"
              "}  // namespace layer\n}  // namespace a\n")
    cases = [("| `One` | |\n| `Two<n>` | |\n", []), ("| `One` | `Two` |\n", ["does not name Two"]),
             ("| `One`, `Two` | |\n| `Three` | |\n", ["a row for Three"]), ("`One` `Two`\n", ["name One", "name Two"])]
    for page, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "a.hpp").write_text(header, encoding="utf-8")
            (top / "page.md").write_text(page, encoding="utf-8")
            findings = check(top, top / "page.md")
        if len(findings) != len(expected) or any(part not in line for part, line in zip(expected, findings)):
            return [f"on\n{page}expected {expected}, got {findings}"]
    return []


def main(arguments):
    if arguments == ["--self-test"]:
        findings = self_test()
    else:
        findings = check(*(arguments or [TOP / "include/primsel/layer", TOP / "docs/layer/layers.md"]))
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
