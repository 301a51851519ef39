#!/usr/bin/env python3
"""Pruned by filters, by multiply-adds, and by predicted milliseconds: what accuracy is left at the same latency?

    by_what.py PRIMSEL FOLDER [--shares 0.8,0.65,0.5] [--seeds 1,2,3] [--epochs N] [--rate R] [--threads N]

FOLDER is one of bench/reproduce/fay-hunt2021/reproduce.py, with its trained ResNet-56 and images. Filters are ranked by L1 and taken
from any layer by `primsel prune --filters | --flops | --latency`, as much of each as leaves the same share of the predicted time.
The networks are retrained alike, once for each seed, and judged by the 10,000 test images. At the end: means over the seeds, and the
predicted time of each at accuracies that all three reach, between the points on a straight line. What was done is in
FOLDER/by_what.jsonl and not done again.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

METHODS = ("filters", "flops", "latency")


class Pruning:
    def __init__(self, options):
        self.options, self.folder = options, options.folder
        self.log = self.folder / "by_what.jsonl"
        self.weights = self.folder / "resnet56.safetensors"
        self.training = sorted(self.folder.glob("retrain*_x.npy"))
        if not self.weights.exists() or not self.training:
            sys.exit(f"{self.folder}: has no trained network; bench/reproduce/fay-hunt2021/reproduce.py makes it")

    def json(self, *arguments):
        result = subprocess.run([self.options.primsel, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, check=True)
        return [json.loads(line) for line in result.stdout.splitlines()] if arguments[0] == "train" else json.loads(result.stdout)

    def prune(self, method, share, *out):
        return self.json("prune", "resnet56", "--weights", self.weights, f"--{method}", f"{share:.6f}", *out)

    def share_for(self, method, wanted):
        """Of filters or multiply-adds, so that this share of the predicted time is left: by bisection."""
        low, high = 0.02, 0.999
        for _ in range(12):
            middle = (low + high) / 2
            found = self.prune(method, middle)
            if found["thinned"]["predicted_ms"] > wanted * found["whole"]["predicted_ms"]:
                high = middle
            else:
                low = middle
        return low

    def retrained(self, network, seed):
        images = self.training[-1]
        lines = self.json("train", network, "--images", images, "--labels", str(images).replace("_x", "_y"), "--validation-images",
                          self.folder / "test_x.npy", "--validation-labels", self.folder / "test_y.npy", "--epochs",
                          self.options.epochs, "--learning-rate", self.options.rate, "--momentum", 0.9, "--weight-decay", 1e-4,
                          "--seed", seed, "--threads", self.options.threads)
        return lines[-1]["accuracy"]

    def run(self):
        known = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        for seed in map(int, self.options.seeds.split(",")):
            for wanted in map(float, self.options.shares.split(",")):
                for method in METHODS:
                    if any((row["wanted"], row["method"], row["seed"]) == (wanted, method, seed) for row in known):
                        continue
                    thin = self.folder / f"by_{method}.onnx"
                    share = wanted if method == "latency" else self.share_for(method, wanted)
                    found = self.prune(method, share, "--out", thin)
                    row = {"wanted": wanted, "method": method, "seed": seed, "whole": found["whole"], "thinned": found["thinned"],
                           "accuracy": self.retrained(thin, seed)}
                    known.append(row)
                    with open(self.log, "a", encoding="utf-8") as log:
                        log.write(json.dumps(row) + "\n")
                    self.print(row)
        return known

    @staticmethod
    def left(row, what):
        return row["thinned"][what] / row["whole"][what]

    def print(self, row):
        print(f"{row['method']:8} predicted {self.left(row, 'predicted_ms'):6.1%} of the time, {self.left(row, 'multiply_adds'):6.1%} of "
              f"multiply-adds, {self.left(row, 'filters'):6.1%} of filters: accuracy {row['accuracy']:.2%}", flush=True)


def time_at(curve, accuracy):
    """On the straight lines between points (accuracy, share of the time), the fastest that is as accurate."""
    found = [time for at, time in curve if at >= accuracy]
    for (a, s), (b, t) in zip(curve, curve[1:]):
        if min(a, b) <= accuracy <= max(a, b) and a != b:
            found.append(s + (t - s) * (accuracy - a) / (b - a))
    return min(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shares", default="0.8,0.65,0.5", help="of the predicted time that are left")
    parser.add_argument("--seeds", default="1", help="of retraining")
    parser.add_argument("--epochs", type=int, default=2, help="of retraining")
    parser.add_argument("--rate", type=float, default=0.05, help="the learning rate of retraining")
    parser.add_argument("--threads", type=int, default=1)
    pruning = Pruning(parser.parse_args())
    rows = pruning.run()
    print(f"\n{'method':8}{'time left':>10}{'accuracy':>10}{'seeds':>7}")
    curves = {}
    for method in METHODS:
        points = []
        for wanted in sorted({row["wanted"] for row in rows}):
            of = [row for row in rows if row["method"] == method and row["wanted"] == wanted]
            points.append((statistics.mean(row["accuracy"] for row in of), pruning.left(of[0], "predicted_ms")))
            print(f"{method:8}{points[-1][1]:>10.1%}{points[-1][0]:>10.2%}{len(of):>7}")
        curves[method] = sorted(points, key=lambda point: point[1])
    least = max(min(accuracy for accuracy, _ in curve) for curve in curves.values())
    most = min(max(accuracy for accuracy, _ in curve) for curve in curves.values())
    print(f"\n{'accuracy':>10}" + "".join(f"{method:>10}" for method in METHODS))
    for accuracy in (least, (least + most) / 2, most):
        print(f"{accuracy:>10.2%}" + "".join(f"{time_at(curves[method], accuracy):>10.1%}" for method in METHODS))


if __name__ == "__main__":
    main()
