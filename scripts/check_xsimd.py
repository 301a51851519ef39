#!/usr/bin/env python3
"""Tests core/simd.hpp and the activations with other versions of xsimd than the installed one, each instruction set of
this processor with one of them, the widest with all: check_xsimd.py <work folder> <compiler> [<include folder of an
xsimd>...]. Without folders it takes the headers that releases of pythran carry (xsimd 13.0 and 14.1) from PyPI, and ends
with 77 where pip cannot."""
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
from xsimd_headers import RELEASES, headers  # pylint: disable=wrong-import-position

top = pathlib.Path(__file__).resolve().parent.parent
flags = {"sse2": [], "sse4_2": ["-march=x86-64-v2"], "avx2": ["-march=x86-64-v3"], "avx512f": ["-march=x86-64-v4"]}


def from_pypi(folder: pathlib.Path) -> list[pathlib.Path]:
    return [headers(folder, release) for release in RELEASES]


def main() -> None:
    folder, compiler, *includes = sys.argv[1:]
    work = pathlib.Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    has = set(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    command = [compiler, "-std=c++20", "-O1", "-DPRIMSEL_TEST_ORDER=primsel::chw", "-I", "include", "-I", "test"]
    others = []  # compiled once: they know nothing of xsimd
    for source in ("main", "allocations"):
        others.append(str((work / f"{source}.o").resolve()))
        subprocess.run([*command, "-c", f"test/{source}.cpp", "-o", others[-1]], check=True, cwd=top)
    archs = {arch: arch_flags for arch, arch_flags in flags.items() if arch in has}
    for number, include in enumerate([pathlib.Path(path) for path in includes] or from_pypi(work)):
        version = (include / "xsimd/config/xsimd_config.hpp").read_text(encoding="utf-8")
        parts = [line.split()[2] for line in version.splitlines() if line.startswith("#define XSIMD_VERSION_M")]
        for place, (arch, arch_flags) in enumerate(archs.items()):
            if place % 2 != number % 2 and place != len(archs) - 1:
                continue
            program = work / "simd"
            subprocess.run([*command, *arch_flags, "-isystem", str(include.resolve()), "test/core/simd.cpp",
                            "test/op/activation.cpp", *others, "-o", str(program.resolve()), "-pthread"], check=True, cwd=top)
            subprocess.run([str(program.resolve())], check=True, cwd=top, env={**os.environ, "PRIMSEL_QUICK": "1"})
            print(f"xsimd {'.'.join(parts)}, {arch}: passed")


main()
