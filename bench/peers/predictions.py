#!/usr/bin/env python3
"""Compares predictions with runs of the zoo's nine networks, at the machine's best speeds and at its present one.

    predictions.py build/release/bin/primsel [--threads N] [--passes N] [--repeat R] [--busy] [--precision int8|bf16] [--nets NET,...]
    predictions.py build/release/bin/primsel --threads N --plans      plans for N threads beside those for one, run by N threads

Each pass runs every network once by `primsel run`, which also keeps what its runs took; the first pass begins with none. `--busy`
has another program copy and multiply on core 0 meanwhile; runs on one thread are on core 1. A row gives the median of
|predicted / median - 1|. `--plans` times both plans of a network in turns by `primsel compare`, and gives the time of the plan for one
thread over that of the plan for N.
Ranges for 8 bits are those of two random images, which `primsel quantise` finds before (numpy writes them).
"""
import argparse
import json
import os
import pathlib
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


def one_pass(program, threads, repeat, environment, allowed):
    """(network, prediction at best / median, prediction at present / median) of each."""
    rows = []
    for net, options in allowed.items():
        cores = ["taskset", "-c", "1"] if threads == 1 else []
        command = [*cores, program, "run", net, "--threads", str(threads), "--repeat", str(repeat), "--json", *options]
        run = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
        rows.append((net, run["predicted_ms"] / run["median_ms"], run["present_ms"] / run["median_ms"]))
    return rows


def choices(plan):
    """A saved plan without what it was predicted to take."""
    if isinstance(plan, dict):
        return {key: choices(value) for key, value in plan.items() if "seconds" not in key and key != "totals"}
    return [choices(each) for each in plan] if isinstance(plan, list) else plan


def compare_plans(program, threads, rounds, environment, allowed):
    """Prints for each network how much faster its plan for so many threads is than that for one, both run by them."""
    ratios = []
    for net, options in allowed.items():
        with tempfile.TemporaryDirectory() as folder:
            saved, other = (pathlib.Path(folder) / f"{count}.json" for count in (1, threads))
            for file, count in (saved, 1), (other, threads):
                command = [program, "plan", net, "--save", file, "--threads", str(count), *options]
                subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            if choices(json.loads(saved.read_text())) == choices(json.loads(other.read_text())):
                print(f"{net}: the same plan", flush=True)
                ratios.append(1)
                continue
            command = [program, "compare", net, "--plan", saved, "--against", "semi-empirical", "--threads", str(threads),
                       "--rounds", str(rounds), "--json", *options]
            plans = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)["plans"]
        one, several = (plan["median_ms"] for plan in plans)
        ratios.append(one / several)
        print(f"{net}: {one:.2f} ms by the plan for one thread, {several:.2f} by that for {threads}: {one / several:.3f}", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plans", action="store_true")
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
        if options.plans:
            return compare_plans(options.program, options.threads, options.repeat, environment, allowed)
        other = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", OTHER]) if options.busy else None
        try:
            for number in range(options.passes):
                rows = one_pass(options.program, options.threads, options.repeat, environment, allowed)
                best, present = (statistics.median(abs(row[i] - 1) for row in rows) for i in (1, 2))
                print(f"pass {number}: median error at best {best:.1%}, at present {present:.1%}; predicted / run, best and present:",
                      ", ".join(f"{net} {a:.2f} {b:.2f}" for net, a, b in rows), flush=True)
        finally:
            if other:
                other.kill()


if __name__ == "__main__":
    main()
