#!/usr/bin/env python3
"""Compiles each header by itself, so that none leans on what was included before it.

    check_headers_alone.py <scratch folder> <file that lists the headers> -- <compiler> <flags...>
    check_headers_alone.py --self-test -- <compiler> <flags...>

The list has one header a line, relative to include/. What a header includes directly or indirectly is its reach. One
translation unit checks several headers in a row where each one's reach covers all that came before it: nothing is then
at hand that the header would not have brought along by itself. The last of the row is included twice.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from check_includes import includes_of

TOP = pathlib.Path(__file__).resolve().parent.parent


def reaches_of(include, headers):
    """Of each header under `include` that `headers` lead to, everything that it includes, itself among it."""
    reaches = {}

    def visit(header):
        if header not in reaches:
            reaches[header] = {header}
            text = (include / header).read_text(encoding="utf-8")
            for _, _, target in includes_of(text):
                reaches[header] |= visit(target) if (include / target).is_file() else {target}
        return reaches[header]

    for header in headers:
        visit(header)
    return reaches


def rows_of(headers, reaches):
    """The headers in as few rows as possible, each header's reach covering the row before it: by augmenting paths."""
    followers = {header: [other for other in headers if other != header and reaches[header] <= reaches[other] - {other}]
                 for header in headers}
    before = {}  # of a header, the one before it in its row

    def find_follower(header, seen):
        for other in followers[header]:
            if other not in seen:
                seen.add(other)
                if other not in before or find_follower(before[other], seen):
                    before[other] = header
                    return True
        return False

    for header in headers:
        find_follower(header, set())
    after = {first: second for second, first in before.items()}
    rows = []
    for header in headers:
        if header not in before:
            rows.append([header])
            while rows[-1][-1] in after:
                rows[-1].append(after[rows[-1][-1]])
    return rows


def check(include, headers, scratch, command):
    """The compiler's messages, and the number of units that it was given."""
    reaches = reaches_of(include, headers)
    rows = rows_of(headers, reaches)
    rows.sort(key=lambda row: -len(reaches[row[-1]]))  # the longest first, so that no core is left with it at the end
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)

    def compile_row(row):
        source = scratch / (row[-1].replace("/", "_").removesuffix(".hpp") + ".cpp")
        source.write_text("".join(f"#include <{header}>\n" for header in [*row, row[-1]]), encoding="utf-8")
        done = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode != 0 else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [message for message in pool.map(compile_row, rows) if message], len(rows)


def self_test(command):
    """Headers that stand alone, and one that does not but could lean on its neighbours, whatever their names."""
    sound = {"base.hpp": "#include <cstddef>\nstruct Base {};\n", "user.hpp": "#include <base.hpp>\nstruct User : Base {};\n",
             "top.hpp": "#include <user.hpp>\n#include <vector>\nstruct Top : User {};\n"}
    cases = [(sound, 1, None), ({**sound, "other.hpp": "#include <base.hpp>\nBase other();\n"}, 2, None)]
    for name in ("a.hpp", "z.hpp"):
        cases.append(({**sound, name: "struct Leaning : Base {};\n"}, 2, "Base"))
        cases.append(({**sound, name: "#include <base.hpp>\nstruct Leaning : User {};\n"}, 2, "User"))
        cases.append(({**sound, name: "#include <base.hpp>\nstd::vector<Base> leaning();\n"}, 2, "vector"))
    for files, units, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder) / "include"
            include.mkdir()
            for name, text in files.items():
                (include / name).write_text("#pragma once\n" + text, encoding="utf-8")
            findings, count = check(include, sorted(files), pathlib.Path(folder) / "scratch", [*command, f"-I{include}"])
        if count != units or (expected is None) != (not findings) or (expected and expected not in findings[0]):
            return [f"of {files} expected {units} units and {expected!r}, got {count} and {findings}"]
    return []


def main(arguments):
    if "--" not in arguments[1:]:
        print(__doc__)
        return 2
    own = arguments[: arguments.index("--")]
    command = arguments[arguments.index("--") + 1 :]
    if own == ["--self-test"]:
        findings = self_test(command)
    else:
        headers = pathlib.Path(own[1]).read_text(encoding="utf-8").split()
        findings, units = check(TOP / "include", headers, pathlib.Path(own[0]), command)
        print(f"{len(headers)} headers checked in {units} translation units")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
