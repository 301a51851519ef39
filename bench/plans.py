#!/usr/bin/env python3
"""Times the plans that cost models lead to, over the networks of the zoo: really executed, in turns.

    plans.py PRIMSEL [--costs analytical] [--against semi-empirical --against analytical+2 ...] [--networks A,B] [--rounds R]
             [--out FILE]

PRIMSEL is the command line program. Each row is one network: the median time of each plan over that of the plan from
--costs (measured unless given: every candidate timed here), and behind it the time that its costs predicted over the
time it took at the clock they were predicted for: that of a virtual machine moves by a fifth within seconds, so it is
measured before and after each run, as the machine's speeds are for each network. With --out, networks that are in the
file already are read from it, and the others appended.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys


def compare(arguments, network):
    command = [arguments.primsel, "compare", network, "--costs", arguments.costs, "--rounds", str(arguments.rounds), "--json"]
    for other in arguments.against:
        command += ["--against", other]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, "PRIMSEL_MACHINE": "measure"})
    return json.loads(run.stdout)


def known(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return {row["model"]: row for row in map(json.loads, lines)}


def geometric_mean(ratios):
    good = [math.log(ratio) for ratio in ratios if not math.isnan(ratio)]
    return math.exp(sum(good) / max(1, len(good)))


def median_error(predictions):
    good = [abs(ratio - 1) for ratio in predictions if not math.isnan(ratio)]
    return statistics.median(good) if good else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("--costs", default="measured")
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--networks", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    arguments.against = arguments.against or ["analytical", "semi-empirical", "analytical+0.5", "analytical+2"]
    listed = subprocess.run([arguments.primsel, "list", "networks", "--json"], stdout=subprocess.PIPE, check=True)
    names = [entry["name"] for entry in json.loads(listed.stdout)["networks"]]
    names = arguments.networks.split(",") if arguments.networks else names
    rows = known(arguments.out)
    print(f"{'network':<22}{arguments.costs + ' ms':>14}{'predicted':>11}" +
          "".join(f"{name:>16}{'predicted':>11}" for name in arguments.against))
    ratios = {name: [] for name in arguments.against}
    predictions = {name: [] for name in ["plan", *arguments.against]}
    for name in names:
        row = rows.get(name)
        if row is None:
            row = compare(arguments, name)
            row["model"] = name
            if arguments.out:
                with open(arguments.out, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
        plans = {plan["name"]: plan for plan in row["plans"]}
        for other, seen in predictions.items():
            seen.append(plans[other]["predicted_ms"] / plans[other]["at_clock_ms"] if other in plans else math.nan)
        line = f"{name:<22}{plans['plan']['median_ms']:>14.2f}{predictions['plan'][-1]:>11.3f}"
        for other in arguments.against:
            ratios[other].append(plans[other]["ratio"] if other in plans else math.nan)
            line += f"{ratios[other][-1]:>16.3f}{predictions[other][-1]:>11.3f}"
        print(line, flush=True)
    line = f"{'geometric means':<36}{geometric_mean(predictions['plan']):>11.3f}"
    for other in arguments.against:
        line += f"{geometric_mean(ratios[other]):>16.3f}{geometric_mean(predictions[other]):>11.3f}"
    print(line)
    line = f"{'median error of predictions':<36}{median_error(predictions['plan']):>11.3f}"
    for other in arguments.against:
        line += f"{'':>16}{median_error(predictions[other]):>11.3f}"
    print(line)


if __name__ == "__main__":
    sys.exit(main())
