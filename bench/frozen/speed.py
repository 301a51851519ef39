#!/usr/bin/env python3
"""Frozen networks beside the engines of the same plans: runs in turns in one process, on one thread.

    speed.py <bench_frozen_speed> [--net NET]... [--rounds R] [--seconds S] [--folder DIR] [--only-prepare] [--compiler C++]

NET: readme, a name of the zoo, or an .onnx file; by default readme, mobilenet_v2 and resnet18. Each round is a process of S seconds a
network. A row has the median milliseconds of a run of both in the median round, the least of all rounds, the frozen network's over the
engine's, by medians and by least, and the least and the largest ratio of medians of the rounds. It fails if results differ in a bit.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sizes  # noqa: E402

LIBRARY = """#include "net.hpp"
static primsel::FrozenEngine<net>::Arena arena;
static primsel::FrozenEngine<net> engine;
static primsel::frozen::WeightsFile weights;
extern "C" {
const char* open_frozen(const char* path) {
    const char* const refusal = weights.open(path);
    return refusal == nullptr ? engine.open(weights.bytes(), arena) : refusal;
}
void run_frozen(const float* src, float* dst) { engine.run(src, dst); }
}
"""


def prepare(program, net, folder, compiler):
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "net.so").exists():
        return
    sizes.call(program, "freeze", net, folder)
    (folder / "frozen.cpp").write_text(LIBRARY, encoding="utf-8")
    # Symbolic: nothing of the program takes the place of the library's own.
    sizes.call(compiler, "-std=c++20", *sizes.FLAGS, "-fPIC", "-shared", "-Wl,-Bsymbolic", f"-I{sizes.TOP}/include", f"-I{folder}",
               folder / "frozen.cpp", "-o", folder / "net.so")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--net", action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--folder", help="keep what is compiled there: a second call only measures")
    parser.add_argument("--only-prepare", action="store_true", help="compile, and measure nothing")
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = {net: pathlib.Path(options.folder or temporary).resolve() / pathlib.Path(net).stem
                   for net in options.net or ["readme", "mobilenet_v2", "resnet18"]}
        for net, folder in folders.items():
            prepare(options.program, net, folder, options.compiler)
        if options.only_prepare:
            return
        rounds = {net: [] for net in folders}
        for _ in range(options.rounds):
            for net, folder in folders.items():
                rounds[net].append(json.loads(sizes.call(options.program, "run", net, folder, options.seconds)))
        print("| network | runs | frozen ms | engine ms | frozen / engine | least / least | rounds |\n|---|---|---|---|---|---|---|")
        for net, rows in rounds.items():
            ratios = sorted(row["of_medians"] for row in rows)
            of_least = min(row["frozen_least_ms"] for row in rows) / min(row["engine_least_ms"] for row in rows)
            print(f"| {net} | {sum(row['runs'] for row in rows)} | {statistics.median(row['frozen_ms'] for row in rows):.3f} | "
                  f"{statistics.median(row['engine_ms'] for row in rows):.3f} | {statistics.median(ratios):.4f} | {of_least:.4f} | "
                  f"{ratios[0]:.4f} to {ratios[-1]:.4f} |")


if __name__ == "__main__":
    main()
