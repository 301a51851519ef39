#!/usr/bin/env python3
"""Programs of frozen networks: their size, what compiling them takes, the time to the first answer, and their speed.

    sizes.py <primsel> [--net NET[:SIZE] | --net HEADER]... [--compiler C++] [--flags F...] [--rounds R] [--folder DIR]

For each network: the size of the stripped program without its weights, the compiler's seconds and memory at -O2, the
milliseconds from before the process is made to the end of its first run, by one clock of both (least and median of many, file cache
warm), and the milliseconds of a run beside those of `primsel run` with the same plan, in turns. HEADER: one that was frozen before (.hpp), with its .bin;
it has no plan to run. Other engines become rows by a function in ROWS.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-O2", "-march=native", "-fno-exceptions", "-fno-rtti", "-ffunction-sections", "-fdata-sections",
         "-fno-asynchronous-unwind-tables", "-Wl,--gc-sections,--as-needed", "-s"]

MAIN = """#include "NAME.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {
double now() {
    std::timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
using Engine = primsel::FrozenEngine<NAME>;
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
    const double answered = now();
    double least = 1e9;
    for (int runs = count > 2 ? std::atoi(arguments[2]) : 0; runs > 0; --runs) {
        const double begin = now();
        engine.run(src, dst);
        least = std::min(least, now() - begin);
    }
    std::printf("%.9f %.9g %.9g\\n", answered, least, static_cast<double>(dst[0]));
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


def first_answers(command, turns):
    """The seconds of processes until they have run a network once, which they print first, as CLOCK_MONOTONIC has them."""
    # `env NAME=VALUE... program`, without a process of env.
    words = [str(word) for word in command[command[0] == "env":]]
    environment = dict(os.environ)
    while "=" in words[0]:
        name, _, environment[name] = words.pop(0).partition("=")
    seconds = []
    for _ in range(turns):
        source, sink = os.pipe()
        begin = time.monotonic()
        process = os.posix_spawnp(words[0], words, environment,
                                  file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_CLOSE, source)])
        os.close(sink)
        with open(source, encoding="utf-8") as answer:
            text = answer.read()
        if os.waitpid(process, 0)[1] != 0:
            sys.exit(f"sizes: {words[0]} failed: {text}")
        seconds.append(float(text.split()[0]) - begin)
    return seconds


def frozen_row(net, options, folder):
    frozen = pathlib.Path(net).resolve() if net.endswith(".hpp") else None
    header, plan = frozen or folder / "net.hpp", folder / "plan.json"
    if not frozen:
        of_plan = [net.partition(":")[0], *(["--size", net.partition(":")[2]] if ":" in net else [])]
        call(options.primsel, "plan", *of_plan, "--save", plan)
        of_plan += ["--plan", plan]
        call(options.primsel, "freeze", *of_plan, "--name", "net", "--out", header)
    (folder / "main.cpp").write_text(MAIN.replace("NAME", header.stem), encoding="utf-8")
    program, weights = folder / "program", header.with_suffix(".bin")
    seconds, memory = compiled([options.compiler, "-std=c++20", f"-I{TOP}/include", f"-I{header.parent}", *options.flags, folder / "main.cpp",
                                "-o", program])
    starts = first_answers([program, weights], options.rounds * 10)
    ours = theirs = float("inf")
    for _ in range(options.rounds):  # in turns
        ours = min(ours, float(call(program, weights, 30).split()[1]))
        if not frozen:
            theirs = min(theirs, json.loads(call(options.primsel, "run", *of_plan, "--repeat", 30, "--json"))["min_ms"] / 1e3)
    row = {"network": header.stem if frozen else net, "engine": "primsel, frozen", "program_kb": program.stat().st_size / 1024,
           "weights_kb": weights.stat().st_size / 1024, "compile_s": seconds, "compile_mb": memory, "first_ms": min(starts) * 1e3,
           "median_first_ms": statistics.median(starts) * 1e3, "run_ms": ours * 1e3}
    return row if frozen else row | {"of_engine": ours / theirs}


# Each takes a network, the options and a folder, and returns a row; what it cannot say it leaves out.
ROWS = [frozen_row]

COLUMNS = {"network": "", "engine": "", "program_kb": "kB", "weights_kb": "kB", "compile_s": "s", "compile_mb": "MB", "first_ms": "ms",
           "median_first_ms": "ms", "run_ms": "ms", "of_engine": ""}


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
    print("| " + " | ".join(f"{column.rsplit('_', 1)[0].replace('_', ' ')} {unit}".strip() for column, unit in COLUMNS.items()) + " |")
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
