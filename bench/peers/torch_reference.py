#!/usr/bin/env python3
"""torch_reference.py DIR [net...]: writes what PyTorch makes of the six networks, for primsel to be compared with.

DIR/<net>.safetensors            the weights (torch_nets.py draws them, seeded)
DIR/<net>.reference.safetensors  input (1, 3, 224, 224); logits (1, 1000) as PyTorch computes them in float; and
                                 logits_double, the same computed in double and rounded to float

Networks whose files exist are skipped. All six take 1.1 GB of files and at most about 2 GB of memory.
"""
import argparse
import json
import os
import pathlib
import struct

import torch

import torch_nets


def write_safetensors(path, tensors):
    """A file appears complete or not at all. Tensors are of float or, as a batch normalisation's step count, int64."""
    kinds = {torch.float32: ("F32", "<f4"), torch.int64: ("I64", "<i8")}
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.element_size() * tensor.numel()
        header[name] = {"dtype": kinds[tensor.dtype][0], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().numpy().astype(kinds[tensor.dtype][1], copy=False).data)
    os.replace(part, path)


@torch.no_grad()
def write_net(name, weights, reference):
    net, image = torch_nets.make(name)
    write_safetensors(weights, {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")})
    logits = net(image)
    exact = net.double()(image.double())
    write_safetensors(reference, {"input": image, "logits": logits, "logits_double": exact.float()})
    rms = exact.square().mean().sqrt().item()
    difference = (logits - exact).abs().max().item() / rms
    print(f"{name:10} logits: RMS {rms:.2f}, float's largest difference from double {difference:.1e} of it", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("nets", nargs="*", metavar="net", help=f"of {', '.join(torch_nets.NETS)}; all if none is named")
    options = parser.parse_args()
    for name in options.nets:
        if name not in torch_nets.NETS:
            parser.error(f"no network {name}; there are {', '.join(torch_nets.NETS)}")
    options.dir.mkdir(parents=True, exist_ok=True)
    for name in options.nets or torch_nets.NETS:
        paths = options.dir / f"{name}.safetensors", options.dir / f"{name}.reference.safetensors"
        if all(path.exists() for path in paths):
            print(f"{name:10} exists")
        else:
            write_net(name, *paths)


if __name__ == "__main__":
    main()
