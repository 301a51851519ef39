#!/usr/bin/env python3
"""Builds a program for Windows as a user does, with the toolchain file, and runs it under Wine.

    windows.py <folder>

Ends with 77 where MinGW-w64 or Wine is missing.
"""
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]


def main() -> None:
    missing = [] if shutil.which("x86_64-w64-mingw32-g++-posix") else ["x86_64-w64-mingw32-g++-posix"]
    if not shutil.which("wine64", path=f"{os.environ['PATH']}:/usr/lib/wine"):
        missing.append("wine64")
    if missing:
        print(f"no {' and no '.join(missing)}: skipped")
        sys.exit(77)
    build = pathlib.Path(sys.argv[1]).resolve()
    # Wine keeps what it takes for a disk here, not in the home folder.
    environment = {**os.environ, "WINEPREFIX": str(build / "wine"), "WINEDEBUG": "-all"}
    subprocess.run(["cmake", "-S", TOP / "test/build/windows", "-B", build, "-G", "Ninja",
                    f"-DCMAKE_TOOLCHAIN_FILE={TOP}/cmake/windows/x86_64-w64-mingw32.cmake", f"-DPRIMSEL_SOURCE={TOP}"], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--verbose"], check=True, env=environment)


main()
