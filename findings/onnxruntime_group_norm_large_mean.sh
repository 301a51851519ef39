#!/usr/bin/env bash
# ONNX Runtime's GroupNormalization of values that are far from zero is off by several deviations, where its
# LayerNormalization of the same values is right.
#
# onnxruntime 1.32.0 on the CPU, onnx 1.23.2. Input: 1 x 2 x 16384 floats of mean 1000 and deviation 1, two groups of one channel.
# Exact: values of mean 0 and deviation 1. Seen: GroupNormalization off by 5.1, LayerNormalization by 4e-5. ONNX defines the
# operator by a function whose variance is mean(x * x) - mean(x) * mean(x), which cancels in float32: what is left of the variance
# 1 beside the squares of 1000 is rounding.
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


def run(op, opset, x, weights, **attributes):
    names = [f"w{i}" for i in range(len(weights))]
    value = lambda name, shape: h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    graph = h.make_graph([h.make_node(op, ["x", *names], ["y"], **attributes)], "g", [value("x", x.shape)], [value("y", x.shape)],
                         [onnx.numpy_helper.from_array(w, name) for w, name in zip(weights, names)])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0].reshape(2, -1)


x = (1000 + n.random.default_rng(14).standard_normal((1, 2, 16384))).astype("f")
exact = x.astype("d").reshape(2, -1)
exact = (exact - exact.mean(1, keepdims=True)) / exact.std(1, keepdims=True)
group = run("GroupNormalization", 21, x, [n.ones(2, "f"), n.zeros(2, "f")], num_groups=2)
layer = run("LayerNormalization", 17, x, [n.ones(16384, "f")], axis=-1)
off = lambda y: n.nanmax(abs(y - exact), initial=0)
print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
print(f"GroupNormalization: {n.isnan(group).sum()} NaN of {group.size}, others off by {off(group):.1e}")
print(f"LayerNormalization: {n.isnan(layer).sum()} NaN of {layer.size}, off by {off(layer):.1e}")
wrong = n.isnan(group).any() or off(group) > 0.01
raise SystemExit(0 if wrong and not n.isnan(layer).any() and off(layer) < 1e-3 else "this has changed")
PY
