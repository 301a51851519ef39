#!/usr/bin/env python3
"""Times the compiler on each bench/compile_time/*.cpp and prints a table: compile_time.py [<compiler> <flags...>]

`check` is the front end alone (-fsyntax-only), `object` a whole -O2 compilation; both the best of three runs, in seconds
of the compiler's processor time. `ratio` compares the object's with that of eigen.cpp, which needs Eigen's headers
(EIGEN_INCLUDE_DIR, or where Debian has them). `memory` is the largest resident size of the compiler.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
RUNS = 3
SOURCES = ["eigen", "include_only", "engine_resnet18_extern", "engine_resnet18", "engine_graph"]


def cost(command):
    """Processor seconds and the largest resident MB of a command and its children."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"compile_time: failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(command):
    runs = [cost(command) for _ in range(RUNS)]
    return min(seconds for seconds, _ in runs), max(memory for _, memory in runs)


def main(arguments):
    command = arguments or ["g++"]
    eigen = os.environ.get("EIGEN_INCLUDE_DIR", "/usr/include/eigen3")
    command = [*command, "-std=c++20", "-O2", "-isystem", eigen, f"-I{TOP / 'include'}"]
    print(f"{' '.join(command[:-3])}\n{'source':<28}{'check':>9}{'object':>9}{'ratio':>7}{'memory':>10}")
    baseline = None
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            source = TOP / "bench" / "compile_time" / f"{name}.cpp"
            check, _ = best([*command, "-fsyntax-only", str(source)])
            whole, memory = best([*command, "-c", str(source), "-o", f"{folder}/out.o"])
            baseline = baseline or whole
            print(f"{name:<28}{check:>7.2f} s{whole:>7.2f} s{whole / baseline:>7.2f}{memory:>7.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
