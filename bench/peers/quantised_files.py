#!/usr/bin/env python3
"""quantised_files.py PRIMSEL FOLDER: quantised ONNX files in primsel and in ONNX Runtime, beside the network in floats.

ONNX Runtime's quantiser makes files of small networks (a residual one, inverted residuals with ReLU6, branches that are
concatenated, gates, a detection head), in FOLDER: pairs of QuantizeLinear and DequantizeLinear, operators on integers, and
scales found at run time; of u8 and s8 activations and weights, a channel or a tensor, of 16 bits, with 7-bit weights, weights
alone in 8 or 4 bits, images and results that are bytes; and the network in float16. For each, the table has the RMS of the
difference to the float network over the RMS of that one's results: of ONNX Runtime, of primsel in floats, and of primsel with
`--precision int8`; and the differences between primsel in floats and ONNX Runtime. PRIMSEL is the command line's program. Needs
numpy, onnx and onnxruntime. Exit status 1 when primsel refuses a file or its error in floats is more than 1.05 times ONNX
Runtime's and above 1e-4.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType

IMAGES = 8


class Net:
    """A network node by node; every weight is drawn."""

    def __init__(self, seed, shape=(3, 32, 32)):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights, self.channels, self.last = [], [], shape[0], "x"
        self.shape = shape

    def add(self, op, inputs, channels=None, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.last = name
        self.channels = channels or self.channels
        return name

    def constant(self, values, name=None):
        name = name or f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, source, c, k, size=3, stride=1, group=1):
        # Filters of very different sizes, as trained networks have them.
        w = self.random.standard_normal((k, c // group, size, size)) * numpy.sqrt(2 / (c // group * size * size))
        w *= numpy.exp(self.random.standard_normal((k, 1, 1, 1)) * 0.5)
        b = self.random.standard_normal(k) * 0.1
        inputs = [source, self.constant(w.astype(numpy.float32)), self.constant(b.astype(numpy.float32))]
        pad = (size - 1) // 2
        return self.add("Conv", inputs, k, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)

    def clip6(self, source):
        low, high = self.constant(numpy.float32(0)), self.constant(numpy.float32(6))
        return self.add("Clip", [source, low, high])

    def dense(self, source, c, k):
        w = self.random.standard_normal((k, c)).astype(numpy.float32) / numpy.float32(numpy.sqrt(c))
        return self.add("Gemm", [source, self.constant(w), self.constant(numpy.zeros(k, numpy.float32))], transB=1)

    def head(self, source, c, k=10):
        pooled = self.add("GlobalAveragePool", [source])
        return self.dense(self.add("Flatten", [pooled]), c, k)

    def model(self, outputs):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        image = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *self.shape])
        graph = helper.make_graph(self.nodes, "net", [image], infos, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def residual():
    net = Net(1)
    x = net.add("Relu", [net.conv("x", 3, 16)])
    x = net.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    c = 16
    for k, stride in ((16, 1), (32, 2), (32, 1)):
        y = net.add("Relu", [net.conv(x, c, k, stride=stride)])
        y = net.conv(y, k, k)
        short = x if stride == 1 and c == k else net.conv(x, c, k, 1, stride)
        x, c = net.add("Relu", [net.add("Add", [y, short])]), k
    return net.model([net.head(x, c)])


def inverted():
    net = Net(2)
    x, c = net.clip6(net.conv("x", 3, 16, stride=2)), 16
    for k, stride in ((16, 1), (24, 2), (24, 1)):
        y = net.clip6(net.conv(x, c, 4 * c, 1))
        y = net.clip6(net.conv(y, 4 * c, 4 * c, 3, stride, 4 * c))
        y = net.conv(y, 4 * c, k, 1)
        x, c = net.add("Add", [x, y]) if stride == 1 and c == k else y, k
    return net.model([net.head(net.clip6(net.conv(x, c, 64, 1)), 64)])


def branches():
    net = Net(3)
    x, c = net.add("Relu", [net.conv("x", 3, 16, 5, 2)]), 16
    for _ in range(2):
        one = net.add("Relu", [net.conv(x, c, 16, 1)])
        two = net.add("Relu", [net.conv(net.add("Relu", [net.conv(x, c, 8, 1)]), 8, 24)])
        pooled = net.add("AveragePool", [x], kernel_shape=[3, 3], pads=[1] * 4)
        three = net.add("Relu", [net.conv(pooled, c, 8, 1)])
        x, c = net.add("Concat", [one, two, three], axis=1), 48
    x = net.add("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
    return net.model([net.add("Softmax", [net.head(x, c)], axis=1)])


def gates():
    net = Net(4)
    y = net.conv("x", 3, 16, stride=2)
    x = net.add("Mul", [y, net.add("Sigmoid", [y])])
    for _ in range(2):
        y = net.conv(x, 16, 16, 3, 1, 16)
        y = net.add("HardSwish", [net.conv(y, 16, 32, 1)])
        gate = net.add("Relu", [net.conv(net.add("GlobalAveragePool", [y]), 32, 8, 1)])
        gate = net.add("Sigmoid", [net.conv(gate, 8, 32, 1)])
        x = net.add("Add", [x, net.conv(net.add("Mul", [y, gate]), 32, 16, 1)])
    return net.model([net.head(x, 16)])


def detection():
    net = Net(5)
    small = net.add("LeakyRelu", [net.conv("x", 3, 16, stride=2)], alpha=0.1)
    deep = net.add("LeakyRelu", [net.conv(small, 16, 32, stride=2)], alpha=0.1)
    scales = net.constant(numpy.array([1, 1, 2, 2], numpy.float32))
    up = net.add("Resize", [deep, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor")
    x = net.add("Concat", [small, up], axis=1)
    x = net.add("LeakyRelu", [net.conv(x, 48, 24)], alpha=0.1)
    x = net.conv(net.add("MaxPool", [x], kernel_shape=[5, 5], pads=[2] * 4), 24, 18, 1)
    shape = net.constant(numpy.array([-1, 3, 6, 256], numpy.int64))
    rows = net.add("Transpose", [net.add("Reshape", [x, shape])], perm=[0, 1, 3, 2])
    return net.model([net.add("Sigmoid", [rows]), deep])


NETS = {"residual": residual, "inverted": inverted, "branches": branches, "gates": gates, "detection": detection}


def images(count, seed, shape=(3, 32, 32)):
    """Smooth images between -2 and 2."""
    random = numpy.random.default_rng(seed)
    coarse = random.standard_normal((count, shape[0], 8, 8))
    fine = numpy.repeat(numpy.repeat(coarse, shape[1] // 8, 2), shape[2] // 8, 3)
    fine = fine + 0.2 * random.standard_normal(fine.shape)
    return fine.clip(-2, 2).astype(numpy.float32)


class Reader(CalibrationDataReader):
    def __init__(self):
        self.rest = iter(images(32, 7))

    def get_next(self):
        image = next(self.rest, None)
        return None if image is None else {"x": image[None]}


U8, S8, U16, S16 = QuantType.QUInt8, QuantType.QInt8, QuantType.QUInt16, QuantType.QInt16
STATIC = {
    "qdq-u8s8": dict(activation_type=U8, weight_type=S8),
    "qdq-u8s8-channel": dict(activation_type=U8, weight_type=S8, per_channel=True),
    "qdq-u8s8-7bit": dict(activation_type=U8, weight_type=S8, reduce_range=True),
    "qdq-s8s8-channel": dict(activation_type=S8, weight_type=S8, per_channel=True),
    "qdq-s8s8-symmetric": dict(activation_type=S8, weight_type=S8, per_channel=True,
                               extra_options={"ActivationSymmetric": True}),
    "qdq-u8u8": dict(activation_type=U8, weight_type=U8),
    "qdq-pairs-apart": dict(activation_type=U8, weight_type=S8, extra_options={"DedicatedQDQPair": True}),
    "qdq-float-weights": dict(activation_type=U8, weight_type=S8, extra_options={"AddQDQPairToWeight": True}),
    "qdq-16bit": dict(activation_type=U16, weight_type=S8, extra_options={"UseQDQContribOps": True}),
    "qdq-s16": dict(activation_type=S16, weight_type=S16, extra_options={"UseQDQContribOps": True}),
    "qop-u8s8": dict(quant_format=QuantFormat.QOperator, activation_type=U8, weight_type=S8),
    "qop-u8u8": dict(quant_format=QuantFormat.QOperator, activation_type=U8, weight_type=U8),
    "qop-u8s8-channel": dict(quant_format=QuantFormat.QOperator, activation_type=U8, weight_type=S8, per_channel=True),
    "qop-s8s8": dict(quant_format=QuantFormat.QOperator, activation_type=S8, weight_type=S8),
}
DYNAMIC = {
    "dynamic-u8": dict(weight_type=U8),
    "dynamic-s8-matmul": dict(weight_type=S8, op_types_to_quantize=["MatMul"]),
    "dynamic-u8-channel": dict(weight_type=U8, per_channel=True, op_types_to_quantize=["MatMul"]),
}


def dequantised_weights(model, bits):
    """The model with weights of a channel in int8 or int4 behind a DequantizeLinear."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph, most = model.graph, 2 ** (bits - 1) - 1
    new, kept = [], []
    read_by = {name for node in graph.node if node.op_type in ("Conv", "Gemm") for name in node.input[1:2]}
    for weight in graph.initializer:
        if weight.name not in read_by:
            kept.append(weight)
            continue
        values = numpy_helper.to_array(weight)
        scale = numpy.abs(values).reshape(len(values), -1).max(1) / most
        q = numpy.rint(values / scale.reshape(-1, *[1] * (values.ndim - 1))).astype(numpy.int8)
        kind = TensorProto.INT8 if bits == 8 else TensorProto.INT4
        kept += [helper.make_tensor(weight.name + "_q", kind, q.shape, q.flatten()),
                 numpy_helper.from_array(scale.astype(numpy.float32), weight.name + "_scale")]
        new.append(helper.make_node("DequantizeLinear", [weight.name + "_q", weight.name + "_scale"], [weight.name], axis=0))
    nodes = new + list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept), graph.node.extend(nodes)
    model.opset_import[0].version, model.ir_version = 21, 10
    return model


def in_half(model):
    """The model with inputs, weights and results of float16."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for i, weight in enumerate(model.graph.initializer):
        values = numpy_helper.to_array(weight)
        if values.dtype == numpy.float32 and not weight.name.startswith("scales"):
            is_scale = any(node.op_type == "Resize" and weight.name in node.input for node in model.graph.node)
            if not is_scale:
                model.graph.initializer[i].CopyFrom(numpy_helper.from_array(values.astype(numpy.float16), weight.name))
    for info in [*model.graph.input, *model.graph.output]:
        info.type.tensor_type.elem_type = TensorProto.FLOAT16
    del model.graph.value_info[:]
    return model


def bytes_outside(model):
    """The model without the first QuantizeLinear and the last DequantizeLinear: its image and result are bytes."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    first = next(node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "x")
    last = next(node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type != "DequantizeLinear" or any("x" in node.input for node in graph.node if node != first):
        return None
    scales = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    inside = (scales[first.input[1]], scales[first.input[2]])
    outside = (scales[last.input[1]], scales[last.input[2]])
    graph.node.remove(first), graph.node.remove(last)
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name == first.output[0]:
                node.input[i] = "x"
    kind = helper.np_dtype_to_tensor_dtype(inside[1].dtype)
    graph.input[0].type.tensor_type.elem_type = kind
    kind = helper.np_dtype_to_tensor_dtype(outside[1].dtype)
    graph.output[0].CopyFrom(helper.make_tensor_value_info(last.input[0], kind, None))
    return model, inside, outside


def write_files(folder):
    """The files by network: name, path, what its inputs are of the image, what the results are of its outputs."""
    same = (lambda image: image, lambda results: results)
    files = []
    for name, build in NETS.items():
        model = build()
        plain = folder / f"{name}.onnx"
        onnx.save(model, plain)
        for kind, options in STATIC.items():
            path = folder / f"{name}-{kind}.onnx"
            quantization.quantize_static(plain, path, Reader(), **{"quant_format": QuantFormat.QDQ, **options})
            files.append((name, kind, path, *same))
            if kind not in ("qdq-u8s8", "qop-u8s8", "qdq-s8s8-channel"):
                continue
            if (outside := bytes_outside(onnx.load(path))) is not None:
                model_of_bytes, inside, result = outside
                path = folder / f"{name}-{kind}-bytes.onnx"
                onnx.save(model_of_bytes, path)

                def to_bytes(image, inside=inside):
                    bounds = numpy.iinfo(inside[1].dtype)
                    q = numpy.rint(image / inside[0]) + inside[1].astype(numpy.float32)
                    return q.clip(bounds.min, bounds.max).astype(inside[1].dtype)

                def from_bytes(results, result=result):
                    values = [(results[0].astype(numpy.float64) - float(result[1])) * float(result[0])]
                    return [*values, *results[1:]]

                files.append((name, kind + "-bytes", path, to_bytes, from_bytes))
        for kind, options in DYNAMIC.items():
            path = folder / f"{name}-{kind}.onnx"
            quantization.quantize_dynamic(plain, path, **options)
            files.append((name, kind, path, *same))
        for kind, other in (("weights-8bit", dequantised_weights(model, 8)), ("weights-4bit", dequantised_weights(model, 4))):
            onnx.save(other, folder / f"{name}-{kind}.onnx")
            files.append((name, kind, folder / f"{name}-{kind}.onnx", *same))
        onnx.save(in_half(model), folder / f"{name}-float16.onnx")
        files.append((name, "float16", folder / f"{name}-float16.onnx", lambda image: image.astype(numpy.float16),
                      lambda results: results))
    return files


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ours(program, path, image, folder, more=()):
    numpy.save(folder / "x.npy", image)
    command = [program, "run", path, "--input", f"x={folder / 'x.npy'}", "--output", folder / "out", "--repeat", 1, "--json", *more]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        return None, done.stderr.strip()
    return [numpy.load(output["file"]) for output in json.loads(done.stdout)["outputs"]], ""


def flat(results):
    return numpy.concatenate([numpy.asarray(result, numpy.float64).ravel() for result in results])


def error(found, wanted):
    return float(numpy.sqrt(numpy.mean(numpy.square(found - wanted)) / numpy.mean(numpy.square(wanted))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-k", default="", help="only kinds whose name holds this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    program, failed = options.program.resolve(), False
    print(f"{'file':34}{'ORT':>9}{'primsel':>9}{'int8':>9}{'apart':>9}")
    shown = images(IMAGES, 99)
    for name, kind, path, enter, leave in write_files(options.folder):
        if options.k not in kind:
            continue
        wanted = flat(session(options.folder / f"{name}.onnx").run(None, {"x": shown}))
        image, found, why = enter(shown), {}, ""
        try:
            found["ort"] = flat(leave(session(path).run(None, {"x": image})))
        except Exception as reason:  # of whichever kind: the file is none of ours to judge
            why = f"ONNX Runtime: {(str(reason).splitlines() or [''])[0]}"
        with tempfile.TemporaryDirectory() as place:
            for key, more in (("floats", ()), ("int8", ("--precision", "int8"))):
                if key == "int8" and (not kind.startswith("q") or "16" in kind):
                    continue
                results, reason = ours(program, path, image, pathlib.Path(place), more)
                if results is None:
                    why = f"{key}: {reason}"
                else:
                    found[key] = flat(leave(results))
        errors = {key: error(values, wanted) for key, values in found.items()}
        ort, floats = errors.get("ort"), errors.get("floats")
        apart = error(found["floats"], found["ort"]) if ort is not None and floats is not None else None
        text = "".join(f"{value:9.5f}" if value is not None else f"{'-':>9}"
                       for value in (ort, floats, errors.get("int8"), apart))
        bad = floats is None or (ort is not None and floats > 1e-4 and floats > 1.05 * ort)
        failed = failed or bad
        print(f"{name + '-' + kind:34}{text}{'  <--' if bad else ''} {why[-200:]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
