#!/usr/bin/env bash
# ONNX Runtime's Resize with keep_aspect_ratio_policy takes negative axes and gives another size than for the same axes counted
# from the front.
#
# onnxruntime 1.32.0 on the CPU, onnx 1.23.2. Input: 1 x 1 x 10 x 20, sizes 20 x 20, "not_smaller": the scale of both axes is 2, the
# larger of 20 / 10 and 20 / 20, and the result 20 x 40. Seen: 20 x 40 with axes 2, 3, and 10 x 20 with axes -2, -1. ONNX: "Negative value
# means counting dimensions from the back".
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


def size(axes, policy):
    value = lambda name, shape: h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    node = h.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=axes, keep_aspect_ratio_policy=policy, mode="linear")
    graph = h.make_graph([node], "g", [value("x", [1, 1, 10, 20])], [value("y", [None] * 4)],
                         [onnx.numpy_helper.from_array(n.array([20, 20], "q"), "sizes")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": n.ones((1, 1, 10, 20), "f")})[0].shape[2:]


print("onnxruntime", onnxruntime.__version__, "onnx", onnx.__version__)
for policy in ["not_smaller", "not_larger"]:
    print(f"{policy}: axes 2, 3 give {size([2, 3], policy)}, axes -2, -1 {size([-2, -1], policy)}")
right = size([2, 3], "not_smaller") == (20, 40)
raise SystemExit(0 if right and size([-2, -1], "not_smaller") != (20, 40) else "this has changed")
PY
