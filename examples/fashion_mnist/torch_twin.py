#!/usr/bin/env python3
"""The networks of fashion_net.hpp in PyTorch.

    torch_twin.py train NET [--epochs 8] [--seed 1] [--threads 1]
                                    trains as the program fashion_mnist does, with the same recipe
    torch_twin.py classes           writes expected_classes.bin: PyTorch's class of each of the 10,000 test images with the
                                    demo's weights, fashion.safetensors
    torch_twin.py compare FASHION_MNIST --out F.jsonl [--seeds 3] [--epochs 8]
                                    trains both networks with both programs, and prints their accuracies side by side; what
                                    is in F.jsonl already is not trained again

Needs Debian's python3-torch and dataset-fashion-mnist.
"""
import argparse
import gzip
import json
import math
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
BATCH = 128


def read_idx(name):
    with gzip.open(DATA / f"{name}.gz") as file:
        _, _, kind, rank = struct.unpack(">BBBB", file.read(4))
        assert kind == 8
        dims = struct.unpack(f">{rank}I", file.read(4 * rank))
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(dims).copy()


def read_part(part):
    images = torch.from_numpy(read_idx(f"{part}-images-idx3-ubyte")).float().div(255).unsqueeze(1)
    return images, torch.from_numpy(read_idx(f"{part}-labels-idx1-ubyte")).long()


class ConvNorm(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.conv1 = nn.Conv2d(c, k, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(k)

    def forward(self, x):
        return self.norm1(self.conv1(x))


class Block(nn.Module):
    def __init__(self, c, k=None):
        """With k, as many channels of half the size."""
        super().__init__()
        self.conv1 = nn.Conv2d(c, k or c, 3, 2 if k else 1, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(k or c)
        self.conv2 = nn.Conv2d(k or c, k or c, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(k or c)
        if k:
            self.shortcut = nn.Conv2d(c, k, 1, 2, bias=False)
            self.norm3 = nn.BatchNorm2d(k)

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return y + (self.norm3(self.shortcut(x)) if hasattr(self, "shortcut") else x)


class Demo(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(1, 32)
        self.block1 = Block(32)
        self.widen = ConvNorm(32, 64)
        self.block2 = Block(64)
        self.block3 = Block(64)
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        x = F.relu(self.block1(x))
        x = F.relu(self.widen(x))
        x = F.max_pool2d(F.relu(self.block2(x)), 2)
        x = F.relu(self.block3(x))
        return self.classifier(x.mean((2, 3)))


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(1, 16)
        blocks = [(16, None)] * 3 + [(16, 32), (32, None), (32, None), (32, 64), (64, None), (64, None)]
        for i, (c, k) in enumerate(blocks, 1):
            setattr(self, f"block{i}", Block(c, k))
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for i in range(1, 10):
            x = F.relu(getattr(self, f"block{i}")(x))
        return self.classifier(x.mean((2, 3)))


NETS = {"demo": Demo, "resnet20": ResNet20}


def augment(x, margin=2):
    """Each image shifted by up to two pixels, and every other one mirrored."""
    padded = F.pad(x, (margin,) * 4)
    y, places = torch.empty_like(x), torch.randint((2 * margin + 1) ** 2, (len(x),))
    for place in places.unique().tolist():
        top, left = divmod(place, 2 * margin + 1)
        chosen = places == place
        y[chosen] = padded[chosen][:, :, top : top + x.shape[2], left : left + x.shape[3]]
    mirrored = torch.rand(len(x)) < 0.5
    y[mirrored] = y[mirrored].flip(3)
    return y


@torch.no_grad()
def logits_of(model, images):
    model.eval()
    return torch.cat([model(images[i : i + 500]) for i in range(0, len(images), 500)])


def train(net, epochs, seed, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    (train_x, train_y), (test_x, test_y) = read_part("train"), read_part("t10k")
    model = NETS[net]().to(memory_format=torch.channels_last)
    per_epoch = len(train_x) // BATCH
    total, warm_up = epochs * per_epoch, 0.25 * epochs * per_epoch
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (1 + math.cos(math.pi * step / total)) / 2 * min(1, (step + 1) / warm_up))
    for epoch in range(epochs):
        model.train()
        start, order, loss_sum = time.time(), torch.randperm(len(train_x)), 0.0
        for step in range(per_epoch):
            rows = order[step * BATCH : (step + 1) * BATCH]
            x = augment(train_x[rows]).to(memory_format=torch.channels_last)
            loss = F.cross_entropy(model(x), train_y[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            loss_sum += loss.item()
        speed = per_epoch * BATCH / (time.time() - start)
        accuracy = (logits_of(model, test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} of {epochs}: loss {loss_sum / per_epoch:.4f}, test accuracy {accuracy:.2%}, "
              f"{speed:.0f} images/s", flush=True)


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[8 + size + begin : 8 + size + end], dtype="<f4")
        tensors[name] = torch.from_numpy(values.copy()).reshape(entry["shape"])
    return tensors


def classes():
    model = Demo()
    missing = model.load_state_dict(read_safetensors(HERE / "fashion.safetensors"), strict=False)
    assert not missing.unexpected_keys and all(key.endswith("num_batches_tracked") for key in missing.missing_keys)
    test_x, test_y = read_part("t10k")
    logits = logits_of(model, test_x)
    (HERE / "expected_classes.bin").write_bytes(logits.argmax(1).to(torch.uint8).numpy().tobytes())
    best = logits.topk(2, dim=1).values
    margin = ((best[:, 0] - best[:, 1]) / logits.pow(2).mean().sqrt()).min().item()
    print(f"accuracy {(logits.argmax(1) == test_y).float().mean().item():.2%}, smallest margin between the two best "
          f"classes of an image {margin:.1e} of the logits' RMS")


def compare(program, out, seeds, epochs):
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    for net in NETS:
        for seed in range(1, seeds + 1):
            commands = {"primsel": [program, net, epochs, seed, 1],
                        "PyTorch": [sys.executable, __file__, "train", net, "--epochs", epochs, "--seed", seed]}
            for who, command in commands.items():
                key = {"net": net, "epochs": epochs, "seed": seed, "who": who}
                if any(row.items() >= key.items() for row in rows):
                    continue
                text = subprocess.run(map(str, command), check=True, capture_output=True, text=True).stdout
                accuracy = float(re.findall(r"test accuracy ([\d.]+) ?%", text)[-1])
                rows.append({**key, "accuracy": accuracy})
                with open(out, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print(rows[-1], flush=True)
    print("| | primsel | mean | PyTorch | mean | apart |\n|---|---|---|---|---|---|")
    for net in NETS:
        by = {who: [row["accuracy"] for row in rows if (row["net"], row["epochs"], row["who"]) == (net, epochs, who)]
              for who in ("primsel", "PyTorch")}
        means = {who: statistics.mean(values) for who, values in by.items()}
        cells = [cell for who in by for cell in (", ".join(f"{v:.2f}" for v in by[who]), f"{means[who]:.2f}")]
        print(f"| {net}, {epochs} epochs | {' | '.join(cells)} | {means['primsel'] - means['PyTorch']:+.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train")
    one.add_argument("net", choices=NETS)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--threads", type=int, default=1)
    commands.add_parser("classes")
    both = commands.add_parser("compare")
    both.add_argument("program")
    both.add_argument("--out", type=pathlib.Path, required=True)
    both.add_argument("--seeds", type=int, default=3)
    for command in (one, both):
        command.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    if options.command == "train":
        train(options.net, options.epochs, options.seed, options.threads)
    elif options.command == "classes":
        classes()
    else:
        compare(options.program, options.out, options.seeds, options.epochs)


if __name__ == "__main__":
    main()
