#!/usr/bin/env python3
"""Whether every source of a build folder compiles; neither objects nor programs are made.

    check_syntax.py <build folder> [<jobs>]

The folder was configured with CMAKE_EXPORT_COMPILE_COMMANDS.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def check(entry):
    """What the compiler says where it fails, or None."""
    command = [word for word in shlex.split(entry["command"]) if word != "-c"]
    output = command.index("-o")
    command = command[:output] + command[output + 2:] + ["-fsyntax-only"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"{entry['file']}: does not compile:\n{done.stderr}"


def main(arguments):
    folder = pathlib.Path(arguments[0])
    jobs = int(arguments[1]) if len(arguments) > 1 else os.cpu_count()
    entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    findings = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, finding in enumerate(pool.map(check, entries), start=1):
            print(f"[{number}/{len(entries)}] {entries[number - 1]['file']}", flush=True)
            if finding:
                findings.append(finding)
                print(finding, flush=True)
    print(f"check_syntax: {len(entries)} sources, {len(findings)} do not compile")
    return 1 if findings or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
