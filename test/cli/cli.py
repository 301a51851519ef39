#!/usr/bin/env python3
"""Tests the command line: every command's output, JSON and exit status, and bad input of each kind.

    cli.py <primsel> [<unittest's arguments>]
"""
import json
import os
import pathlib
import re
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position,unused-import
from command import NET, SIZE, Cli, write_npy
from calibrations import Calibrate, Pretrain
from dynamics import Dynamic
from files import Conflicts, Full, Images, Names, SavedPlans, Types
from forecasts import Forecast, Search
from freezing import Freeze
from models import Models
from onnx_files import InOnnxRuntime, Onnx
from pages import Pages
from plans import Compare, Explain, Plan
from profiles import Profile
from pruning import Prune, Pruning, Sensitivity
from quantise import Quantise
from runs import Run
from shells import Completion, Manual
from sweeps import Sweeps
from training import Train
from transfers import Transfer


class Trace(Cli):
    def test_events(self):
        for threads in (1, 2):
            out = self.folder / "trace.json"
            result = self.json("trace", NET, "--size", SIZE, "--out", out, "--threads", threads, "--runs", 3)
            self.assertEqual(list(result), ["model", "threads", "runs", "steps", "blocks", "measured_ms", "predicted_ms", "rows", "file"])
            self.check_rows(result)
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
        result = self.json("trace", NET, "--size", SIZE, "--out", picture)
        root = xml.etree.ElementTree.fromstring(picture.read_text())
        self.assertTrue(root.tag.endswith("svg"))
        bars = [group for group in root.iter() if group.tag.endswith("}g")]
        self.assertEqual(len(bars), 2 * result["steps"])
        self.refuse(1, ["cannot write"], "trace", NET, "--size", SIZE, "--out", self.folder / "none" / "t.json")
        self.refuse(2, ["--runs"], "trace", NET, "--runs", 0)

    def check_rows(self, result):
        rows = result["rows"]
        self.assertEqual(len(rows), result["steps"])
        for row in rows:
            self.assertEqual(list(row), ["layer", "computed_by", "precision", "measured_ms", "predicted_ms", "share_of_peak"])
        lost = [row["measured_ms"] * max(0, 1 - row["share_of_peak"]) for row in rows]
        self.assertEqual(lost, sorted(lost, reverse=True))

    def test_without_a_file(self):
        result = self.json("trace", NET, "--size", SIZE, "--runs", 2)
        self.assertIsNone(result["file"])
        self.check_rows(result)
        text = self.succeed("trace", NET, "--size", SIZE, "--runs", 2)
        self.assertTrue(text.startswith("layer "), text)
        self.assertIn("of the peak", text)
        self.assertEqual(len(text.splitlines()), result["steps"] + 2)

    def test_shares_of_the_peak_of_each_precision(self):
        ranges, image = self.folder / "r.json", self.folder / "x.npy"
        write_npy(image, [1, 3, 64, 64], [i * 7919 % 256 / 255 for i in range(3 * 64 * 64)])
        self.json("quantise", NET, "--size", SIZE, "--images", image, "--method", "min-max", "--out", ranges)
        options = ["trace", NET, "--size", SIZE, "--runs", 3, "--precision", "int8", "--ranges", ranges]
        rows = self.json(*options)["rows"]
        for row in rows:
            named = next((name for name in ("int8", "bf16") if name in row["computed_by"]), "float32")
            self.assertEqual(row["precision"], named)
        # Which precisions a plan takes depends on the machine.
        text = self.succeed(*options)
        for precision in ("int8", "bf16"):
            convolutions = any("direct-" + precision in row["computed_by"] for row in rows)
            self.assertEqual(re.search(rf"^{precision} +\d+ .* \d+ %$", text, re.MULTILINE) is not None, convolutions)


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
        self.assertEqual(costs,
                         ["analytical", "semi-empirical", "measured", "FILE"])
        self.assertEqual(self.json("plan", NET)["costs"], "semi-empirical")  # the default
        self.assertEqual([entry["name"] for entry in self.json("list", "solvers")["solvers"]],
                         ["exact", "reduction", "greedy", "uniform:ID"])
        self.assertEqual([entry["name"] for entry in self.json("list", "layouts")["layouts"]], ["chw", "hcw", "hwc", "hwc_bf16", "hwc_u8", "hwc_f16"])
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
        self.assertEqual(list(speeds), ["cpu", "arch", "version", "gemm_flops", "half_flops", "product_flops", "bf16_flops", "int8_flops", "vector_flops",
                                        "scalar_flops", "bandwidth", "idle_bandwidth", "l2_bytes", "threads_measured", "threads_flops",
                                        "threads_cache_bandwidth", "threads_memory_bandwidth", "threads_loops", "threads", "threads_bound_by", "present_speed", "file"])
        self.assertGreater(speeds["gemm_flops"], 1e8)
        rates = [entry["bytes_per_second"] for entry in speeds["bandwidth"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertIn(speeds["cpu"], self.succeed("machine"))

    def test_threads_of_the_affinity_mask(self):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(before)})
        try:
            machine = self.json("machine")
            self.assertEqual((machine["threads"], machine["threads_bound_by"]),
                             (1, "the one processor that this process may run on"))
            self.assertEqual(self.json("run", NET, "--threads", 0, "--repeat", 1)["threads"], 1)
        finally:
            os.sched_setaffinity(0, before)
        self.assertLessEqual(self.json("machine")["threads"], len(before))

    def test_speeds_are_kept(self):
        for _ in range(10):  # speeds that other programs disturbed are not kept
            first = self.json("machine", "--renew")
            if first["file"]:
                break
        path = pathlib.Path(first["file"])
        self.assertIn(self.folder, path.parents)
        kept = path.read_bytes()
        second = self.json("machine")
        for speed in ("gemm_flops", "half_flops", "product_flops", "vector_flops", "scalar_flops", "idle_bandwidth"):
            self.assertAlmostEqual(second[speed] / first[speed], 1, places=6)
        self.assertEqual(path.read_bytes(), kept)
        path.write_bytes(kept[:-3])
        self.json("machine")
        self.assertNotEqual(path.read_bytes(), kept[:-3])
        with unittest.mock.patch.dict(os.environ, PRIMSEL_MACHINE="measure"):
            path.unlink()
            self.json("machine")
            self.assertFalse(path.exists())
        with unittest.mock.patch.dict(os.environ, PRIMSEL_MACHINE="never"):
            self.refuse(1, ["PRIMSEL_MACHINE=never"], "machine")


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


class Usage(Cli):
    def test_usage_errors(self):
        self.refuse(2, [], "--threads")
        for arguments in ([], ["fly"], ["run"], ["run", NET, "--fast"], ["run", NET, "extra"], ["plan"], ["explain", NET],
                          ["run", NET, "--threads", "-1"], ["run", NET, "--threads", "many"], ["run", NET, "--batch", "0"],
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
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+ \([a-z0-9+.]+\)\n$")


if __name__ == "__main__":
    Cli.PRIMSEL = sys.argv.pop(1)
    unittest.main()
