#!/usr/bin/env python3
"""onednn_layers.py: twenty convolutions of well-known networks by primsel and by oneDNN, on one core.

Builds and runs onednn_layers.cpp, which says how they are compared, and prints for each layer the fastest of primsel's
primitives; GFLOP/s, counting the operations of the direct algorithm, and their share of the FMA peak that was measured
between the same rounds; the better of oneDNN's direct and Winograd algorithms; and how many times as fast primsel is.
Where the FMA peak's quartiles were more than 10 % apart, nothing is printed and the exit status is 3; --force prints.
Needs oneDNN (Debian: libdnnl-dev).
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import prepare
import report
from worker import progress


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=prepare.TOP / "build/release", help="CMake's folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=pathlib.Path, help="also write what was measured")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE.json", help="measure nothing, print that")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--force", action="store_true", help="print however noisy the machine was")
    return parser.parse_args()


def measure(options):
    (program,) = prepare.build(options.build, "onednn_layers", jobs=options.jobs)
    lines = []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [program, str(options.rounds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            lines.append(json.loads(line))
            progress(lines[-1].get("layer", f"oneDNN {lines[-1].get('onednn')}"))
    if process.returncode:
        sys.exit(f"onednn_layers.py: {program.name} ended with status {process.returncode}")
    return {"onednn": lines[0]["onednn"], "layers": lines[1:]}


def best_of_onednn(layer):
    """Of the algorithms that there are: (direct or Winograd, milliseconds)."""
    ways = {name: layer[f"onednn_{name}"]["ms"] for name in ("direct", "winograd") if f"onednn_{name}" in layer}
    return min(ways.items(), key=lambda item: item[1]) if ways else (None, None)


def make_table(data, markdown):
    header = ["layer", "shape", "primitive", "ms", "GFLOP/s", "of peak", "oneDNN, ms", "GFLOP/s", "by", "ratio"]
    body, ratios = [], []
    for layer in data["layers"]:
        ours, peak = layer["primsel"], statistics.median(layer["fma_gflops"])
        rate = layer["gflop"] / ours["ms"] * 1e3
        by, theirs = best_of_onednn(layer)
        row = [layer["layer"], layer["shape"], ours["name"], f"{ours['ms']:.3f}", f"{rate:.0f}", f"{rate / peak:.0%}"]
        if theirs:
            ratios.append(theirs / ours["ms"])
            row += [f"{theirs:.3f}", f"{layer['gflop'] / theirs * 1e3:.0f}", by, f"{ratios[-1]:.2f}"]
        body.append(row + ["-"] * (len(header) - len(row)))
    text = report.table(header, body, markdown)
    return f"{text}\n\nGeometric mean of the ratios {report.geometric_mean(ratios):.2f}." if ratios else text


def main():
    options = parse()
    data = json.loads(options.report.read_text()) if options.report else measure(options)
    if options.json:
        options.json.write_text(json.dumps(data, indent=1))
    peaks = [peak for layer in data["layers"] for peak in layer["fma_gflops"]]
    apart = report.spread(peaks)
    noisy = [layer["layer"] for layer in data["layers"] if report.spread(layer["fma_gflops"]) > report.FMA_SPREAD]
    if apart > report.FMA_SPREAD:
        noisy.append("all layers")
    for name in noisy:
        progress(f"too noisy: {name}: the FMA peak has quartiles more than {report.FMA_SPREAD:.0%} of its median apart")
    if noisy and not options.force:
        return 3
    print(f"oneDNN {data['onednn']}; FMA peak {statistics.median(peaks):.1f} GFLOP/s (quartiles {apart:.1%} apart); "
          f"one thread\n\n{make_table(data, options.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
