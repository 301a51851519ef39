#!/usr/bin/env python3
"""ResNet-56 pruned in the groups of Fay-Hunt 2021, table 2, by three sweeps: for latency, for accuracy, for both.

    reproduce.py <primsel> <folder> [--cifar FOLDER] [--epochs N] [--training N] [--trials N] [--retraining N] [--epochs-after N] [--rate R]
                 [--threads N]

The images are Fashion-MNIST (Debian: dataset-fashion-mnist), padded to 3x32x32, or with --cifar those of a folder that
bench/reproduce/xun2019/cifar10.py wrote. The network is trained here; trials are judged by 2,000 images that were not trained on,
the figures at the end are of the 10,000 test images. Latency is predicted in milliseconds for every trial and, at the end, measured for the whole network and the winner. Everything is kept in the
folder: killed and called again, it goes on. The page is <folder>/report.html.
"""
import argparse
import gzip
import html
import json
import pathlib
import re
import struct
import subprocess
import sys

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")
HELD_BACK = 2000
IMAGE = 3 * 32 * 32  # bytes
GROUPS = {
    "filter_pruner_layer_1": [f"module.layer1.{i}.conv1.weight" for i in range(9)],
    "filter_pruner_layer_2": [f"module.layer2.{i}.conv1.weight" for i in (1, 2, 3, 4, 6, 7)],
    "filter_pruner_layer_3.1": ["module.layer3.1.conv1.weight"],
    "filter_pruner_layer_3.2": [f"module.layer3.{i}.conv1.weight" for i in (2, 3, 5, 6, 7, 8)],
}
FIRST_CONVOLUTIONS = [f"layer{stage}.{block}.conv1" for stage in (1, 2, 3) for block in range(9)]
SPARSITIES = (0.3, 0.5, 0.7, 0.9)
GOALS = {"latency": "minimize", "top1": "maximize", "hybrid": "minimize"}


def write_npy(path, dims, data, code):
    shape = "(" + "".join(f"{dim}, " for dim in dims) + ")"
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def read_idx(name):
    matches = sorted(SOURCE.glob(name + "*"))
    if not matches:
        sys.exit(f"{SOURCE}/{name}: is not there; it is of Debian's package dataset-fashion-mnist")
    data = gzip.decompress(matches[0].read_bytes()) if matches[0].suffix == ".gz" else matches[0].read_bytes()
    return data[16 if "images" in name else 8:]


def padded(images):
    """28x28 in the middle of 32x32, three times."""
    row, out = bytes(32), bytearray()
    for at in range(0, len(images), 784):
        plane = row * 2 + b"".join(b"\0\0" + images[at + y * 28:at + y * 28 + 28] + b"\0\0" for y in range(28)) + row * 2
        out += plane * 3
    return bytes(out)


def fashion(part):
    """The images, of 3 x 32 x 32 bytes each, and the labels of "train" or "test"."""
    name = "t10k" if part == "test" else part
    return padded(read_idx(f"{name}-images-idx3-ubyte")), read_idx(f"{name}-labels-idx1-ubyte")


def cifar(folder, part):
    """The same of CIFAR-10's binary version."""
    names = ["test_batch.bin"] if part == "test" else [f"data_batch_{i}.bin" for i in range(1, 6)]
    data = b"".join((folder / name).read_bytes() for name in names)
    starts = range(0, len(data), 1 + IMAGE)
    return b"".join(data[at + 1:at + 1 + IMAGE] for at in starts), bytes(data[at] for at in starts)


def write_set(folder, name, images, labels):
    files = folder / f"{name}_x.npy", folder / f"{name}_y.npy"
    if not files[1].exists():
        write_npy(files[0], [len(labels), 3, 32, 32], images, "|u1")
        write_npy(files[1], [len(labels)], b"".join(struct.pack("<q", label) for label in labels), "<i8")
    return files


class Reproduction:
    def __init__(self, options):
        self.options, self.folder = options, options.folder
        self.importance = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        read = fashion if options.cifar is None else lambda part: cifar(options.cifar, part)
        images, labels = read("train")
        count, few = options.training, options.retraining
        self.training = write_set(self.folder, f"train{count}", images[:count * IMAGE], labels[:count])
        self.retraining = write_set(self.folder, f"retrain{few}", images[:few * IMAGE], labels[:few])
        self.judging = write_set(self.folder, "judge", images[-HELD_BACK * IMAGE:], labels[-HELD_BACK:])
        self.few = write_set(self.folder, "few", images[-500 * IMAGE:], labels[-500:])
        self.test = write_set(self.folder, "test", *read("test"))
        self.weights = self.folder / "resnet56.safetensors"
        self.schedule = self.folder / "schedule.json"
        self.schedule.write_text(json.dumps({
            "pruners": {name: {"class": "L1RankedStructureParameterPruner", "group_type": "Filters", "desired_sparsity": 0.5,
                               "weights": weights} for name, weights in GROUPS.items()},
            "policies": [{"pruner": {"instance_name": name, "epochs": [0]}} for name in GROUPS]}, indent=1))

    def call(self, *arguments):
        result = subprocess.run([self.options.primsel, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"primsel {arguments[0]} failed")
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.call(*arguments, "--json"))

    def train(self):
        done = self.folder / "trained"
        if done.exists():
            return
        self.call("train", "resnet56", "--images", self.training[0], "--labels", self.training[1], "--validation-images",
                  self.judging[0], "--validation-labels", self.judging[1], "--batch", 64, "--epochs", self.options.epochs,
                  "--learning-rate", 0.1, "--momentum", 0.9, "--weight-decay", 1e-4, "--warm-up", 0.2, "--threads",
                  self.options.threads, "--checkpoint", self.folder / "checkpoint.safetensors", "--checkpoint-every", 100, "--out",
                  self.weights)
        done.write_text("")

    def sensitivity(self):
        """The first convolution of each block: the paper's group, ours, and the accuracy at each sparsity, not retrained."""
        found = self.json("sensitivity", "resnet56", "--weights", self.weights, "--images", self.few[0], "--labels", self.few[1],
                          "--layers", "layer*.conv1", "--sparsities", ",".join(map(str, SPARSITIES)), "--out",
                          self.folder / "sensitivity.csv", "--threads", self.options.threads)
        papers = {weight.removeprefix("module.").removesuffix(".weight"): name.removeprefix("filter_pruner_")
                  for name, weights in GROUPS.items() for weight in weights}
        ours = {layer: i + 1 for i, group in enumerate(found["groups"]) for layer in group}
        accuracies = {(point["layer"], point["sparsity"]): point["accuracy"] for point in found["points"]}
        return [[layer, papers.get(layer, "not pruned"), ours[layer], *(accuracies[layer, share] for share in SPARSITIES)]
                for layer in FIRST_CONVOLUTIONS]

    def sweep(self, metric, trials):
        file, log = self.folder / f"{metric}.json", self.folder / f"{metric}.jsonl"
        file.write_text(json.dumps({
            "method": "bayes", "metric": {"name": metric, "goal": GOALS[metric]}, "budget": {"trials": trials},
            "parameters": {f"{name}_desired_sparsity": {"min": 0.01, "max": 0.99} for name in GROUPS}}, indent=1))
        judged = ["--images", self.judging[0], "--labels", self.judging[1]]
        retrained = ["--training-images", self.retraining[0], "--training-labels", self.retraining[1], "--epochs",
                     self.options.epochs_after, "--learning-rate", self.options.rate]
        out = ["--out", self.folder / "winner.onnx"] if metric == "hybrid" else []
        self.importance[metric] = self.json("sweep", file, "resnet56", "--weights", self.weights, "--pruning", self.schedule,
                                            "--log", log, "--threads", self.options.threads, *judged, *retrained,
                                            *out)["importance"]
        self.call("report", log, "--title", f"ResNet-56: {metric}", "--out", self.folder / f"{metric}.html")
        return [json.loads(line) for line in log.read_text().splitlines()[1:]]

    def front(self, trials):
        """(predicted ms, accuracy) of the trials that no other surpasses in both, by time."""
        points = {(trial["metrics"]["latency"], trial["metrics"]["top1"]) for trial in trials
                  if trial["metrics"].get("top1") is not None}
        front = []
        for point in sorted(points, key=lambda point: (point[0], -point[1])):
            if not front or point[1] > front[-1][1]:
                front.append(point)
        return front

    def print_experiments(self, trials):
        """The three experiments side by side: their fronts, and which group decides what."""
        fronts = {metric: self.front(each) for metric, each in trials.items()}
        print("fronts: predicted ms, accuracy on the judging images")
        print("  ".join(f"{metric:18}" for metric in fronts))
        for i in range(max(map(len, fronts.values()))):
            print("  ".join(f"{f'{front[i][0]:.3f}  {100 * front[i][1]:.2f} %' if i < len(front) else '':18}"
                            for front in fronts.values()))
        print("importance of each group: of the sweep for latency, top1, hybrid, by the metric")
        for metric in GOALS:
            for name in GROUPS:
                shares = [self.importance[sweep].get(metric, {}).get(f"{name}_desired_sparsity") for sweep in GOALS]
                cells = "".join(f"{'' if share is None else f'{share:.2f}':>8}" for share in shares)
                print(f"{metric:10}{name.removeprefix('filter_pruner_'):12}{cells}")

    def judge(self, *network):
        return self.json("accuracy", *network, "--images", self.test[0], "--labels", self.test[1], "--threads",
                         self.options.threads)["accuracy"]

    def measured(self, *network):
        """Milliseconds of a run on one thread, the least of three medians."""
        return min(self.json("run", *network, "--repeat", 200)["median_ms"] for _ in range(3))

    def write(self, trials):
        normalise = self.normalisation()
        whole, winner = ["resnet56", "--weights", self.weights], [self.folder / "winner.onnx"]
        facts = {
            "test accuracy, whole": self.judge(*whole),
            "test accuracy, winner of hybrid": self.judge(*winner, *normalise),
            "measured ms, whole": self.measured(*whole),
            "measured ms, winner of hybrid": self.measured(*winner),
            "predicted ms, whole": self.json("plan", *whole)["predicted_ms"],
            "predicted ms, winner of hybrid": self.json("plan", *winner)["predicted_ms"],
        }
        facts["measured speed-up"] = facts["measured ms, whole"] / facts["measured ms, winner of hybrid"]
        facts["predicted speed-up"] = facts["predicted ms, whole"] / facts["predicted ms, winner of hybrid"]
        (self.folder / "facts.json").write_text(json.dumps(facts, indent=1))
        for name, value in facts.items():
            print(f"{name:34} {value:.4f}")
        self.print_experiments(trials)
        sensitivity = self.sensitivity()
        print(f"{'layer':16}{'paper':>12}{'here':>6}" + "".join(f"{share:>8.0%}" for share in SPARSITIES))
        for layer, paper, ours, *accuracies in sensitivity:
            print(f"{layer:16}{paper:>12}{ours:6}" + "".join(f"{accuracy:8.3f}" for accuracy in accuracies))
        self.write_page(facts, trials, sensitivity)

    def normalisation(self):
        """What the images were normalised by, which an ONNX file does not say."""
        data = self.weights.read_bytes()
        about = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]
        return ["--mean", about["mean of the images"].replace(" ", ","), "--std", about["deviation of the images"].replace(" ", ",")]

    def write_page(self, facts, trials, sensitivity):
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value:.4f}</td></tr>\n" for name, value in facts.items())
        layers = "".join("<tr>" + "".join(f"<td>{cell if isinstance(cell, (str, int)) else f'{cell:.3f}'}</td>" for cell in row) +
                         "</tr>\n" for row in sensitivity)
        shares = "".join(f"<th>{share:.0%}</th>" for share in SPARSITIES)
        front = [f"<tr><td>{latency:.3f}</td><td>{100 * top1:.2f} %</td></tr>\n"
                 for latency, top1 in self.front([trial for each in trials.values() for trial in each])]
        parts = []
        for metric in trials:
            page = (self.folder / f"{metric}.html").read_text()
            parts.append(re.search(r"<body>(.*)</body>", page, re.DOTALL).group(1))
        style = re.search(r"<style>.*?</style>", page, re.DOTALL).group(0)
        (self.folder / "report.html").write_text(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head><meta charset=\"utf-8\"/>"
            f"<title>ResNet-56, pruned by three sweeps</title>{style}</head>\n<body>\n<h1>ResNet-56, pruned by three sweeps</h1>\n"
            f"<table>\n{rows}</table>\n<h2>Groups of layers that bear pruning alike: the paper's, and ours by the accuracies of 500 "
            f"images without retraining</h2>\n<table>\n<tr><th></th><th>paper</th><th>here</th>{shares}</tr>\n{layers}</table>\n<h2>Front of all trials: predicted ms, accuracy on {HELD_BACK} images</h2>\n<table>\n"
            f"{''.join(front)}</table>\n{''.join(parts)}</body>\n</html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cifar", type=pathlib.Path, help="train and judge with CIFAR-10 of this folder")
    for name, default, what in (("epochs", 2, "of training"), ("training", 20000, "images to train with"),
                                ("trials", 24, "of each sweep"), ("retraining", 10000, "images to retrain with"),
                                ("epochs-after", 1, "of retraining"),
                                ("threads", 1, "to train and judge on")):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default {default})")
    parser.add_argument("--rate", type=float, default=0.05, help="the learning rate of retraining (default 0.05)")
    options = parser.parse_args()
    reproduction = Reproduction(options)
    reproduction.train()
    trials = {metric: reproduction.sweep(metric, options.trials) for metric in GOALS}
    reproduction.write(trials)


if __name__ == "__main__":
    main()
