"""Draws layers and small networks as people write them, as ONNX models with inputs: the same ones from the same seed."""
import math
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# Channels, extents and lengths that published networks have, and odd ones beside them.
CHANNELS = [3, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 576, 768, 960]
EXTENTS = [1, 4, 5, 7, 8, 10, 13, 14, 16, 19, 20, 26, 28, 32, 38, 40, 52, 56, 64, 80, 96, 104, 112, 160, 224, 320]
LENGTHS = [50, 101, 250, 500, 1000, 2000, 4000, 16000]
ROWS = [1, 4, 16, 49, 64, 100, 196, 197, 256, 400]
WIDTHS = [10, 32, 64, 96, 192, 256, 384, 512, 768, 1000, 1536, 3072]
MOST_FLOATS, MOST_MACS = 4e6, 1e9
OPSET = 20

ELEMENTWISE = ["Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Abs", "Neg", "Floor", "Erf", "Elu", "Selu", "Celu", "Softplus",
               "Softsign", "HardSigmoid", "HardSwish", "Mish", "LeakyRelu", "Gelu", "Sin", "Reciprocal", "ThresholdedRelu"]  # fmt: skip
ACTIVATIONS = ["Relu", "Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Mish", "Elu", "Gelu"]


class Builder:
    """A model under construction. Its weights are drawn such that values stay near 1."""

    def __init__(self, text):
        self.random = random.Random(text)
        self.numbers = numpy.random.default_rng(self.random.getrandbits(32))
        self.nodes, self.inputs, self.weights, self.shapes, self.values, self.said = [], {}, [], {}, {}, []

    def normal(self, *shape):
        return self.numbers.standard_normal(shape, numpy.float32)

    def input(self, *shape):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.normal(*shape)
        self.shapes[name] = list(shape)
        return name

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        if isinstance(values, list):
            self.values[name] = values
        self.shapes[name] = list(numpy.shape(values))
        return name

    def weight(self, *shape):
        return self.constant(self.normal(*shape) / math.sqrt(max(1, math.prod(shape[1:]))))

    def positive(self, *shape):
        return self.constant(numpy.abs(self.normal(*shape)) + numpy.float32(0.5))

    def node(self, op, *inputs, outputs=1, **attributes):
        """The first output's name. Every shape is inferred from the node alone."""
        names = [f"y{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(op, list(inputs), names, name=names[0], **attributes)
        self.nodes.append(node)
        known = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name])
                 for name in dict.fromkeys(inputs) if name and not self.is_weight(name)]  # fmt: skip
        used = [weight for weight in self.weights if weight.name in inputs]
        wanted = [helper.make_empty_tensor_value_info(name) for name in names]
        graph = helper.make_graph([node], "node", known, wanted, used)
        found = onnx.shape_inference.infer_shapes(self.wrap(graph), strict_mode=True, data_prop=True)
        for value in found.graph.output:
            self.shapes[value.name] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        sizes = "x".join(map(str, self.shapes[inputs[0]]))
        others = ["x".join(map(str, self.shapes[name])) if len(self.shapes[name]) > 1 else str(self.values[name]) for name in inputs[1:]
                  if name and (len(self.shapes[name]) > 1 or name in self.values)]  # fmt: skip
        said = [f"{key} {','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}" for key, value in attributes.items()]
        self.said.append(" ".join([op, sizes, *others, *said]))
        return names[0]

    def is_weight(self, name):
        return any(weight.name == name for weight in self.weights)

    def wrap(self, graph):
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def model(self, *outputs):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, values.shape) for name, values in self.inputs.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name]) for name in outputs]
        return self.wrap(helper.make_graph(self.nodes, "drawn", inputs, results, self.weights))

    # Inputs.
    def any_of(self, values):
        return self.random.choice(values)

    def batch(self):
        return self.any_of([1, 1, 1, 1, 8])

    def image(self, channels=CHANNELS, extents=EXTENTS):
        while True:
            h = self.any_of(extents)
            shape = [self.batch(), self.any_of(channels), h, h if self.random.random() < 0.6 else self.any_of(extents)]
            if 2000 < math.prod(shape) < MOST_FLOATS:
                return self.input(*shape)

    def signal(self):
        while True:
            shape = [self.batch(), self.any_of(CHANNELS), self.any_of(LENGTHS)]
            if 2000 < math.prod(shape) < MOST_FLOATS:
                return self.input(*shape)


KINDS = {}


def kind(draw):
    KINDS[draw.__name__] = draw
    return draw


def convolve(b, x, filters, kernel, *, strides=None, dilations=None, groups=1, same=True):
    """Padded such that the image keeps its size but for strides; None where that is more work than MOST_MACS."""
    shape = b.shapes[x]
    rank = len(shape) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    if not same and any(size <= length for size, length in zip(shape[2:], reach)):
        same = True
    pads = [length // 2 for length in reach] + [length - length // 2 for length in reach] if same else [0] * (2 * rank)
    if math.prod(shape) * filters // groups * math.prod(kernel) / math.prod(strides) > MOST_MACS:
        return None
    return b.node("Conv", x, b.weight(filters, shape[1] // groups, *kernel), b.weight(filters), kernel_shape=kernel,
                  strides=strides, dilations=dilations, group=groups, pads=pads)  # fmt: skip


@kind
def conv(b, x):
    k = b.any_of([2, 3, 3, 3, 3, 4, 5, 7])
    s = b.any_of([1, 1, 1, 2, 2, 3, 4])
    return convolve(b, x, b.any_of(CHANNELS), [k, k], strides=[s, s], same=b.random.random() < 0.8)


@kind
def conv_1x1(b, x):
    s = b.any_of([1, 1, 1, 1, 2])
    return convolve(b, x, b.any_of(CHANNELS), [1, 1], strides=[s, s])


@kind
def conv_oblong(b, x):
    k = b.any_of([[1, 3], [3, 1], [1, 5], [7, 1], [1, 7], [3, 5], [9, 1]])
    return convolve(b, x, b.any_of(CHANNELS), k, strides=b.any_of([[1, 1], [1, 2], [2, 1]]))


@kind
def conv_dilated(b, x):
    k, d = b.any_of([3, 3, 5]), b.any_of([2, 3, 4, 6, 12, 18, 24])
    return convolve(b, x, b.any_of(CHANNELS), [k, k], dilations=[d, d])


@kind
def conv_grouped(b, x):
    channels = b.shapes[x][1]
    groups = b.any_of([g for g in (2, 3, 4, 8, 16, 32) if channels % g == 0] or [1])
    k, s = b.any_of([1, 3, 3, 5]), b.any_of([1, 1, 2])
    return convolve(b, x, groups * max(1, b.any_of(CHANNELS) // groups), [k, k], strides=[s, s], groups=groups)


@kind
def depthwise(b, x):
    channels, k, s = b.shapes[x][1], b.any_of([3, 3, 3, 5, 5, 7, 9, 13]), b.any_of([1, 1, 2])
    d = b.any_of([1, 1, 1, 1, 2, 4])
    multiplier = b.any_of([1, 1, 1, 1, 2])
    return convolve(b, x, channels * multiplier, [k, k], strides=[s, s], dilations=[d, d], groups=channels)


@kind
def conv_1d(b, x):
    k, s, d = b.any_of([1, 3, 5, 7, 15, 25]), b.any_of([1, 1, 2, 4]), b.any_of([1, 1, 1, 2, 4, 16])
    return convolve(b, x, b.any_of(CHANNELS), [k], strides=[s], dilations=[d])


@kind
def depthwise_1d(b, x):
    channels, k, d = b.shapes[x][1], b.any_of([3, 5, 7, 9, 15, 31]), b.any_of([1, 1, 1, 2, 4, 16])
    return convolve(b, x, channels, [k], strides=[b.any_of([1, 1, 2])], dilations=[d], groups=channels)


def transposed(b, x, kernels, groups=1):
    shape = b.shapes[x]
    rank, filters = len(shape) - 2, groups if groups > 1 else b.any_of(CHANNELS)
    k, s = b.any_of(kernels)
    pad = (k - s) // 2 if k >= s else 0
    if math.prod(shape) * filters // groups * k**rank > MOST_MACS or math.prod(shape[2:]) * s**rank * filters > MOST_FLOATS:
        return None
    return b.node("ConvTranspose", x, b.weight(shape[1], filters // groups, *[k] * rank), b.weight(filters),
                  kernel_shape=[k] * rank, strides=[s] * rank, group=groups, pads=[pad] * (2 * rank))  # fmt: skip


@kind
def deconv(b, x):
    return transposed(b, x, [(2, 2), (4, 2), (3, 1), (3, 2), (8, 4)])


@kind
def deconv_depthwise(b, x):
    return transposed(b, x, [(2, 2), (4, 2), (3, 1)], b.shapes[x][1])


@kind
def deconv_1d(b, x):
    return transposed(b, x, [(4, 2), (3, 1), (16, 8), (20, 10), (8, 4)])


def pooled(b, x, op):
    k, s = b.any_of([2, 3, 3, 5, 7, 9, 13]), b.any_of([1, 2, 2, 3])
    pad = b.any_of([0, k // 2])
    if min(b.shapes[x][2:]) + 2 * pad < k:
        return None
    return b.node(op, x, kernel_shape=[k, k], strides=[s, s], pads=[pad] * 4)


@kind
def max_pool(b, x):
    return pooled(b, x, "MaxPool")


@kind
def average_pool(b, x):
    return pooled(b, x, "AveragePool")


@kind
def global_pool(b, x):
    return b.node(b.any_of(["GlobalAveragePool", "GlobalMaxPool"]), x)


@kind
def elementwise(b, x):
    op = b.any_of(ELEMENTWISE)
    if op in ("Log", "Sqrt", "Reciprocal"):  # never of 0, which many results of ReLU are
        x = b.node("Add", b.node("Abs", x), b.constant(numpy.float32(0.1)))
    return b.node(op, x)


@kind
def sigmoid_product(b, x):
    return b.node("Mul", x, b.node("Sigmoid", x))


@kind
def clip(b, x):
    return b.node("Clip", x, b.constant(numpy.float32(0)), b.constant(numpy.float32(6)))


@kind
def prelu(b, x):
    return b.node("PRelu", x, b.positive(b.shapes[x][1], 1, 1))


@kind
def binary(b, x):
    n, c, h, w = b.shapes[x]
    other = b.any_of([[n, c, h, w], [n, c, h, w], [n, c, 1, 1], [1, c, 1, 1], [n, 1, h, w], [1, 1, h, w], [1, 1, 1, w]])
    op = b.any_of(["Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min"])
    y = b.positive(*other) if other[0] == 1 and b.random.random() < 0.5 else b.input(*other)
    if not b.is_weight(y):
        b.inputs[y] = numpy.abs(b.inputs[y]) + numpy.float32(0.5)
    return b.node(op, x, y)


@kind
def batch_norm(b, x):
    c = b.shapes[x][1]
    return b.node("BatchNormalization", x, b.positive(c), b.weight(c), b.weight(c), b.positive(c))


@kind
def group_norm(b, x):
    n, c, h, w = b.shapes[x]
    groups = b.any_of([g for g in (1, 2, 4, 8, 32) if c % g == 0])
    y = b.node("InstanceNormalization", b.node("Reshape", x, b.constant([n, groups, -1])), b.positive(groups), b.weight(groups))
    return b.node("Mul", b.node("Reshape", y, b.constant([n, c, h, w])), b.positive(c, 1, 1))


@kind
def instance_norm(b, x):
    c = b.shapes[x][1]
    return b.node("InstanceNormalization", x, b.positive(c), b.weight(c))


@kind
def lrn(b, x):
    return b.node("LRN", x, size=5, alpha=1e-4, beta=0.75) if b.shapes[x][1] % 2 == 0 else None


@kind
def layer_norm(b, _):
    width = b.any_of(WIDTHS)
    x = b.input(b.batch(), b.any_of(ROWS), width)
    return b.node("LayerNormalization", x, b.positive(width), b.weight(width), axis=-1)


@kind
def rows_by_matrix(b, _):
    depth, width, rows = b.any_of(WIDTHS), b.any_of(WIDTHS), b.any_of(ROWS)
    return b.node("MatMul", b.input(b.batch(), rows, depth), b.weight(depth, width)) if rows * depth * width < MOST_MACS else None


@kind
def gemm(b, _):
    depth, width, rows = b.any_of(WIDTHS), b.any_of(WIDTHS), b.any_of(ROWS)
    if rows * depth * width > MOST_MACS:
        return None
    return b.node("Gemm", b.input(rows, depth), b.weight(width, depth), b.weight(width), transB=1)


@kind
def product_of_inputs(b, _):
    heads, rows, depth = b.any_of([1, 3, 4, 8, 12]), b.any_of(ROWS[2:]), b.any_of([32, 64])
    return b.node("MatMul", b.input(1, heads, rows, depth), b.input(1, heads, depth, rows))


@kind
def softmax(b, x):
    return b.node("Softmax", x, axis=b.any_of([1, -1]))


@kind
def reduce(b, x):
    op = b.any_of(["ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"])
    return b.node(op, x, b.constant(b.any_of([[1], [2], [3], [2, 3]])), keepdims=1)


@kind
def pad(b, x):
    h, w = b.shapes[x][2:]
    by = b.any_of([1, 2, 3])
    mode = b.any_of(["constant", "reflect", "edge"])
    if min(h, w) <= by:
        return None
    return b.node("Pad", x, b.constant([0, 0, by, by, 0, 0, by, by]), mode=mode)


@kind
def resize(b, x):
    mode = b.any_of(["nearest", "nearest", "linear"])
    at = b.any_of(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    factor = b.any_of([2.0, 2.0, 4.0, 0.5])
    if math.prod(b.shapes[x]) * factor**2 > 4 * MOST_FLOATS or min(b.shapes[x][2:]) * factor < 1:
        return None
    scales = b.constant(numpy.array([1, 1, factor, factor], numpy.float32))
    return b.node("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=at)


@kind
def transpose(b, x):
    return b.node("Transpose", x, perm=b.any_of([[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [0, 2, 1, 3]]))


@kind
def shuffle(b, x):
    n, c, h, w = b.shapes[x]
    groups = b.any_of([g for g in (2, 3, 4, 8) if c % g == 0] or [1])
    y = b.node("Transpose", b.node("Reshape", x, b.constant([n, groups, c // groups, h, w])), perm=[0, 2, 1, 3, 4])
    return b.node("Reshape", y, b.constant([n, c, h, w]))


@kind
def depth_to_space(b, x):
    if b.shapes[x][1] % 4 == 0 and b.random.random() < 0.7:
        return b.node("DepthToSpace", x, blocksize=2, mode=b.any_of(["DCR", "CRD"]))
    return b.node("SpaceToDepth", x, blocksize=2) if all(size % 2 == 0 for size in b.shapes[x][2:]) else None


@kind
def slices(b, x):
    axis, step = b.any_of([1, 2, 3]), b.any_of([1, 2])
    size = b.shapes[x][axis]
    begin, end = (0, size // 2) if step == 1 else (b.any_of([0, 1]), size)
    if size < 4:
        return None
    return b.node("Slice", x, b.constant([begin]), b.constant([end]), b.constant([axis]), b.constant([step]))


@kind
def concat(b, x):
    axis = b.any_of([1, 1, 1, 2, 3])
    return b.node("Concat", x, b.input(*b.shapes[x]), axis=axis)


@kind
def focus(b, x):
    if any(size % 2 for size in b.shapes[x][2:]):
        return None
    steps = b.constant([2, 2])
    parts = [b.node("Slice", x, b.constant([i, j]), b.constant([9999, 9999]), b.constant([2, 3]), steps) for j in (0, 1) for i in (0, 1)]
    return b.node("Concat", *parts, axis=1)


SIGNALS = {"conv_1d", "depthwise_1d", "deconv_1d"}
# Those that stand in networks of convolutions, whatever the image.
IN_NETS = ["conv", "conv", "conv", "conv_1x1", "conv_1x1", "conv_1x1", "depthwise", "depthwise", "conv_grouped", "conv_dilated",
           "max_pool", "average_pool", "batch_norm", "resize", "sigmoid_product", "elementwise", "shuffle", "depth_to_space",
           "slices", "pad", "instance_norm", "deconv", "squeeze", "residual", "branches"]  # fmt: skip


def layer(seed, index):
    """The kind, the text, the model and the inputs of one layer."""
    names = sorted(KINDS)
    for attempt in range(100):
        b = Builder(f"layer {seed} {index} {attempt}")
        name = names[(index + seed) % len(names)]
        x = b.signal() if name in SIGNALS else None if name in OWN_INPUT else b.image()
        y = KINDS[name](b, x)
        if y is not None:
            return name, "; ".join(b.said), b.model(y), b.inputs
    raise RuntimeError(f"no {name} in 100 attempts")


OWN_INPUT = {"layer_norm", "rows_by_matrix", "gemm", "product_of_inputs"}


def activate(b, x):
    op = b.any_of([*ACTIVATIONS, "SiLU", None])
    if op == "SiLU":
        return sigmoid_product(b, x)
    return b.node(op, x) if op else x


def squeeze(b, x):
    c = b.shapes[x][1]
    y = activate(b, convolve(b, b.node("GlobalAveragePool", x), max(4, c // 4), [1, 1]))
    return b.node("Mul", x, b.node(b.any_of(["Sigmoid", "HardSigmoid"]), convolve(b, y, c, [1, 1])))


def residual(b, x):
    c = b.shapes[x][1]
    y = convolve(b, x, c, [3, 3])
    y = y and convolve(b, activate(b, y), c, [1, 1])
    return y and b.node("Add", x, y)


def branches(b, x):
    parts = [convolve(b, x, b.any_of(CHANNELS[:10]), [k, k]) for k in b.any_of([(1, 3), (1, 3, 5), (3, 3)])]
    return None if None in parts else b.node("Concat", *(activate(b, part) for part in parts), axis=1)


def network(seed, index):
    """5 to 30 layers, as `layer`."""
    for attempt in range(100):
        b = Builder(f"network {seed} {index} {attempt}")
        x = b.image(channels=[1, 3, 3, 3, 12, 16, 24], extents=[16, 28, 32, 40, 64, 96, 112, 160])
        wanted = b.random.randint(5, 30)
        for _ in range(200):
            if len(b.nodes) >= wanted:
                break
            name = b.any_of(IN_NETS)
            draw = {"squeeze": squeeze, "residual": residual, "branches": branches}.get(name) or KINDS[name]
            if name == "deconv" and math.prod(b.shapes[x]) > 2e5:
                continue
            kept = len(b.nodes), len(b.said)
            y = draw(b, x)
            if y is None or not 64 < math.prod(b.shapes[y]) < MOST_FLOATS / 4:
                del b.nodes[kept[0] :], b.said[kept[1] :]
                continue
            x = activate(b, y)
        used = {name for node in b.nodes for name in node.input}
        b.weights = [weight for weight in b.weights if weight.name in used]
        if len(b.nodes) >= wanted:
            return "network", f"{len(b.nodes)} nodes from {'x'.join(map(str, b.shapes['x0']))}", b.model(x), b.inputs
    raise RuntimeError("no network in 100 attempts")
