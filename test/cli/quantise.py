"""primsel quantise, and runs in 8 bits"""
import json

from command import NET, SIZE, Cli, noise, write_npy, write_png


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
        self.assertEqual([row["ranges"] for row in result["tried"]], ["none (float32)", "min-max", "percentile", "mse"])
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

    def test_refusals(self):
        images, out = self.images(), self.folder / "r.json"
        self.refuse(1, ["precision int8 needs ranges"], "run", NET, "--size", SIZE, "--precision", "int8")
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
