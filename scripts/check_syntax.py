#!/usr/bin/env python3
"""Whether every source of a build folder compiles; neither objects nor programs are made.

    check_syntax.py <build folder> [<jobs>]

The folder was configured with CMAKE_EXPORT_COMPILE_COMMANDS.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


# Sources share this, compiled ahead with all that it instantiates, which takes longer than they do.
SHARED = "#include <primsel/kernels/extern_kernels.hpp>\n#include <primsel/primsel.hpp>\n"


def flags_of(entry):
    """The compiler and the flags of a source, without the source, its object and how it would be optimised."""
    words = [word for word in shlex.split(entry["command"]) if word != "-c" and not re.fullmatch(r"-O\w", word)]
    output = words.index("-o")
    words = words[:output] + words[output + 2 :]
    return tuple(word for word in words if pathlib.Path(entry["directory"], word) != pathlib.Path(entry["file"]))


def dialect(flags):
    """The flags that sources must have in common to share what is compiled ahead: not where they look for headers, nor
    definitions that the library does not know."""
    text = re.sub(r" -isystem \S+| -I\S+| -D(?!PRIMSEL_)\S+", "", " ".join(flags))
    return tuple(text.split())


def precompile(folder, number, flags):
    """The flags that give sources what is compiled ahead."""
    header = folder / f"shared_{number}.hpp"
    header.write_text(SHARED, encoding="utf-8")
    output = header.with_suffix(".pch")
    subprocess.run([*flags, "-fpch-instantiate-templates", "-x", "c++-header", header, "-o", output], check=True)
    return ["-include-pch", str(output)]


def check(entry, flags, ahead):
    """What the compiler says where it fails, or None."""
    command = [*flags, *ahead, "-fsyntax-only", entry["file"]]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{entry['file']}: does not compile:\n{done.stderr}"


def main(arguments):
    folder = pathlib.Path(arguments[0]).resolve()
    jobs = int(arguments[1]) if len(arguments) > 1 else os.cpu_count()
    entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    entries = list({entry["file"]: entry for entry in reversed(entries)}.values())[::-1]  # a source of several programs once
    flags = [flags_of(entry) for entry in entries]
    users = collections.Counter(map(dialect, flags))
    shared = {dialect(each): each for each in flags if users[dialect(each)] > 1 and "clang" in each[0]}
    findings = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        ahead = dict(zip(shared, pool.map(lambda i: precompile(folder, *i), enumerate(shared.values()))))
        checked = pool.map(lambda entry, each: check(entry, each, ahead.get(dialect(each), [])), entries, flags)
        for number, finding in enumerate(checked, start=1):
            print(f"[{number}/{len(entries)}] {entries[number - 1]['file']}", flush=True)
            if finding:
                findings.append(finding)
                print(finding, flush=True)
    print(f"check_syntax: {len(entries)} sources, {len(findings)} do not compile")
    return 1 if findings or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
