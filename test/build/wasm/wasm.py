#!/usr/bin/env python3
"""Builds a program for WebAssembly as a user does, with the toolchain file, and runs it in Node.js.

    wasm.py <folder>

Ends with 77 where the compiler, its libraries, Node.js with WASI or pip's xsimd are missing.
"""
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "scripts"))
from xsimd_headers import RELEASES, headers  # pylint: disable=wrong-import-position

PARTS = ("include/wasm32-wasi/stdio.h", "lib/llvm-19/lib/wasm32-wasi/libc++.a", "lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a")


def main() -> None:
    missing = [name for name in ("clang++-19", "wasm-ld-19", "node") if not shutil.which(name)]
    missing += [part for part in PARTS if not pathlib.Path("/usr", part).exists()]
    if not missing and subprocess.run(["node", "--no-warnings", "-e", "require('node:wasi')"], check=False, capture_output=True).returncode != 0:
        missing.append("node:wasi")
    if missing:
        print(f"no {', '.join(missing)}: skipped")
        sys.exit(77)
    folder = pathlib.Path(sys.argv[1]).resolve()
    xsimd = headers(folder, RELEASES[-1])
    build = folder / "build"
    subprocess.run(["cmake", "-S", TOP / "test/build/wasm", "-B", build, f"-DCMAKE_TOOLCHAIN_FILE={TOP}/cmake/wasm/wasm32-wasi.cmake",
                    f"-DPRIMSEL_SOURCE={TOP}", f"-DPRIMSEL_XSIMD_INCLUDE_DIR={xsimd}"], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--verbose"], check=True)


main()
