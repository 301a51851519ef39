#!/usr/bin/env python3
"""Runs bench/engine/stream.cpp beside RTNeural: a WaveNet and an LSTM on a minute of audio in blocks of 64 samples, by
both in one process, in turns, by each of RTNeural's backends that compiles.

    streams.py RTNEURAL [COMPILER [FLAGS...]]

RTNEURAL is a folder with RTNeural's sources (github.com/jatinchowdhury18/RTNeural), which bring Eigen; its xsimd backend
takes the xsimd that the compiler finds. The default compiler is c++ -O3 -march=native.
"""
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BACKENDS = {"Eigen": ["-DRTNEURAL_USE_EIGEN=1"], "xsimd": ["-DRTNEURAL_USE_XSIMD=1"]}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    theirs = pathlib.Path(sys.argv[1])
    if not (theirs / "RTNeural" / "RTNeural.h").is_file():
        sys.exit(f"{theirs}: no RTNeural/RTNeural.h")
    compiler = sys.argv[2:3] or ["c++"]
    flags = sys.argv[3:] or ["-O3", "-march=native"]
    with tempfile.TemporaryDirectory() as folder:
        for name, backend in BACKENDS.items():
            program = pathlib.Path(folder) / name
            command = compiler + ["-std=c++20", "-DNDEBUG", "-DRTNEURAL_DEFAULT_ALIGNMENT=32", *backend, *flags,
                                  "-I", TOP / "include", "-isystem", theirs, "-isystem", theirs / "modules" / "Eigen",
                                  TOP / "bench" / "engine" / "stream.cpp", "-o", program, "-pthread"]
            if subprocess.run(command, check=False).returncode != 0:
                print(f"RTNeural with {name}: does not compile", flush=True)
                continue
            print(f"RTNeural with {name}:", flush=True)
            subprocess.run([program], check=True)


if __name__ == "__main__":
    main()
