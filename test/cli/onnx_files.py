"""ONNX files through every command"""
import pathlib
import struct
import unittest

from command import NET, Cli, noise, write_npy, write_png, write_tensor
from runs import RUN_KEYS

NODE_TESTS = pathlib.Path("/usr/share/libonnx-testdata/data/node")


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
