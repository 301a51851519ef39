#!/usr/bin/env python3
"""Times the plans that cost models lead to, over the networks of the zoo: really executed, in turns.

    plans.py PRIMSEL [--costs analytical] [--against pretrained --against pretrained+2 ...] [--networks A,B] [--rounds R]
             [--out FILE]

PRIMSEL is the command line program. Each row is one network: the median time of each plan over that of the plan from
--costs (measured unless given: every candidate timed here). With --out, networks that are in the file already are
read from it, and the others appended.
"""
import argparse
import json
import math
import os
import subprocess
import sys


def compare(arguments, network):
    command = [arguments.primsel, "compare", network, "--costs", arguments.costs, "--rounds", str(arguments.rounds), "--json"]
    for other in arguments.against:
        command += ["--against", other]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def known(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return {row["model"]: row for row in map(json.loads, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("--costs", default="measured")
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--networks", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    arguments.against = arguments.against or ["analytical", "semi-empirical", "pretrained", "pretrained+0.5", "pretrained+2"]
    listed = subprocess.run([arguments.primsel, "list", "networks", "--json"], stdout=subprocess.PIPE, check=True)
    names = [entry["name"] for entry in json.loads(listed.stdout)["networks"]]
    names = arguments.networks.split(",") if arguments.networks else names
    rows = known(arguments.out)
    print(f"{'network':<22}{arguments.costs + ' ms':>14}" + "".join(f"{name:>16}" for name in arguments.against))
    ratios = {name: [] for name in arguments.against}
    for name in names:
        row = rows.get(name)
        if row is None:
            row = compare(arguments, name)
            row["model"] = name
            if arguments.out:
                with open(arguments.out, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
        plans = {plan["name"]: plan for plan in row["plans"]}
        line = f"{name:<22}{plans['plan']['median_ms']:>14.2f}"
        for other in arguments.against:
            ratio = plans[other]["ratio"] if other in plans else math.nan
            ratios[other].append(ratio)
            line += f"{ratio:>16.3f}"
        print(line, flush=True)
    line = f"{'geometric mean':<36}"
    for other in arguments.against:
        good = [ratio for ratio in ratios[other] if not math.isnan(ratio)]
        line += f"{math.exp(sum(map(math.log, good)) / max(1, len(good))):>16.3f}"
    print(line)


if __name__ == "__main__":
    sys.exit(main())
