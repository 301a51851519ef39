#!/usr/bin/env python3
"""Trains the small residual network of the demo on Fashion-MNIST and writes, beside this script,
fashion.safetensors (its weights) and expected_classes.bin (PyTorch's class of each of the 10,000 test images).

Needs Debian's python3-torch and dataset-fashion-mnist. Takes some ten minutes on two cores; a killed run, started again
the same way, goes on from its last epoch. The files in the repository were trained with --threads 1.
"""
import argparse
import gzip
import json
import pathlib
import struct
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read_idx(name):
    with gzip.open(DATA / f"{name}.gz") as file:
        _, _, kind, rank = struct.unpack(">BBBB", file.read(4))
        assert kind == 8
        dims = struct.unpack(f">{rank}I", file.read(4 * rank))
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(dims).copy()


class ConvNorm(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.conv1 = nn.Conv2d(c, k, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(k)

    def forward(self, x):
        return self.norm1(self.conv1(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(c)

    def forward(self, x):
        return x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))


class Fashion(nn.Module):
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


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name in sorted(tensors):
        size = tensors[name].numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(tensors):
            file.write(tensors[name].detach().float().contiguous().numpy().tobytes())


def augment(x):
    """A random shift by up to two pixels, and every other image mirrored."""
    dy, dx = (int(v) for v in torch.randint(-2, 3, (2,)))
    x = F.pad(x, (2, 2, 2, 2))[:, :, 2 + dy : 30 + dy, 2 + dx : 30 + dx]
    mirrored = torch.rand(len(x)) < 0.5
    x[mirrored] = x[mirrored].flip(3)
    return x


@torch.no_grad()
def logits_of(model, images):
    model.eval()
    return torch.cat([model(images[i : i + 500]) for i in range(0, len(images), 500)])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--epochs", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--checkpoint", type=pathlib.Path, default=HERE / "checkpoint.pt")
    options = arguments.parse_args()
    recipe = {"epochs": options.epochs, "seed": options.seed}

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    train_x = torch.from_numpy(read_idx("train-images-idx3-ubyte")).float().div(255).unsqueeze(1)
    train_y = torch.from_numpy(read_idx("train-labels-idx1-ubyte")).long()
    test_x = torch.from_numpy(read_idx("t10k-images-idx3-ubyte")).float().div(255).unsqueeze(1)
    test_y = torch.from_numpy(read_idx("t10k-labels-idx1-ubyte")).long()

    model, batch = Fashion().to(memory_format=torch.channels_last), 128
    steps = len(train_x) // batch
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=options.epochs * steps, pct_start=0.25)
    first = 0
    if options.checkpoint.exists():
        state = torch.load(options.checkpoint)
        if state["recipe"] != recipe:
            arguments.error(f"{options.checkpoint} is of another run, {state['recipe']}; remove it or name another")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])
        first = state["epoch"]

    for epoch in range(first, options.epochs):
        model.train()
        start, order, loss_sum = time.time(), torch.randperm(len(train_x)), 0.0
        for step in range(steps):
            rows = order[step * batch : (step + 1) * batch]
            x = augment(train_x[rows]).to(memory_format=torch.channels_last)
            loss = F.cross_entropy(model(x), train_y[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            loss_sum += loss.item()
            if step % 100 == 99:
                done = (step + 1) / steps
                left = (time.time() - start) / done * (options.epochs - epoch - done)
                print(f"epoch {epoch + 1}/{options.epochs} {done:4.0%} loss {loss_sum / (step + 1):.4f}, "
                      f"{left:.0f} s left", flush=True)
        accuracy = (logits_of(model, test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1}/{options.epochs} test accuracy {accuracy:.2%}", flush=True)
        part = options.checkpoint.with_name(options.checkpoint.name + ".part")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
                    "random": torch.get_rng_state(), "epoch": epoch + 1, "recipe": recipe}, part)
        part.replace(options.checkpoint)

    model = model.to(memory_format=torch.contiguous_format)
    weights = {k: v for k, v in model.state_dict().items() if not k.endswith("num_batches_tracked")}
    write_safetensors(HERE / "fashion.safetensors", weights)
    logits = logits_of(model, test_x)
    (HERE / "expected_classes.bin").write_bytes(logits.argmax(1).to(torch.uint8).numpy().tobytes())
    best = logits.topk(2, dim=1).values
    margin = ((best[:, 0] - best[:, 1]) / logits.pow(2).mean().sqrt()).min().item()
    print(f"accuracy {(logits.argmax(1) == test_y).float().mean().item():.2%}, smallest margin between the two best "
          f"classes of an image {margin:.1e} of the logits' RMS")
    options.checkpoint.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
