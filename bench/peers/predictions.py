#!/usr/bin/env python3
"""Compares predictions with runs of the zoo's nine networks, at the machine's best speeds and at its present one.

    predictions.py build/release/bin/primsel [--passes N] [--repeat R] [--busy] [--precision int8|bf16] [--nets NET,...]

Each pass runs every network once by `primsel run`, which also keeps what its runs took; the first pass begins with none. `--busy`
has another program copy and multiply on core 0 meanwhile; runs are on core 1. A row gives the median of |predicted / median - 1|.
Ranges for 8 bits are those of two random images, which `primsel quantise` finds before (numpy writes them).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

NETS = ["alexnet", "vgg11", "vgg19", "googlenet", "resnet18", "resnet34", "resnet50", "squeezenet1_0", "mobilenet_v2"]
OTHER = "a = bytearray(1 << 26)\nwhile True:\n    b = bytes(a)\n    sum(range(100000))\n"


def precision_options(options, nets, folder, environment):
    """For each network, the options of `run` that allow the precision."""
    if options.precision == "float32":
        return {net: [] for net in nets}
    if options.precision == "bf16":
        return {net: ["--precision", "bf16"] for net in nets}
    import numpy

    images = os.path.join(folder, "images.npy")
    numpy.save(images, numpy.random.default_rng(1).standard_normal((2, 3, 224, 224), dtype=numpy.float32))
    result = {}
    for net in nets:
        ranges = os.path.join(folder, net + ".json")
        command = [options.program, "quantise", net, "--images", images, "--method", "min-max", "--out", ranges]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        result[net] = ["--precision", "int8", "--ranges", ranges]
    return result


def one_pass(program, repeat, environment, allowed):
    """(network, prediction at best / median, prediction at present / median) of each."""
    rows = []
    for net, options in allowed.items():
        command = ["taskset", "-c", "1", program, "run", net, "--repeat", str(repeat), "--json", *options]
        run = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
        rows.append((net, run["predicted_ms"] / run["median_ms"], run["present_ms"] / run["median_ms"]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--precision", choices=["float32", "bf16", "int8"], default="float32")
    parser.add_argument("--nets", default=",".join(NETS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        subprocess.run([options.program, "machine"], env=environment, stdout=subprocess.DEVNULL, check=True)
        allowed = precision_options(options, options.nets.split(","), cache, environment)
        other = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", OTHER]) if options.busy else None
        try:
            for number in range(options.passes):
                rows = one_pass(options.program, options.repeat, environment, allowed)
                best, present = (statistics.median(abs(row[i] - 1) for row in rows) for i in (1, 2))
                print(f"pass {number}: median error at best {best:.1%}, at present {present:.1%}; predicted / run, best and present:",
                      ", ".join(f"{net} {a:.2f} {b:.2f}" for net, a, b in rows), flush=True)
        finally:
            if other:
                other.kill()


if __name__ == "__main__":
    main()
