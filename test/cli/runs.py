"""primsel run"""
import math
import os
import pathlib
import struct
import unittest.mock

from command import NET, SIZE, Cli, noise, write_npy, write_png, write_tensor

IMAGES = pathlib.Path(__file__).resolve().parent / "images"
RUN_KEYS = ["model", "threads", "runs", "median_ms", "min_ms", "predicted_ms", "present_ms", "load_ms", "predict_ms",
            "solve_ms", "prepare_ms", "arena_bytes", "weight_bytes", "outputs"]


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

    def test_present_speed(self):
        """Predictions are scaled by what earlier runs took, unless the machine's speeds are measured anew."""
        net = [NET, "--size", SIZE]
        with unittest.mock.patch.dict(os.environ, PRIMSEL_MACHINE="measure"):
            self.json("run", *net)
            self.assertIsNone(self.json("machine")["present_speed"])
        for _ in range(5):
            with unittest.mock.patch.dict(os.environ, PRIMSEL_MACHINE=""):
                before = self.json("machine")["gemm_flops"]
                for file in (self.folder / "cache" / "primsel").glob("pace-*"):
                    file.unlink()
                shared = self.succeed("run", *net, "--repeat", 3, "--threads", 2)  # predictions are for one thread
                none = self.json("machine")["present_speed"]
                first = self.json("run", *net, "--repeat", 3)
                present = self.json("machine")["present_speed"]
                explained = self.json("explain", *net, "features.0")["present_factor"]
                second = self.json("run", *net, "--repeat", 3)
                texts = [self.succeed(*command) for command in
                         (["run", *net], ["plan", *net], ["explain", *net, "features.0"], ["machine"])]
                if self.json("machine")["gemm_flops"] == before:
                    break
        else:
            self.skipTest("the machine's speeds were measured again each time")
        self.assertIsNone(none)
        self.assertNotIn("present speed", shared)
        self.assertEqual(first["present_ms"], first["predicted_ms"])
        factor = first["median_ms"] / first["predicted_ms"]
        self.assertAlmostEqual(present * factor, 1, places=3)
        self.assertAlmostEqual(explained / factor, 1, places=3)
        self.assertAlmostEqual(second["present_ms"] / second["predicted_ms"] / factor, 1, places=3)
        for text in texts:
            self.assertIn("present speed", text)

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

    def test_labels(self):
        names = self.folder / "names.txt"
        names.write_text("".join(f"class {i}\n" for i in range(10)))
        image = IMAGES / "rgb.jpg"
        (output,) = self.json("run", "resnet56", "--image", image, "--image", image, "--labels", names)["outputs"]
        self.assertEqual(len(output["largest"]), 2)
        self.assertEqual(output["largest"][0], output["largest"][1])
        values = [each["value"] for each in output["largest"][0]]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual([f"class {each['class']}" for each in output["largest"][0]],
                         [each["name"] for each in output["largest"][0]])
        scores = struct.unpack("<10f", self.output("resnet56", "--image", image))
        self.assertEqual(scores.index(max(scores)), output["largest"][0][0]["class"])
        text = self.succeed("run", "resnet56", "--image", image, "--labels", names, "--repeat", 1)
        self.assertIn(f"largest: {output['largest'][0][0]['name']} ", text)
        names.write_text("one\ntwo")
        self.refuse(1, ["names.txt", "names 2 classes", "resnet56"], "run", "resnet56", "--labels", names)
        names.write_text("")
        self.refuse(1, ["names.txt", "names no class"], "run", "resnet56", "--labels", names)

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
        bad(["text.png", "no PNG, JPEG"], "--image", self.folder / "text.png")
        bad(["small.png", "1x3x16x16", "1x3x32x32"], "--image", self.folder / "small.png", "--resize", "exact")
        bad(["--resize 31", "32x32"], "--image", self.folder / "small.png", "--resize", "31")
        bad(["--mean", "2 numbers for 3 channels"], "--image", self.folder / "small.png", "--mean", "1,2")
        bad(["text.npy"], "--input", self.folder / "good.npy", "--output", self.folder / "text.npy" / "x")
        for option, value in (("--std", "0"), ("--std", "nan"), ("--mean", "nan"), ("--scale", "inf"), ("--max-error", "nan"),
                              ("--mean", "1e39"), ("--scale", "1e300"), ("--std", "1e-60")):
            image = [] if option == "--max-error" else ["--image", self.folder / "small.png"]
            result = self.call("run", "resnet56", *image, option, value)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("finite number", result.stderr)
            self.assertLess(len(result.stderr), 200)

    def test_weights(self):
        (self.folder / "w.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.refuse(1, ["w.safetensors", "\n  missing: "], "run", NET, "--weights", self.folder / "w.safetensors")
        self.refuse(1, ["none.safetensors", "cannot read"], "run", NET, "--weights", self.folder / "none.safetensors")
