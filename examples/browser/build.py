#!/usr/bin/env python3
"""Builds the page of this folder, with the library for WebAssembly and a trained network: build.py <folder>

It needs what cmake/wasm/wasm32-wasi.cmake names, pip and the host's g++. Show the page by a server:
python3 -m http.server --directory <folder>/page
"""
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP / "scripts"))
from xsimd_headers import RELEASES, headers  # pylint: disable=wrong-import-position

folder = pathlib.Path(sys.argv[1]).resolve()
page, build = folder / "page", folder / "wasm"
page.mkdir(parents=True, exist_ok=True)
subprocess.run(["cmake", "-S", HERE, "-B", build, f"-DCMAKE_TOOLCHAIN_FILE={TOP}/cmake/wasm/wasm32-wasi.cmake",
                f"-DPRIMSEL_XSIMD_INCLUDE_DIR={headers(folder, RELEASES[-1])}"], check=True)
subprocess.run(["cmake", "--build", build], check=True)
subprocess.run(["g++", "-std=c++20", f"-I{TOP}/include", HERE / "write_model.cpp", "-o", folder / "write_model"], check=True)
subprocess.run([folder / "write_model", TOP / "examples/fashion_mnist/fashion.safetensors", page / "fashion.onnx"], check=True)
for file in (build / "primsel.wasm", HERE / "index.html", HERE / "page.js", HERE / "primsel.js"):
    shutil.copy(file, page)
