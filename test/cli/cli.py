#!/usr/bin/env python3
"""Tests the command line: every command's output, JSON and exit status, and bad input of each kind.

    cli.py <primsel> [<unittest's arguments>]
"""
import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zlib

PRIMSEL = None
# Small, so that a run takes milliseconds.
NET, SIZE = "squeezenet1_1", "64"
NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")
RUN_KEYS = ["model", "threads", "runs", "median_ms", "min_ms", "predicted_ms", "load_ms", "predict_ms", "solve_ms",
            "prepare_ms", "arena_bytes", "weight_bytes", "outputs"]


def write_npy(path, dims, values, code="<f4"):
    shape = "(" + "".join(f"{dim}, " for dim in dims) + ")"
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    letter = {"<f4": "f", "<i8": "q"}[code]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     struct.pack(f"<{len(values)}{letter}", *values))


def read_npy(path):
    """(dims, bytes of the elements)"""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end])  # pylint: disable=eval-used
    assert header["descr"] == "<f4" and not header["fortran_order"]
    return list(header["shape"]), data[end:]


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


def write_png(path, w, h, pixels):
    """pixels: RGB bytes, row by row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(pixels[3 * w * y:3 * w * (y + 1)]) for y in range(h))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def noise(count, seed=1):
    """Multiples of 1/64, which are floats, between -2 and 2."""
    values = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        values.append((seed >> 16) % 257 / 64 - 2)
    return values


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *arguments):
        return subprocess.run([PRIMSEL, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600)

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
            self.assertTrue(result.stderr.startswith("primsel: "), result.stderr)

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


class Run(Cli):
    def test_keys(self):
        result = self.json("run", NET, "--size", SIZE, "--repeat", 3, "--threads", 2)
        self.assertEqual(list(result), RUN_KEYS)
        self.assertEqual((result["model"], result["threads"], result["runs"]), (NET, 2, 3))
        self.assertGreaterEqual(result["median_ms"], result["min_ms"])
        for key in ("min_ms", "predicted_ms", "load_ms", "predict_ms", "solve_ms", "prepare_ms", "arena_bytes"):
            self.assertGreater(result[key], 0, key)
        self.assertGreater(result["weight_bytes"], 4 * 1.2e6)
        (output,) = result["outputs"]
        self.assertEqual(list(output), ["name", "shape", "file"])
        self.assertEqual(math.prod(output["shape"]), 1000)
        self.assertIsNone(output["file"])

    def test_text(self):
        text = self.succeed("run", NET, "--size", SIZE, "--repeat", 2)
        for part in ("median", "predicted", "arena", "largest: #", "of 2 runs on 1 thread"):
            self.assertIn(part, text)

    def test_same_bits_for_all_threads_and_runs(self):
        for net in ([NET, "--size", SIZE], ["resnet56", "--batch", 2], ["shufflenet_v2_x0_5", "--size", "64x96"]):
            net += self.save_plan(*net)
            one = self.output(*net, "--threads", 1)
            self.assertEqual(one, self.output(*net, "--threads", 2))
            self.assertEqual(one, self.output(*net, "--threads", 1))
            self.assertNotEqual(one, self.output(*net, "--seed", 2))

    def test_every_solver_computes_the_same(self):
        reference = self.output(NET, "--size", SIZE, "--solver", "uniform:direct-sum2d")
        for solver in ("exact", "reduction", "greedy", "uniform:im2", "uniform:kn2", "uniform:wino3"):
            self.assert_near(self.output(NET, "--size", SIZE, "--solver", solver), reference, 1e-3)

    def test_batch(self):
        image = noise(3 * 32 * 32)
        write_npy(self.folder / "one.npy", [1, 3, 32, 32], image)
        write_npy(self.folder / "two.npy", [2, 3, 32, 32], image + image[::-1])
        # The same primitive for both: of another batch the costs, and so the choice, may be others.
        plan = ["--solver", "uniform:direct-sum2d"]
        one = self.output("resnet56", *plan, "--input", self.folder / "one.npy")
        two = self.output("resnet56", *plan, "--batch", 2, "--input", self.folder / "two.npy")
        self.assertEqual(two[:len(one)], one)
        self.assertNotEqual(two[len(one):], one)

    def test_inputs_of_each_format(self):
        image = noise(3 * 32 * 32)
        write_npy(self.folder / "x.npy", [1, 3, 32, 32], image)
        write_npy(self.folder / "flat.npy", [3, 32, 32], image)
        write_tensor(self.folder / "x.pb", [1, 3, 32, 32], image)
        net = ["resnet56", *self.save_plan("resnet56")]
        given = self.output(*net, "--input", self.folder / "x.npy")
        self.assertEqual(given, self.output(*net, "--input", self.folder / "flat.npy"))
        self.assertEqual(given, self.output(*net, "--input", self.folder / "x.pb"))
        self.assertEqual(given, self.output(*net, "--input", f"input={self.folder / 'x.npy'}"))
        self.assertNotEqual(given, self.output(*net))
        write_npy(self.folder / "whole.npy", [1, 3, 32, 32], [round(value) for value in image], "<i8")
        write_npy(self.folder / "real.npy", [1, 3, 32, 32], [round(value) for value in image])
        self.assertEqual(self.output(*net, "--input", self.folder / "whole.npy"),
                         self.output(*net, "--input", self.folder / "real.npy"))

    def test_images(self):
        pixels = [(7 * i + i // 5) % 256 for i in range(32 * 32 * 3)]
        write_png(self.folder / "p.png", 32, 32, pixels)
        # Powers of two, for the arithmetic to be exact.
        values = [(pixels[3 * i + c] / 2 - mean) / 4 for c, mean in enumerate((8, 16, 32)) for i in range(32 * 32)]
        write_npy(self.folder / "p.npy", [1, 3, 32, 32], values)
        scaled = ["--scale", 0.5, "--mean", "8,16,32", "--std", 4]
        net = ["resnet56", "--solver", "uniform:direct-sum2d"]
        one = self.output(*net, "--image", self.folder / "p.png", *scaled)
        self.assertEqual(one, self.output(*net, "--input", self.folder / "p.npy"))
        # Two images are a batch of two.
        write_png(self.folder / "q.png", 32, 32, pixels[::-1])
        both = self.output(*net, "--image", self.folder / "p.png", "--image", self.folder / "q.png", *scaled)
        self.assertEqual(both[:len(one)], one)
        self.assertNotEqual(both[len(one):], one)
        # Without options pixels are divided by 255.
        write_npy(self.folder / "u.npy", [1, 3, 32, 32], [pixels[3 * i + c] / 255 for c in range(3) for i in range(32 * 32)])
        self.assert_near(self.output(*net, "--image", self.folder / "p.png"),
                         self.output(*net, "--input", self.folder / "u.npy"), 1e-5)

    def test_bad_inputs(self):
        write_npy(self.folder / "small.npy", [1, 3, 16, 16], noise(3 * 16 * 16))
        write_npy(self.folder / "good.npy", [1, 3, 32, 32], noise(3 * 32 * 32))
        write_npy(self.folder / "turned.npy", [32, 32, 3], noise(3 * 32 * 32))
        write_png(self.folder / "small.png", 16, 16, [0] * 16 * 16 * 3)
        (self.folder / "text.npy").write_text("no array")
        (self.folder / "text.png").write_text("no image")
        (self.folder / "text.pb").write_text("no tensor")
        bad = lambda needles, *arguments: self.refuse(1, needles, "run", "resnet56", *arguments)
        bad(["missing.npy", "cannot read"], "--input", self.folder / "missing.npy")
        bad(["small.npy", "1x3x16x16", "input", "1x3x32x32"], "--input", self.folder / "small.npy")
        bad(["turned.npy", "32x32x3"], "--input", self.folder / "turned.npy")
        bad(["text.npy", "not an .npy file"], "--input", self.folder / "text.npy")
        bad(["text.pb"], "--input", self.folder / "text.pb")
        bad(["x.txt", ".npy", ".pb"], "--input", self.folder / "x.txt")
        bad(["no more than 1 input"], "--input", self.folder / "good.npy", "--input", self.folder / "good.npy")
        bad(["no input other", "input"], "--input", f"other={self.folder / 'good.npy'}")
        bad(["given twice"], *["--input", f"input={self.folder / 'good.npy'}"] * 2)
        bad(["missing.png", "cannot read"], "--image", self.folder / "missing.png")
        bad(["text.png", "no PNG or JPEG"], "--image", self.folder / "text.png")
        bad(["small.png", "1x3x16x16", "1x3x32x32"], "--image", self.folder / "small.png")
        bad(["--mean", "2 numbers for 3 channels"], "--image", self.folder / "small.png", "--mean", "1,2")
        bad(["text.npy"], "--input", self.folder / "good.npy", "--output", self.folder / "text.npy" / "x")

    def test_weights(self):
        (self.folder / "w.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.refuse(1, ["w.safetensors", "missing"], "run", NET, "--weights", self.folder / "w.safetensors")
        self.refuse(1, ["none.safetensors", "cannot read"], "run", NET, "--weights", self.folder / "none.safetensors")


class Plan(Cli):
    def test_keys_and_totals(self):
        plan = self.json("plan", NET, "--size", SIZE)
        self.assertEqual(list(plan), ["model", "costs", "solver", "predicted_ms", "optimal", "predict_ms", "solve_ms",
                                      "layers", "transforms"])
        self.assertTrue(plan["optimal"])
        total = sum(part["predicted_ms"] for part in plan["layers"] + plan["transforms"])
        self.assertAlmostEqual(plan["predicted_ms"], total, places=6)
        for layer in plan["layers"]:
            self.assertEqual(list(layer), ["name", "kind", "shape", "primitive", "layouts", "predicted_ms"])
            self.assertEqual(layer["primitive"] is None, layer["kind"] != "conv")
            self.assertEqual(list(layer["layouts"]), ["in", "out"])
        text = self.succeed("plan", NET, "--size", SIZE)
        for layer in plan["layers"]:
            self.assertIn(layer["name"], text)
        self.assertIn("proven optimal", text)

    def test_solvers(self):
        plan = lambda *more: self.json("plan", NET, "--size", SIZE, *more)
        for solver in ("exact", "reduction", "greedy", "uniform:im2", "uniform:kn2", "uniform:direct-hwc"):
            other = plan("--solver", solver)
            self.assertEqual(other["solver"], solver)
            if solver not in ("exact", "reduction"):
                self.assertFalse(other["optimal"])
        used = {layer["primitive"] for layer in plan("--solver", "uniform:direct-hwc")["layers"]}
        self.assertLessEqual(used, {"direct-hwc", None})
        used = {layer["primitive"] for layer in plan("--solver", "uniform:im2")["layers"]}
        self.assertTrue(all(id is None or id.startswith("im2") for id in used))

    def test_costs(self):
        plan = self.json("plan", "alexnet_cifar", "--costs", "measured")
        self.assertEqual(plan["costs"], "measured")
        self.assertGreater(plan["predict_ms"], 1)
        (self.folder / "model.csv").write_text("")
        self.refuse(1, ["model.csv", "is no model"], "plan", NET, "--costs", self.folder / "model.csv")
        self.refuse(1, ["guessed", "analytical", "measured"], "plan", NET, "--costs", "guessed")

    def test_bounds(self):
        bounds = {entry["id"]: entry["error_bound"] for entry in self.json("list", "primitives")["primitives"]}
        plan = self.json("plan", NET, "--max-error", 3e-5)
        for layer in plan["layers"]:
            if layer["primitive"]:
                self.assertLessEqual(bounds[layer["primitive"]], 3e-5)
        self.refuse(1, ["no primitive can compute layer", "error bound"], "plan", NET, "--max-error", 1e-12)

        # Patches take the most memory.
        arena = lambda *more: self.json("run", "resnet56", "--repeat", 1, *more)["arena_bytes"]
        plain = arena("--solver", "uniform:im2")
        bounded = arena("--max-arena", plain - 1)
        self.assertLess(bounded, plain)
        self.assertEqual(arena("--solver", "uniform:im2", "--max-arena", "1G"), plain)
        self.refuse(1, ["at most 2048 bytes of arena", "the smallest needs"], "plan", NET, "--max-arena", "2K")

    def test_pictures(self):
        svg, dot = self.folder / "p.svg", self.folder / "p.dot"
        plan = self.json("plan", "resnet56", "--svg", svg, "--dot", dot)
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        text = dot.read_text()
        self.assertTrue(text.startswith("digraph plan {") and text.endswith("}\n"))
        self.assertEqual(text.count("fillcolor="), len(plan["layers"]))
        self.refuse(1, ["none/p.svg", "cannot write"], "plan", NET, "--svg", self.folder / "none" / "p.svg")

    def test_save_and_run(self):
        saved = self.folder / "plan.json"
        plan = self.json("plan", NET, "--size", SIZE, "--solver", "greedy", "--save", saved)
        self.assertEqual(json.loads(saved.read_text())["format"], "primsel plan")
        self.assertEqual(self.json("plan", NET, "--size", SIZE, "--plan", saved)["layers"], plan["layers"])
        run = self.json("run", NET, "--size", SIZE, "--plan", saved)
        self.assertEqual((run["predict_ms"], run["solve_ms"]), (0, 0))
        self.assertAlmostEqual(run["predicted_ms"], plan["predicted_ms"])
        self.assert_near(self.output(NET, "--size", SIZE, "--plan", saved), self.output(NET, "--size", SIZE), 1e-3)
        self.refuse(1, ["another network"], "run", NET, "--plan", saved)
        self.refuse(1, ["missing.json", "cannot read"], "run", NET, "--plan", self.folder / "missing.json")
        saved.write_text("{")
        self.refuse(1, ["plan.json"], "run", NET, "--plan", saved)


class Explain(Cli):
    def test_candidates(self):
        plan = self.json("plan", NET, "--size", SIZE)
        layer = next(layer for layer in plan["layers"] if layer["primitive"])
        result = self.json("explain", NET, layer["name"], "--size", SIZE)
        self.assertEqual(list(result), ["model", "layer", "kind", "shape", "primitive", "layouts", "candidates"])
        self.assertEqual(result["primitive"], layer["primitive"])
        costs = [candidate["predicted_ms"] for candidate in result["candidates"] if candidate["refusal"] is None]
        self.assertEqual(costs, sorted(costs))
        self.assertNotIn(None, costs)
        refused = result["candidates"][len(costs):]
        self.assertTrue(all(candidate["refusal"] and candidate["predicted_ms"] is None for candidate in refused))
        ids = {entry["id"] for entry in self.json("list", "primitives")["primitives"]}
        self.assertEqual({candidate["primitive"] for candidate in result["candidates"]}, ids)
        text = self.succeed("explain", NET, layer["name"], "--size", SIZE)
        self.assertIn(f"*  {layer['primitive']}", text)
        other = next(layer["name"] for layer in plan["layers"] if not layer["primitive"])
        self.assertEqual(self.json("explain", NET, other, "--size", SIZE)["candidates"], [])

    def test_unknown_layer(self):
        name = self.json("plan", NET)["layers"][1]["name"]
        self.refuse(1, ["no layer is named nothing", name], "explain", NET, "nothing")


class Trace(Cli):
    def test_events(self):
        for threads in (1, 2):
            out = self.folder / "trace.json"
            result = self.json("trace", NET, "--size", SIZE, "--out", out, "--threads", threads)
            self.assertEqual(list(result), ["model", "threads", "steps", "blocks", "measured_ms", "predicted_ms", "file"])
            events = json.loads(out.read_text())["traceEvents"]
            lanes = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
            self.assertEqual(lanes, ["steps"] + [f"thread {i}" for i in range(threads)] + ["steps"])
            spans = [event for event in events if event["ph"] == "X"]
            steps = [event for event in spans if (event["pid"], event["tid"]) == (1, 0)]
            self.assertEqual(len(steps), result["steps"])
            self.assertEqual(sum(event["pid"] == 1 and event["tid"] > 0 for event in spans), result["blocks"])
            self.assertGreater(result["blocks"], 0)
            predicted = sum(event["dur"] for event in spans if event["pid"] == 2)
            self.assertAlmostEqual(predicted / 1000, result["predicted_ms"], delta=0.01 * result["predicted_ms"] + 0.1)
            for event in spans:
                keys = list(event["args"])
                self.assertEqual(keys[:3], ["computed_by", "predicted_ms", "measured_ms"])
                self.assertIn(keys[3:], ([], ["gflops"]))  # of convolutions
            self.assertTrue(any("gflops" in event["args"] for event in spans))
        self.assertIn("ui.perfetto.dev", self.succeed("trace", NET, "--size", SIZE, "--out", out))
        picture = self.folder / "trace.svg"
        self.assertNotIn("perfetto", self.succeed("trace", NET, "--size", SIZE, "--out", picture))
        root = xml.etree.ElementTree.fromstring(picture.read_text())
        self.assertTrue(root.tag.endswith("svg"))
        bars = [group for group in root.iter() if group.tag.endswith("}g")]
        self.assertEqual(len(bars), 2 * result["steps"])
        self.refuse(1, ["cannot write"], "trace", NET, "--size", SIZE, "--out", self.folder / "none" / "t.json")
        self.refuse(2, ["--out"], "trace", NET)


class Compare(Cli):
    def test_plans(self):
        result = self.json("compare", "resnet56", "--rounds", 2)
        self.assertEqual(list(result), ["model", "threads", "rounds", "costs", "predict_ms", "solve_ms", "optimal",
                                        "plans", "refused"])
        names = [plan["name"] for plan in result["plans"]]
        self.assertEqual(names[:2], ["plan", "greedy"])
        self.assertIn("uniform:im2", names)
        self.assertEqual({refused["name"] for refused in result["refused"]} & set(names), set())
        self.assertIn("uniform:wino5", [refused["name"] for refused in result["refused"]])
        first = result["plans"][0]
        for plan in result["plans"]:
            self.assertEqual(list(plan), ["name", "predicted_ms", "median_ms", "min_ms", "ratio"])
            self.assertGreaterEqual(plan["predicted_ms"], first["predicted_ms"] * (1 - 1e-9))
            self.assertAlmostEqual(plan["ratio"], plan["median_ms"] / first["median_ms"])
            self.assertGreaterEqual(plan["median_ms"], plan["min_ms"])
        text = self.succeed("compare", "resnet56", "--rounds", 1)
        for name in names:
            self.assertIn(name, text)


class List(Cli):
    def test_networks(self):
        networks = {network["name"]: network for network in self.json("list", "networks")["networks"]}
        self.assertEqual(networks["resnet18"]["input"], [3, 224, 224])
        # As torchvision's documentation has them.
        self.assertEqual(networks["resnet18"]["parameters"], 11689512)
        self.assertAlmostEqual(networks["resnet18"]["gmac"], 1.814, places=3)
        self.assertEqual(networks["vgg19"]["parameters"], 143667240)
        for network in networks.values():
            self.assertEqual(list(network), ["name", "input", "parameters", "gmac"])
        text = self.succeed("list", "networks")
        self.assertTrue(all(name in text for name in networks))

    def test_others(self):
        primitives = self.json("list", "primitives")["primitives"]
        self.assertGreaterEqual(len(primitives), 75)
        self.assertEqual(len({entry["id"] for entry in primitives}), len(primitives))
        self.assertIn("winograd-4x4-3x3-vec-16", self.succeed("list", "primitives"))
        self.assertEqual([entry["name"] for entry in self.json("list", "costs")["costs"]],
                         ["analytical", "measured", "FILE"])
        self.assertEqual([entry["name"] for entry in self.json("list", "solvers")["solvers"]],
                         ["exact", "reduction", "greedy", "uniform:ID"])
        for what in ("costs", "solvers"):
            self.succeed("list", what)
        self.refuse(2, ["colours"], "list", "colours")


class Onnx(Cli):
    def export(self, net, *more):
        file = self.folder / f"{net}.onnx"
        result = self.json("export", net, file, *more)
        self.assertEqual(list(result), ["model", "file", "bytes", "layers", "opset"])
        self.assertEqual(result["bytes"], file.stat().st_size)
        return file

    def test_round_trip(self):
        for net, more in ((NET, ["--size", "64x96"]), ("resnet56", ["--batch", 2]), ("shufflenet_v2_x0_5", [])):
            file = self.export(net, *more)
            result = self.json("run", file, "--repeat", 2)
            self.assertEqual(list(result), RUN_KEYS)
            self.assertEqual(result["model"], str(file))
            self.assert_near(self.output(file), self.output(net, *more), 1e-4)
            same = self.save_plan(file)
            self.assertEqual(self.output(file, "--threads", 1, *same), self.output(file, "--threads", 2, *same))

    def test_every_command(self):
        file = self.export("resnet56")
        saved, trace, again = self.folder / "p.json", self.folder / "t.json", self.folder / "again.onnx"
        plan = self.json("plan", file, "--save", saved)
        layer = next(layer["name"] for layer in plan["layers"] if layer["primitive"])
        self.assertTrue(self.json("explain", file, layer)["candidates"])
        self.json("run", file, "--plan", saved)
        self.json("trace", file, "--out", trace)
        self.json("compare", file, "--rounds", 1)
        self.json("export", file, again)
        self.assert_near(self.output(again), self.output(file), 1e-5)

    def test_open_dimensions(self):
        file = self.export("resnet56")  # without --batch it is left open
        self.assertEqual(self.json("run", file, "--batch", 3, "--repeat", 1)["outputs"][0]["shape"][0], 3)
        write_npy(self.folder / "x.npy", [2, 3, 32, 32], noise(2 * 3 * 32 * 32))
        self.assertEqual(self.json("run", file, "--input", self.folder / "x.npy", "--repeat", 1)["outputs"][0]["shape"][0], 2)

        self.refuse(1, ["x.npy", "2x3x32x32", "3x3x32x32"], "run", file, "--dims", "input=3x3x32x32", "--input",
                    self.folder / "x.npy")
        larger = self.json("run", file, "--dims", "input=2x3x40x48", "--repeat", 1)
        self.assertEqual(larger["outputs"][0]["shape"][0], 2)
        self.refuse(1, ["input", "32", "64", "--dims can change it"], "run", file, "--size", "64")
        self.refuse(1, ["--dims other"], "run", file, "--dims", "other=1x3x32x32")
        self.refuse(1, ["--weights"], "run", file, "--weights", "w.safetensors")

    def test_images(self):
        write_png(self.folder / "p.png", 32, 32, [i % 256 for i in range(32 * 32 * 3)])
        write_png(self.folder / "small.png", 16, 16, [0] * 16 * 16 * 3)
        file = self.export("resnet56")
        plan = ["--solver", "uniform:direct-sum2d"]
        self.assert_near(self.output(file, *plan, "--image", self.folder / "p.png"),
                         self.output("resnet56", *plan, "--image", self.folder / "p.png"), 1e-5)
        self.refuse(1, ["small.png", "1x3x16x16"], "run", file, "--image", self.folder / "small.png")

    @unittest.skipUnless(NODE_TESTS.exists(), "needs Debian's libonnx-testdata")
    def test_weights_as_inputs(self):
        model = NODE_TESTS / "test_basic_conv_with_padding" / "model.onnx"
        write_tensor(self.folder / "x.pb", [1, 1, 5, 5], [float(i) for i in range(25)])
        write_tensor(self.folder / "w.pb", [1, 1, 3, 3], [1.0] * 9)
        sums = [sum(5 * i + j for i in range(y - 1, y + 2) for j in range(x - 1, x + 2) if 0 <= i < 5 and 0 <= j < 5)
                for y in range(5) for x in range(5)]
        for order in ([self.folder / "x.pb", self.folder / "w.pb"],
                      [f"W={self.folder / 'w.pb'}", self.folder / "x.pb"]):
            result = self.output(model, "--input", order[0], "--input", order[1])
            self.assert_near(result, struct.pack("<25f", *sums), 1e-5)
        self.refuse(1, ["input W", "--input"], "run", model)
        self.refuse(1, ["no input V", "x, W"], "run", model, "--input", "V=w.pb")

    @unittest.skipUnless(NODE_TESTS.exists(), "needs Debian's libonnx-testdata")
    def test_several_outputs_and_types(self):
        folder = NODE_TESTS / "test_maxpool_with_argmax_2d_precomputed_pads"
        result = self.json("run", folder / "model.onnx", "--input", folder / "test_data_set_0" / "input_0.pb",
                           "--output", self.folder)
        self.assertEqual([output["name"] for output in result["outputs"]], ["y", "z"])
        self.assertIn(b"<f4", pathlib.Path(result["outputs"][0]["file"]).read_bytes()[:64])
        self.assertIn(b"<i8", pathlib.Path(result["outputs"][1]["file"]).read_bytes()[:64])

    def test_bad_files(self):
        file = self.export("resnet56")
        bad = self.folder / "bad.onnx"
        bad.write_bytes(file.read_bytes()[:1000])
        self.refuse(1, ["bad.onnx"], "run", bad)
        bad.write_text("no model at all")
        self.refuse(1, ["bad.onnx"], "plan", bad)
        self.refuse(1, ["missing.onnx", "cannot read"], "run", self.folder / "missing.onnx")
        self.refuse(1, ["cannot write"], "export", NET, self.folder / "none" / "x.onnx")
        self.refuse(1, ["opset 3"], "export", "resnet56", self.folder / "x.onnx", "--opset", 3)


class Profile(Cli):
    # Milliseconds a row: 9 configurations and tensors of a small network.
    QUICK = ["--networks", "resnet56", "--max-operations", "2e7", "--primitives", "direct-hwc,indirect,conv-1x1,kn2row",
             "--count", 9]

    @staticmethod
    def rows(path):
        """(lines about the machine, header, the rows as lists of numbers)"""
        text = path.read_text()
        assert text.endswith("\n")
        lines = text.splitlines()
        about = [line for line in lines if line.startswith("#")]
        header, *rows = [line.split(",") for line in lines[len(about):]]
        return about, header, [[int(cell) for cell in row] for row in rows]

    def test_profile(self):
        out, layouts = self.folder / "p.csv", self.folder / "l.csv"
        result = self.json("profile", "--out", out, "--layouts-out", layouts, *self.QUICK)
        self.assertEqual(list(result), ["complete", "seconds", "runs", "undisturbed", "files"])
        self.assertTrue(result["complete"])
        self.assertEqual([(f["what"], f["file"], f["done"] == f["total"] == f["now"]) for f in result["files"]],
                         [("layouts", str(layouts), True), ("convolutions", str(out), True)])
        about, header, rows = self.rows(out)
        self.assertEqual([line.split(":")[0] for line in about],
                         ["# arch", "# compiler", "# cpu", "# reference_ns", "# version"])
        self.assertEqual(header[:5], ["c", "k", "im", "f", "s"])
        self.assertEqual(len(header), 5 + 11)  # eight of conv-1x1
        self.assertEqual(len(rows), 9)
        for row in rows:
            times = dict(zip(header[5:], row[5:]))
            self.assertGreater(times["direct-hwc"], 0)
            self.assertEqual(times["conv-1x1-gemm-ab-ik"] > 0, row[3] == 1 and row[4] == 1, row)
        _, header, rows = self.rows(layouts)
        self.assertEqual(header, ["c", "im", "chw-to-hcw", "chw-to-hwc", "hcw-to-chw", "hcw-to-hwc", "hwc-to-chw",
                                  "hwc-to-hcw"])
        self.assertEqual(len(rows), result["files"][0]["total"])
        # All is there: nothing more to do, and nothing changes.
        before = out.read_bytes()
        self.assertIn("0 of them now", self.succeed("profile", "--out", out, *self.QUICK))
        self.assertEqual(out.read_bytes(), before)

    def test_killed_ten_times(self):
        out = self.folder / "p.csv"
        command = [PRIMSEL, "profile", "--out", out, *self.QUICK]
        random.seed(1)
        kept, kills = [], 0
        while kills < 10:
            with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                # Once a row more is there, at a random moment of the next; a start takes two seconds.
                rows = kept
                for _ in range(2000):
                    time.sleep(0.005)
                    rows = out.read_bytes().splitlines(keepends=True) if out.exists() else []
                    if len(rows) > len(kept) or process.poll() is not None:
                        break
                if process.poll() is None:
                    time.sleep(random.random() * 0.05)
                    process.kill()
                    kills += 1
                process.wait()
            after = out.read_bytes().splitlines(keepends=True)
            whole = [line for line in after if line.endswith(b"\n")]
            self.assertEqual(whole[:len(kept)], kept)  # nothing that was there is lost or changed
            kept = whole
            if process.returncode == 0:  # it was complete before it was killed: once more from the start
                out.unlink()
                kept = []
        self.json(*command[1:])
        _, _, rows = self.rows(out)
        self.assertEqual(out.read_bytes().splitlines(keepends=True)[:len(kept)], kept)
        again = self.folder / "again.csv"
        self.json("profile", "--out", again, *self.QUICK)
        self.assertEqual([row[:5] for row in rows], [row[:5] for row in self.rows(again)[2]])
        self.assertEqual(len({tuple(row[:5]) for row in rows}), 9)

    def test_stopped(self):
        out = self.folder / "p.csv"
        for stop in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([PRIMSEL, "profile", "--out", str(out)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                time.sleep(0.5)
                process.send_signal(stop)
                output, errors = process.communicate(timeout=300)
            self.assertEqual((process.returncode, output), (1, ""))
            self.assertIn("the same command goes on", errors)
        result = self.json("profile", "--out", out, "--budget", "1s")
        self.assertFalse(result["complete"])

    def test_refusals(self):
        out = self.folder / "p.csv"
        self.json("profile", "--out", out, *self.QUICK[:-1], 1)
        before = out.read_bytes()
        self.refuse(1, ["p.csv", "columns differ"], "profile", "--out", out, "--networks", "resnet56")
        out.write_bytes(before.replace(b"# version: ", b"# version: 9."))
        self.refuse(1, ["p.csv", "version is 9."], "profile", "--out", out, *self.QUICK)
        self.refuse(1, ["cannot write", "No space left"], "profile", "--out", "/dev/full", *self.QUICK)
        self.refuse(1, ["cannot write"], "profile", "--out", self.folder / "none" / "p.csv", *self.QUICK)
        self.refuse(1, ["magic"], "profile", "--out", out, "--primitives", "magic")
        self.refuse(1, ["nonet"], "profile", "--out", self.folder / "q.csv", "--networks", "nonet")
        self.refuse(1, ["processor 4095"], "profile", "--out", self.folder / "q.csv", "--cpu", 4095)
        for arguments in ([], ["--out", out, "--budget", "1d"], ["--out", out, "--budget", "-1"],
                          ["--out", out, "--count", "0"], ["--out", out, "--max-operations", "0"]):
            self.refuse(2, [], "profile", *arguments)


class Models(Cli):
    # What takes as long as its operations and a little, on configurations of a small network's kind.
    SPEED = {"direct-hwc": 1.0, "im2row-copy-short-ab-ik": 0.4, "kn2row": 0.6, "winograd-2-3": 0.3}

    @classmethod
    def write(cls, path, rows=120, slower=1.0, about=()):
        """A profile: c, k, im, f, s and a time for each primitive, 0 where it cannot."""
        draw = random.Random(1)
        lines = [f"# {key}: {value}\n" for key, value in about]
        lines.append(",".join(["c", "k", "im", "f", "s", *cls.SPEED, "never"]) + "\n")
        for _ in range(rows):
            c, k, im = draw.randint(3, 256), draw.randint(8, 256), draw.choice([7, 8, 14, 16, 28, 32, 56])
            f, s = draw.choice([1, 3, 5]), draw.choice([1, 2])
            operations = 2 * c * k * f * f * (im // s) ** 2
            times = [round(slower * (1000 + operations * speed / 20)) for speed in cls.SPEED.values()]
            if f != 3 or s != 1:
                times[3] = 0
            lines.append(",".join(map(str, [c, k, im, f, s, *times, 0])) + "\n")
        path.write_text("".join(lines))

    @staticmethod
    def write_layouts(path, rows=150, about=()):
        names = ["chw", "hcw", "hwc"]
        pairs = [(a, b) for a in names for b in names]
        lines = [f"# {key}: {value}\n" for key, value in about]
        lines.append("c,im," + ",".join(f"{a}-to-{b}" for a, b in pairs) + "\n")
        draw = random.Random(2)
        for _ in range(rows):
            c, im = draw.randint(3, 512), draw.choice([7, 14, 28, 56, 112])
            lines.append(f"{c},{im}," + ",".join(str(0 if a == b else 500 + c * im * im) for a, b in pairs) + "\n")
        path.write_text("".join(lines))

    def here(self):
        """What a profile of this machine says of it."""
        out = self.folder / "here.csv"
        self.json("profile", "--out", out, "--networks", "resnet56", "--max-operations", "2e7", "--primitives",
                  "direct-hwc", "--count", 1)
        return [line[2:].split(": ", 1) for line in out.read_text().splitlines() if line.startswith("# ")]

    def fit(self, kind, *more, about=()):
        data, layouts, model = self.folder / "p.csv", self.folder / "l.csv", self.folder / f"{kind}.model"
        self.write(data, about=about)
        self.write_layouts(layouts, about=about)
        return model, self.json("fit", "--data", data, "--layouts", layouts, "--model", kind, "--out", model, *more)

    def test_fit_and_evaluate(self):
        most = {"linear": 0.8, "forest": 0.3, "boosted": 0.25, "mlp": 0.8, "gp": 0.1}
        for kind, error in most.items():
            model, result = self.fit(kind)
            self.assertEqual(list(result), ["model", "file", "primitives", "layouts"])
            for part, rows, tested, subjects in (("primitives", 96, 12, 4), ("layouts", 120, 15, 6)):
                self.assertEqual(list(result[part]), ["data", "rows", "seconds", "test"])
                self.assertEqual(result[part]["rows"], rows)
                self.assertEqual(result[part]["test"]["rows"], tested)
                self.assertEqual(len(result[part]["test"]["subjects"]), subjects)  # without never, and chw-to-chw
                self.assertLess(result[part]["test"]["mdrae"], error, (kind, part))
            self.assertEqual([f["name"] for f in result["primitives"]["test"]["families"]],
                             ["direct", "im2", "kn2", "wino3"])
            again = self.json("evaluate", "--costs", model, "--data", self.folder / "p.csv", "--layouts",
                              self.folder / "l.csv")
            for part in ("primitives", "layouts"):
                self.assertEqual(again[part], result[part]["test"])
                self.assertEqual(again[part + "_unknown"], [])
            text = self.succeed("evaluate", "--costs", model, "--data", self.folder / "p.csv")
            self.assertTrue(all(name in text for name in self.SPEED))

    def test_deterministic(self):
        first, _ = self.fit("gp")
        bytes_of_first = first.read_bytes()
        self.assertEqual(self.fit("gp", "--threads", 2)[0].read_bytes(), bytes_of_first)
        self.assertNotEqual(self.fit("gp", "--seed", 2)[0].read_bytes(), bytes_of_first)

    def test_other_rows(self):
        model, result = self.fit("gp")
        other = self.folder / "slow.csv"
        self.write(other, slower=3)
        self.refuse(1, ["slow.csv", "--all-rows"], "evaluate", "--costs", model, "--data", other)
        judged = self.json("evaluate", "--costs", model, "--data", other, "--all-rows")["primitives"]
        self.assertEqual(judged["rows"], 120)
        self.assertAlmostEqual(judged["mdrae"], 2 / 3, delta=0.05)  # three times too fast
        self.assertLess(result["primitives"]["test"]["mdrae"], 0.1)

    def test_analytical(self):
        self.fit("linear")
        result = self.json("evaluate", "--costs", "analytical", "--data", self.folder / "p.csv", "--layouts",
                           self.folder / "l.csv")
        self.assertEqual(result["primitives"]["rows"], 120)
        self.assertEqual({s["name"] for s in result["primitives"]["subjects"]}, set(self.SPEED))
        self.assertEqual(len(result["layouts"]["subjects"]), 6)
        self.assertGreater(result["primitives"]["mdrae"], 0)

    def test_plans(self):
        model, _ = self.fit("gp", about=self.here())
        plan = self.json("plan", NET, "--size", SIZE, "--costs", model)
        self.assertEqual(plan["costs"], str(model))
        self.assertEqual(self.json("plan", NET, "--size", SIZE, "--costs", model)["layers"][1]["primitive"],
                         plan["layers"][1]["primitive"])
        self.json("run", NET, "--size", SIZE, "--costs", model, "--repeat", 1)
        self.json("trace", NET, "--size", SIZE, "--costs", model, "--out", self.folder / "t.json")
        self.json("compare", NET, "--size", SIZE, "--costs", model, "--rounds", 1)
        # A layer of the kind that was learned: kernels take what the profile said.
        layer = next(l["name"] for l in plan["layers"] if l["kind"] == "conv" and l["primitive"])
        candidates = self.json("explain", NET, layer, "--size", SIZE, "--costs", model)["candidates"]
        self.assertTrue(any(c["predicted_ms"] for c in candidates if c["primitive"] in self.SPEED))

    def test_origin(self):
        about = dict(self.here())
        model, _ = self.fit("linear", about=[*{**about, "arch": "abacus"}.items()])
        self.refuse(1, ["linear.model", "was trained for abacus", about["arch"]], "plan", NET, "--costs", model)
        model, _ = self.fit("linear", about=[*{**about, "cpu": "a slide rule", "version": "0.0.1"}.items()])
        result = self.call("plan", NET, "--size", SIZE, "--costs", model, "--json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["costs"], str(model))
        self.assertIn("its cpu is a slide rule", result.stderr)
        self.assertIn("its version is 0.0.1", result.stderr)

    def test_refusals(self):
        model, _ = self.fit("linear")
        data, good = self.folder / "p.csv", model.read_bytes()
        for damaged, reason in ((good[:-1], "cut off"), (good + b"x", "1 bytes behind"), (b"x" + good, "no model"),
                                (good[:100] + b"\xff" + good[101:], "damaged"),
                                (good.replace(b"model 1", b"model 9"), "format 1, not 9")):
            model.write_bytes(damaged)
            self.refuse(1, ["linear.model", reason], "plan", NET, "--costs", model)
            self.refuse(1, ["linear.model", reason], "evaluate", "--costs", model, "--data", data)
        self.refuse(1, ["none.csv"], "fit", "--data", self.folder / "none.csv", "--out", model)
        self.refuse(1, ["l.csv", "c, k, im, f, s"], "fit", "--data", self.folder / "l.csv", "--out", model)
        self.refuse(1, ["No space left"], "fit", "--data", data, "--model", "linear", "--out", "/dev/full")
        few = self.folder / "few.csv"
        self.write(few, rows=9)
        self.refuse(1, ["few.csv", "9 rows are too few"], "fit", "--data", few, "--out", model)
        self.write(few, rows=20, about=[("arch", "abacus")])
        self.write_layouts(self.folder / "l.csv", about=[("arch", "slate")])
        self.refuse(1, ["its arch is slate", "abacus"], "fit", "--data", few, "--layouts", self.folder / "l.csv", "--out",
                    model)
        for command in ("fit", "evaluate"):
            self.assertIn("--data", self.succeed(command, "--help"))
        for arguments in (["fit", "--data", data], ["fit", "--out", model], ["evaluate", "--data", data],
                          ["fit", "--data", data, "--out", model, "--model", "oracle"]):
            self.refuse(2, [], *arguments)


class Reproduce(Cli):
    DATA = os.environ.get("PRIMSEL_DATA")
    TABLES = ["table_2", "figure_4", "figure_5", "figure_6_intel", "figure_6_amd", "table_4", "figure_7", "figure_8",
              "figure_9_error", "figure_9_increase", "table_5", "table_5_absolute"]

    def reproduce(self, out):
        """Its JSON; progress may be on the standard error."""
        result = self.call("reproduce", "mulder2020", "--data", self.DATA, "--quick", "--out", out, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    @unittest.skipUnless(DATA, "needs the published measurements: PRIMSEL_DATA is not set")
    def test_quick(self):
        out = self.folder / "report"
        # Stopped once something has been found, and gone on with.
        journal = out / "results.jsonl"
        with subprocess.Popen([PRIMSEL, "reproduce", "mulder2020", "--data", self.DATA, "--quick", "--out", str(out)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(6000):
                if process.poll() is not None or journal.exists() and journal.read_bytes().count(b"\n") >= 2:
                    break
                time.sleep(0.02)
            self.assertIsNone(process.poll())
            process.kill()
        kept = journal.read_bytes()
        kept = kept[:kept.rfind(b"\n") + 1]
        with journal.open("ab") as file:
            file.write(b'{"experiment":"cut sho')

        result = self.reproduce(out)
        self.assertEqual(list(result), ["report", "quick", "experiments", "seconds", "tables"])
        self.assertEqual(list(result["tables"]), self.TABLES)
        lines = journal.read_bytes()
        self.assertTrue(lines.startswith(kept))
        names = [json.loads(line)["experiment"] for line in lines.splitlines()]
        self.assertEqual((len(names), len(set(names))), (result["experiments"],) * 2)
        self.check_tables(result["tables"])
        root = xml.etree.ElementTree.fromstring(pathlib.Path(result["report"]).read_text().removeprefix("<!DOCTYPE html>").replace(
            '<meta charset="utf-8">', ""))
        self.assertEqual(sum(table.tag == "table" for table in root.iter()), len(self.TABLES))
        self.assertGreaterEqual(sum(picture.tag.endswith("}svg") for picture in root.iter()), 8)
        self.assertIn("QUICK", "".join(root.itertext()))
        numbers = json.loads((out / "results.json").read_text())
        self.assertTrue(numbers["quick"] and numbers["complete"])
        self.assertEqual(numbers["tables"], result["tables"])

        # All is there: the same again, and nothing is run.
        self.assertEqual(self.reproduce(out)["tables"], result["tables"])
        self.assertEqual(journal.read_bytes(), lines)

    def check_tables(self, tables):
        for name, table in tables.items():
            for row in table["rows"]:
                self.assertLessEqual(len(row), len(table["columns"]), name)
                self.assertNotIn(None, row, (name, row))
        rows = {row[0]: row for row in tables["table_2"]["rows"]}
        self.assertEqual(rows["kn2"], ["kn2", "8 x 1974", "8 x 1974", "1974"])
        # However rough: learned models beat a straight line, a factor what it corrects, and data of its own the factor.
        error = {row[0]: row[1] for row in tables["figure_4"]["rows"]}
        self.assertLess(error["ours"], error["Lin"] / 3)
        self.assertLess(error["NN2"], error["Lin"])
        for row in tables["figure_7"]["rows"]:
            self.assertTrue(all(value >= -1e-6 for value in row[2:] if value != ""), row)
        direct, factor, native = (row[2] for row in tables["figure_8"]["rows"][3:])
        self.assertLess(native, factor)
        self.assertLess(factor, direct)
        for i, row in enumerate(tables["table_5"]["rows"]):
            self.assertEqual(row[1 + i], "1.0 (1)")

    def test_refusals(self):
        self.refuse(1, ["intel_primitives.csv", "cannot read"], "reproduce", "mulder2020", "--data", self.folder)
        self.refuse(2, ["other2020"], "reproduce", "other2020", "--data", self.folder)
        self.refuse(2, ["--data"], "reproduce", "mulder2020")
        if self.DATA:
            self.refuse(1, ["cannot make the folder"], "reproduce", "mulder2020", "--data", self.DATA, "--out",
                        self.folder / "none" / "report")


class Usage(Cli):
    def test_usage_errors(self):
        self.refuse(2, [], "--threads")
        for arguments in ([], ["fly"], ["run"], ["run", NET, "--fast"], ["run", NET, "extra"], ["plan"], ["explain", NET],
                          ["run", NET, "--threads", "0"], ["run", NET, "--threads", "many"], ["run", NET, "--batch", "0"],
                          ["run", NET, "--repeat", "0"], ["run", NET, "--size", "64y64"], ["run", NET, "--size", "0"],
                          ["run", NET, "--size", "64x"], ["plan", NET, "--solver", "magic"],
                          ["plan", NET, "--solver", "uniform:"], ["plan", NET, "--max-arena", "1T"],
                          ["plan", NET, "--max-arena", "-5"], ["plan", NET, "--max-arena", "K"],
                          ["plan", NET, "--max-error", "-1"], ["plan", NET, "--dims", "n"],
                          ["plan", NET, "--dims", "n=1x"], ["plan", NET, "--dims", "n=0x3"], ["list"]):
            result = self.call(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertTrue(result.stderr.startswith("primsel: "), result.stderr)

    def test_unknown_names(self):
        self.refuse(1, ["nonet", "neither an .onnx file nor a network", "resnet18", "vgg19"], "run", "nonet")
        self.refuse(1, ["uniform:magic", "im2", "direct-hwc"], "plan", NET, "--solver", "uniform:magic")
        self.refuse(1, ["--dims n"], "plan", NET, "--dims", "n=3")

    def test_impossible_sizes(self):
        self.refuse(1, ["2x2"], "run", "alexnet", "--size", "2x2")
        self.refuse(1, ["3x100x100", "classifier"], "run", "alexnet", "--size", "100")  # its dense layers want 224
        self.refuse(1, [], "run", NET, "--size", "60000x60000")

    def test_help_and_version(self):
        text = self.succeed("--help")
        for command in ("run", "plan", "explain", "trace", "compare", "list", "export", "profile", "reproduce"):
            self.assertIn(command, text)
            self.assertIn("NET" if command not in ("list", "reproduce") else "WHAT", self.succeed(command, "--help"))
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PRIMSEL, "list", "costs"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output", result.stderr)


if __name__ == "__main__":
    PRIMSEL = sys.argv.pop(1)
    unittest.main()
