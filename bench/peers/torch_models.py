#!/usr/bin/env python3
"""torch_models.py ONNX_DIR DIR NET...: what engines.py needs of PyTorch for networks that export_torchvision.py has
written to ONNX_DIR.

DIR/NET.pt           the network traced, for TorchScript
DIR/NET.exact.npy    the logits (1, 1000) of the image ONNX_DIR/NET.224.input.npy, computed in double

Files that exist are kept. ONNX Runtime's logits in ONNX_DIR must be those of the same weights. Needs PyTorch and
torchvision.
"""
import argparse
import os
import pathlib
import sys

import numpy
import torch

import torch_nets


@torch.no_grad()
def write_net(name, onnx, directory):
    script, exact_path = directory / f"{name}.pt", directory / f"{name}.exact.npy"
    if script.exists() and exact_path.exists():
        return
    net, _ = torch_nets.make(name, torch_nets.TORCHVISION, 224)
    image = torch.from_numpy(numpy.load(onnx / f"{name}.224.input.npy"))
    part = directory / f"{name}.part"
    torch.jit.trace(net, image).save(str(part))
    os.replace(part, script)
    exact = net.double()(image.double()).numpy()
    difference = numpy.abs(numpy.load(onnx / f"{name}.224.logits.npy") - exact).max() / numpy.sqrt((exact**2).mean())
    if not difference < 1e-4:
        sys.exit(f"{name}: {onnx} has other weights (logits are {difference:.1e} of their RMS away); remove it")
    with open(part, "wb") as file:
        numpy.save(file, exact)
    os.replace(part, exact_path)
    print(f"{name:20} {script.name}, {exact_path.name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=pathlib.Path)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("net", nargs="+")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    for name in options.net:
        write_net(name, options.onnx, options.dir)


if __name__ == "__main__":
    main()
