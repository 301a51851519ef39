#!/usr/bin/env python3
"""training_layers.py PRIMSEL [NAME...]: twenty steps of training by primsel and by PyTorch, for each kind of layer.

PRIMSEL is the command line's program. Each network is a convolution, the layers of one idea and a dense layer, exported by
PyTorch as it trains. primsel trains the file and writes it again; PyTorch trains the network in double precision. Both begin with
the file's weights and take all images in each step of SGD with momentum. Prints the greatest difference of a loss, and of a
weight or a running statistic after the last step, relative to the greatest loss so far and to the greatest value of the tensor.
Exit status 1 when a difference is above BOUND: primsel computes in float32. NAME: only networks whose names contain one of these.
Needs PyTorch and onnx.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import torch
from torch import nn
from torch.nn import functional

import optimizers

BOUND, STEPS, RATE, MOMENTUM, IMAGES, CLASSES = 2e-5, 20, 0.005, 0.9, 16, 5


class Apply(nn.Module):
    """A function of the input and of trained parameters of the given sizes."""

    def __init__(self, function, *sizes):
        super().__init__()
        self.function, self.count = function, len(sizes)
        for i, size in enumerate(sizes):
            self.register_parameter(f"p{i}", nn.Parameter(0.5 + torch.rand(size)))

    def forward(self, x):
        return self.function(x, *(getattr(self, f"p{i}") for i in range(self.count)))


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Gate(nn.Sequential):
    def forward(self, x):
        return x * super().forward(x)


class Branches(nn.ModuleList):
    def forward(self, x):
        return torch.cat([branch(x) for branch in self], 1)


class Tied(nn.Module):
    """An encoder, and a decoder with its weight transposed."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(512, 24, bias=False)

    def forward(self, x):
        return functional.linear(torch.tanh(self.encode(x.flatten(1))), self.encode.weight.t())


class LrnNode(torch.autograd.Function):
    """ONNX's operator, which PyTorch writes as pooling in five dimensions."""

    @staticmethod
    def symbolic(graph, x):
        return graph.op("LRN", x, size_i=5, alpha_f=0.5, beta_f=0.75, bias_f=1.0).setType(x.type())

    @staticmethod
    def forward(_, x):
        return functional.local_response_norm(x, 5, alpha=0.5)


class Attention(nn.Module):
    """Two heads over the rows of an image of 8 channels."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        rows = x.mean(3).transpose(1, 2)
        q, k, v = (part.reshape(-1, 8, 2, 4).transpose(1, 2) for part in self.qkv(rows).chunk(3, 2))
        heads = torch.softmax(q @ k.transpose(2, 3) * 0.5, 3) @ v
        return self.out(heads.transpose(1, 2).reshape(-1, 8, 8))


def rows(x):
    return x.flatten(2).transpose(1, 2)


def shared():
    conv = nn.Conv2d(8, 8, 3, padding=1)
    return [conv, nn.Tanh(), conv]


def one(function, *sizes):
    return lambda: [Apply(function, *sizes)]


NETWORKS = {  # by name: the layers between the first convolution, of 8 channels and 8x8 pixels, and the dense layer
    "batch norm": lambda: [nn.BatchNorm2d(8), nn.ReLU()],
    "batch norm, momentum 0.3": lambda: [nn.BatchNorm2d(8, momentum=0.3)],
    "batch norm of a dense layer": lambda: [nn.Flatten(), nn.Linear(512, 12), nn.BatchNorm1d(12), nn.ReLU()],
    "dropout of nothing": lambda: [nn.Dropout(0.0), nn.Tanh()],
    "MatMul + Add": lambda: [Apply(rows), nn.Linear(8, 6), nn.Tanh()],
    "Conv + Add (1, c, 1, 1)": lambda: [nn.Conv2d(8, 6, 3, bias=False), Apply(lambda x, b: x + b, (1, 6, 1, 1)), nn.ReLU()],
    "LayerScale": lambda: [Residual(nn.Conv2d(8, 8, 1), Apply(lambda x, s: x * s, (8, 1, 1)))],
    "GELU": lambda: [nn.GELU()],
    "GELU by tanh": lambda: [nn.GELU("tanh")],
    "layer norm": lambda: [Apply(rows), nn.LayerNorm(8)],
    "layer norm of channels and pixels": lambda: [nn.LayerNorm((8, 8, 8), elementwise_affine=False)],
    "group norm": lambda: [nn.GroupNorm(4, 8)],
    "instance norm": lambda: [nn.InstanceNorm2d(8, affine=True)],
    "RMS norm": one(lambda x, s: x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5) * s, (8, 1, 1)),
    "PixelShuffle": lambda: [nn.PixelShuffle(2)],
    "PixelUnshuffle": lambda: [nn.PixelUnshuffle(2)],
    "channel shuffle": one(lambda x: x.reshape(-1, 2, 4, 8, 8).transpose(1, 2).reshape(-1, 8, 8, 8)),
    "nearest upsampling": lambda: [nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 3)],
    "nearest to another size": lambda: [nn.Upsample(size=(11, 5))],
    "bilinear upsampling": lambda: [nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(8, 4, 3)],
    "bilinear, corners aligned": lambda: [nn.Upsample(size=(13, 6), mode="bilinear", align_corners=True)],
    "a convolution twice": shared,
    "tied transposed weights": lambda: [Tied()],
    "depthwise": lambda: [nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.Conv2d(8, 16, 3, groups=8, stride=2)],
    "dilated": lambda: [nn.Conv2d(8, 6, 3, dilation=2)],
    "grouped, strided": lambda: [nn.Conv2d(8, 12, 3, groups=4, stride=2)],
    "ConvTranspose": lambda: [nn.ConvTranspose2d(8, 6, 3)],
    "ConvTranspose, strided": lambda: [nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1), nn.ReLU(),
                                       nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1, bias=False)],
    "ConvTranspose, grouped, dilated": lambda: [nn.ConvTranspose2d(8, 4, 3, groups=2, dilation=2)],
    "max pooling": lambda: [nn.MaxPool2d(3, 2, 1)],
    "average pooling": lambda: [nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.AvgPool2d(2, 1)],
    "global average pooling": lambda: [nn.AdaptiveAvgPool2d(1)],
    "global max pooling": lambda: [nn.AdaptiveMaxPool2d(1)],
    "LRN": one(lambda x: LrnNode.apply(x) if torch.onnx.is_in_onnx_export() else LrnNode.forward(None, x)),
    "concatenation": lambda: [Branches([nn.Conv2d(8, 4, 1), nn.Conv2d(8, 6, 3, padding=1)])],
    "residual": lambda: [Residual(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 1)), nn.ReLU()],
    "SiLU": lambda: [nn.SiLU()],
    "hardswish, hardsigmoid": lambda: [nn.Hardswish(), nn.Hardsigmoid()],
    "PReLU": lambda: [nn.PReLU()],
    "PReLU of channels": lambda: [nn.PReLU(8)],
    "leaky ReLU, ELU, ReLU6": lambda: [nn.LeakyReLU(0.1), nn.ELU(0.5), nn.ReLU6()],
    "CELU, SELU, Softplus": lambda: [nn.CELU(0.5), nn.SELU(), nn.Softplus()],
    "Mish, Softsign": lambda: [nn.Mish(), nn.Softsign()],
    "squeeze and excitation": lambda: [Gate(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1), nn.Sigmoid())],
    "softmax of channels": lambda: [nn.Softmax(1)],
    "attention": lambda: [Attention()],
    "product of two tensors": one(lambda x: torch.matmul(x, x.transpose(2, 3))),
    "slices": one(lambda x: x[:, 2:7, 1:, :-2] * x[:, 1:6, :-1, 2:]),
    "slices with steps": one(lambda x: x[:, ::3, 1::2]),
    "reversed": one(lambda x: x * torch.flip(x, (3,))),
    "Split": one(lambda x: torch.cat([b * a.sigmoid() for a, b in [x.split((4, 4), 1)]], 1)),
    "Gather by constants": one(lambda x: x[:, [1, 1, 5, 0]]),
    "expanded": one(lambda x: x + x.mean((2, 3), keepdim=True).expand(-1, -1, 8, 8)),
    "a position's embedding": one(lambda x, e: x + e, (1, 8, 8, 8)),
    "ReduceMax": one(lambda x: torch.amax(x, 1, keepdim=True) * x),
    "ReduceMax of pixels": one(lambda x: torch.amax(x, (2, 3))),
    "ReduceMin, ReduceSum": one(lambda x: torch.amin(x, 2) + x.sum(2)),
    "norms": one(lambda x: x / torch.linalg.vector_norm(x, dim=1, keepdim=True)),
    "zero padding": lambda: [nn.ZeroPad2d((1, 2, 0, 1)), nn.Conv2d(8, 4, 3)],
    "reflecting padding": lambda: [nn.ReflectionPad2d((1, 2, 3, 0)), nn.Conv2d(8, 4, 3)],
    "replicating padding": lambda: [nn.ReplicationPad2d((1, 2, 0, 3)), nn.Conv2d(8, 4, 3)],
    "maximum and minimum": one(lambda x: torch.maximum(x[:, :4], x[:, 4:]) - torch.minimum(x[:, :4], x[:, 4:])),
    "where": one(lambda x: torch.where(x > 0.1, x * x, x * 0.5)),
    "powers": one(lambda x: (x.abs() + 0.5) ** 1.5 + (x.abs() + 0.5) ** x.sigmoid()),
    "exp, log, sqrt, abs, clamp": one(lambda x: torch.log(x.abs() + 0.5) + torch.sqrt(x.exp()) + x.clamp(-0.3, 0.4)),
    "sin, cos, atan, erf": one(lambda x: x.sin() + (2 * x).cos() + x.atan() + torch.erf(x)),
    "numbers behind a convolution": one(lambda x: 2 * x),
    "quotients": one(lambda x: x / (1 + x.abs())),
}
LOG_SOFTMAX = "LogSoftmax at the end"


def network(name):
    torch.manual_seed(1)
    layers = [nn.Conv2d(3, 8, 3, padding=1), *NETWORKS.get(name, lambda: [nn.Tanh()])(), nn.Flatten()]
    with torch.no_grad():
        features = nn.Sequential(*copy.deepcopy(layers))(torch.rand(2, 3, 8, 8)).shape[1]
    return nn.Sequential(*layers, nn.Linear(features, CLASSES), *([nn.LogSoftmax(1)] if name == LOG_SOFTMAX else []))


def export(net, images, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.train(), (images,), str(path), training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                          **({} if torch.__version__.startswith("1.") else {"dynamo": False}))


def initializers(path):
    return {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}


def main(primsel, folder, wanted):
    numbers = numpy.random.default_rng(1)
    images = numbers.random((IMAGES, 3, 8, 8), dtype=numpy.float32)
    labels = numbers.integers(0, CLASSES, IMAGES)
    numpy.save(folder / "x.npy", images)
    numpy.save(folder / "y.npy", labels)

    def train(epochs, out):
        done = subprocess.run([primsel, "train", folder / "net.onnx", "--images", folder / "x.npy", "--labels", folder / "y.npy",
                               "--batch", str(IMAGES), "--epochs", str(epochs), "--learning-rate", str(RATE), "--momentum",
                               str(MOMENTUM), "--schedule", "constant", "--json", "--out", out], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return [json.loads(line)["loss"] for line in done.stdout.splitlines()]

    greatest, failed = 0, False
    for name in [*NETWORKS, LOG_SOFTMAX]:
        if wanted and not any(word in name for word in wanted):
            continue
        net = network(name)
        export(net, torch.from_numpy(images), folder / "net.onnx")
        before = initializers(folder / "net.onnx")
        net = net.double()
        state = net.state_dict()
        for each, value in state.items():  # running statistics have moved by the export
            if each in before:
                value.copy_(torch.from_numpy(before[each].copy()).reshape(value.shape))
        try:
            train(0, folder / "w.safetensors")
            losses = train(STEPS, folder / "out.onnx")
        except RuntimeError as fault:
            print(f"{name:36} {fault}", flush=True)
            failed = True
            continue
        _, metadata = optimizers.read_safetensors(folder / "w.safetensors")
        inputs = torch.from_numpy(optimizers.normalised(images, metadata)).double()
        optimizer = torch.optim.SGD(net.parameters(), RATE, MOMENTUM)
        difference, largest = {"loss": 0.0, "weight": 0.0}, 0.0
        for loss in losses:
            optimizer.zero_grad()
            theirs = functional.cross_entropy(net(inputs), torch.from_numpy(labels))
            theirs.backward()
            optimizer.step()
            largest = max(largest, theirs.item())
            difference["loss"] = max(difference["loss"], abs(loss - theirs.item()) / largest)
        ours, worst = initializers(folder / "out.onnx"), ""
        trained = {each: value.detach().numpy() for each, value in net.state_dict().items() if each in ours}
        for each, value in trained.items():
            if value.dtype != numpy.float64:
                continue
            apart = abs(ours[each].reshape(value.shape) - value).max() / abs(value).max()
            if not apart <= difference["weight"]:
                difference["weight"], worst = apart, each
        missing = [each for each, _ in net.named_parameters() if each not in trained]
        bad = not max(difference.values()) <= BOUND or bool(missing)
        greatest, failed = max(greatest, *difference.values()), failed or bad
        print(f"{name:36} loss {difference['loss']:8.1e}  weights {difference['weight']:8.1e}  {worst if bad else ''}"
              f"{'  not in the file: ' + ', '.join(missing) if missing else ''}", flush=True)
    print(f"greatest difference {greatest:.1e}, bound {BOUND:.0e}")
    return failed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], pathlib.Path(scratch), sys.argv[2:]))
