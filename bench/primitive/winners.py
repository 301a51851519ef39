#!/usr/bin/env python3
"""Which primitives win: a markdown table of the fastest three of each layer, from bench_primitive_primitives' JSON.

    build/release/bin/bench_primitive_primitives --benchmark_out=primitives.json --benchmark_out_format=json
    bench/primitive/winners.py primitives.json
"""
import collections
import json
import sys


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    layers = collections.defaultdict(list)
    for run in runs:
        if run.get("run_type", "iteration") == "iteration":
            primitive, layer = run["name"].split("/")[:2]
            layers[layer].append((run["real_time"], run["GFLOP/s"], run["of_peak"], primitive))
    print("| layer | candidates | first | GFLOP/s | of FMA peak | second | third |")
    print("|---|---|---|---|---|---|---|")
    for layer, ways in layers.items():
        ways.sort()
        first = ways[0]
        others = [f"{way[3]} ({way[0] / first[0]:.2f}x)" for way in ways[1:3]]
        print(f"| {layer} | {len(ways)} | {first[3]} | {first[1]:.0f} | {100 * first[2]:.0f} % | {' | '.join(others)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
