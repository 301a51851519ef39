#!/usr/bin/env python3
"""loops.py [NAME ...] [--ncnn DIR] [--xnnpack DIR]: how near NEON's loops come to a processor's peak, by LLVM's models.

Compiles each program beside this file for aarch64 by g++ and clang and runs it under emulation. The instructions that
each of its layers executes are traced and go through llvm-mca, in their order. The table has for each layer and
compiler the instructions; and for each processor the cycles, the share of its peak in multiply-adds of vectors, and the
share of its width, the instructions that it lets begin in a cycle. Loops of sums and of functions, which are not
products, have the share of the peak in operations on vectors instead, marked with *: fewer operations may be fewer
cycles and a lower share.

With --ncnn, the folder src of ncnn's sources with the files that its CMake writes there, and with --xnnpack, XNNPACK's
sources, their kernels run the same layers, and a second table has the cycles of each layer side by side. The models
know no caches, no memory and no prefetching: every load hits, every branch is foreseen. That of Neoverse N1 lets three
operations begin in a cycle, which is fewer than the processor. LLVM has no model of Cortex-A76, whose pipeline is that
of Neoverse N1: it takes Cortex-A57's, which begins one multiply-add of four floats in a cycle.

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
OPERATIONS = re.compile(r"f(add|sub|mul|mla|mls|max|min|div|rint)\w* .*v\d")
PEERS = ["ncnn", "xnnpack"]


def tool(*names):
    found = next((name for name in names if shutil.which(name)), None)
    return found or sys.exit(f"loops.py: none of {', '.join(names)} is installed")


def peer_of(source):
    """The peer whose kernels a source file runs; None for our own."""
    return source.stem if source.stem in PEERS else None


def build(command, source, folder, peers):
    """The program of a source file. The first lines of a peer's say what else to compile."""
    extra = []
    if peer := peer_of(source):
        words = " ".join(re.findall(f"// needs {peer}: (.*)", source.read_text())).split()
        extra = [word.replace("DIR", str(peers[peer])) for word in words] + ["-I", folder]
        (folder / "pthreadpool.h").write_text("typedef struct pthreadpool* pthreadpool_t;\n")  # XNNPACK includes it
    program = folder / source.stem
    subprocess.run([command[0], *FLAGS, "-o", program, source, *extra, *command[1:]], check=True)
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
    parser.add_argument("--xnnpack", type=pathlib.Path, help="XNNPACK's sources")
    options = parser.parse_args()
    peers = {name: getattr(options, name).resolve() for name in PEERS if getattr(options, name)}
    beside = {}
    mca = tool("llvm-mca-22", "llvm-mca")
    compilers = {"g++": [tool("aarch64-linux-gnu-g++")],
                 "clang": [tool("clang++-16", "clang++"), "--target=aarch64-linux-gnu"]}
    print(f"{'':58}{'instr.':>8}" + "".join(f"{name:>14}{'FMA':>6}{'width':>6}" for name in PROCESSORS))
    for source in sorted(HERE.glob("*.cpp")):
        peer = peer_of(source)
        if options.name and not peer and source.stem not in options.name or peer and peer not in peers:
            continue
        for compiler, command in compilers.items():
            if options.compiler not in (None, compiler) or peer == "xnnpack" and compiler != "g++":
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                if peer == "xnnpack":  # C, which g++ would take for C++
                    command = [tool("aarch64-linux-gnu-gcc"), "-lstdc++", "-lm"]
                for layer, work, code in layers(build(command, source, folder, peers), folder):
                    if not re.search(options.layer, layer):
                        continue
                    sums = work == 0
                    work = work or sum(1 for text in code if OPERATIONS.match(text))
                    print(f"{f'{source.stem}, {compiler}: {layer}':58}{len(code):8}", end="")
                    of_layer = beside.setdefault(layer, {}).setdefault(f"{peer or 'ours'}, {compiler}", [])
                    for processor, peak in PROCESSORS.items():
                        cycles, width = simulate(mca, processor, code)
                        of_layer.append(cycles)
                        print(f"{cycles:14}{work / peak / cycles:5.0%}{'*' if sums else ' '}{width:6.0%}", end="")
                    print(flush=True)
    compared = {layer: columns for layer, columns in beside.items() if len({name.split(",")[0] for name in columns}) > 1}
    if not compared:
        return
    names = sorted({name for columns in compared.values() for name in columns},
                   key=lambda name: (not name.startswith("ours"), name))
    print("\ncycles, " + " / ".join(PROCESSORS) + "; and ours as shares of ncnn's, both by g++")
    print(f"{'':30}" + "".join(f"{name:>24}" for name in names))
    for layer, columns in compared.items():
        cells = (" / ".join(str(cycles) for cycles in columns.get(name, [])) for name in names)
        shares = (f"{ours / ncnn:.2f}" for ours, ncnn in zip(columns.get("ours, g++", []), columns.get("ncnn, g++", [])))
        print(f"{layer:30}" + "".join(f"{cell:>24}" for cell in cells) + f"{' / '.join(shares):>22}")


if __name__ == "__main__":
    main()
