"""primsel prune and primsel sensitivity"""
import json
import random
import xml.etree.ElementTree

from command import NET, Cli, noise, write_npy


class Prune(Cli):
    def test_half_the_predicted_time(self):
        out = self.folder / "thin.onnx"
        text = self.succeed("prune", NET, "--size", 64)
        self.assertIn("predicted ms", text)
        result = self.json("prune", NET, "--size", 64, "--out", out)
        self.assertEqual(list(result), ["model", "whole", "thinned", "without_multiples", "layers", "file"])
        self.assertLessEqual(result["thinned"]["predicted_ms"], 0.6 * result["whole"]["predicted_ms"])
        self.assertLess(result["thinned"]["parameters"], result["whole"]["parameters"])
        layers = {layer["name"]: layer for layer in result["layers"]}
        self.assertEqual(layers["classifier.1"]["left"], 1000)  # the network's result
        self.assertTrue(all(0 < layer["left"] <= layer["filters"] for layer in result["layers"]))
        # The file has these layers and runs.
        plan = self.json("plan", out)
        self.assertAlmostEqual(plan["predicted_ms"] / result["thinned"]["predicted_ms"], 1, delta=0.3)
        self.succeed("run", out)

    def test_a_thinned_network_in_8_bits(self):
        out, ranges, file = self.folder / "thin.onnx", self.folder / "r.json", self.folder / "q.onnx"
        self.json("prune", NET, "--size", 64, "--filters", 0.5, "--out", out)
        write_npy(self.folder / "x.npy", [2, 3, 64, 64], noise(2 * 3 * 64 * 64))
        result = self.json("quantise", out, "--images", self.folder / "x.npy", "--out", ranges)
        self.assertLess(min(row["error"] for row in result["tried"][1:]), 0.3)
        self.assertTrue(any("int8" in (layer["primitive"] or "") for layer in
                            self.json("plan", out, "--precision", "int8", "--ranges", ranges)["layers"]))
        self.succeed("run", out, "--precision", "int8", "--ranges", ranges)
        self.json("export", out, file, "--ranges", ranges)
        # A network in 8 bits is thinned, too, and keeps its ranges: what it costs is predicted in 8 bits.
        whole = self.json("plan", out, "--precision", "int8", "--ranges", ranges)["predicted_ms"]
        thinner = self.json("prune", out, "--filters", 0.7, "--precision", "int8", "--ranges", ranges)
        self.assertAlmostEqual(thinner["whole"]["predicted_ms"] / whole, 1, delta=0.05)
        self.assertLess(thinner["thinned"]["predicted_ms"], whole)

    def test_shares(self):
        for option, key in [("--flops", "multiply_adds"), ("--filters", "filters")]:
            result = self.json("prune", NET, "--size", 64, option, 0.6)
            left = result["thinned"][key] / result["whole"][key]
            self.assertLessEqual(left, 0.6)
            self.assertGreater(left, 0.5)
        result = self.json("prune", NET, "--size", 64, "--sparsity", 0.5, "--multiple", 8, "--group", "features.3.*=0",
                           "--criterion", "random", "--seed", 3)
        for layer in result["layers"]:
            if layer["name"].startswith("features.3."):
                self.assertEqual(layer["left"], layer["filters"], layer)
            elif layer["name"] != "classifier.1":
                self.assertEqual(layer["left"], (layer["filters"] // 2 + 7) // 8 * 8, layer)
        self.assertGreaterEqual(result["thinned"]["filters"], result["without_multiples"]["filters"])
        text = self.succeed("prune", NET, "--size", 64, "--sparsity", 0.3, "--global", "--type", "channels", "--multiple", 4)
        self.assertIn("in multiples of 4: ", text)

    def test_weights_and_coupling(self):
        out, dot = self.folder / "thin.safetensors", self.folder / "coupling.dot"
        self.succeed("prune", NET, "--size", 64, "--criterion", "l2", "--latency", 0.8, "--out", out, "--dot", dot)
        self.assertGreater(out.stat().st_size, 100000)
        self.assertTrue(dot.read_text().startswith("digraph coupling {"))
        text = self.succeed("prune", "resnet18", "--coupling")
        self.assertIn("conv1, layer1.0.conv2, layer1.1.conv2", text)
        self.assertIn("they are the network's result", text)
        sets = self.json("prune", "resnet18", "--coupling")["coupled"]
        self.assertEqual(sets[0]["made_by"], ["conv1", "layer1.0.conv2", "layer1.1.conv2"])
        self.assertEqual([sets[0][key] for key in ("channels", "may_go", "fixed")], [64, 64, None])
        self.assertEqual((sets[-1]["may_go"], sets[-1]["fixed"]), (0, "they are the network's result"))

    def test_goals(self):
        held = ["--group", "conv1=0", "--group", "conv3=0"]
        self.refuse(1, ["conv1: 64 of 64 stay: layer lrn1 (lrn)", "conv3: 192 of 192 stay", "--group 'conv1=0' --group 'conv3=0'"],
                    "prune", "googlenet", "--sparsity", 0.5)
        result = self.call("prune", "googlenet", "--sparsity", 0.5, *held)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("primsel: warning: conv1: 64 of 64 stay: layer lrn1 (lrn) normalises each by its neighbours\n", result.stderr)
        # Counts are rounded down.
        layers = {layer["name"]: layer["left"] for layer in
                  self.json("prune", NET, "--size", 64, "--sparsity", 0.3, "--group", "features.3.*=0.33")["layers"]}
        self.assertEqual((layers["features.0"], layers["features.3.squeeze"]), (64 - 19, 16 - 5))
        self.refuse(1, ["no filter goes: rounded down"], "prune", NET, "--size", 64, "--group", "features.3.squeeze=0.06")
        # The first layers of ResNet-56 share their channels with later ones, which have more: each loses its share.
        for layer in self.json("prune", "resnet56", "--sparsity", 0.5)["layers"]:
            if layer["name"] != "fc":
                self.assertEqual(layer["left"], layer["filters"] / 2, layer["name"])

    def test_blocks_of_several_layers(self):
        # A shuffle ties half of a layer's filters to one channel of another: blocks that cannot be halved.
        result = self.call("prune", "shufflenet_v2_x0_5", "--sparsity", 0.5)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"warning: .*stage3\.7\.branch2\.5 \(\d+ of 48\)")
        self.assertIn("more filters stay than the share says: they go in blocks with those of others", result.stderr)

    def test_refusals(self):
        self.refuse(1, ["did you mean features.3.squeeze?"], "prune", NET, "--group", "features.3.squeze=0.5")
        self.refuse(2, ["--group", "a pattern of names"], "prune", NET, "--group", "features")
        self.refuse(2, ["neither .onnx nor .safetensors"], "prune", NET, "--out", "thin.pt")
        self.refuse(2, [], "prune", NET, "--latency", 0.5, "--sparsity", 0.5)
        self.refuse(1, ["cannot be reached"], "prune", NET, "--size", 64, "--filters", 0.01)
        self.refuse(1, ["no batch norm alone reads layer"], "prune", NET, "--criterion", "batch-norm")
        self.refuse(1, ["needs images"], "prune", NET, "--criterion", "taylor")


class Sensitivity(Cli):
    def data(self, count=6):
        numbers = random.Random(3)
        images, labels = self.folder / "x.npy", self.folder / "y.npy"
        write_npy(images, [count, 3, 32, 32], [numbers.random() for _ in range(count * 3 * 32 * 32)])
        write_npy(labels, [count], [i % 3 for i in range(count)], "<i8")
        return ["--images", images, "--labels", labels]

    def test_each_layer_and_on_again(self):
        out, svg = self.folder / "s.csv", self.folder / "s.svg"
        arguments = ["sensitivity", NET, "--size", 32, "--batch", 6, *self.data(), "--layers", "features.*.squeeze",
                     "--sparsities", "0.25,0.75", "--out", out, "--svg", svg]
        result = self.json(*arguments)
        points = result["points"]
        self.assertEqual(len(points), 1 + 8 * 2)
        self.assertIsNone(points[0]["layer"])
        for i in range(1, len(points), 2):
            self.assertEqual([points[i]["sparsity"], points[i + 1]["sparsity"]], [0.25, 0.75])
            self.assertLess(points[i + 1]["left"], points[i]["left"])
        self.assertEqual(sorted(sum(result["groups"], [])), sorted({point["layer"] for point in points[1:]}))
        self.assertTrue(xml.etree.ElementTree.fromstring(svg.read_text()).tag.endswith("svg"))
        # Killed in the middle of a line, it goes on.
        text = out.read_text()
        out.write_text(text[:len(text) * 2 // 3])
        self.assertEqual(self.json(*arguments)["groups"], result["groups"])
        self.assertEqual(out.read_text().count("\n"), text.count("\n"))
        self.assertIn("groups that bear pruning alike", self.succeed(*arguments))
        self.refuse(1, ["its criterion is l1, here l2"], *arguments, "--criterion", "l2")

    def test_prune_by_it(self):
        out = self.folder / "s.csv"
        self.succeed("sensitivity", NET, "--size", 32, *self.data(), "--sparsities", 0.5, "--out", out)
        lines = []
        for line in out.read_text().splitlines():
            cells = line.split(",")
            if len(cells) == 6 and cells[0] != "layer":
                cells[4] = "0.1" if cells[0].endswith("squeeze") else "0.8" if cells[0] else "0.9"
            lines.append(",".join(cells) + "\n")
        out.write_text("".join(lines))
        result = self.json("prune", NET, "--size", 32, "--latency", 0.7, "--sensitivity", out)
        gone = {True: 0, False: 0}
        for layer in result["layers"]:
            gone[layer["name"].endswith("squeeze")] += layer["filters"] - layer["left"]
        self.assertEqual(gone[True], 0, result["layers"])
        self.assertGreater(gone[False], 0)
        self.refuse(1, ["its criterion is l1, here l2"], "prune", NET, "--size", 32, "--sensitivity", out, "--criterion", "l2")
        self.refuse(2, [], "prune", NET, "--sparsity", 0.5, "--sensitivity", out)

    def test_refusals(self):
        self.refuse(2, ["--images and --labels, --cifar or --folder"], "sensitivity", NET)
        for option in ("--calibrate", "--max-arena", "--taylor-batches"):
            self.refuse(2, [option + ": has no effect here: it needs "], "sensitivity", NET, *self.data(), option, 1)
        self.refuse(1, ["no layer that can be pruned"], "sensitivity", NET, "--size", 32, *self.data(), "--layers", "none")

    def test_taylor(self):
        result = self.json("prune", NET, "--size", 32, "--batch", 3, *self.data(), "--criterion", "taylor", "--sparsity", 0.5)
        self.assertLess(result["thinned"]["filters"], result["whole"]["filters"])


class Pruning(Cli):
    """primsel train --pruning"""
    SCHEDULE = {"pruners": {"squeeze": {"class": "L1RankedStructureParameterPruner", "group_type": "Filters",
                                        "desired_sparsity": 0.5, "weights": ["features.3.squeeze.weight"]}},
                "lr_schedulers": {"fall": {"class": "ExponentialLR", "gamma": 0.5}},
                "policies": [{"pruner": {"instance_name": "squeeze", "epochs": [1]}},
                             {"lr_scheduler": {"instance_name": "fall", "starting_epoch": 0, "ending_epoch": 9,
                                               "frequency": 1}}]}

    def test_thinned_at_the_end(self):
        schedule, out, data = self.folder / "s.json", self.folder / "thin.onnx", Sensitivity.data(self)
        schedule.write_text(json.dumps(self.SCHEDULE, indent=1))
        arguments = ["train", NET, "--size", 32, *data, "--batch", 3, "--epochs", 2, "--schedule", "constant",
                     "--learning-rate", 0.01, "--pruning", schedule]
        lines = [json.loads(line) for line in self.succeed(*arguments, "--thin-out", out, "--json").splitlines()]
        self.assertEqual([line["learning_rate"] for line in lines], [0.01, 0.005])
        layers = {layer["name"]: layer["shape"] for layer in self.json("plan", out)["layers"]}
        whole = {layer["name"]: layer["shape"] for layer in self.json("plan", NET, "--size", 32)["layers"]}
        self.assertNotEqual(layers, whole)
        self.assertTrue(b"mean of the images" in out.read_bytes())  # so that it is judged as it was trained
        wrong = json.loads(json.dumps(self.SCHEDULE).replace("3.squeeze.weight", "3.squeze.weight"))
        schedule.write_text(json.dumps(wrong, indent=1))
        self.refuse(1, ["s.json:8: no weight that can be pruned is named features.3.squeze.weight; did you mean "
                        "features.3.squeeze.weight?"], *arguments)
        self.refuse(2, ["--pruning"], "train", NET, *data, "--thin-out", out)
