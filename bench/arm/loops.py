#!/usr/bin/env python3
"""loops.py [NAME ...] [--ncnn DIR]: how near NEON's loops come to a processor's peak, by LLVM's models of it.

Compiles each program beside this file for aarch64 by g++ and clang and runs it under emulation. The instructions that
each of its layers executes are traced and go through llvm-mca, in their order. The table has for each layer and
compiler the instructions; and for each processor the cycles, the share of its peak in multiply-adds of vectors, and the
share of its width, the instructions that it lets begin in a cycle. Transforms, which are sums, have the share of the
peak in operations on vectors instead, marked with *: fewer operations may be fewer cycles and a lower share.

With --ncnn, the folder src of ncnn's sources with the files that its CMake writes there, its kernels run the same
layers. The models know no caches, no memory and no prefetching: every load hits, every branch is foreseen. That of
Neoverse N1 lets three operations begin in a cycle, which is fewer than the processor. LLVM has no model of Cortex-A76,
whose pipeline is that of Neoverse N1: it takes Cortex-A57's, which begins one multiply-add of four floats in a cycle.

Needs aarch64-linux-gnu-g++, clang++, qemu-aarch64 with a disassembler, and llvm-mca (Debian: g++-aarch64-linux-gnu,
clang-16, qemu-user, llvm-22).
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
PROCESSORS = {"cortex-a76": 1, "neoverse-n1": 2, "neoverse-v1": 4}
FLAGS = ["-std=c++20", "-O3", "-march=armv8.2-a+dotprod", "-static", "-I", HERE.parents[1] / "include"]
OPERATIONS = re.compile(r"f(add|sub|mul|mla|mls|max|min)\w* .*v\d")


def tool(*names):
    found = next((name for name in names if shutil.which(name)), None)
    return found or sys.exit(f"loops.py: none of {', '.join(names)} is installed")


def build(command, source, folder, peers):
    """The program of a source file; its first lines may name a peer and say what else to compile."""
    text = source.read_text()
    extra = []
    for name, root in peers.items():
        if f"// needs {name}: " in text:
            words = re.search(f"// needs {name}: (.*)", text)[1].split()
            extra = [word.replace("DIR", str(root)) for word in words]
    program = folder / source.stem
    subprocess.run([*command, *FLAGS, "-o", program, source, *extra], check=True)
    return program


def layers(program, folder):
    """Runs the program: for each layer its name, its multiply-adds and the instructions that it executed."""
    log = folder / "log"
    names = subprocess.run([tool("qemu-aarch64"), "-d", "in_asm,exec,nochain", "-D", log, program],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    blocks, block, runs, within = {}, None, [], False
    with log.open(errors="replace") as lines:
        for line in lines:
            if line.startswith("0x"):
                address, _, text = line.rstrip().split(None, 2)
                at = int(address.rstrip(":"), 16)
                if block is None:
                    block = blocks[at] = []
                block.append(relative(text))
            elif line.startswith("Trace"):
                symbol = line.rsplit("]", 1)[1].strip()
                if symbol == "begin_layer":
                    runs.append([])
                    within = True
                elif symbol == "end_layer":
                    within = False
                elif within:
                    runs[-1] += blocks[int(line.split("/")[1], 16)]
            else:
                block = None
    log.unlink()
    if len(names) != len(runs):
        sys.exit(f"loops.py: {program.name} names {len(names)} layers and ran {len(runs)}")
    for name, code in zip(names, runs):
        name, work = name.rsplit("\t", 1)
        yield name, int(work), code


def relative(text):
    """The instruction, with a place nearby instead of the address that a branch or a load names."""
    text = " ".join(text.split())
    return re.sub(r"^(b|bl|b\.\w+|cbn?z \w+,|tbn?z \w+, #\w+,|adr \w+,|ldr(?:sw)? \w+,) #0x\w+$", r"\1 #8", text)


def simulate(mca, processor, code):
    """The cycles of the instructions and the share of the width at which they begin."""
    command = [mca, "-mtriple=aarch64-linux-gnu", f"-mcpu={processor}", "-iterations=1", "-instruction-info=0",
               "-resource-pressure=0", "-skip-unsupported-instructions=any"]
    out = subprocess.run(command, input="\n".join(code) + "\n", capture_output=True, text=True)
    total = {key: int(value)
             for key, value in re.findall(r"(Total Cycles|Total uOps|Dispatch Width):\s+(\d+)", out.stdout)}
    if len(total) < 3:
        sys.exit(f"loops.py: llvm-mca does not read a layer: {out.stderr.strip().splitlines()[0]}")
    return total["Total Cycles"], total["Total uOps"] / total["Dispatch Width"] / total["Total Cycles"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="programs, all by default: " +
                        ", ".join(source.stem for source in sorted(HERE.glob("*.cpp"))))
    parser.add_argument("--layer", default="", help="a regular expression that names of layers contain")
    parser.add_argument("--compiler", choices=["g++", "clang"], help="one of the two")
    parser.add_argument("--ncnn", type=pathlib.Path, help="ncnn's src")
    options = parser.parse_args()
    peers = {"ncnn": options.ncnn.resolve()} if options.ncnn else {}
    mca = tool("llvm-mca-22", "llvm-mca")
    compilers = {"g++": [tool("aarch64-linux-gnu-g++")],
                 "clang": [tool("clang++-16", "clang++"), "--target=aarch64-linux-gnu"]}
    print(f"{'':58}{'instr.':>8}" + "".join(f"{name:>14}{'FMA':>6}{'width':>6}" for name in PROCESSORS))
    for source in sorted(HERE.glob("*.cpp")):
        if options.name and source.stem not in options.name or source.stem == "ncnn" and not peers:
            continue
        for compiler, command in compilers.items():
            if options.compiler not in (None, compiler):
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                for layer, work, code in layers(build(command, source, folder, peers), folder):
                    if not re.search(options.layer, layer):
                        continue
                    sums = work == 0
                    work = work or sum(1 for text in code if OPERATIONS.match(text))
                    print(f"{f'{source.stem}, {compiler}: {layer}':58}{len(code):8}", end="")
                    for processor, peak in PROCESSORS.items():
                        cycles, width = simulate(mca, processor, code)
                        print(f"{cycles:14}{work / peak / cycles:5.0%}{'*' if sums else ' '}{width:6.0%}", end="")
                    print(flush=True)


if __name__ == "__main__":
    main()
