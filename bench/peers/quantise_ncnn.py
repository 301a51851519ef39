#!/usr/bin/env python3
"""quantise_ncnn.py SRC.ncnn.param IMAGES.npy[,IMAGES.npy] DST.ncnn.param: writes a network of ncnn in 8 bits, with its .bin.

ncnn's package has no quantiser; this writes the files that its ncnn2int8 would write from a table of ranges. Every convolution and dense
layer is quantised: weights by the largest of each output, activations by the largest of the layer's input over the images. A convolution
whose result only convolutions read rounds it to their scale itself. Weights of 3x3 convolutions of stride 1 get 6 bits, as Winograd's
algorithm in ncnn needs. Layers with weights of other kinds are refused. Needs ncnn and numpy.
"""
import pathlib
import sys

import ncnn
import numpy

# The numbers of a layer's parameters: outputs, bias, weights.
PARAMETERS = {"Convolution": (0, 5, 6), "ConvolutionDepthWise": (0, 5, 6), "InnerProduct": (0, 1, 2)}
SCALE_TERM = 8
FLOATS, INT8 = 0, 0x000D4B38  # tags before weights in a .bin


class Layer:
    def __init__(self, line):
        self.kind, self.name, bottoms, tops, *rest = line.split()
        self.bottoms, rest = rest[: int(bottoms)], rest[int(bottoms) :]
        self.tops, rest = rest[: int(tops)], rest[int(tops) :]
        self.parameters = dict(word.split("=", 1) for word in rest)
        self.weights = self.bias = self.scales = None

    def number(self, key, otherwise=0):
        return int(self.parameters.get(str(key), otherwise))

    def is_conv(self):
        return self.kind.startswith("Convolution")

    def text(self):
        words = [self.kind, self.name, len(self.bottoms), len(self.tops), *self.bottoms, *self.tops]
        return " ".join(map(str, [*words, *(f"{key}={value}" for key, value in self.parameters.items())]))

    def largest(self):
        """The integer that the largest weight of an output becomes."""
        kernel = self.number(1), self.number(11, self.number(1))
        steps = [self.number(key, 1) for key in (2, 3)] + [self.number(12, self.number(2, 1)), self.number(13, self.number(3, 1))]
        return 31 if self.kind == "Convolution" and kernel == (3, 3) and set(steps) == {1} else 127


def read(path):
    """The first two lines of a .param and its layers, with weights from its .bin."""
    lines = path.read_text().splitlines()
    layers = [Layer(line) for line in lines[2:] if line.strip()]
    data, at = path.with_suffix(".bin").read_bytes(), 0

    def take(count):
        nonlocal at
        at += 4 * count
        return numpy.frombuffer(data, "<f4", count, at - 4 * count)

    for layer in layers:
        if layer.kind not in PARAMETERS:
            continue
        outputs, has_bias, size = (layer.number(key) for key in PARAMETERS[layer.kind])
        if int.from_bytes(data[at : at + 4], "little") != FLOATS:
            sys.exit(f"quantise_ncnn.py: {path}: {layer.name}: the weights are no floats")
        at += 4
        layer.weights = take(size)
        layer.bias = take(outputs) if has_bias else None
    if at != len(data):
        sys.exit(f"quantise_ncnn.py: {path}: {len(data) - at} bytes belong to layers of other kinds")
    return lines[:2], layers


def largest_inputs(path, images, names):
    """The largest magnitude of each blob over the images."""
    net = ncnn.Net()
    for option in ("use_vulkan_compute", "use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    net.opt.lightmode = False
    if net.load_param(str(path)) or net.load_model(str(path.with_suffix(".bin"))):
        sys.exit(f"quantise_ncnn.py: {path}: ncnn cannot read it")
    most = dict.fromkeys(names, 0.0)
    source = net.input_names()[0]
    for image in images:
        extractor = net.create_extractor()
        extractor.set_light_mode(False)
        extractor.input(source, ncnn.Mat(image).clone())
        for name in names:
            failed, blob = extractor.extract(name)
            if failed:
                sys.exit(f"quantise_ncnn.py: {path}: {name} cannot be computed")
            most[name] = max(most[name], float(numpy.abs(numpy.array(blob)).max()))
    return most


def scale_of(most, largest=127):
    return numpy.where(most > 0, largest / numpy.maximum(most, 1e-30), 1.0).astype("<f4")


def quantise(layers, most):
    """Sets each layer's parameters and what its part of the .bin is."""
    readers = {}
    for layer in layers:
        for name in layer.bottoms:
            readers.setdefault(name, []).append(layer)

    def readers_of(name):
        """All layers that read a blob, behind a Split too."""
        found = readers.get(name, [])
        return [each for layer in found for each in (sum(map(readers_of, layer.tops), []) if layer.kind == "Split" else [layer])]

    for layer in layers:
        if layer.weights is None:
            continue
        outputs = layer.number(7, 1) if layer.kind == "ConvolutionDepthWise" else layer.number(PARAMETERS[layer.kind][0])
        rows = layer.weights.reshape(outputs, -1)
        scales = scale_of(numpy.abs(rows).max(1), layer.largest())
        layer.weights = numpy.rint(rows * scales[:, None]).clip(-127, 127).astype(numpy.int8)
        layer.scales = [scales, scale_of(numpy.array([most[layer.bottoms[0]]]))]
        term = 1 if layer.kind == "ConvolutionDepthWise" else 2
        after = readers_of(layer.tops[0])
        if layer.is_conv() and after and all(each.is_conv() for each in after):
            term += 100
            layer.scales.append(scale_of(numpy.array([most[after[0].bottoms[0]]])))
        layer.parameters[str(SCALE_TERM)] = str(term)


def write(path, head, layers):
    path.write_text("\n".join([*head, *(layer.text() for layer in layers)]) + "\n")
    with open(path.with_suffix(".bin"), "wb") as file:
        for layer in layers:
            if layer.weights is None:
                continue
            data = layer.weights.tobytes()
            file.write(INT8.to_bytes(4, "little") + data + bytes(-len(data) % 4))
            for values in [layer.bias, *layer.scales]:
                file.write(b"" if values is None else values.tobytes())


def main():
    source, images, destination = sys.argv[1:]
    head, layers = read(pathlib.Path(source))
    names = sorted({layer.bottoms[0] for layer in layers if layer.weights is not None})
    images = numpy.concatenate([numpy.load(path) for path in images.split(",")]).astype(numpy.float32)
    quantise(layers, largest_inputs(pathlib.Path(source), images, names))
    write(pathlib.Path(destination), head, layers)


if __name__ == "__main__":
    main()
