#!/usr/bin/env python3
"""Times PyTorch on the six networks, one image of 224x224: eager, eager in channels_last, and TorchScript frozen and
optimised for inference. The ways take turns in each round; the table has the medians in milliseconds.

Compare with the last column: for a single small image eager PyTorch leaves oneDNN for its own im2col, and where PyTorch
has no fast BLAS (as in Debian) that is several times slower.
"""
import argparse
import statistics
import time

import torch

import torch_nets


def optimised(net, image):
    return torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(net, image)))


def seconds(net, image):
    start = time.perf_counter()
    net(image)
    return time.perf_counter() - start


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("nets", nargs="*", metavar="net", help=f"of {', '.join(torch_nets.NETS)}; all if none is named")
    options = parser.parse_args()
    for name in options.nets:
        if name not in torch_nets.NETS:
            parser.error(f"no network {name}; there are {', '.join(torch_nets.NETS)}")
    torch.set_num_threads(options.threads)

    print(f"PyTorch {torch.__version__}, {options.threads} thread(s), median of {options.rounds} rounds, ms")
    print(f"{'':10} {'eager':>12} {'channels_last':>14} {'TorchScript':>12}")
    for name in options.nets or torch_nets.NETS:
        net, image = torch_nets.make(name)
        scripted = optimised(net, image)
        last, image_last = torch_nets.make(name)[0], image.to(memory_format=torch.channels_last)
        last = last.to(memory_format=torch.channels_last)
        ways = [(net, image), (last, image_last), (scripted, image)]
        for way in ways * 3:
            seconds(*way)
        rounds = [[seconds(*way) for way in ways] for _ in range(options.rounds)]
        eager, channels_last, script = (1e3 * statistics.median(times) for times in zip(*rounds))
        print(f"{name:10} {eager:12.2f} {channels_last:14.2f} {script:12.2f}", flush=True)


if __name__ == "__main__":
    main()
