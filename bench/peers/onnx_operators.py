#!/usr/bin/env python3
"""onnx_operators.py MODEL.onnx...: what is in ONNX files. For each file its opset, its producer, its inputs, how many
nodes of which operator, and what makes the layers' weights; then all files' operators with the inputs that are given
and the values of each attribute. Needs the onnx package."""
import argparse
from collections import Counter, defaultdict

import onnx


def shape_of(value):
    return "x".join(d.dim_param or str(d.dim_value) for d in value.type.tensor_type.shape.dim)


def attribute_text(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        kind = onnx.TensorProto.DataType.Name(value.data_type).lower()
        return f"tensor({kind}, {list(value.dims) or 'scalar'})"
    if isinstance(value, onnx.GraphProto):
        return "graph"
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe(path, model):
    graph = model.graph
    initializers = {tensor.name for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    origin = Counter()
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm", "BatchNormalization", "MatMul", "ConvTranspose"):
            for name in filter(None, node.input[1:]):
                is_input = any(value.name == name for value in graph.input)
                made_by = makers[name].op_type if name in makers else "graph input" if is_input else "nothing"
                origin["initializer" if name in initializers else made_by] += 1
    opsets = " ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    inputs = ", ".join(f"{v.name} {shape_of(v)}" for v in graph.input if v.name not in initializers)
    nodes = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(n.op_type for n in graph.node).items()))
    listed = sum(value.name in initializers for value in graph.input)
    print(f"{path}: opset {opsets}, IR {model.ir_version}, {model.producer_name or 'no producer named'}")
    print(f"    inputs {inputs} (and {listed} initializers); outputs {', '.join(v.name for v in graph.output)}")
    print(f"    {nodes}")
    print(f"    weights of layers: {', '.join(f'{count} by {kind}' for kind, count in origin.items())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+")
    options = parser.parse_args()
    attributes = defaultdict(lambda: defaultdict(Counter))
    inputs = defaultdict(Counter)
    for path in options.model:
        model = onnx.load(path, load_external_data=False)
        describe(path, model)
        for node in model.graph.node:
            inputs[node.op_type]["".join("-x"[bool(name)] for name in node.input) or "none"] += 1
            for attribute in node.attribute:
                attributes[node.op_type][attribute.name][attribute_text(attribute)] += 1
    print("\nAll operators: number of nodes by which inputs are given (x; - for an empty name), and attributes' values")
    for kind in sorted(inputs):
        print(f"{kind}: {', '.join(f'{count} {given}' for given, count in inputs[kind].items())}")
        for name, values in sorted(attributes[kind].items()):
            common = [f"{text} ({count})" for text, count in values.most_common(24)]
            print(f"    {name}: {', '.join(common)}{', ...' if len(values) > 24 else ''}")


if __name__ == "__main__":
    main()
