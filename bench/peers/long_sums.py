#!/usr/bin/env python3
"""long_sums.py PRIMSEL: the errors of operators that sum, by the length of the sum, in primsel and in ONNX Runtime.

PRIMSEL is the command line's program. Each line is an operator on random values, a length, and the largest error of both
against the same in double precision, relative to the RMS of the result. Means are of values around 0.5, norms of values
around --mean with a deviation of 1. --most N: lengths up to 2^N. Needs numpy, onnx and onnxruntime.
"""
import argparse
import pathlib
import tempfile

import numpy
import onnx
from onnx import helper

from check_files import ours
from onnxruntime_logits import make_session


def around(random, shape, mean):
    return (mean + random.standard_normal(shape)).astype("f")


def normal(x, axes):
    x = x.astype("d")
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + 1e-5)


def softmax(x):
    powers = numpy.exp(x.astype("d") - x.max())
    return powers / powers.sum()


def cases(random, n, mean):
    """Of each operator: its name, attributes, input, further inputs and right result."""
    line, image = random.random((1, 4, n), dtype="f"), random.random((1, 4, n // 8, 8), dtype="f")
    shifted = around(random, (1, 4, n), mean)
    ones, zeros = numpy.ones(4, "f"), numpy.zeros(4, "f")
    yield "ReduceMean", {"axes": [2]}, line, [], line.astype("d").mean(2, keepdims=True)
    yield "GlobalAveragePool", {}, image, [], image.astype("d").mean((2, 3), keepdims=True)
    yield "Softmax", {"axis": 2}, line[:, :1], [], softmax(line[:, :1])
    yield "InstanceNormalization", {}, shifted, [ones, zeros], normal(shifted, 2)
    yield "GroupNormalization", {"num_groups": 2}, shifted, [ones, zeros], normal(
        shifted.reshape(1, 2, -1), 2).reshape(shifted.shape)
    yield "LayerNormalization", {"axis": 2}, shifted, [numpy.ones(n, "f")], normal(shifted, 2)
    weight = random.random((3, n), dtype="f")
    yield "Gemm", {"transB": 1}, line[0, :1], [weight], line[0, :1].astype("d") @ weight.astype("d").T


def model_of(operator, attributes, x, others):
    names = ["x"] + [f"w{i}" for i in range(len(others))]
    node = helper.make_node(operator, names, ["y"], **attributes)
    weights = [onnx.numpy_helper.from_array(values, name) for values, name in zip(others, names[1:])]
    value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "sum", [value("x", x.shape)], [value("y", None)], weights)
    opset = 21 if operator == "GroupNormalization" else 17
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def error(found, right):
    found = numpy.asarray(found, "d").reshape(right.shape)
    return abs(found - right).max() / numpy.sqrt((right ** 2).mean())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("primsel", type=pathlib.Path)
    arguments.add_argument("--mean", type=float, default=1000, help="of what is normalised")
    arguments.add_argument("--most", type=int, default=22, help="the longest sum, as a power of two")
    options = arguments.parse_args()
    print(f"{'operator':22} {'length':>9} {'primsel':>9} {'ONNX Runtime':>13}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for power in range(6, options.most + 1, 4):
            for operator, attributes, x, others, right in cases(numpy.random.default_rng(power), 2 ** power, options.mean):
                onnx.save(model_of(operator, attributes, x, others), path)
                results, reason = ours(options.primsel, path, {"x": x}, pathlib.Path(folder))
                theirs = make_session(str(path)).run(None, {"x": x})[0]
                own = f"{error(results[0], right):9.1e}" if results else reason
                print(f"{operator:22} {2 ** power:9} {own} {error(theirs, right):13.1e}", flush=True)


if __name__ == "__main__":
    main()
