"""primsel dynamic"""
import csv
import json
import os
import random
import xml.etree.ElementTree

from command import Cli, write_npy


class Dynamic(Cli):
    NETWORK = ["dynamic", "alexnet_cifar"]

    def data(self, count=12):
        numbers = random.Random(4)
        images, labels = self.folder / "x.npy", self.folder / "y.npy"
        write_npy(images, [count, 3, 32, 32], [numbers.random() for _ in range(count * 3 * 32 * 32)])
        write_npy(labels, [count], [i % 3 for i in range(count)], "<i8")
        return ["--images", images, "--labels", labels]

    def test_a_stream_of_trained_groups(self):
        weights, data = self.folder / "w.safetensors", self.data()
        self.succeed("train", "alexnet_cifar", *data, "--batch", 4, "--learning-rate", 0.01, "--hold-back", 0.5,
                     "--groups", 4, "--target", -1, "--out", weights)
        trace = self.folder / "trace.csv"
        stream = [*self.NETWORK, "--weights", weights, *data, "--count", 30]
        # So much time that all groups run, so little that one does.
        for budget, configuration in (("time=10s", 4), ("time=1us", 1)):
            # Where nothing keeps the budget, the stream runs as near to it as can be, and the program fails.
            called = self.call(*stream, "--budget", budget, "--accuracies", "0.1,0.2,0.3,0.4", "--out", trace, "--json")
            self.assertEqual(called.returncode, 0 if configuration == 4 else 1, called.stderr)
            self.assertEqual("no configuration keeps the budget; nearest is configuration 1: time " in called.stderr,
                             configuration == 1)
            result = json.loads(called.stdout)
            self.assertEqual(list(result), ["images", "late", "switches", "accuracy", "configurations", "limits", "file"])
            counts = [each["images"] for each in result["configurations"]]
            self.assertEqual((sum(counts), len(counts)), (30, 4))
            self.assertEqual([each["configuration"] for each in result["configurations"]], [1, 2, 3, 4])
            self.assertEqual(result["late"], 0 if configuration == 4 else 30)
            with open(trace, encoding="utf-8") as file:
                lines = list(csv.DictReader(file))
            self.assertEqual([int(line["image"]) for line in lines], list(range(30)))
            self.assertEqual([sum(int(line["configuration"]) == c + 1 for line in lines) for c in range(4)], counts)
            self.assertEqual(sum(int(line["late"]) for line in lines), result["late"])
            if configuration == 4:
                self.assertEqual(counts, [0, 0, 0, 30])
                judged = self.json("accuracy", "alexnet_cifar", "--weights", weights, *data)
                self.assertAlmostEqual(result["accuracy"] * 30, 2.5 * 12 * judged["accuracy"], delta=6)
            else:
                self.assertGreater(counts[0], 15)
        picture = self.folder / "trace.svg"
        self.assertIn(" of 30 images late, ", self.succeed(*stream, "--budget", "time=1s", "--out", picture))
        self.assertTrue(xml.etree.ElementTree.fromstring(picture.read_text()).tag.endswith("svg"))

    def bright_channels(self, count):
        """Images whose class is the channel that is bright, which a few steps learn."""
        numbers = random.Random(4)
        images, labels = self.folder / "bright.npy", self.folder / "channels.npy"
        values = [(0.6 if c == i % 3 else 0) + 0.4 * numbers.random() for i in range(count) for c in range(3) for _ in range(1024)]
        write_npy(images, [count, 3, 32, 32], values)
        write_npy(labels, [count], [i % 3 for i in range(count)], "<i8")
        return ["--images", images, "--labels", labels]

    def test_groups_in_8_bits(self):
        file, ranges, data = self.folder / "g.onnx", self.folder / "r.json", self.bright_channels(24)
        self.succeed("train", "alexnet_cifar", *data, "--batch", 6, "--epochs", 6, "--optimizer", "adam", "--learning-rate", 0.001,
                     "--hold-back", 0.5, "--groups", 4, "--target", -1, "--out", file)
        self.json("quantise", file, "--images", data[1], "--method", "min-max", "--out", ranges)
        tensors = json.loads(ranges.read_text())["tensors"]
        self.assertTrue(any(tensor["name"].startswith("group3.") for tensor in tensors))
        # All groups run: the fourth is said to be the best, and there is time.
        stream = ("--budget", "time=10s", "--accuracies", "0.1,0.2,0.3,0.4", *data, "--count", 24)
        for options in ((), ("--precision", "int8", "--ranges", ranges), ("--precision", "bf16")):
            result = self.json("dynamic", file, *stream, *options)
            self.assertEqual(result["configurations"][3]["images"], 24, options)
            self.assertGreater(result["accuracy"], 0.95, options)  # by chance a third
        self.refuse(1, [str(ranges), "has no ranges of"], "dynamic", "resnet56", "--groups", 2, "--budget", "time=1s",
                    "--precision", "int8", "--ranges", ranges)

    def test_random_images(self):
        result = self.json("dynamic", "resnet56", "--groups", 2, "--budget", "time=1s,accuracy=50%", "--count", 3, "--every", 0.001)
        self.assertEqual((result["images"], len(result["configurations"])), (3, 2))
        self.assertNotIn("accuracy", result)
        if len(os.sched_getaffinity(0)) > 1:
            result = self.json("dynamic", "resnet56", "--groups", 2, "--budget", "time=1s", "--count", 3, "--threads", 2)
            self.assertEqual(result["images"], 3)

    def test_budgets_out_of_reach(self):
        for budget, needle in (("time=1us,accuracy=50%", " of 0.001 ms, accuracy "), ("accuracy=200%", "accuracy 100 of 200 %"),
                               ("time=1us,accuracy=1%", "of 0.001 ms, accuracy ")):
            result = self.call(*self.NETWORK, "--budget", budget, "--count", 2)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("dynamic: no configuration keeps the budget; nearest is configuration ", result.stderr)
            self.assertIn(needle, result.stderr)
            self.assertIn(" of 2 images late", result.stdout)

    def test_refusals(self):
        self.refuse(2, ["--groups: has no effect here: it needs a network that has none"], *self.NETWORK, "--budget",
                    "time=1s", "--groups", 3)
        self.refuse(2, ["--budget"], *self.NETWORK)
        self.refuse(2, ["expected a number of s"], *self.NETWORK, "--budget", "time=8kg")
        self.refuse(2, ["expected time=, energy=, power= or accuracy="], *self.NETWORK, "--budget", "colour=8")
        self.refuse(1, ["3 for 4 configurations"], *self.NETWORK, "--budget", "time=1s", "--accuracies", "0.1,0.2,0.3")
        self.refuse(1, ["--threads 1000", "no set of cores has more than"], *self.NETWORK, "--budget", "time=1s", "--threads", 1000)
        images = self.folder / "small.npy"
        write_npy(images, [1, 3, 8, 8], [0.0] * 192)
        labels = self.folder / "one.npy"
        write_npy(labels, [1], [0], "<i8")
        self.refuse(1, ["the images are 3x8x8", "3x32x32"], *self.NETWORK, "--budget", "time=1s", "--images", images,
                    "--labels", labels)
        write_npy(images, [1, 3, 32, 32], [0.0] * 3072)
        write_npy(labels, [1], [10], "<i8")
        self.refuse(1, ["the labels are of 11 classes, the network's result has 10 values"], *self.NETWORK, "--budget",
                    "time=1s", "--images", images, "--labels", labels)
        self.refuse(1, ["cannot write"], *self.NETWORK, "--budget", "time=1s", "--count", 1, "--out",
                    self.folder / "none" / "t.csv")
