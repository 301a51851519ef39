"""primsel quantise, and runs in 8 bits"""
import json
import struct
import unittest

from command import NET, SIZE, Cli, noise, write_classifier, write_npy, write_png

try:
    import numpy
    import onnx
    import onnxruntime
    from onnxruntime import quantization
except ImportError:
    onnx = None


def floats(data):
    return [value for (value,) in struct.iter_unpack("<f", data)]


def error(values, right):
    """The RMS of the differences over that of the right ones."""
    return (sum((x - y)**2 for x, y in zip(values, right)) / sum(y * y for y in right))**0.5


class Quantise(Cli):
    SHAPE = 3 * int(SIZE) * int(SIZE)

    def images(self, count=2):
        path = self.folder / "x.npy"
        write_npy(path, [count, 3, int(SIZE), int(SIZE)], noise(count * self.SHAPE))
        return path

    def quantise(self, *options):
        return self.json("quantise", NET, "--size", SIZE, *options)

    def test_the_least_error_is_chosen_and_runs(self):
        out = self.folder / "r.json"
        result = self.quantise("--images", self.images(), "--out", out)
        self.assertEqual(list(result), ["model", "images", "tried", "chosen", "file"])
        self.assertEqual((result["images"], result["file"]), (2, str(out)))
        self.assertEqual([row["ranges"] for row in result["tried"]], ["none (float32)", "min-max", "percentile", "mse", "kl"])
        self.assertEqual(result["tried"][0]["error"], 0)
        errors = {row["ranges"]: row["error"] for row in result["tried"][1:]}
        self.assertEqual(errors[result["chosen"]], min(errors.values()))
        for row in result["tried"]:
            self.assertLess(row["error"], 0.3)
            self.assertGreater(row["predicted_ms"], 0)
            self.assertGreater(row["fastest_ms"], 0)
        tensors = {tensor["name"]: tensor for tensor in json.loads(out.read_text())["tensors"]}
        self.assertGreater(len(tensors), 60)
        self.assertEqual(list(tensors["input"]), ["name", "scale", "zero_point"])

        run = self.json("run", NET, "--size", SIZE, "--precision", "int8", "--ranges", out, "--repeat", 1)
        self.assertGreater(run["predicted_ms"], 0)
        one = self.quantise("--images", self.images(), "--method", "percentile")
        self.assertEqual([row["ranges"] for row in one["tried"]], ["none (float32)", "percentile"])
        self.assertIsNone(one["file"])
        text = self.succeed("quantise", NET, "--size", SIZE, "--images", self.images(), "--method", "mse", "--out", out)
        for part in ("none (float32)", "same class", f"ranges by mse in {out}"):
            self.assertIn(part, text)

    def test_a_folder_of_images(self):
        size = int(SIZE)
        pictures = self.folder / "pictures"
        pictures.mkdir()
        (pictures / "notes.txt").write_text("no image")
        values = []
        for i in range(2):
            pixels = bytes((7 * i + 31 * j) % 256 for j in range(self.SHAPE))
            write_png(pictures / f"{i}.png", size, size, pixels)
            values += [(pixels[3 * j + c] / 255 - 0.5) / 0.25 for c in range(3) for j in range(size * size)]
        write_npy(self.folder / "x.npy", [2, 3, size, size], values)
        files = [self.folder / "a.json", self.folder / "b.json"]
        self.quantise("--images", self.folder / "x.npy", "--method", "min-max", "--out", files[0])
        self.quantise("--images", pictures, "--mean", 0.5, "--std", 0.25, "--method", "min-max", "--out", files[1])
        a, b = (json.loads(file.read_text())["tensors"] for file in files)
        self.assertEqual([x["name"] for x in a], [x["name"] for x in b])
        for x, y in zip(a, b):
            self.assertAlmostEqual(x["scale"] / y["scale"], 1, places=4)

    def test_layers_stay_more_precise_within_a_budget(self):
        out, curve = self.folder / "b.json", self.folder / "c.svg"
        result = self.quantise("--images", self.images(4), "--method", "min-max", "--error-images", 2, "--budget", "1%",
                               "--curve", curve, "--out", out)
        within, points = result["budget"]["within"], result["budget"]["curve"]
        self.assertLessEqual(within["tried"]["error"], 0.01)
        self.assertEqual(result["tried"][-1], within["tried"])
        self.assertLessEqual(within["tried"]["predicted_ms"], result["tried"][0]["predicted_ms"] * 1.001)
        self.assertEqual(points[0]["predicted_error"], 0)
        for before, after in zip(points, points[1:]):
            self.assertLess(before["predicted_error"], after["predicted_error"])
            self.assertGreater(before["predicted_ms"], after["predicted_ms"])
        self.assertGreaterEqual(sum(point["error"] is not None for point in points), min(len(points), 2))
        self.assertIn("run", curve.read_text())
        # The file holds errors and bounds, by which others plan, and which are used again.
        layers = {layer["name"]: layer for layer in json.loads(out.read_text())["layers"]}
        self.assertEqual({layer["name"] for layer in within["layers"]}, set(layers))
        for layer in within["layers"]:
            self.assertIn(layers[layer["name"]].get("precision", layer["precision"]), (layer["precision"],))
        plan = ("--size", SIZE, "--precision", "int8", "--ranges", out)
        self.assertAlmostEqual(self.json("plan", NET, *plan)["predicted_ms"], within["tried"]["predicted_ms"], places=6)
        again = self.quantise("--images", self.images(4), "--ranges", out, "--budget", 0.01)
        self.assertEqual([row["ranges"] for row in again["tried"]], ["none (float32)", "within the budget"])
        self.assertEqual([point["predicted_error"] for point in again["budget"]["curve"]],
                         [point["predicted_error"] for point in points])
        # A budget of nothing leaves every layer in floats, and says why.
        self.quantise("--images", self.images(4), "--ranges", out, "--budget", 0, "--out", out)
        convs = [layer["name"] for layer in self.json("plan", NET, *plan)["layers"] if layer["primitive"]]
        self.assertIn("within the error budget the layer stays in float32; its error alone: ",
                      self.succeed("explain", NET, convs[1], *plan))
        for layer in self.json("plan", NET, *plan)["layers"]:
            self.assertNotIn("int8", layer["primitive"] or "")
            self.assertNotIn("hwc_u8", layer["layouts"].values())
        text = self.succeed("quantise", NET, "--size", SIZE, "--images", self.images(4), "--ranges", out,
                            "--agreement", "50%")
        for part in ("within the budget", "the sum of their errors predicted", "of the layers that can be less precise"):
            self.assertIn(part, text)

    def test_accuracy_on_labelled_images(self):
        images, labels = self.images(4), self.folder / "y.npy"
        write_npy(labels, [4], [0, 1, 2, 3], "<i8")
        net = ("quantise", NET, "--size", SIZE, "--images", images, "--labels", labels, "--method", "min-max")
        result = self.json(*net, "--accuracy-loss", 0)
        self.assertGreaterEqual(result["tried"][-1]["accuracy"], result["tried"][0]["accuracy"])
        self.assertIn("accuracy", self.succeed(*net, "--accuracy-loss", "1%"))
        self.refuse(2, ["--accuracy-loss", "--labels"], "quantise", NET, "--images", images, "--accuracy-loss", 0)
        for share in ("x", "-1%", "%"):
            self.refuse(2, ["expected a share", "1%"], "quantise", NET, "--images", images, "--budget=" + share)
        write_npy(labels, [4], [0, 1, 2, 1000], "<i8")
        self.refuse(1, ["the labels are of 1001 classes, its result has 1000 values"], *net, "--accuracy-loss", 0)

    def test_the_onnx_file_is_the_same_network_in_8_bits(self):
        ranges, file, x = self.folder / "r.json", self.folder / "q.onnx", self.images(1)
        self.quantise("--images", x, "--method", "min-max", "--out", ranges)
        net = (NET, "--size", SIZE)
        result = self.json("export", *net, file, "--ranges", ranges)
        self.assertEqual(result["ranges"], str(ranges))
        self.assertLess(result["bytes"], 0.3 * self.json("export", *net, self.folder / "f.onnx")["bytes"])
        in_bytes = ("--precision", "int8")
        plans = [self.json("plan", *which, *in_bytes)["layers"] for which in ((*net, "--ranges", ranges), (file,))]
        for a, b in zip(*plans, strict=True):
            for key in ("primitive", "layouts"):
                self.assertEqual(a[key], b[key], a["name"])
        self.assertTrue(any("int8" in (layer["primitive"] or "") for layer in plans[0]))
        right, a, b = (floats(self.output(*which, "--input", x)) for which in
                       (net, (*net, "--ranges", ranges, *in_bytes), (file, *in_bytes)))
        # The file rounds biases, too, so that some results of layers are the next byte.
        self.assertLess(error(a, b), error(a, right))
        self.assertLess(error(b, right), 1.5 * error(a, right))
        # A layer that an error budget leaves in floats has float weights in the file.
        self.quantise("--images", x, "--ranges", ranges, "--budget", 0, "--error-images", 1, "--out", ranges)
        self.assertGreater(self.json("export", *net, file, "--ranges", ranges)["bytes"], 2 * result["bytes"])

    @unittest.skipUnless(onnx, "needs the Python packages onnx, onnxruntime and numpy")
    def test_onnx_runtime_runs_the_file_as_exactly_as_its_own(self):
        ranges, plain, own, theirs = (self.folder / name for name in ("r.json", "f.onnx", "q.onnx", "t.onnx"))
        x = self.images(4)
        self.quantise("--images", x, "--out", ranges)
        self.json("export", NET, "--size", SIZE, plain)
        self.json("export", NET, "--size", SIZE, own, "--ranges", ranges)
        onnx.checker.check_model(own, full_check=True)
        batch, feeds = numpy.load(x), []

        class Reader(quantization.CalibrationDataReader):
            def get_next(self):
                return feeds.pop(0) if feeds else None

        feeds += [{"input": image[None]} for image in batch]
        quantization.quantize_static(plain, theirs, Reader(), per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)

        def run(file):
            session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
            return session.run(None, {session.get_inputs()[0].name: batch})[0].ravel().tolist()

        right = run(plain)
        self.assertLess(error(run(own), right), 1.02 * error(run(theirs), right))

    def test_biases_are_corrected_where_that_lowers_the_error(self):
        ranges, weights = (self.folder / name for name in ("r.json", "w.safetensors"))
        net = ("--size", SIZE)
        result = self.quantise("--images", self.images(), "--method", "min-max", "--out", ranges, "--out-weights", weights)
        self.assertEqual([row["ranges"] for row in result["tried"]], ["none (float32)", "min-max", "biases corrected"])
        before, after = (row["error"] for row in result["tried"][1:])
        self.assertNotEqual(before, after)
        self.assertEqual(result["weights"], {"file": str(weights), "biases": "corrected" if after < before else "kept"})
        x = self.folder / "one.npy"
        write_npy(x, [1, 3, int(SIZE), int(SIZE)], noise(2 * self.SHAPE)[:self.SHAPE])
        in_bytes = ("--precision", "int8", "--ranges", ranges, "--input", x)
        corrected = floats(self.output(NET, *net, "--weights", weights, *in_bytes))
        self.assertEqual(after < before, corrected != floats(self.output(NET, *net, *in_bytes)))
        text = self.succeed("quantise", NET, *net, "--images", self.images(), "--ranges", ranges, "--out-weights", weights)
        for part in ("biases corrected", f"in {weights}"):
            self.assertIn(part, text)
        # The weights of a file go into another.
        write_classifier(self.folder / "net.onnx", [1, 3, 16, 16])
        write_npy(x, [2, 3, 16, 16], noise(2 * 3 * 256))
        net = ("quantise", self.folder / "net.onnx", "--images", x)
        self.refuse(1, ["go into another .onnx file"], *net, "--out-weights", weights)
        again = self.folder / "again.onnx"
        self.json(*net, "--out", ranges, "--out-weights", again)
        self.succeed("run", again, "--precision", "int8", "--ranges", ranges)

    def test_without_ranges_only_weights_of_dense_layers_are_in_8_bits(self):
        result = self.call("plan", "alexnet", "--precision", "int8", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("has no ranges (primsel quantise): in 8 bits are at most the weights of dense layers", result.stderr)
        layers = json.loads(result.stdout)["layers"]
        self.assertIn("dense-int8", [layer["primitive"] for layer in layers])
        for layer in layers:
            self.assertNotIn("hwc_u8", layer["layouts"].values())
        # squeezenet has no dense layer.
        self.refuse(1, ["precision int8 needs ranges"], "run", NET, "--size", SIZE, "--precision", "int8")

    def test_refusals(self):
        images, out = self.images(), self.folder / "r.json"
        self.refuse(1, [str(images), "the network takes images of 3x224x224"], "quantise", NET, "--images", images)
        self.refuse(1, [str(self.folder), "has no images"], "quantise", NET, "--images", self.folder)
        self.refuse(1, ["nowhere", "cannot read"], "quantise", NET, "--images", self.folder / "nowhere")
        self.refuse(2, ["--images"], "quantise", NET)
        for options in (["--precision", "bf16"], ["--ranges", images], ["--mean", 0.5], ["--error-images", 2]):
            self.refuse(2, [options[0]], "quantise", NET, "--size", SIZE, "--images", images, *options)
        self.quantise("--images", images, "--method", "min-max", "--out", out)
        self.refuse(1, [str(out), "has no ranges of resnet56", "no layer is named"],
                    "run", "resnet56", "--precision", "int8", "--ranges", out)
        out.write_text("{}")
        self.refuse(1, [str(out), "format"], "run", NET, "--precision", "int8", "--ranges", out)
