#!/usr/bin/env python3
"""Training beside PyTorch, TensorFlow and JAX, on this machine.

    training.py [--net NAME ...] [--batch N ...] [--threads N] [--rounds N] [--out FILE]
    training.py --check [--net NAME ...]

Run it by an interpreter that has torch and torchvision (Debian: python3-torch, python3-torchvision); tensorflow and jax take part
where it has them too. A step is forward pass, loss, gradients and the update of SGD with momentum. Each library runs in a process of
its own, one step at a time in turns; the figure is the median. Each runs as it is fastest: PyTorch with channels first or last and
compiled where it can be, TensorFlow with and without XLA. Rows are written to FILE as they are measured and not measured again.

--check: the losses of 20 steps on the same weights and batches, without dropout, beside those of PyTorch in double precision: of
the first steps, where 1e-4 is allowed or what PyTorch errs by in single precision, and of all, where rounding has grown: three times
PyTorch's own. Ends with an error where it is more.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import prepare
import training_nets

# Sizes of images.
NETS = {"resnet18": 64, "mobilenet_v2": 64, "resnet56": 32, "alexnet_cifar": 32, "squeezenet1_1": 128, "googlenet-bn": 64}
# Steps whose losses are to be equal but for 1e-4, or for what PyTorch errs by where that is more.
FIRST = 3
# A form that takes so many times as long as the fastest is timed twice, not in every round.
FAR = 4
TIMED = [name for name in NETS if name != "googlenet-bn"]


def make(name):
    """The network with torchvision's names of weights."""
    import torch
    import torchvision
    from torch import nn
    from torchvision.models.resnet import BasicBlock

    if name not in ("resnet56", "alexnet_cifar"):
        if name == "googlenet-bn":
            return torchvision.models.googlenet(aux_logits=False, init_weights=False)
        return getattr(torchvision.models, name)()

    class Group(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 5, padding=2)
            self.conv3, self.conv4, self.conv5 = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(3))
            self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)

        def forward(self, x):
            x = nn.functional.max_pool2d(self.norm(torch.relu(self.conv1(x))), 4, 1)
            x = nn.functional.max_pool2d(self.norm(torch.relu(self.conv2(x))), 3, 2)
            x = torch.relu(self.conv5(torch.relu(self.conv4(torch.relu(self.conv3(x))))))
            return nn.functional.max_pool2d(x, 3, 2)

    class AlexNetCifar(nn.Module):
        """Four groups that never meet before the last layer (Xun et al. 2019, table II)."""
        def __init__(self):
            super().__init__()
            for i in range(1, 5):
                setattr(self, f"group{i}", Group())
            self.fc6 = nn.Linear(4 * 16 * 6 * 6, 10)

        def forward(self, x):
            return self.fc6(torch.cat([getattr(self, f"group{i}")(x) for i in range(1, 5)], 1).flatten(1))

    if name == "alexnet_cifar":
        return AlexNetCifar()

    class Shortcut(nn.Module):
        """Every other pixel, and zeros for the new channels."""
        def forward(self, x):
            return nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, x.shape[1]))

    class ResNet56(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
            for stage, channels in enumerate((16, 32, 64), 1):
                first = BasicBlock(channels, channels) if stage == 1 else BasicBlock(channels // 2, channels, 2, Shortcut())
                setattr(self, f"layer{stage}", nn.Sequential(first, *(BasicBlock(channels, channels) for _ in range(8))))
            self.fc = nn.Linear(64, 10)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            x = self.layer3(self.layer2(self.layer1(x)))
            return self.fc(x.mean((2, 3)))

    return ResNet56()


def torch_step(net, images, labels, rate=training_nets.RATE):
    """A function that takes a step and returns its loss."""
    import torch
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), rate, momentum=training_nets.MOMENTUM, weight_decay=training_nets.DECAY)

    def step(x=images, y=labels):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def worker(step):
    """What primsel_training_worker does, for another library."""
    step()
    print("ready {}", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        print(time.perf_counter() - begin, flush=True)


def timed_torch_step(name, size, batch, threads, form):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    layout = torch.contiguous_format if form == "channels-first" else torch.channels_last
    net = make(name).to(memory_format=layout)
    if form == "compiled":
        net = torch.compile(net)
    return torch_step(net, torch.randn(batch, 3, size, size).contiguous(memory_format=layout), torch.arange(batch) % 10)


def forms():
    """Each library and how it may run; compiled, where PyTorch can be, is channels last."""
    import torch
    torch_forms = ["channels-first", "channels-last"] + (["compiled"] if hasattr(torch, "compile") else [])
    return [("pytorch", form) for form in torch_forms] + [
        (library, form) for library, (_, forms) in training_nets.STEPS.items() if importlib.util.find_spec(library) for form in forms]


class Worker:
    def __init__(self, *command):
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"{command[0]}: not ready")
        self.facts, self.seconds = json.loads(line[6:]), []

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        self.seconds.append(float(self.process.stdout.readline()))

    def peak_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(program, name, batch, options):
    """A row: images a second, peak memory in MiB."""
    arguments = name, NETS[name], batch, options.threads
    workers = {"primsel": Worker(program, *arguments)}
    for library, form in forms():
        workers[f"{library} {form}"] = Worker(sys.executable, __file__, "--worker", *arguments, library, form)
    for turn in range(options.rounds):
        fastest = min((min(worker.seconds) for worker in workers.values() if worker.seconds), default=0)
        for worker in workers.values():
            if turn < 2 or min(worker.seconds) < FAR * fastest:  # no more of what can't be the fastest
                worker.step()
    facts = workers["primsel"].facts
    row = {"net": name, "batch": batch, "threads": options.threads, "arena_mb": facts["arena_bytes"] / 2**20,
           "known_mb": (facts["memory_bytes"] + facts["images_bytes"]) / 2**20, "held_mb": facts["held_bytes"] / 2**20,
           "images_per_second": {key: batch / statistics.median(worker.seconds) for key, worker in workers.items()},
           "peak_mb": {key: worker.peak_mb() for key, worker in workers.items()}}
    for worker in workers.values():
        worker.end()
    return row


def show(rows):
    ratios = []
    print(f"{'':16}{'batch':>6}{'threads':>8}{'primsel':>10}{'best other':>11}{'ratio':>7}{'MiB':>7}{'MiB':>7}{'ratio':>7}")
    for row in rows:
        speed, peak = row["images_per_second"], row["peak_mb"]
        best = max((value, key) for key, value in speed.items() if key != "primsel")
        ratios.append(speed["primsel"] / best[0])
        least = min(value for key, value in peak.items() if key != "primsel")
        print(f"{row['net']:16}{row['batch']:6}{row['threads']:8}{speed['primsel']:10.1f}{best[0]:11.1f}{ratios[-1]:7.2f}"
              f"{peak['primsel']:7.0f}{least:7.0f}{peak['primsel'] / least:7.2f}  {best[1]}")
    for row in rows:
        if "known_mb" in row:
            print(f"{row['net']:16}{row['batch']:6} known before the first step {row['known_mb']:7.1f} MiB, then held "
                  f"{row['held_mb']:7.1f}, {100 * (row['held_mb'] / row['known_mb'] - 1):.1f} % more")
    print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, least {min(ratios):.2f}")


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = tensor.float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def check(program, name, steps=20, batch=16):
    """Prints the largest relative distances of losses."""
    import copy
    import numpy
    import torch
    torch.manual_seed(1)
    size, net = NETS[name], make(name)
    for module in net.modules():  # draws its own numbers in each library
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        classes = net.eval()(torch.zeros(1, 3, size, size)).shape[1]
    images, labels = torch.randn(steps * batch, 3, size, size), torch.randint(0, classes, (steps * batch,))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        weights = {key: value for key, value in net.state_dict().items() if not key.endswith("num_batches_tracked")}
        write_safetensors(folder / "w.safetensors", weights)
        numpy.save(folder / "x.npy", images.numpy())
        numpy.save(folder / "y.npy", labels.numpy())
        text = prepare.call(program, name, size, batch, 1, "--weights", folder / "w.safetensors", "--images", folder / "x.npy",
                            "--labels", folder / "y.npy")
    losses = {"primsel": [float(line) for line in text.split()]}
    for form, of in (("PyTorch", net), ("exact", copy.deepcopy(net).double())):
        step = torch_step(of, None, None, 1e-3)
        losses[form] = [step(images[i:i + batch].to(next(of.parameters()).dtype), labels[i:i + batch])
                        for i in range(0, steps * batch, batch)]

    def distance(key, last):
        return max(abs(a - b) / abs(b) for a, b in zip(losses[key][:last], losses["exact"]))
    first, own, pytorch = distance("primsel", FIRST), distance("primsel", steps), distance("PyTorch", steps)
    good = first <= max(1e-4, distance("PyTorch", FIRST)) and own <= max(1e-4, 3 * pytorch)
    print(f"{name}: {steps} losses from {losses['exact'][0]:.4f} to {losses['exact'][-1]:.4f}; largest distance from double "
          f"precision: first {FIRST} steps primsel {first:.1e}, PyTorch {distance('PyTorch', FIRST):.1e}; all primsel {own:.1e}, "
          f"PyTorch {pytorch:.1e}{'' if good else ': TOO MUCH'}", flush=True)
    return good


def main():
    if sys.argv[1:2] == ["--worker"]:
        name, *numbers, library, form = sys.argv[2:]
        size, batch, threads = map(int, numbers)
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        make_step = timed_torch_step if library == "pytorch" else training_nets.STEPS[library][0]
        return worker(make_step(name, size, batch, threads, form))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", nargs="+", choices=NETS, help="(default: all for --check, without googlenet-bn for times)")
    parser.add_argument("--batch", nargs="+", type=int, default=[8, 32, 128])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=pathlib.Path, help="rows as JSON lines")
    parser.add_argument("--build", type=pathlib.Path, default=prepare.TOP / "build" / "peers")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    options.net = options.net or (list(NETS) if options.check else TIMED)
    program, = prepare.build(options.build, "primsel_training_worker")
    if options.check:
        return 0 if all([check(program, name) for name in options.net]) else 1
    lines = options.out.read_text().splitlines() if options.out and options.out.exists() else []
    rows = [json.loads(line) for line in lines]
    for name in options.net:
        for batch in options.batch:
            if any((row["net"], row["batch"], row["threads"]) == (name, batch, options.threads) for row in rows):
                continue
            rows.append(measure(program, name, batch, options))
            if options.out:
                with options.out.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
            prepare.say(json.dumps(rows[-1]))
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
