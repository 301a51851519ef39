"""Random small networks as ONNX models, with what ONNX Runtime computes for them.

A network grows node by node: each node is run by itself, in ONNX Runtime, on the values that are there; a node that it
refuses, or whose result is huge or not finite, is left out. So all values are known, and what is built can run.
"""

import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)
MOST_ELEMENTS, LARGEST = 4000, 1e3
OPSETS = (9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21)


@dataclasses.dataclass
class Network:
    opset: int
    inputs: dict = dataclasses.field(default_factory=dict)
    constants: dict = dataclasses.field(default_factory=dict)
    nodes: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=dict)  # of inputs and of nodes

    def leaves(self):
        read = {name for node in self.nodes for name in node.input}
        return [name for node in self.nodes for name in node.output if name in self.values and name not in read]

    def model(self, outputs):
        """The nodes that these outputs need."""
        wanted, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if wanted & set(node.output):
                nodes.insert(0, node)
                wanted.update(node.input)
        made = {name for node in nodes for name in node.output}
        constants = {name: value for name, value in self.constants.items() if name in wanted - made}
        inputs = {name: value for name, value in self.inputs.items() if name in wanted}
        return make_model(self.opset, nodes, inputs, constants, {name: self.values[name] for name in outputs}), inputs

    def alone(self, node):
        """A network of one node, whose inputs are what it reads here."""
        given = {name: self.values[name] for name in node.input if name in self.values}
        outputs = {name: self.values[name] for name in node.output if name}
        return Network(self.opset, given, self.constants, [node], {**given, **outputs})


def info(name, value):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def make_model(opset, nodes, inputs, constants, outputs):
    graph = helper.make_graph(
        nodes, "network", [info(*i) for i in inputs.items()],
        [info(*o) if o[1] is not None else helper.make_empty_tensor_value_info(o[0]) for o in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


class Generator:
    """skipped: operators that the network shall not have."""

    def __init__(self, seed, skipped=frozenset()):
        self.random = np.random.RandomState(seed)
        self.skipped = skipped
        self.network = Network(opset=self.pick(OPSETS))
        self.count = 0

    # --- draws

    def below(self, n):
        return int(self.random.randint(n))

    def between(self, low, high):
        return int(self.random.randint(low, high + 1))

    def chance(self, p=0.5):
        return self.random.rand() < p

    def pick(self, values):
        return values[self.below(len(values))]

    def some(self, values):
        return [value for value in values if self.chance()]

    def floats(self, shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    # --- values

    @property
    def opset(self):
        return self.network.opset

    def shape(self, name):
        return self.network.values[name].shape

    def name(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def constant(self, value):
        """The name of a constant: an initializer, or now and then the result of a node."""
        name = self.name("c")
        value = np.asarray(value)
        if self.chance(0.1):
            node = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name))
            self.network.nodes.append(node)
        self.network.constants[name] = value
        return name

    def integers(self, values):
        return self.constant(np.array(values, np.int64))

    def input(self, shape):
        name = self.name("x")
        self.network.inputs[name] = self.network.values[name] = self.floats(shape)
        return name

    def value(self, ranks=None):
        """A value of floats, the latest most likely; None where there is none of these ranks."""
        names = [name for name, value in self.network.values.items() if value.dtype == np.float32]
        fitting = [name for name in names if ranks is None or len(self.shape(name)) in ranks]
        if not fitting:
            return None
        return fitting[-1] if self.chance(0.7) else self.pick(fitting)

    def add(self, op, inputs, outputs=1, **attributes):
        """Adds a node if it can run. Returns the name of its first output, or None."""
        names = [self.name("v") for _ in range(outputs)]
        try:
            node = helper.make_node(op, inputs, names, name=names[0], **attributes)
        except ValueError:  # an empty list, of a scalar
            return None
        # The value of a Constant node is here a constant of the node that reads it.
        constants = {name: self.network.constants[name] for name in inputs if name in self.network.constants}
        given = {name: self.network.values[name] for name in inputs if name in self.network.values}
        if not given or op in self.skipped:
            return None
        divisor = {"Reciprocal": 0, "Div": 1}.get(op)
        if divisor is not None and np.abs({**constants, **given}[inputs[divisor]]).min() < 0.1:
            return None  # would make much of small errors
        model = make_model(self.opset, [node], given, constants, {name: None for name in names})
        try:
            results = run_onnxruntime(model, given)
        except Exception:
            if not has_reference(node):
                return None
            try:
                results = ReferenceEvaluator(model).run(None, given)
            except Exception:
                return None
        for result in results:
            if result.size == 0 or result.size > MOST_ELEMENTS:
                return None
            if not np.isfinite(result).all() or np.abs(result).max() > LARGEST:
                return None
        self.network.nodes.append(node)
        self.network.values.update(zip(names, results))
        return names[0]

    def grow(self, size):
        shape = (self.pick((1, 1, 1, 2, 3)), self.between(1, 9), self.between(1, 12), self.between(1, 12))
        rank = self.pick((4, 4, 4, 4, 4, 3, 2))
        self.input(shape[:rank])
        if self.chance(0.1):
            self.input(self.pick((shape[:rank], (shape[0], *shape[1:rank]), (1, *shape[1:rank]))))
        for _ in range(8 * size):
            self.pick(MAKERS)(self)
            if sum(node.op_type != "Constant" for node in self.network.nodes) >= size:
                break
        return self.network


def has_reference(node):
    """ONNX Runtime has no convolution of auto_pad SAME with gaps."""
    names = {attribute.name for attribute in node.attribute}
    return node.op_type == "Conv" and {"auto_pad", "dilations"} <= names


# --- operators: each draws one with its attributes

MAKERS = []
# Those of them that primsel may not have (yet).
LESS_COMMON = (
    "Abs", "Cos", "Erf", "Exp", "Gelu", "InstanceNormalization", "LayerNormalization", "Log", "LogSoftmax", "Max",
    "Min", "Mish", "Neg", "Pow", "Reciprocal", "ReduceL2", "ReduceMin", "Selu", "Sin", "Softplus", "Softsign", "Sqrt",
    "Tile",
)  # fmt: skip


def maker(weight):
    def add(function):
        MAKERS.extend([function] * weight)
        return function

    return add


def window(g, axes, kernel, transposed=False):
    attributes = {}
    if g.chance():
        attributes["strides"] = [g.between(1, 3) for _ in axes]
    if g.chance(0.3):
        attributes["dilations"] = [g.between(1, 3) for _ in axes]
    kind = g.pick(("pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"))
    if kind == "pads":
        attributes["pads"] = [
            g.between(0, kernel[i % len(axes)] - (0 if transposed else 1)) for i in range(2 * len(axes))
        ]
    elif kind != "none":
        attributes["auto_pad"] = kind
    return attributes


@maker(5)
def conv(g):
    if (x := g.value((3, 4))) is None:
        return
    _, c, *axes = g.shape(x)
    group = g.pick([d for d in range(1, c + 1) if c % d == 0])
    k = group * g.between(1, max(1, 9 // group))
    kernel = [g.between(1, 5) for _ in axes]
    attributes = window(g, axes, kernel)
    if group > 1 or g.chance():
        attributes["group"] = group
    if g.chance():
        attributes["kernel_shape"] = kernel
    inputs = [x, g.constant(g.floats((k, c // group, *kernel), (c // group * np.prod(kernel)) ** -0.5))]
    if g.chance():
        inputs.append(g.constant(g.floats(k)))
    g.add("Conv", inputs, **attributes)


@maker(3)
def conv_transpose(g):
    if (x := g.value((3, 4))) is None:
        return
    _, c, *axes = g.shape(x)
    group = g.pick([d for d in range(1, c + 1) if c % d == 0])
    kernel = [g.between(1, 4) for _ in axes]
    attributes = window(g, axes, kernel, transposed=True)
    strides = attributes.get("strides", [1] * len(axes))
    dilations = attributes.get("dilations", [1] * len(axes))
    if g.chance(0.3):
        attributes["output_padding"] = [g.below(max(s, d)) for s, d in zip(strides, dilations)]
    spans = [(size - 1) * d + 1 for size, d in zip(kernel, dilations)]
    if g.chance(0.2):
        attributes.pop("pads", None)
        attributes["output_shape"] = [
            max(1, (dim - 1) * s + span + g.between(-2, s - 1)) for dim, s, span in zip(axes, strides, spans)
        ]
    elif attributes.get("auto_pad", "").startswith("SAME") and any(span < s for span, s in zip(spans, strides)):
        return  # ONNX Runtime's result is smaller than the standard says
    weight = g.constant(g.floats((c, g.between(1, 3), *kernel), c**-0.5))
    inputs = [x, weight] + ([g.constant(g.floats(group * g.network.constants[weight].shape[1]))] if g.chance() else [])
    g.add("ConvTranspose", inputs, group=group, **attributes)


def pool(g, op, outputs, attributes, has_dilations):
    if (x := g.value((3, 4))) is None:
        return
    _, _, *axes = g.shape(x)
    kernel = [g.between(1, 4) for _ in axes]
    attributes.update(window(g, axes, kernel), kernel_shape=kernel)
    is_same = attributes.get("auto_pad", "").startswith("SAME")
    strides = attributes.get("strides", [1] * len(axes))
    total = [(-(-size // s) - 1) * s + k - size for size, s, k in zip(axes, strides, kernel)]
    if is_same and any(each < 0 and each % 2 == 0 for each in total):
        attributes["auto_pad"] = "SAME_UPPER"  # with SAME_LOWER ONNX Runtime begins a pixel before where the standard does
    if not has_dilations or is_same:
        attributes.pop("dilations", None)  # ONNX Runtime passes over them where auto_pad is SAME
    if g.opset >= 10 and attributes.get("auto_pad") != "VALID" and g.chance(0.4):
        attributes["ceil_mode"] = 1  # ONNX Runtime rounds up where auto_pad is VALID; the standard does not
    g.add(op, [x], outputs, **attributes)


@maker(3)
def max_pool(g):
    has_indices = g.chance(0.2)
    attributes = {"storage_order": g.below(2)} if has_indices and g.chance() else {}
    pool(g, "MaxPool", 2 if has_indices else 1, attributes, g.opset >= 10)


@maker(3)
def average_pool(g):
    pool(g, "AveragePool", 1, {"count_include_pad": g.below(2)} if g.chance() else {}, g.opset >= 19)


@maker(1)
def global_pool(g):
    if x := g.value((3, 4)):
        g.add(g.pick(("GlobalAveragePool", "GlobalMaxPool")), [x])


@maker(2)
def batch_norm(g):
    if (x := g.value((2, 3, 4))) is None:
        return
    c = g.shape(x)[1]
    vectors = [g.floats(c), g.floats(c), g.floats(c), np.abs(g.floats(c)) + np.float32(0.1)]
    g.add("BatchNormalization", [x, *map(g.constant, vectors)], **({"epsilon": 1e-3} if g.chance() else {}))


@maker(1)
def lrn(g):
    if x := g.value((4,)):
        g.add(
            "LRN",
            [x],
            size=g.pick((1, 3, 5)),
            alpha=g.pick((1e-4, 0.5)),
            beta=g.pick((0.75, 0.5)),
            bias=g.pick((1.0, 2.0)),
        )


@maker(2)
def other_norm(g):
    if (x := g.value((3, 4))) is None:
        return
    shape = g.shape(x)
    if g.chance():
        vectors = [g.constant(g.floats(shape[1])) for _ in range(2)]
        g.add("InstanceNormalization", [x, *vectors])
    elif g.opset >= 17:
        axis = g.between(1, len(shape) - 1)
        vectors = [g.constant(g.floats(shape[axis:])) for _ in range(g.between(1, 2))]
        g.add("LayerNormalization", [x, *vectors], axis=g.pick((axis, axis - len(shape))))


@maker(5)
def activation(g):
    x = g.value()
    op = g.pick(("Relu", "Relu", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "Clip", "Softmax",
                 "Selu", "Softplus", "Softsign", "LogSoftmax", "Gelu", "Mish"))  # fmt: skip
    attributes = {}
    if op in ("LeakyRelu", "Elu", "HardSigmoid") and g.chance():
        attributes["alpha"] = g.pick((0.1, 0.3, 1.5))
    if op == "HardSigmoid" and g.chance():
        attributes["beta"] = g.pick((0.0, 0.4))
    if op in ("Softmax", "LogSoftmax") and g.chance(0.8):
        rank = len(g.shape(x))
        attributes["axis"] = g.between(-rank, rank - 1)
    inputs = [x]
    if op == "Clip":
        low, high = np.float32(g.pick((-1.0, 0.0))), np.float32(g.pick((0.5, 6.0)))
        if g.opset >= 11:
            inputs += g.pick(([], [g.constant(low)], ["", g.constant(high)], [g.constant(low), g.constant(high)]))
        else:
            attributes = dict(g.some([("min", float(low)), ("max", float(high))]))
    g.add(op, inputs, **attributes)


@maker(2)
def function(g):
    op = g.pick(("Abs", "Neg", "Exp", "Sqrt", "Reciprocal", "Erf", "Identity", "Dropout", "Log", "Sin", "Cos"))
    g.add(op, [g.value()])


def broadcastable(g, shape):
    """Dimensions that broadcast with a shape: some of one, some left out at the front, now and then some more."""
    dims = [1 if g.chance(0.4) else (g.between(2, 4) if dim == 1 and g.chance(0.3) else dim) for dim in shape]
    if g.chance(0.4):
        dims = dims[g.between(0, len(dims)) :]
    elif g.chance(0.1):
        dims = [g.between(1, 2), *dims]
    return dims


@maker(6)
def binary(g):
    x = g.value()
    other = g.value() if g.chance() else g.constant(g.floats(broadcastable(g, g.shape(x))))
    op = g.pick(("Add", "Add", "Sub", "Mul", "Mul", "Div", "PRelu", "Sum", "Max", "Min", "Pow"))
    if op == "Div" and other in g.network.constants:
        value = g.network.constants[other]
        g.network.constants[other] = np.where(value < 0, value - 0.5, value + 0.5).astype(np.float32)
        for node in g.network.nodes:
            if node.output[0] == other:
                node.attribute[0].t.CopyFrom(numpy_helper.from_array(g.network.constants[other], other))
    inputs = [other, x] if g.chance(0.3) and op not in ("PRelu", "Div") else [x, other]
    if op == "Sum" and g.chance(0.3):
        inputs.append(g.value())
    if op == "Pow":
        inputs = [x, g.constant(np.float32(g.pick((2, 3, 1))))]
    g.add(op, inputs)


@maker(3)
def reduce(g):
    x = g.value()
    op = g.pick(("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2"))
    rank = len(g.shape(x))
    axes = [g.pick((axis, axis - rank)) for axis in g.some(range(rank))]
    g.random.shuffle(axes)
    attributes = {"keepdims": g.below(2)} if g.chance() else {}
    as_input = g.opset >= (13 if op == "ReduceSum" else 18)
    if not axes:
        return g.add(op, [x], **attributes)
    if as_input:
        return g.add(op, [x, g.integers(axes)], **attributes)
    g.add(op, [x], axes=axes, **attributes)


@maker(3)
def resize(g):
    if (x := g.value((3, 4))) is None:
        return
    shape = g.shape(x)
    axes = range(2, len(shape))
    mode = g.pick(("nearest", "linear"))
    # Nearest to a place half way between two pixels is whichever the rounding of other factors makes of it.
    factors = (1.0, 2.0, 4.0, 0.5) if mode == "nearest" else (1.0, 2.0, 3.0, 0.5, 1.5, 0.7, 2.3)
    scales = [g.pick(factors) if axis in axes else 1.0 for axis in range(len(shape))]
    # 10 * 0.7 is 7 in floats and less in doubles: ONNX Runtime takes now one and now the other.
    scales = [
        s if int(np.float32(dim) * np.float32(s)) == int(dim * float(np.float32(s))) else 1.0
        for s, dim in zip(scales, shape)
    ]
    if g.opset < 11:
        op = "Upsample" if g.opset == 9 else "Resize"
        return g.add(op, [x, g.constant(np.array(scales, np.float32))], mode=mode)
    attributes = {"mode": mode}
    by_scales = g.chance()
    if g.chance(0.8):
        coordinates = ["half_pixel", "pytorch_half_pixel", "asymmetric"]
        if g.opset >= 19:
            coordinates.append("half_pixel_symmetric")
        # With a size that was rounded ONNX Runtime differs from the standard's tests.
        if not by_scales or all((scale * dim) % 1 == 0 for scale, dim in zip(scales, shape)):
            coordinates.append("align_corners")
        attributes["coordinate_transformation_mode"] = g.pick(coordinates)
    if mode == "nearest" and g.chance(0.7):
        attributes["nearest_mode"] = g.pick(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    roi = "" if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    chosen = list(range(len(shape)))
    if g.opset >= 18 and g.chance(0.3):
        chosen = list(axes)
        attributes["axes"] = chosen
    if by_scales:
        return g.add("Resize", [x, roi, g.constant(np.array([scales[a] for a in chosen], np.float32))], **attributes)
    more = [g.below(2) if mode == "linear" and a in axes else 0 for a in chosen]
    sizes = [max(1, int(shape[a] * scales[a]) + m) for a, m in zip(chosen, more)]
    none = "" if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    g.add("Resize", [x, roi, none, g.integers(sizes)], **attributes)


@maker(3)
def concat(g):
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axis = g.below(len(shape))
    fitting = [
        name for name, value in g.network.values.items()
        if value.dtype == np.float32 and value.ndim == len(shape)
        and all(a == b or i == axis for i, (a, b) in enumerate(zip(value.shape, shape)))
    ]  # fmt: skip
    parts = [x] + [g.pick(fitting) for _ in range(g.between(0, 2))]
    if g.chance(0.2):
        dims = list(shape)
        dims[axis] = g.between(1, 3)
        parts.append(g.constant(g.floats(dims)))
    g.random.shuffle(parts)
    g.add("Concat", parts, axis=g.pick((axis, axis - len(shape))))


@maker(2)
def split(g):
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axis = g.below(len(shape))
    attributes = {"axis": g.pick((axis, axis - len(shape)))}
    parts = g.between(1, min(3, shape[axis]))
    if g.chance():
        cuts = (
            sorted(g.random.choice(np.arange(1, shape[axis]), parts - 1, replace=False).tolist()) if parts > 1 else []
        )
        sizes = np.diff([0, *cuts, shape[axis]]).tolist()
        if g.opset >= 13:
            return g.add("Split", [x, g.integers(sizes)], parts, **attributes)
        return g.add("Split", [x], parts, split=sizes, **attributes)
    if g.opset >= 18:
        attributes["num_outputs"] = parts
    g.add("Split", [x], parts, **attributes)


@maker(3)
def slice_(g):
    x = g.value()
    shape = g.shape(x)
    axes = g.some(range(len(shape)))
    if not axes:
        return
    steps = [1 if g.opset < 10 else g.pick((1, 1, 1, 2, -1, -2, 3)) for _ in axes]
    far = np.iinfo(np.int64).max
    starts = [
        g.between(-shape[a] - 2, shape[a] + 1) if g.chance(0.7) else (0 if s > 0 else far) for a, s in zip(axes, steps)
    ]
    ends = [
        g.between(-shape[a] - 2, shape[a] + 1) if g.chance(0.5) else (far if s > 0 else -far)
        for a, s in zip(axes, steps)
    ]
    named = [g.pick((a, a - len(shape))) for a in axes]
    if g.opset < 10:
        return g.add("Slice", [x], starts=starts, ends=ends, axes=axes)
    inputs = [x, g.integers(starts), g.integers(ends), g.integers(named)]
    g.add("Slice", inputs if steps == [1] * len(steps) and g.chance() else [*inputs, g.integers(steps)])


@maker(2)
def pad(g):
    x = g.value()
    rank = len(g.shape(x))
    pads = [g.pick((0, 0, 0, 1, 2, -1)) for _ in range(2 * rank)]
    mode = g.pick(("constant", "reflect", "edge"))
    if g.opset < 11:
        return g.add("Pad", [x], mode=mode, pads=pads, **({"value": 0.5} if g.chance() else {}))
    inputs = [x, g.integers(pads)]
    if mode == "constant" and g.chance():
        inputs.append(g.constant(np.float32(0.5)))
    g.add("Pad", inputs, mode=mode)


@maker(3)
def reshape(g):
    x = g.value()
    shape = list(g.shape(x))
    kind = g.below(6)
    if kind == 0:
        return g.add("Flatten", [x], axis=g.between(0 if g.opset < 11 else -len(shape), len(shape)))
    if kind == 1:
        axes = g.some([axis for axis, dim in enumerate(shape) if dim == 1])
        if not axes:
            return
        return g.add("Squeeze", [x, g.integers(axes)]) if g.opset >= 13 else g.add("Squeeze", [x], axes=axes)
    if kind == 2:
        if len(shape) > 4:
            return
        axes = sorted(set(g.below(len(shape) + 1) for _ in range(g.between(1, 2))))
        return g.add("Unsqueeze", [x, g.integers(axes)]) if g.opset >= 13 else g.add("Unsqueeze", [x], axes=axes)
    if kind == 3 and len(shape) >= 2:  # as exporters write it: the batch by Shape and Gather, the rest by -1
        if (sizes := g.name("s")) and g.opset >= 11:
            g.network.nodes.append(helper.make_node("Shape", [x], [sizes]))
            g.network.constants[sizes] = np.array(shape, np.int64)
            first, target = g.name("s"), g.name("s")
            g.network.nodes.append(helper.make_node("Gather", [sizes, g.integers([0])], [first], axis=0))
            g.network.nodes.append(helper.make_node("Concat", [first, g.integers([-1])], [target], axis=0))
            g.network.constants[target] = np.array([shape[0], -1], np.int64)
            return g.add("Reshape", [x, target])
    if len(shape) >= 2 and kind == 4:
        axis = g.below(len(shape) - 1)
        dims = [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    else:
        axis = g.below(max(1, len(shape)))
        dim = shape[axis] if shape else 1
        factor = g.pick([d for d in range(1, dim + 1) if dim % d == 0])
        dims = [*shape[:axis], factor, dim // factor, *shape[axis + 1 :]]
    if len(dims) > 6:
        return
    if g.chance(0.3):
        dims = [0 if i < len(shape) and dim == shape[i] and g.chance() else dim for i, dim in enumerate(dims)]
    if g.chance(0.3):
        dims[g.below(len(dims))] = -1
    g.add("Reshape", [x, g.integers(dims)])


@maker(3)
def transpose(g):
    x = g.value()
    order = list(range(len(g.shape(x))))
    if g.chance(0.6) and len(order) > 1:  # the first axis stays
        order[1:] = g.random.permutation(order[1:]).tolist()
    else:
        order = g.random.permutation(order).tolist()
    g.add("Transpose", [x], **({"perm": order} if order and g.chance(0.9) else {}))


@maker(1)
def expand(g):
    x = g.value()
    shape = [g.between(2, 3) if dim == 1 and g.chance() else g.pick((dim, 1)) for dim in g.shape(x)]
    if g.chance(0.1):
        shape = [2, *shape]
    if g.chance(0.3):
        return g.add("Tile", [x, g.integers([g.between(1, 2) for _ in g.shape(x)])])
    g.add("Expand", [x, g.integers(shape)])


@maker(1)
def gather(g):
    x = g.value()
    shape = g.shape(x)
    if not shape:
        return
    axis = g.below(len(shape))
    count = g.pick(((), (1,), (3,), (2, 2)))
    low = 0 if g.opset < 11 else -shape[axis]
    indices = g.random.randint(low, shape[axis], count).astype(np.int64)
    g.add("Gather", [x, g.constant(indices)], axis=axis)


@maker(1)
def depth(g):
    if (x := g.value((4,))) is None:
        return
    if g.chance():
        attributes = {"mode": g.pick(("DCR", "CRD"))} if g.opset >= 11 else {}
        return g.add("DepthToSpace", [x], blocksize=g.pick((1, 2, 3)), **attributes)
    g.add("SpaceToDepth", [x], blocksize=g.pick((1, 2, 3)))


@maker(2)
def gemm(g):
    if (x := g.value((2,))) is None:
        return
    rows, columns = g.shape(x)
    attributes = {name: g.below(2) for name in g.some(("transA", "transB"))}
    attributes.update({name: g.pick((0.5, 2.0)) for name in g.some(("alpha", "beta"))})
    m, k = (columns, rows) if attributes.get("transA") else (rows, columns)
    n = g.between(1, 9)
    weight = g.floats((n, k) if attributes.get("transB") else (k, n), k**-0.5)
    inputs = [x, g.constant(weight)]
    if g.chance() or g.opset < 11:
        inputs.append(g.constant(g.floats(g.pick(((n,), (1, n), (m, n), (m, 1), (1,), ())))))
    g.add("Gemm", inputs, **attributes)


@maker(2)
def matmul(g):
    if (x := g.value()) is None or not g.shape(x):
        return
    k = g.shape(x)[-1]
    if g.chance(0.3):
        fitting = [name for name, value in g.network.values.items() if value.ndim >= 2 and value.shape[-2] == k]
        if fitting:
            return g.add("MatMul", [x, g.pick(fitting)])
    batch = g.shape(x)[:-2] if g.chance(0.3) else ()
    shape = g.pick(((*batch, k, g.between(1, 6)), (k,)))
    if g.chance(0.2) and len(g.shape(x)) >= 2:
        return g.add("MatMul", [g.constant(g.floats((g.between(1, 4), g.shape(x)[-2]))), x])
    g.add("MatMul", [x, g.constant(g.floats(shape, k**-0.5))])
