#!/usr/bin/env python3
"""end_of_l2.py: how well the shipped coefficients price the profiled ops around the end of L2.

Prints for each range of working sets how many prices are within 1.25 and 1.5 times of the recorded time, first with the bandwidth
interpolated between the measured working sets, then with its fall where L2 ends (Machine::bandwidth_for). Measures nothing.
"""
import csv
import math
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETS = [16e3, 128e3, 768e3, 6e6, 32e6]
RANGES = [0.77e6, 1.5e6, 2e6, 3e6, 6e6]
# Profile, coefficients, L2 of the processor in bytes.
PROFILES = [("emr-avx512", "ops_avx512", 2 << 20), ("zen5-avx512", "ops_avx512", 1 << 20), ("zen4-avx512", "ops_avx512", 1 << 20),
            ("zen3-avx2", "ops_avx2", 512 << 10)]  # fmt: skip


def coefficients(name):
    text = (ROOT / f"include/primsel/cost/pretrained/{name}.hpp").read_text()
    found = re.finditer(r'\{"(\w+)", "(\w+)", \{([^}]*)\}(?:, "(\w*)")?\}', text)
    return {(m[1], m[2], m[4] or ""): [float(value) for value in m[3].split(",")] for m in found}


def bandwidth_for(measured, l2, size):
    for i in range(1, len(SETS)):
        if size > SETS[i]:
            continue
        first, last = SETS[i - 1 : i + 1]
        if first <= l2 < last:
            first, last = max(0.75 * l2, first), min(1.5 * l2, last)
        at = min(max(math.log(size / first) / math.log(last / first), 0), 1)
        return measured[i - 1] + at * (measured[i] - measured[i - 1])
    return measured[-1]


def main():
    for profile, model, l2 in PROFILES:
        lines = (ROOT / f"bench/profiles/{profile}-ops.csv").read_text().splitlines()
        about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("#"))
        measured = [float(about[f"bandwidth_{i}"]) for i in range(len(SETS))]
        fitted = coefficients(model)
        ratios = {size: ([], []) for size in RANGES[1:]}
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            values, size = fitted.get((row["op"], row["layout"], row["form"])), float(row["working_set"])
            if values is None or not row["ns"] or not RANGES[0] <= size < RANGES[-1]:
                continue
            images = int(row["images"])
            for curve, end in enumerate((0, l2)):
                terms = [1, images * float(row["bytes"]) / bandwidth_for(measured, end, size),
                         images * float(row["operations"]) / float(about["vector_flops"]), float(row["weights"]) / measured[-1],
                         images * float(row["rows"]), images * float(row["scalars"]) / float(about["scalar_flops"])]  # fmt: skip
                price = sum(a * b for a, b in zip(values, terms))
                ratios[next(r for r in RANGES if size < r)][curve].append(price / (float(row["ns"]) * 1e-9))
        for size, curves in ratios.items():
            print(f"{profile:12} below {size / 1e6:3.1f} MB {len(curves[0]):4}", end="")
            for of in curves:
                near = [100 * sum(1 / f <= ratio <= f for ratio in of) / len(of) for f in (1.25, 1.5)]
                print(f"   median {statistics.median(of):.2f}  1.25x {near[0]:3.0f} %  1.5x {near[1]:3.0f} %", end="")
            print()


main()
