#!/usr/bin/env bash
# ONNX Runtime's Col2Im along one axis is wrong where there are several channels and a dilation above 1; along two axes, of which
# one has a single element, it is right for the same numbers.
#
# onnxruntime 1.32.0 on the CPU, onnx 1.23.2. Input: 1 x 4 x 5 floats, blocks of 2 with a dilation of 2, an image of 7, two
# channels. Exact: each element added to its place by the text of the operator, in doubles. Seen: the channels are off by 2.3 and 2.7 along
# one axis, and by at most 3e-8 along two.
#
# Exits with 0 as long as it is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PY'
import numpy as n
import onnx
import onnxruntime
from onnx import helper as h


def run(x, image, block, dilations, rank):
    value = lambda name, shape: h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    weights = [onnx.numpy_helper.from_array(n.array(v, "q"), k) for k, v in {"image": image, "block": block}.items()]
    node = h.make_node("Col2Im", ["x", "image", "block"], ["y"], dilations=dilations)
    graph = h.make_graph([node], "g", [value("x", x.shape)], [value("y", [None] * rank)], weights)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0].reshape(2, 7)


x = n.random.default_rng(0).standard_normal((1, 4, 5)).astype("f")
exact = n.zeros((2, 7))
for channel in range(2):
    for tap in range(2):
        for place in range(5):
            exact[channel, place + 2 * tap] += x[0, 2 * channel + tap, place]
line, plane = run(x, [7], [2], [2], 3), run(x, [1, 7], [1, 2], [1, 2], 4)
off = lambda y: abs(y - exact).max(1)
print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
print("along one axis: channels off by", off(line))
print("along two axes: channels off by", off(plane))
raise SystemExit(0 if off(line).max() > 0.1 and off(plane).max() < 1e-5 else "this has changed")
PY
