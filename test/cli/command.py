"""What the tests of all commands share: calling the program, and files for it to read."""
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

# Small, so that a run takes milliseconds.
NET, SIZE = "squeezenet1_1", "64"


def write_npy(path, dims, values, code="<f4"):
    shape = "(" + "".join(f"{dim}, " for dim in dims) + ")"
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    letter = {"<f2": "e", "<f4": "f", "<i8": "q"}[code]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack(f"<{len(values)}{letter}", *values))


def read_npy(path, code="<f4"):
    """(dims, bytes of the elements, which are of that type)"""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end])  # pylint: disable=eval-used
    assert header["descr"] == code and not header["fortran_order"]
    return list(header["shape"]), data[end:]


def read_safetensors(path):
    """{name of a tensor: its bytes}"""
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    return {name: data[begin + tensor["data_offsets"][0]:begin + tensor["data_offsets"][1]]
            for name, tensor in header.items() if name != "__metadata__"}


def varint(number):
    text = bytearray()
    while number > 127:
        text.append(number & 127 | 128)
        number >>= 7
    return bytes(text + bytes([number]))


def write_tensor(path, dims, values):
    """A TensorProto of float32: dims are field 1, the type field 2, raw elements field 9."""
    raw = struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(b"".join(b"\x08" + varint(dim) for dim in dims) + b"\x10\x01" + b"\x4a" + varint(len(raw)) + raw)


def write_onnx(path, inputs, nodes, outputs, weights=(), kind=1):
    """An ONNX model. Inputs and outputs are (name, dims) and a dim without a number is open; nodes are (operator, name,
    inputs, outputs) and a dict of attributes: whole numbers or lists of them; weights are (name, dims, values) of float32."""
    def field(number, data):
        if isinstance(data, int):
            return varint(number << 3) + varint(data)
        data = data.encode() if isinstance(data, str) else data
        return varint(number << 3 | 2) + varint(len(data)) + data

    def value(name, dims):
        shape = b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in dims)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))

    def attribute(name, held):
        if isinstance(held, int):
            return field(1, name) + field(3, held) + field(20, 2)
        return field(1, name) + b"".join(field(8, each) for each in held) + field(20, 7)

    def node(operator, name, sources, results, attributes=None):
        return (b"".join(field(1, source) for source in sources) + b"".join(field(2, result) for result in results) +
                field(3, name) + field(4, operator) +
                b"".join(field(5, attribute(*each)) for each in (attributes or {}).items()))

    def weight(name, dims, values):
        return (b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) +
                field(9, struct.pack(f"<{len(values)}f", *values)))

    graph = (b"".join(field(1, node(*each)) for each in nodes) + field(2, "graph") +
             b"".join(field(5, weight(*each)) for each in weights) +
             b"".join(field(11, value(*each)) for each in inputs) + b"".join(field(12, value(*each)) for each in outputs))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))


def write_relu(path, dims, kind=1, names=("x", "relu", "y")):
    """An ONNX model: the positive part of its input. The kind of element is 1 for float32, 10 for float16."""
    source, layer, result = names
    write_onnx(path, [(source, dims)], [("Relu", layer, [source], [result])], [(result, dims)], kind=kind)


def write_classifier(path, dims, classes=3, shared=False):
    """An ONNX model: a stem, two convolutions, which may share their weight, the mean of the pixels and a dense layer."""
    convolution, k = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, 4
    weights = [("stem.weight", [k, dims[1], 3, 3], noise(9 * k * dims[1], 2)), ("c1.weight", [k, k, 3, 3], noise(9 * k * k, 3)),
               ("c2.weight", [k, k, 3, 3], noise(9 * k * k, 4)), ("fc.weight", [classes, k], noise(classes * k, 5)),
               ("fc.bias", [classes], [0.0] * classes)]
    second = "c1.weight" if shared else "c2.weight"
    write_onnx(path, [("x", dims)],
               [("Conv", "stem", ["x", "stem.weight"], ["s"], convolution), ("Relu", "r0", ["s"], ["r"]),
                ("Conv", "c1", ["r", "c1.weight"], ["a"], convolution), ("Relu", "r1", ["a"], ["b"]),
                ("Conv", "c2", ["b", second], ["c"], convolution), ("Relu", "r2", ["c"], ["d"]),
                ("GlobalAveragePool", "pool", ["d"], ["e"]), ("Flatten", "flat", ["e"], ["f"]),
                ("Gemm", "fc", ["f", "fc.weight", "fc.bias"], ["y"], {"transB": 1})],
               [("y", [dims[0], classes])], [each for each in weights if not (shared and each[0] == "c2.weight")])


def write_png(path, w, h, pixels, exif=None):
    """pixels: RGB bytes, row by row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[3 * w * y:3 * w * (y + 1)]) for y in range(h))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                     (b"" if exif is None else chunk(b"eXIf", exif)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def noise(count, seed=1):
    """Multiples of 1/64, which are floats, between -2 and 2."""
    values = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        values.append((seed >> 16) % 257 / 64 - 2)
    return values


class Cli(unittest.TestCase):
    PRIMSEL = None  # the program
    NAME = "primsel"  # as it calls itself

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *arguments):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}  # the user's own is left alone
        return subprocess.run([self.PRIMSEL, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=1200,
                              env=environment)

    def call_and_kill(self, seconds, *arguments):
        """Whether the program came to its end before it was killed."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        with subprocess.Popen([self.PRIMSEL, *map(str, arguments)], stdout=subprocess.DEVNULL, env=environment) as process:
            try:
                return process.wait(timeout=seconds) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                return False

    def succeed(self, *arguments):
        result = self.call(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def json(self, *arguments):
        text = self.succeed(*arguments, "--json")
        value = json.loads(text)  # which refuses anything before or after the one value
        self.assertIsInstance(value, dict)
        return value

    def refuse(self, status, needles, *arguments):
        for also in ([], ["--json"]):
            result = self.call(*arguments, *also)
            self.assertEqual(result.returncode, status, (arguments, result.stderr))
            self.assertEqual(result.stdout, "")
            for needle in needles:
                self.assertIn(needle, result.stderr)
            self.assertTrue(result.stderr.startswith(f"{self.NAME}: "), result.stderr)

    def outputs(self, *arguments):
        """The elements of each output of a run, as bytes."""
        folder = tempfile.mkdtemp(dir=self.folder)
        result = self.json("run", *arguments, "--repeat", 1, "--output", folder)
        values = []
        for output in result["outputs"]:
            dims, data = read_npy(pathlib.Path(output["file"]))
            self.assertEqual(dims, output["shape"])
            self.assertEqual(len(data), 4 * math.prod(dims))
            values.append(data)
        return values

    def save_plan(self, *arguments):
        """Options that use one plan: those made in two processes may differ, as what they measure of the machine does."""
        file = tempfile.mkstemp(suffix=".json", dir=self.folder)[1]
        self.json("plan", *arguments, "--save", file)
        return ["--plan", file]

    def output(self, *arguments):
        values = self.outputs(*arguments)
        self.assertEqual(len(values), 1)
        self.assertTrue(all(math.isfinite(value) for (value,) in struct.iter_unpack("<f", values[0])))
        return values[0]

    def assert_near(self, a, b, bound):
        a, b = ([value for (value,) in struct.iter_unpack("<f", data)] for data in (a, b))
        self.assertEqual(len(a), len(b))
        rms = math.sqrt(sum(value * value for value in b) / len(b))
        self.assertGreater(rms, 0)
        self.assertLess(max(abs(x - y) for x, y in zip(a, b)) / rms, bound)
