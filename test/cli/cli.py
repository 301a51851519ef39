#!/usr/bin/env python3
"""Tests the command line: every command's output, JSON and exit status, and bad input of each kind.

    cli.py <primsel> [<unittest's arguments>]
"""
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position,unused-import
from command import NET, SIZE, Cli, noise, write_npy, write_png, write_tensor
from calibrations import Calibrate, Pretrain
from files import Conflicts, Full, Images, Names, SavedPlans, Types
from models import Models
from profiles import Profile
from shells import Completion, Manual
from transfers import Transfer

NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")
RUN_KEYS = ["model", "threads", "runs", "median_ms", "min_ms", "predicted_ms", "load_ms", "predict_ms", "solve_ms",
            "prepare_ms", "arena_bytes", "weight_bytes", "outputs"]


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
        self.assertEqual(list(plan), ["model", "costs", "solver", "predicted_ms", "optimal", "bound_ms", "predict_ms", "solve_ms",
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
        for costs in ("analytical", "semi-empirical"):
            plan = self.json("plan", NET, "--size", SIZE, "--costs", costs)
            self.assertEqual(plan["costs"], costs)
            self.assertGreater(sum(layer["predicted_ms"] for layer in plan["layers"] if layer["kind"] == "max_pool"), 0)
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

    def test_against_other_costs(self):
        names = ["analytical", "measured", "analytical+0.2"]
        against = [option for name in names for option in ("--against", name)]
        result = self.json("compare", NET, "--size", SIZE, "--rounds", 2, *against)
        self.assertEqual([plan["name"] for plan in result["plans"]], ["plan", *names])
        self.assertFalse((self.folder / "cache").exists())  # it begins without what is known and keeps nothing
        self.refuse(1, ["guessed", "neither a cost model nor a file"], "compare", NET, "--against", "guessed")
        self.refuse(1, ["soon"], "compare", NET, "--against", "analytical+soon")


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
        costs = [entry["name"] for entry in self.json("list", "costs")["costs"]]
        self.assertEqual([name for name in costs if name != "pretrained"],
                         ["analytical", "semi-empirical", "measured", "FILE"])
        self.assertEqual(self.json("plan", NET)["costs"], "analytical")  # the default
        self.assertEqual([entry["name"] for entry in self.json("list", "solvers")["solvers"]],
                         ["exact", "reduction", "greedy", "uniform:ID"])
        self.assertEqual([entry["name"] for entry in self.json("list", "layouts")["layouts"]], ["chw", "hcw", "hwc"])
        operators = [entry["name"] for entry in self.json("list", "operators")["operators"]]
        self.assertLess({"Conv", "Gemm", "com.microsoft.FusedConv"}, set(operators))
        layers = {entry["type"].split("<")[0]: entry["options"] for entry in self.json("list", "layers")["layers"]}
        self.assertEqual(layers["Dense"], ["NoBias"])
        self.assertEqual(layers["AveragePool"], ["Stride<Extent>", "Pad<Padding>", "CeilMode", "ExcludePad"])
        self.assertEqual(layers["BatchNormWith"], [])
        for what in ("costs", "solvers", "layouts", "layers", "operators"):
            self.succeed("list", what)
        self.refuse(2, ["colours"], "list", "colours")


class Machine(Cli):
    def test_speeds(self):
        speeds = self.json("machine")
        self.assertEqual(list(speeds), ["cpu", "arch", "version", "gemm_flops", "vector_flops", "scalar_flops", "bandwidth"])
        self.assertGreater(speeds["gemm_flops"], 1e8)
        rates = [entry["bytes_per_second"] for entry in speeds["bandwidth"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertIn(speeds["cpu"], self.succeed("machine"))


class Help(Cli):
    def test_example_of_every_command(self):
        """Each begins as its command does, with options that it has."""
        commands = set(re.findall(r"^  (\w+) ", self.succeed("--help").split("Subcommands:")[1], re.MULTILINE))
        self.assertIn("run", commands)
        for command in commands:
            text, example = self.succeed(command, "--help").split("For example:")
            self.assertEqual(example.split()[:2], ["primsel", command])
            for option in re.findall(r"--[a-z-]+", example):
                self.assertIn(option + " ", text.replace(",", " "), command)


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

    def test_unknown_words(self):
        for needles, *arguments in (
                (["fly: no such command", "there are run, plan"], "fly"),
                (["pln: no such command; did you mean plan?"], "pln", NET),
                (["--thread: no such option"], "--thread"),
                (["--imge: no such option of run; did you mean --image?"], "run", NET, "--imge", "p.png"),
                (["--imge: no such option of run; did you mean --image?"], "run", "--imge=p.png"),
                (["--xyzzy: no such option of plan\n"], "plan", NET, "--xyzzy"),
                (["extra", "run takes nothing of the kind"], "run", NET, "extra")):
            self.refuse(2, needles, *arguments)
        self.assertIn("a command is needed; there are run, plan", self.call().stderr)
        self.refuse(1, ["resnet81", "did you mean resnet18?"], "plan", "resnet81")
        self.refuse(1, ["measure", "did you mean measured?"], "plan", NET, "--costs", "measure")
        self.refuse(1, ["uniform:wino", "did you mean wino3?"], "plan", NET, "--solver", "uniform:wino")
        self.refuse(1, ["no layer is named feature.0; did you mean features.0?"], "explain", NET, "feature.0")

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
        for command in ("run", "plan", "explain", "trace", "compare", "list", "export", "profile"):
            self.assertIn(command, text)
            self.assertIn("NET" if command != "list" else "WHAT", self.succeed(command, "--help"))
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+\n$")



if __name__ == "__main__":
    Cli.PRIMSEL = sys.argv.pop(1)
    unittest.main()
