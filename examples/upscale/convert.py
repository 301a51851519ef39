#!/usr/bin/env python3
"""convert.py MODEL.json OUT.onnx [--check INPUT.png EXPECTED.png]: a TensorFlow.js layers model as an ONNX file.

For the super-resolution network of the npm package @upscalerjs/default-model (MIT licence): unpack what
`npm pack @upscalerjs/default-model` downloads, and convert package/models/model.json. The network takes an image
(n, 3, h, w), its red, green and blue from 0 to 255, and gives one of (n, 3, 2h, 2w), which is to be clamped to 0..255.
The package has a pair for --check: assets/fixture.png and assets/samples/2x/result.png.

Reads the kinds of layer that this network has, and refuses others. TensorFlow's tensors are (n, h, w, c) and its
kernels (h, w, in, out); ONNX has (n, c, h, w) and (out, in, h, w). Needs numpy and onnx; --check also onnxruntime and
pillow: it upscales INPUT.png by ONNX Runtime and prints how far the bytes are from EXPECTED.png's, failing if by more
than 1.
"""
import argparse
import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_weights(path, manifest):
    """From TensorFlow's names to arrays. The groups' files lie beside the model."""
    weights = {}
    for group in manifest:
        data = b"".join((path.parent / part).read_bytes() for part in group["paths"])
        begin = 0
        for entry in group["weights"]:
            if entry["dtype"] != "float32" or "quantization" in entry:
                sys.exit(f"{entry['name']}: only weights of float32 are read")
            count = int(numpy.prod(entry["shape"]))
            weights[entry["name"]] = numpy.frombuffer(data, "<f4", count, begin).reshape(entry["shape"])
            begin += 4 * count
        if begin != len(data):
            sys.exit(f"{group['paths']}: {len(data)} bytes where the manifest has {begin}")
    return weights


class Converter:
    """Collects the nodes and initializers. Each layer's output has the layer's name."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.initializers = []

    def add(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def activation(self, kind, source, output):
        if kind == "relu":
            self.add("Relu", [source], output)
        else:
            sys.exit(f"{output}: activation {kind} is not known")

    def conv(self, config, sources, name):
        strides, dilations = config["strides"], config["dilation_rate"]
        if strides != [1, 1] or config["groups"] != 1 or not config["use_bias"]:
            sys.exit(f"{name}: only convolutions of stride 1 and one group, with a bias, are known")
        pads = [0, 0, 0, 0]
        if config["padding"] == "same":
            total = [d * (k - 1) for d, k in zip(dilations, config["kernel_size"])]
            pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        is_linear = config["activation"] == "linear"
        kernel = self.constant(f"{name}/kernel", self.weights[f"{name}/kernel"].transpose(3, 2, 0, 1))
        bias = self.constant(f"{name}/bias", self.weights[f"{name}/bias"])
        output = name if is_linear else f"{name}/linear"
        self.add(
            "Conv", [*sources, kernel, bias], output,
            kernel_shape=config["kernel_size"], strides=strides, dilations=dilations, pads=pads,
        )  # fmt: skip
        if not is_linear:
            self.activation(config["activation"], output, name)

    def upsample(self, config, sources, name):
        if config["interpolation"] != "nearest":
            sys.exit(f"{name}: interpolation {config['interpolation']} is not known")
        scales = self.constant(f"{name}/scales", numpy.array([1, 1, *config["size"]], numpy.float32))
        self.add(
            "Resize", [*sources, "", scales], name,
            mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    def layer(self, kind, config, sources, name):
        if config.get("data_format", "channels_last") != "channels_last":
            sys.exit(f"{name}: only channels_last is known")
        if kind == "Conv2D":
            self.conv(config, sources, name)
        elif kind == "UpSampling2D":
            self.upsample(config, sources, name)
        elif kind == "Activation":
            self.activation(config["activation"], *sources, name)
        elif kind == "Add" and len(sources) == 2:
            self.add("Add", sources, name)
        elif kind == "Concatenate" and config["axis"] in (3, -1):
            self.add("Concat", sources, name, axis=1)
        else:
            sys.exit(f"{name}: a layer {kind} like this is not known")


def convert(path):
    model = json.loads(path.read_text())
    network = model["modelTopology"]["model_config"]["config"]
    converter = Converter(read_weights(path, model["weightsManifest"]))
    for layer in network["layers"]:
        if layer["class_name"] != "InputLayer":
            (node,) = layer["inbound_nodes"]
            converter.layer(layer["class_name"], layer["config"], [source[0] for source in node], layer["name"])

    def image(name, axes):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3, *axes])

    ((source, _, _),), ((result, _, _),) = network["input_layers"], network["output_layers"]
    graph = helper.make_graph(
        converter.nodes,
        network["name"],
        [image(source, ["height", "width"])],
        [image(result, ["upscaled_height", "upscaled_width"])],
        converter.initializers,
    )
    # Opset 13 and IR 7 are of 2020: readers are more likely to know them than onnx's newest.
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def check(proto, source, expected):
    import onnxruntime
    from PIL import Image

    image = numpy.array(Image.open(source).convert("RGB")).astype(numpy.float32).transpose(2, 0, 1)[None]
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {session.get_inputs()[0].name: image})
    rounded = numpy.rint(result[0].clip(0, 255)).transpose(1, 2, 0)
    difference = numpy.abs(rounded - numpy.array(Image.open(expected).convert("RGB")))
    print(f"{difference.size} bytes: {(difference == 1).sum()} differ by 1, {(difference > 1).sum()} by more, "
          f"at most {difference.max():.0f}")  # fmt: skip
    return difference.max() <= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("onnx", type=pathlib.Path)
    parser.add_argument("--check", nargs=2, metavar=("INPUT.png", "EXPECTED.png"))
    options = parser.parse_args()
    proto = convert(options.model)
    onnx.save(proto, options.onnx)
    if options.check and not check(proto, *options.check):
        sys.exit("the results differ")


if __name__ == "__main__":
    main()
