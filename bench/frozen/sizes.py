#!/usr/bin/env python3
"""Programs of frozen networks: their size, what compiling them takes, the time to the first answer, and their speed.

    sizes.py <primsel> [--net NET[:SIZE]]... [--compiler C++] [--flags F...] [--rounds R] [--folder DIR]

For each network: the size of the stripped program without its weights, the compiler's seconds and memory at -O2, the
milliseconds from the start of the process to the end of the first run (least of many, file cache warm), and the milliseconds of
a run beside those of `primsel run` with the same plan, in turns. Other engines become rows by a function in ROWS.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-O2", "-march=native", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
         "-fno-asynchronous-unwind-tables", "-Wl,--gc-sections", "-s"]

MAIN = """#include "net.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {
using Engine = primsel::FrozenEngine<net>;
Engine::Arena arena;
Engine engine;
float src[Engine::in_floats()], dst[Engine::out_floats()];
}  // namespace

int main(int count, char** arguments) {
    for (std::size_t i = 0; i < engine.in_floats(); ++i) src[i] = static_cast<float>(i % 17) / 8 - 1;
    primsel::frozen::WeightsFile weights;
    const char* refusal = weights.open(arguments[1]);
    if (refusal == nullptr) refusal = engine.open(weights.bytes(), arena);
    if (refusal != nullptr || !engine.run(src, dst)) return std::puts(refusal), 1;
    double least = 1e9;
    for (int runs = count > 2 ? std::atoi(arguments[2]) : 0; runs > 0; --runs) {
        const auto begin = std::chrono::steady_clock::now();
        engine.run(src, dst);
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::printf("%.9g %.9g\\n", least, static_cast<double>(dst[0]));
}
"""


def call(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def compiled(command):
    """Seconds and megabytes of the compiler."""
    with subprocess.Popen([str(part) for part in command]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit("sizes: the compiler failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def first_answer(command, turns):
    """The least seconds of a process that runs a network once."""
    least = float("inf")
    for _ in range(turns):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        least = min(least, time.perf_counter() - begin)
    return least


def frozen_row(net, options, folder):
    size = ["--size", net.partition(":")[2]] if ":" in net else []
    name, plan = net.partition(":")[0], folder / "plan.json"
    call(options.primsel, "plan", name, *size, "--save", plan)
    call(options.primsel, "freeze", name, *size, "--plan", plan, "--name", "net", "--out", folder / "net.hpp")
    (folder / "main.cpp").write_text(MAIN, encoding="utf-8")
    program = folder / "program"
    seconds, memory = compiled([options.compiler, "-std=c++20", f"-I{TOP}/include", *options.flags, folder / "main.cpp", "-o", program])
    weights = folder / "net.bin"
    start = first_answer([program, weights], options.rounds * 10)
    ours = theirs = float("inf")
    for _ in range(options.rounds):  # in turns
        ours = min(ours, float(call(program, weights, 30).split()[0]))
        theirs = min(theirs, json.loads(call(options.primsel, "run", name, *size, "--plan", plan, "--repeat", 30, "--json"))["min_ms"] / 1e3)
    return {"network": net, "engine": "primsel, frozen", "program_kb": program.stat().st_size / 1024,
            "weights_kb": weights.stat().st_size / 1024, "compile_s": seconds, "compile_mb": memory, "first_ms": start * 1e3,
            "run_ms": ours * 1e3, "of_engine": ours / theirs}


# Each takes a network, the options and a folder, and returns a row; what it cannot say it leaves out.
ROWS = [frozen_row]

COLUMNS = {"network": "", "engine": "", "program_kb": "kB", "weights_kb": "kB", "compile_s": "s", "compile_mb": "MB", "first_ms": "ms",
           "run_ms": "ms", "of_engine": ""}


def text(row, column):
    value = row.get(column)
    return "" if value is None else value if isinstance(value, str) else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("primsel")
    parser.add_argument("--net", action="append", help="default: resnet56, mobilenet_v2 and resnet18")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", nargs="*", default=FLAGS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="keep the programs there")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("| " + " | ".join(f"{column.rsplit('_', 1)[0]} {unit}".strip() for column, unit in COLUMNS.items()) + " |")
    print("|" + "---|" * len(COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for net in options.net or ["resnet56", "mobilenet_v2", "resnet18"]:
            folder = pathlib.Path(options.folder or temporary) / net.replace(":", "_").replace("/", "_")
            folder.mkdir(parents=True, exist_ok=True)
            for make_row in ROWS:
                row = make_row(net, options, folder)
                print("| " + " | ".join(text(row, column) for column in COLUMNS) + " |", flush=True)


if __name__ == "__main__":
    main()
