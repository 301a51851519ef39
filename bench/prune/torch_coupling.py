#!/usr/bin/env python3
"""torch_coupling.py PRIMSEL [NETWORK...]: which layers lose channels together, by primsel and by Torch-Pruning.

PRIMSEL is the command line's program. For each convolution and dense layer of torchvision's networks that is not
depthwise: the layers whose filters go with it, and the layers whose kernels go that read them, as `primsel prune NET
--coupling` says and as Torch-Pruning's dependency graph does. Prints how many rows agree, and every one that does not.
Needs torch, torchvision and torch_pruning.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import torch
import torch_pruning
import torchvision

# Our names of them, where they are others.
NETWORKS = {"resnet18": "resnet18", "mobilenet_v2": "mobilenet_v2", "densenet121": "densenet121", "googlenet": "googlenet-bn",
            "squeezenet1_1": "squeezenet1_1"}


def ours(program, network):
    """{layers whose filters go: (layers that read them, why they stay)}, and the text."""
    text = subprocess.run([program, "prune", network, "--coupling"], capture_output=True, text=True, check=True).stdout
    heading, *lines = text.splitlines()
    starts = [match.start() for match in re.finditer(r"filters of|channels|may go|read by|the others stay", heading)] + [None]
    rows = {}
    for line in lines:
        made, _, may_go, read, why = (line[a:b].strip() for a, b in zip(starts, starts[1:]))
        names = lambda cell: frozenset(name for name in cell.split(", ") if name)
        rows[names(made)] = (names(read), "" if int(may_go) else why)
    return rows


def theirs(network):
    extra = {"aux_logits": False, "init_weights": False} if network == "googlenet" else {}
    model = getattr(torchvision.models, network)(weights=None, **extra).eval()
    graph = torch_pruning.DependencyGraph().build_dependency(model, torch.randn(1, 3, 224, 224))
    names = {module: name for name, module in model.named_modules()}
    kinds = (torch.nn.Conv2d, torch.nn.Linear)

    def is_depthwise(module):
        return isinstance(module, torch.nn.Conv2d) and module.groups == module.in_channels > 1

    rows = {}
    for name, module in model.named_modules():
        if not isinstance(module, kinds) or is_depthwise(module):
            continue
        prune = torch_pruning.prune_conv_out_channels if isinstance(module, torch.nn.Conv2d) else torch_pruning.prune_linear_out_channels
        made, read = {name}, set()
        for dependency, _ in graph.get_pruning_group(module, prune, idxs=[0]):
            target = dependency.target.module
            if not isinstance(target, kinds) or is_depthwise(target):
                continue
            (read if "in_channels" in dependency.handler.__name__ else made).add(names[target])
        rows[frozenset(made)] = (frozenset(read), "")
    return rows


def text_of(row):
    made, (read, why) = row
    return f"filters of {', '.join(sorted(made))}; read by {', '.join(sorted(read)) or 'none'}" + (f"; they stay: {why}" if why else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("network", nargs="*", choices=[*NETWORKS, []])
    options = parser.parse_args()
    for name in options.network or NETWORKS:
        one, other = ours(options.program.resolve(), NETWORKS[name]), theirs(name)
        same = [made for made, (read, why) in one.items() if other.get(made, (None,))[0] == read and not why]
        print(f"{name}: {len(one)} rows here, {len(other)} by Torch-Pruning, {len(same)} of them the same", flush=True)
        for which, rows in (("here", one), ("there", other)):
            for row in rows.items():
                if row[0] not in same:
                    print(f"  {which}: {text_of(row)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
