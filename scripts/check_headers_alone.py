#!/usr/bin/env python3
"""Compiles each header by itself, so that none leans on what was included before it.

    check_headers_alone.py <scratch folder> <file that lists the headers> -- <compiler> <flags...>
    check_headers_alone.py --self-test -- <compiler> <flags...>

The list has one header a line, relative to include/. What a header includes directly or indirectly is its reach. One
translation unit checks several headers in a row where each one's reach covers all that came before it: nothing is then
at hand that the header would not have brought along by itself. The last of the row is included twice. For the same reason
a unit may begin with a header compiled ahead that the reach of its first header covers: those that spare most are.
"""
import concurrent.futures
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from check_includes import includes_of

TOP = pathlib.Path(__file__).resolve().parent.parent
AHEAD = 14  # headers compiled ahead, each 20 (clang) to 100 (g++) megabytes


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


def weight(reach):
    """About how much there is to parse, in headers of our own."""
    return sum(30 if "Eigen/" in header or "xsimd/" in header else 1 for header in reach)


def grouped(headers, reaches, ahead=AHEAD):
    """The headers by the one to compile ahead of them, "" for none: each time the one that spares most parsing."""
    start = dict.fromkeys(headers, "")
    size = {header: weight(reaches[header]) for header in headers} | {"": 0}

    def spared(header, first):
        return size[first] - size[start[header]]

    covered = {first: [header for header in headers if header != first and first in reaches[header]] for first in headers}
    for _ in range(ahead):
        worth = {first: sum(max(spared(header, first), 0) for header in covered[first]) - size[first] for first in headers}
        best = max(headers, key=worth.get)
        if worth[best] <= 0:
            break
        for header in covered[best]:
            if spared(header, best) > 0:
                start[header] = best
    groups = {}
    for header in headers:
        groups.setdefault(start[header], []).append(header)
    return groups


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


def run(command):
    """The compiler's message if it fails, or None."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 else None


def check(include, headers, scratch, command, ahead=AHEAD):
    """The compiler's messages, and the number of units that it was given."""
    reaches = reaches_of(include, headers)
    groups = grouped(headers, reaches, ahead)
    rows = [(first, row) for first, group in groups.items() for row in rows_of(group, reaches)]
    # The longest first, so that no core is left with it at the end.
    rows.sort(key=lambda each: weight(reaches.get(each[0], ())) - weight(reaches[each[1][-1]]))
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)

    def compile_ahead(first):
        source = scratch / f"ahead_{first.replace('/', '_')}"
        source.write_text(f"#include <{first}>\n", encoding="utf-8")
        return run([*command, "-x", "c++-header", source, "-o", source.with_suffix(".hpp.gch")])

    def compile_row(first_and_row):
        first, row = first_and_row
        source = scratch / (row[-1].replace("/", "_").removesuffix(".hpp") + ".cpp")
        source.write_text("".join(f"#include <{header}>\n" for header in [*row, row[-1]]), encoding="utf-8")
        start = ["-include", scratch / f"ahead_{first.replace('/', '_')}"] if first else []
        return run([*command, *start, "-fsyntax-only", source])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        messages = [message for message in pool.map(compile_ahead, filter(None, groups)) if message]
        if not messages:
            messages = [message for message in pool.map(compile_row, rows) if message]
        return messages, len(rows)


def self_test(command):
    """Headers that stand alone, and one that does not but could lean on its neighbours, whatever their names."""
    sound = {"base.hpp": "#include <cstddef>\nstruct Base {};\n", "user.hpp": "#include <base.hpp>\nstruct User : Base {};\n",
             "top.hpp": "#include <user.hpp>\n#include <vector>\nstruct Top : User {};\n"}
    cases = [(sound, 1, None), ({**sound, "other.hpp": "#include <base.hpp>\nBase other();\n"}, 2, None)]
    for name in ("a.hpp", "z.hpp"):
        cases.append(({**sound, name: "struct Leaning : Base {};\n"}, 2, "Base"))
        cases.append(({**sound, name: "#include <base.hpp>\nstruct Leaning : User {};\n"}, 2, "User"))
        cases.append(({**sound, name: "#include <base.hpp>\nstd::vector<Base> leaning();\n"}, 2, "vector"))
    for (files, units, expected), ahead in itertools.product(cases, (0, AHEAD)):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder) / "include"
            include.mkdir()
            for name, text in files.items():
                (include / name).write_text("#pragma once\n" + text, encoding="utf-8")
            findings, count = check(include, sorted(files), pathlib.Path(folder) / "scratch", [*command, f"-I{include}"], ahead)
        if (ahead == 0 and count != units) or (expected is None) != (not findings) or (expected and expected not in findings[0]):
            return [f"of {files}, {ahead} ahead, expected {units} units and {expected!r}, got {count} and {findings}"]
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
