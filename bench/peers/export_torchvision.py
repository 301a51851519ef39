#!/usr/bin/env python3
"""export_torchvision.py DIR [--net NAME]... [--size N]...: torchvision's networks as ONNX files, their weights seeded
(torch_nets.py draws them), with images and what ONNX Runtime makes of them, for primsel to be compared with.

DIR/NAME.onnx              as torch.onnx.export writes it by default: convolutions have their batch normalisation folded
DIR/NAME.bn.onnx           nothing folded: BatchNormalization nodes, and initializers named as in the state dict
DIR/NAME.SIZE.input.npy    an image (1, 3, SIZE, SIZE)
DIR/NAME.SIZE.logits.npy   the logits (1, 1000) by ONNX Runtime, from NAME.onnx
DIR/NAME.safetensors       the state dict, for a few networks

Batch, height and width are open in the files. AlexNet and VGG leave only the batch open: the exporter must know what
goes into their adaptive pooling, which ONNX lacks. It has to be 6 times 6 (AlexNet) or 7 times 7 (VGG) or a multiple.
With --fixed nothing is open. Where the size is fixed, each but the first has files of its own, NAME.SIZE.onnx and
NAME.SIZE.bn.onnx. Use another DIR for --fixed and for each --opset.

Each logit is compared with PyTorch's in double; files that disagree by 1e-4 of their RMS are an error. Files that exist
are kept. PyTorch and torchvision are needed here, onnxruntime in the interpreter that --onnxruntime names.
"""
import argparse
import inspect
import os
import pathlib
import subprocess
import sys
import time
import warnings

import numpy
import torch

import torch_nets
from torch_reference import write_safetensors

STATE_DICTS = "resnet18", "densenet121", "shufflenet_v2_x1_0", "mobilenet_v2"
FIXED = "alexnet", "vgg11", "vgg13", "vgg16", "vgg19"
WAYS = {"": {}, ".bn": {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}}


def sizes_of(name):
    return (299, 231) if name == "inception_v3" else (224, 231)


def is_fixed(name, options):
    return options.fixed or name in FIXED


def stem(name, size, first, options):
    return f"{name}.{size}" if is_fixed(name, options) and size != first else name


def open_axes(name, options):
    """Of the input and the output."""
    if options.fixed:
        return {}
    batch = {0: "batch"}
    return {"input": batch if name in FIXED else {**batch, 2: "height", 3: "width"}, "logits": batch}


def export(net, image, path, axes, opset, way):
    part = path.with_name(path.name + ".part")
    if "external_data" in inspect.signature(torch.onnx.export).parameters:
        way = {**way, "external_data": False}  # one file: ncnn's converter reads no other
    torch.onnx.export(
        net, image, part, input_names=["input"], output_names=["logits"], opset_version=opset,
        dynamic_axes=axes, **way,
    )  # fmt: skip
    os.replace(part, path)


def run_onnxruntime(interpreter, model, image, logits):
    script = pathlib.Path(__file__).with_name("onnxruntime_logits.py")
    subprocess.run([interpreter, script, model, image, logits], check=True)


def missing(paths):
    return [path for path in paths if not path.exists()]


def files_of(directory, name, sizes, options):
    """Models with their size and way of export; images and logits by size; state dicts."""
    models = {}
    for size in sizes:
        for suffix, way in WAYS.items():
            models[directory / f"{stem(name, size, sizes[0], options)}{suffix}.onnx"] = size, way
    pairs = {size: [directory / f"{name}.{size}.{what}.npy" for what in ("input", "logits")] for size in sizes}
    return models, pairs, [directory / f"{name}.safetensors"] if name in STATE_DICTS else []


@torch.no_grad()
def write_net(directory, name, sizes, options):
    start = time.monotonic()
    models, pairs, state_dicts = files_of(directory, name, sizes, options)
    if not missing([*models, *sum(pairs.values(), []), *state_dicts]):
        print(f"{name:20} exists", flush=True)
        return
    net, _ = torch_nets.make(name, torch_nets.TORCHVISION, sizes_of(name)[0])
    for path in missing(state_dicts):
        write_safetensors(path, net.state_dict())
    for path in missing(models):
        size, way = models[path]
        export(net, torch.zeros(1, 3, size, size), path, open_axes(name, options), options.opset, way)
        print(f"{name:20} {path.name}: {path.stat().st_size / 1e6:.0f} MB", flush=True)
    net.double()
    for size, (image_path, logits_path) in pairs.items():
        if not missing([image_path, logits_path]):
            continue
        torch.manual_seed(size)
        image = torch_nets.draw_image(size)
        numpy.save(image_path, image.numpy())
        model = directory / f"{stem(name, size, sizes[0], options)}.onnx"
        run_onnxruntime(options.onnxruntime, model, image_path, logits_path)
        exact = net(image.double()).numpy()
        rms = numpy.sqrt(numpy.mean(exact**2))
        difference = numpy.abs(numpy.load(logits_path) - exact).max() / rms
        print(f"{name:20} {size}: RMS {rms:.2f}, ONNX Runtime's largest difference {difference:.1e} of it", flush=True)
        if not difference < 1e-4:
            logits_path.unlink()
            sys.exit(f"{name}: ONNX Runtime disagrees with PyTorch")
    print(f"{name:20} {time.monotonic() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--net", action="append", choices=torch_nets.TORCHVISION, metavar="NAME", help="else all")
    parser.add_argument("--size", action="append", type=int, metavar="N", help="else 224 (Inception v3: 299) and 231")
    parser.add_argument("--fixed", action="store_true", help="nothing open")
    parser.add_argument("--opset", type=int, default=None, help="7 to 17; PyTorch's own choice if not given")
    parser.add_argument("--onnxruntime", default="python3", metavar="PYTHON", help="interpreter that has onnxruntime")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    options.dir.mkdir(parents=True, exist_ok=True)
    for name in options.net or torch_nets.TORCHVISION:
        write_net(options.dir, name, options.size or sizes_of(name), options)


if __name__ == "__main__":
    main()
