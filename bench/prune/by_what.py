#!/usr/bin/env python3
"""Pruned by filters, by multiply-adds, and by predicted milliseconds: what accuracy is left at the same latency?

    by_what.py PRIMSEL FOLDER [--network resnet56|mobilenet_v2|...] [--shares 0.8,0.65,0.5,0.4] [--seeds 1,2,3] [--sensitivity]
               [--judging N] [--training N] [--training-epochs N] [--retraining N] [--epochs N] [--rate R] [--layers] [--threads N]

The images are Fashion-MNIST (Debian: dataset-fashion-mnist), padded to 3x32x32. The network is trained first. Filters are ranked by
L1 and taken from any layer by `primsel prune --filters | --flops | --latency`, as much of each as leaves the same share of the predicted
time; with --sensitivity all three are told what `primsel sensitivity` finds. The networks are retrained alike, once for each seed, and
judged by the 10,000 test images. At the end: means over the seeds with their standard errors, how far predicted time is ahead of the
others with the same seeds, and the predicted time of each at accuracies that all three reach, between the points on a straight line.
All of it is kept in FOLDER and not done again.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reproduce" / "fay-hunt2021"))
from reproduce import read_idx, write_set  # noqa: E402

METHODS = ("filters", "flops", "latency")


class Pruning:
    def __init__(self, options):
        self.options, self.folder, self.network = options, options.folder, options.network
        self.folder.mkdir(parents=True, exist_ok=True)
        images, labels = read_idx("train-images-idx3-ubyte"), read_idx("train-labels-idx1-ubyte")
        first = lambda count: (images[:count * 784], labels[:count])
        self.training = write_set(self.folder, f"train{options.training}", *first(options.training))
        self.retraining = write_set(self.folder, f"retrain{options.retraining}", *first(options.retraining))
        self.judging = write_set(self.folder, f"judge{options.judging}", images[-options.judging * 784:], labels[-options.judging:])
        self.test = write_set(self.folder, "test", read_idx("t10k-images-idx3-ubyte"), read_idx("t10k-labels-idx1-ubyte"))
        name = self.network + ("-sensitivity" if options.sensitivity else "")
        self.log = self.folder / f"by_what-{name}.jsonl"
        self.thinned = self.folder / f"thinned-{name}"
        self.thinned.mkdir(exist_ok=True)
        self.weights = self.folder / f"{self.network}.safetensors"
        self.found = self.folder / f"sensitivity-{self.network}.csv"
        self.whole = [self.network, "--size", "32x32", "--weights", self.weights]
        self.threads = ["--threads", options.threads]

    def call(self, *arguments):
        result = subprocess.run([self.options.primsel, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.call(*arguments, "--json"))

    def train(self, network, images, epochs, rate, *more):
        """What is known of the last epoch. The learning rate falls to nothing by a cosine."""
        lines = self.call("train", network, "--images", images[0], "--labels", images[1], "--epochs", epochs, "--learning-rate", rate,
                          "--momentum", 0.9, "--weight-decay", 1e-4, *self.threads, *more, "--json")
        return json.loads(lines.splitlines()[-1])

    def prepare(self):
        if not self.weights.exists():
            unfinished = self.folder / f"{self.network}-unfinished.safetensors"
            self.train(self.network, self.training, self.options.training_epochs, self.options.training_rate, "--size", "32x32",
                       "--out", unfinished, "--warm-up", 0.2, "--checkpoint", self.folder / f"{self.network}-checkpoint.safetensors",
                       "--checkpoint-every", 100)
            unfinished.rename(self.weights)
        if self.options.sensitivity:
            self.call("sensitivity", *self.whole, "--images", self.judging[0], "--labels", self.judging[1], "--sparsities",
                      "0.25,0.5,0.75,0.9", "--out", self.found, *self.threads)
        found = self.json("accuracy", *self.whole, "--images", self.test[0], "--labels", self.test[1], *self.threads)
        print(f"{self.network}: accuracy {found['accuracy']:.2%}", flush=True)

    def prune(self, method, share, *out):
        found = ["--sensitivity", self.found] if self.options.sensitivity else []
        return self.json("prune", *self.whole, f"--{method}", f"{share:.6f}", *found, *out)

    def share_for(self, method, wanted):
        """Of filters or multiply-adds, so that this share of the predicted time is left: by bisection."""
        low, high = 0.02, 0.999
        for _ in range(12):
            middle = (low + high) / 2
            try:
                found = self.prune(method, middle)
                slow = found["thinned"]["predicted_ms"] > wanted * found["whole"]["predicted_ms"]
            except subprocess.CalledProcessError:  # not so little
                slow = False
            if slow:
                high = middle
            else:
                low = middle
        return low

    def thin(self, method, wanted):
        """The network, and what `primsel prune` says of it."""
        network, about = (self.thinned / f"{method}-{wanted}.{kind}" for kind in ("onnx", "json"))
        if not about.exists():
            share = wanted if method == "latency" else self.share_for(method, wanted)
            about.write_text(json.dumps(self.prune(method, share, "--out", network)))
        return network, json.loads(about.read_text())

    def retrained(self, network, seed):
        return self.train(network, self.retraining, self.options.epochs, self.options.rate, "--seed", seed, "--validation-images",
                          self.test[0], "--validation-labels", self.test[1])["accuracy"]

    def run(self):
        self.prepare()
        known = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        for seed in map(int, self.options.seeds.split(",")):
            for wanted in map(float, self.options.shares.split(",")):
                for method in METHODS:
                    if any((row["wanted"], row["method"], row["seed"]) == (wanted, method, seed) for row in known):
                        continue
                    network, found = self.thin(method, wanted)
                    row = {"wanted": wanted, "method": method, "seed": seed, "whole": found["whole"], "thinned": found["thinned"],
                           "accuracy": self.retrained(network, seed)}
                    known.append(row)
                    with open(self.log, "a", encoding="utf-8") as log:
                        log.write(json.dumps(row) + "\n")
                    print(f"{method:8} predicted {left(row, 'predicted_ms'):6.1%} of the time, {left(row, 'multiply_adds'):6.1%} of "
                          f"multiply-adds, {left(row, 'filters'):6.1%} of filters, seed {seed}: accuracy {row['accuracy']:.2%}", flush=True)
        return known

    def print_layers(self, wanted):
        tables = [self.thin(method, wanted)[1]["layers"] for method in METHODS]
        print(f"\nfilters left at {wanted:.0%} of the predicted time, by {', '.join(METHODS)}")
        for layers in zip(*tables):
            if any(layer["left"] < layer["filters"] for layer in layers):
                print(f"{layers[0]['name']:24}{layers[0]['filters']:>6}" + "".join(f"{layer['left']:>6}" for layer in layers))


def left(row, what):
    return row["thinned"][what] / row["whole"][what]


def curve_of(rows):
    """(accuracy, share of the time) of one method, the mean over its seeds, the fastest first."""
    points = []
    for wanted in {row["wanted"] for row in rows}:
        of = [row for row in rows if row["wanted"] == wanted]
        points.append((statistics.mean(row["accuracy"] for row in of), left(of[0], "predicted_ms")))
    return sorted(points, key=lambda point: point[1])


def time_at(curve, accuracy):
    """On the straight lines between points, the fastest that is as accurate; none where there is no such."""
    found = [time for at, time in curve if at >= accuracy]
    for (a, s), (b, t) in zip(curve, curve[1:]):
        if min(a, b) <= accuracy <= max(a, b) and a != b:
            found.append(s + (t - s) * (accuracy - a) / (b - a))
    return min(found, default=math.nan)


def time_with_error(rows, accuracy):
    """And its standard error, from the times without one seed each (the jackknife)."""
    seeds = sorted({row["seed"] for row in rows})
    time = time_at(curve_of(rows), accuracy)
    if len(seeds) < 2:
        return time, math.nan
    without = [time_at(curve_of([row for row in rows if row["seed"] != seed]), accuracy) for seed in seeds]
    return time, math.sqrt((len(seeds) - 1) * statistics.pvariance(without))


def mean_and_error(values):
    """In percent, with the standard error of the mean."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{100 * statistics.mean(values):>11.2f} +-{100 * error:5.2f}"


def print_ahead(rows):
    """By how much the accuracy by predicted time is ahead of the others', of the same seeds."""
    accuracy = {(row["method"], row["wanted"], row["seed"]): row["accuracy"] for row in rows}
    print(f"\n{'time left':>9}" + "".join(f"{'ahead of ' + method:>18}" for method in METHODS[:2]) + "   (accuracy by predicted time)")
    for wanted in sorted({row["wanted"] for row in rows}, reverse=True):
        seeds = [seed for method, at, seed in accuracy if (method, at) == ("latency", wanted)]
        apart = [[accuracy["latency", wanted, seed] - accuracy[method, wanted, seed] for seed in seeds] for method in METHODS[:2]]
        if seeds:
            print(f"{wanted:>9.0%}" + "".join(mean_and_error(each) for each in apart))


def report(rows):
    print(f"\n{'time left':>9}" + "".join(f"{method:>18}" for method in METHODS))
    for wanted in sorted({row["wanted"] for row in rows}, reverse=True):
        line = f"{wanted:>9.0%}"
        for method in METHODS:
            of = [row["accuracy"] for row in rows if (row["method"], row["wanted"]) == (method, wanted)]
            line += mean_and_error(of) if of else f"{'':18}"
        print(line)
    print_ahead(rows)
    of_method = {method: [row for row in rows if row["method"] == method] for method in METHODS}
    curves = [curve_of(of) for of in of_method.values()]
    least = max(min(accuracy for accuracy, _ in curve) for curve in curves)
    most = min(max(accuracy for accuracy, _ in curve) for curve in curves)
    print(f"\n{'accuracy':>9}" + "".join(f"{method:>18}" for method in METHODS) + "   (predicted time at the same accuracy)")
    for accuracy in (most, (least + most) / 2, least):
        times = [time_with_error(of, accuracy) for of in of_method.values()]
        print(f"{accuracy:>9.2%}" + "".join(f"{100 * time:>11.1f} +-{100 * error:5.1f}" for time, error in times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--network", default="resnet56", help="one of `primsel list networks` (default resnet56)")
    parser.add_argument("--shares", default="0.8,0.65,0.5,0.4", help="of the predicted time that are left")
    parser.add_argument("--seeds", default="1", help="of retraining")
    parser.add_argument("--sensitivity", action="store_true", help="judge what is lost by measured sensitivity")
    parser.add_argument("--judging", type=int, default=1000, help="images that sensitivity is judged by, none of them trained with")
    parser.add_argument("--training", type=int, default=20000, help="images to train with")
    parser.add_argument("--training-epochs", type=int, default=2)
    parser.add_argument("--training-rate", type=float, default=0.1)
    parser.add_argument("--retraining", type=int, default=10000, help="images to retrain with")
    parser.add_argument("--epochs", type=int, default=2, help="of retraining")
    parser.add_argument("--rate", type=float, default=0.05, help="the learning rate of retraining")
    parser.add_argument("--layers", action="store_true", help="print which filters are left")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    pruning = Pruning(options)
    rows = pruning.run()
    report(rows)
    if options.layers:
        for wanted in map(float, options.shares.split(",")):
            pruning.print_layers(wanted)


if __name__ == "__main__":
    main()
