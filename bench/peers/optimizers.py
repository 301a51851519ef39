#!/usr/bin/env python3
"""optimizers.py PRIMSEL: twenty steps of training by primsel and by PyTorch, for each optimiser and schedule.

PRIMSEL is the command line's program. Both begin with the same weights of a small network (a convolution, tanh, two dense layers)
and take all images in each step, so that an epoch is a step. Prints, for each optimiser and schedule, the greatest difference of a
weight after the last step, relative to the greatest weight of its tensor. Schedules whose names begin with "file" are those of a
file for --pruning, and go on beyond T_max. Exit status 1 when a difference is above BOUND: both compute in float32, in other
orders. Needs PyTorch.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

BOUND, STEPS, RATE = 1e-4, 20, 0.02

OPTIMIZERS = {  # by name: options of primsel, and PyTorch's
    "sgd": ([], torch.optim.SGD, {}),
    "sgd, decay": (["--weight-decay", 0.01], torch.optim.SGD, {"weight_decay": 0.01}),
    "momentum": (["--momentum", 0.9], torch.optim.SGD, {"momentum": 0.9}),
    "nesterov, decay": (["--momentum", 0.9, "--nesterov", "--weight-decay", 0.01], torch.optim.SGD,
                        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "adam": (["--optimizer", "adam"], torch.optim.Adam, {}),
    "adam, decay": (["--optimizer", "adam", "--weight-decay", 0.01], torch.optim.Adam, {"weight_decay": 0.01}),
    "adamw, decay": (["--optimizer", "adamw", "--weight-decay", 0.01], torch.optim.AdamW, {"weight_decay": 0.01}),
}
RATES = torch.optim.lr_scheduler


def warm(step):
    return min(1, (step + 1) / 5) * (1 + math.cos(math.pi * step / STEPS)) / 2


SCHEDULES = {  # by name: options of primsel or the class of a file, and PyTorch's
    "constant": (["--schedule", "constant"], lambda opt: RATES.LambdaLR(opt, lambda step: 1)),
    "cosine": (["--schedule", "cosine"], lambda opt: RATES.CosineAnnealingLR(opt, STEPS)),
    "step": (["--schedule", "step", "--decay-every", 5, "--decay", 0.5], lambda opt: RATES.StepLR(opt, 5, 0.5)),
    "exponential": (["--schedule", "exponential", "--decay", 0.9], lambda opt: RATES.ExponentialLR(opt, 0.9)),
    "warm-up": (["--schedule", "cosine", "--warm-up", 5], lambda opt: RATES.LambdaLR(opt, warm)),
    "file: exponential": ({"class": "ExponentialLR", "gamma": 0.9}, lambda opt: RATES.ExponentialLR(opt, 0.9)),
    "file: step": ({"class": "StepLR", "step_size": 5, "gamma": 0.5}, lambda opt: RATES.StepLR(opt, 5, 0.5)),
    "file: milestones": ({"class": "MultiStepLR", "milestones": [3, 9], "gamma": 0.5},
                         lambda opt: RATES.MultiStepLR(opt, [3, 9], 0.5)),
    "file: cosine": ({"class": "CosineAnnealingLR", "T_max": 6}, lambda opt: RATES.CosineAnnealingLR(opt, 6)),
    "file: eta_min": ({"class": "CosineAnnealingLR", "T_max": 6, "eta_min": 0.005},
                      lambda opt: RATES.CosineAnnealingLR(opt, 6, 0.005)),
}


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Tanh(), torch.nn.Flatten(),
                               torch.nn.Linear(8 * 8 * 8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 5))


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, values = json.loads(data[8:8 + size]), data[8 + size:]
    metadata = header.pop("__metadata__", {})
    return {name: numpy.frombuffer(values[slice(*at["data_offsets"])], "<f4").reshape(at["shape"])
            for name, at in header.items()}, metadata


def normalised(images, metadata):
    """The images as primsel trains with them, by what it notes beside the weights."""
    mean, deviation = (numpy.array([float(word) for word in metadata[f"{which} of the images"].split()],
                                   numpy.float32).reshape(1, -1, 1, 1) for which in ("mean", "deviation"))
    return (images - mean) / deviation


def options_of(schedule, folder):
    if isinstance(schedule, list):
        return schedule
    file = folder / "schedule.json"
    file.write_text(json.dumps({"lr_schedulers": {"rate": schedule}, "policies": [
        {"lr_scheduler": {"instance_name": "rate"}, "starting_epoch": 0, "ending_epoch": STEPS, "frequency": 1}]}))
    return ["--pruning", file]


def main(primsel, folder):
    numbers = numpy.random.default_rng(1)
    images = numbers.random((64, 3, 8, 8), dtype=numpy.float32)
    labels = numbers.integers(0, 5, 64)
    numpy.save(folder / "x.npy", images)
    numpy.save(folder / "y.npy", labels)
    torch.onnx.export(network(), torch.from_numpy(images), str(folder / "net.onnx"))

    def by_primsel(*options):
        out = folder / "w.safetensors"
        subprocess.run([primsel, "train", folder / "net.onnx", "--images", folder / "x.npy", "--labels", folder / "y.npy",
                        "--batch", "64", "--learning-rate", str(RATE), "--out", out, *map(str, options)],
                       check=True, stdout=subprocess.DEVNULL)
        return read_safetensors(out)

    _, metadata = by_primsel("--epochs", 0)
    inputs, targets = torch.from_numpy(normalised(images, metadata)), torch.from_numpy(labels)

    def by_torch(kind, options, schedule):
        net = network()
        optimizer = kind(net.parameters(), lr=RATE, **options)
        rate = schedule(optimizer)
        for _ in range(STEPS):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(inputs), targets).backward()
            optimizer.step()
            rate.step()
        return {name: value.detach().numpy() for name, value in net.named_parameters()}

    greatest = 0
    print(f"{'':16}" + "".join(f"{name:>19}" for name in SCHEDULES))
    for name, (options, kind, settings) in OPTIMIZERS.items():
        line = f"{name:16}"
        for schedule, scheduler in SCHEDULES.values():
            ours, _ = by_primsel("--epochs", STEPS, *options, *options_of(schedule, folder))
            theirs = by_torch(kind, settings, scheduler)
            assert ours.keys() == theirs.keys(), (ours.keys(), theirs.keys())
            difference = max(abs(ours[each].reshape(value.shape) - value).max() / abs(value).max()
                             for each, value in theirs.items())
            greatest = max(greatest, difference)
            line += f"{difference:19.1e}"
        print(line, flush=True)
    print(f"greatest difference {greatest:.1e}, bound {BOUND:.0e}")
    return greatest > BOUND


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], pathlib.Path(scratch)))
