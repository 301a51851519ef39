#!/usr/bin/env python3
"""Times the compiler on each bench/compile_time/*.cpp and prints a table.

    compile_time.py [<compiler> <flags...>]
    compile_time.py --check [<compiler> <flags...>]

`check` is the front end alone (-fsyntax-only), `object` a whole -O2 compilation; both the best of three runs, in seconds
of the compiler's processor time. `ratio` compares the object's with that of eigen.cpp, which needs Eigen's headers
(EIGEN_INCLUDE_DIR, or where Debian has them). `memory` is the largest resident size of the compiler.

`--check` compiles the quick ones once, beside the table of bench/results that docs/faq.md quotes, and fails where one needs
a tenth more memory. Memory is the same in each run of a compiler; the ratio, which is only printed, varies by half on a
busy machine.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
RUNS = 3
SOURCES = ["eigen", "include_only", "engine_resnet18_extern", "engine_resnet18", "engine_graph"]
QUICK = SOURCES[:3]
RESULTS = TOP / "bench" / "results" / "2026-11-30-compile-time.md"
MORE_MEMORY = 1.1


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


def published():
    """The ratio and the megabytes of each source, as the table of results has them, in the order of SOURCES."""
    rows = re.findall(r"\| ([\d.]+) \| (\d+) MB \|$", RESULTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(SOURCES), f"{RESULTS}: {len(rows)} rows for {len(SOURCES)} sources"
    return {name: (float(ratio), float(memory)) for name, (ratio, memory) in zip(SOURCES, rows)}


def check(command, folder):
    """The sources that need more memory than their row of the table says."""
    grown, baseline = [], None
    for name, (ratio, memory) in published().items():
        if name not in QUICK:
            continue
        seconds, needed = cost([*command, "-c", str(TOP / "bench" / "compile_time" / f"{name}.cpp"), "-o", f"{folder}/out.o"])
        baseline = baseline or seconds
        print(f"{name:<28}{seconds:>7.2f} s{seconds / baseline:>7.2f} of{ratio:>5.2f}{needed:>7.0f} MB of{memory:>5.0f} MB", flush=True)
        if needed > memory * MORE_MEMORY:
            grown.append(name)
    return grown


def main(arguments):
    checks = arguments[:1] == ["--check"]
    command = arguments[checks:] or ["g++"]
    eigen = os.environ.get("EIGEN_INCLUDE_DIR", "/usr/include/eigen3")
    command = [*command, "-std=c++20", "-O2", "-isystem", eigen, f"-I{TOP / 'include'}"]
    with tempfile.TemporaryDirectory() as folder:
        if checks:
            grown = check(command, folder)
            if grown:
                print(f"compile_time: {', '.join(grown)}: more memory than {RESULTS.relative_to(TOP)} says")
            return 1 if grown else 0
        print(f"{' '.join(command[:-3])}\n{'source':<28}{'check':>9}{'object':>9}{'ratio':>7}{'memory':>10}")
        baseline = None
        for name in SOURCES:
            source = TOP / "bench" / "compile_time" / f"{name}.cpp"
            front_end, _ = best([*command, "-fsyntax-only", str(source)])
            whole, memory = best([*command, "-c", str(source), "-o", f"{folder}/out.o"])
            baseline = baseline or whole
            print(f"{name:<28}{front_end:>7.2f} s{whole:>7.2f} s{whole / baseline:>7.2f}{memory:>7.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
