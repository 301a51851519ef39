#!/usr/bin/env python3
"""Writes test/data/torchvision_weights.txt: what torchvision's networks are, for test/network/zoo.cpp to compare with.

    torchvision_weights.py                     needs torch and torchvision; made with 1.13 and 0.14
    torchvision_weights.py --list <network>    that network's weights instead: a line each, as they are hashed

A line a network: primsel's name, image size, parameters, multiply-adds of its convolutions and linear layers, tensors,
and the FNV-1a hash of the lines `<weight> <dims>\\n` in the order of their bytes. Auxiliary classifiers, which only
training uses, and num_batches_tracked are left out.
"""
import pathlib
import sys
import warnings

import torch
import torchvision

NAMES = """alexnet densenet121 densenet161 densenet169 densenet201 googlenet inception_v3 mnasnet0_5 mnasnet0_75
mnasnet1_0 mnasnet1_3 mobilenet_v2 resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d
shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 vgg11 vgg13 vgg16
vgg19""".split()
RENAMED = {"googlenet": "googlenet-bn"}
SIZES = {"inception_v3": 299}


def build(name):
    # No initialisation that takes minutes.
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(torchvision.models, name)(weights=None, **options).eval()


def is_used(weight):
    return not weight.startswith(("aux1.", "aux2.", "AuxLogits.")) and not weight.endswith(".num_batches_tracked")


def weight_lines(model):
    lines = [f"{name} {'x'.join(str(dim) for dim in value.shape)}\n"
             for name, value in model.state_dict().items() if is_used(name)]
    return sorted(lines, key=str.encode)


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def multiply_adds(model, size):
    total = 0

    def count(layer, _, result):
        nonlocal total
        per_value = layer.weight[0].numel()
        total += per_value * result[0].numel()

    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.register_forward_hook(count)
    with torch.no_grad():
        model(torch.zeros(1, 3, size, size))
    return total


def main(arguments):
    if arguments[:1] == ["--list"]:
        sys.stdout.writelines(weight_lines(build(arguments[1])))
        return
    rows = []
    for name in NAMES:
        model, size = build(name), SIZES.get(name, 224)
        lines = weight_lines(model)
        parameters = sum(value.numel() for weight, value in model.named_parameters() if is_used(weight))
        rows.append(f"{RENAMED.get(name, name)} {size} {parameters} {multiply_adds(model, size)} {len(lines)} "
                    f"{fnv1a(''.join(lines)):016x}\n")
    folder = pathlib.Path(__file__).resolve().parent.parent / "data"
    (folder / "torchvision_weights.txt").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
