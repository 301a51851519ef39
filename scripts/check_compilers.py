#!/usr/bin/env python3
"""Whether README's program compiles with other compilers and standard libraries than those that the tests are built with.

    check_compilers.py [<compiler and flags>...]    e.g. "clang++-19 -stdlib=libc++"; by default those that are promised

Beside primsel.hpp the program includes the other headers of that folder, and what reads and writes ONNX files. Nothing is made:
each compiler only parses, instantiates templates and warns, and a warning is a failure. One that is not installed fails, too.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PROMISED = ["clang++-15", "clang++-19", "clang++-19 -stdlib=libc++"]
FLAGS = ["-std=c++20", "-march=x86-64-v3", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only",
         f"-I{TOP / 'include'}"]


def program():
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^```cpp\n(#include.*?int main.*?)^```", readme, re.MULTILINE | re.DOTALL).group(1)
    headers = sorted(header.name for header in (TOP / "include/primsel").glob("*.hpp"))
    headers += ["onnx/import.hpp", "onnx/export.hpp"]
    return "".join(f"#include <primsel/{header}>\n" for header in headers) + shown


def main(compilers):
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cpp")
        source.write_text(program(), encoding="utf-8")
        for compiler in compilers:
            command = [*shlex.split(compiler), *FLAGS, str(source)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                good, said = done.returncode == 0, done.stderr
            except FileNotFoundError as error:
                good, said = False, str(error)
            print(f"{compiler}: {'compiles' if good else 'does not compile'}\n{said}", end="", flush=True)
            if not good:
                failures.append(compiler)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PROMISED))
