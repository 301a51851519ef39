#!/usr/bin/env python3
"""frozen_archs.py <folder of primsel> <folder to build in> <compiler> [--emulator=<command>] [<option of cmake>...]

Builds test/build/frozen_archs, one program with frozen plans for several instruction sets, and runs each that this processor
has: the widest by itself, the others by PRIMSEL_ARCH. Results must be those of an Engine of the same plan, bit for bit. The
weights are in the program once, and what plans share is there once.

With an emulator it is a cross build for aarch64, of one plan, of which the emulator runs both the freezer and the program. That takes
minutes, and is no test of CTest:

    frozen_archs.py . build/frozen_cross aarch64-linux-gnu-g++ "--emulator=qemu-aarch64 -L /usr/aarch64-linux-gnu" \\
        -DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64-linux-gnu.cmake
"""
import os
import pathlib
import struct
import subprocess
import sys

LEVELS = {"sse4_2": "sse4_2", "avx2": "avx2", "avx512": "avx512bw"}  # and their flag in /proc/cpuinfo
TOP = pathlib.Path(__file__).resolve().parents[2]


def call(*command, arch=None, check=True):
    environment = {name: value for name, value in os.environ.items() if name != "PRIMSEL_ARCH"}
    if arch:
        environment["PRIMSEL_ARCH"] = arch
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, check=False)
    if check and result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {result.returncode}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result


def main(source, folder, compiler, *options):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    flags = set(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    here = [level for level, flag in LEVELS.items() if flag in flags]
    emulator = [option.partition("=")[2].split() for option in options if option.startswith("--emulator=")]
    options = [option for option in options if not option.startswith("--emulator=")]
    program = [*sum(emulator, []), folder / "program"]
    if emulator:
        here = ["neon64"]
    call("cmake", "-S", TOP / "test/build/frozen_archs", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DPRIMSEL_SOURCE={source}",
         f"-DFREEZER_FOLDER={TOP}/tools/primsel", f"-DLEVELS={';'.join(here)}", *options)
    call("cmake", "--build", folder, "--target", "program", "--parallel", 2)
    faults, answers = [], set()
    for asked in (None,) if emulator else (None, *here):
        level = asked or here[-1]
        stem = folder / "primsel_frozen/program/small.hpp"
        name = call(*program, f"{stem}.{level}.in", folder / "out", arch=asked).stdout
        if not name.startswith(f"{level}_"):
            faults.append(f"asked for {asked}, ran {name}")
        if (folder / "out").read_bytes() != pathlib.Path(f"{stem}.{level}.expected").read_bytes():
            faults.append(f"{level}: the frozen engine's result differs from the engine's")
        answers.add((folder / "out").read_bytes())
    if len(answers) == 1 < len(here):
        faults.append("all instruction sets gave the same bits: did one run in place of the others?")
    if not emulator:
        refused = call(*program, "in", "out", arch="mmx", check=False)
        if refused.returncode != 1 or "there is no such copy" not in refused.stderr:
            faults.append(f"PRIMSEL_ARCH=mmx: {refused.stderr}")

    weights = next(folder.glob("primsel_frozen/program/small.bin")).read_bytes()
    plans = struct.unpack_from("<I", weights, 12)[0]
    counts = [struct.unpack_from("<Q", weights, 64 + 80 * i + 64)[0] for i in range(plans)]
    sections = [struct.unpack_from("<QQ", weights, 64 + 80 * plans + 16 * i) for i in range(sum(counts))]
    apart, stored = sum(size for _, size in sections), sum(size for _, size in set(sections))
    if plans != len(here) or (plans > 1 and stored >= apart):
        faults.append(f"{plans} plans, {stored} of {apart} bytes")
    if (folder / "program").read_bytes().count(weights) != 1:
        faults.append("the weights are not once in the program")
    print("\n".join(faults) or f"{', '.join(here)}: as their engines, bit for bit; {stored} of {apart} bytes of weights are stored")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
