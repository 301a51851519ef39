#!/usr/bin/env python3
"""loops.py [FILE.cpp | FILE.s ...]: how near NEON's inner loops come to a processor's peak, by LLVM's models of it.

Compiles each source (all beside this file by default) for aarch64 by g++ and clang, and feeds the inner loops with the
most multiply-adds to llvm-mca. The table has, for each loop, its multiply-adds of vectors and its instructions, and for
each processor the share of the peak in multiply-adds and of the instructions that the model lets begin in a cycle. A .s file is
read as it is: assembly of other libraries' kernels. The models know no cache, no memory and no prefetching, and take
every branch as foreseen; that of Neoverse N1 lets three instructions begin in a cycle, which is fewer than the processor.

Needs aarch64-linux-gnu-g++, clang++ and llvm-mca (Debian: g++-aarch64-linux-gnu, clang-16, llvm-22).
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# A processor of LLVM, and the multiply-adds of vectors that it begins in a cycle.
PROCESSORS = {"neoverse-n1": 2, "neoverse-v1": 4}
FLAGS = ["-std=c++20", "-O3", "-I", HERE.parents[1] / "include", "-S", "-o"]


def tool(*names):
    found = next((name for name in names if shutil.which(name)), None)
    return found or sys.exit(f"loops.py: none of {', '.join(names)} is installed")


def functions(lines):
    """The functions of an assembly file: the name and the lines of each."""
    name, body = None, []
    for line in lines:
        label = re.match(r"([\w$.]+):", line)
        if label and not label[1].startswith(".L"):
            if name:
                yield name, body
            name, body = label[1], []
        else:
            body.append(line)
    if name:
        yield name, body


def inner_loops(body):
    """The instructions from a label to a branch back to it, where no other such loop lies between."""
    labels, code = {}, []
    for line in body:
        label = re.match(r"(\.L\w+):", line)
        text = line.split("//")[0].strip()
        if label:
            labels[label[1]] = len(code)
        elif text and not text.startswith((".", "#")):
            code.append(text)
    backs = []
    for end, text in enumerate(code):
        branch = re.match(r"(?:b(?:\.?[a-z]{2})?|cbn?z|tbn?z)\s.*?(\.L\w+)$", text)
        if branch and labels.get(branch[1], end + 1) <= end:
            backs.append((labels[branch[1]], end))
    for first, last in backs:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in backs):
            yield code[first:last + 1]


def simulate(mca, processor, code):
    """The cycles of one turn of the loop and the share of the width at which instructions begin; None if refused."""
    command = [mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={processor}", "-iterations=100"]
    out = subprocess.run(command, input="\n".join(code) + "\n", capture_output=True, text=True).stdout
    total = {key: int(value) for key, value in re.findall(r"(Total Cycles|Total uOps|Dispatch Width):\s+(\d+)", out)}
    if len(total) < 3:
        return None
    return total["Total Cycles"] / 100, total["Total uOps"] / total["Dispatch Width"] / total["Total Cycles"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, nargs="*", default=sorted(HERE.glob("*.cpp")))
    parser.add_argument("--loops", type=int, default=4, help="so many loops of each file, those with most multiply-adds")
    options = parser.parse_args()
    mca = tool("llvm-mca-22", "llvm-mca-19", "llvm-mca")
    compilers = {"g++": [tool("aarch64-linux-gnu-g++")],
                 "clang": [tool("clang++-16", "clang++"), "--target=aarch64-linux-gnu"]}
    print(f"{'':46}{'FMAs':>5}{'of':>5}" + "".join(f"{name + ': FMA':>18}{'width':>7}" for name in PROCESSORS))
    for source in options.source:
        for compiler, command in compilers.items():
            if source.suffix == ".s":
                if compiler != "g++":
                    continue
                lines, compiler = source.read_text().splitlines(), ""
            else:
                with tempfile.TemporaryDirectory() as folder:
                    out = pathlib.Path(folder) / "loop.s"
                    subprocess.run([*command, *FLAGS, out, source], check=True)
                    lines = out.read_text().splitlines()
            rows = {}
            for name, body in functions(lines):
                for code in inner_loops(body):
                    fmas = sum(text.startswith(("fmla", "fmls")) for text in code)
                    rows.setdefault((fmas, len(code)), code)
            for (fmas, count), code in sorted(rows.items(), reverse=True)[:options.loops]:
                if fmas == 0:
                    continue
                results = [(simulate(mca, name, code), peak) for name, peak in PROCESSORS.items()]
                print(f"{source.stem + ' ' + compiler:46}{fmas:5}{count:5}" + "".join(
                    f"{fmas / peak / found[0]:18.0%}{found[1]:7.0%}" if found else f"{'refused':>18}{'':7}"
                    for found, peak in results), flush=True)


if __name__ == "__main__":
    main()
