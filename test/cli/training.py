"""primsel train"""
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import tempfile

from command import NET, Cli, read_safetensors, write_classifier, write_npy, write_onnx, write_png
from files import IMAGES


class Train(Cli):
    OPTIONS = ["--size", 32, "--batch", 4, "--learning-rate", 0.01]

    def data(self, count=8):
        """Images and labels as .npy, by a fixed seed."""
        numbers = random.Random(3)
        images, labels = self.folder / "x.npy", self.folder / "y.npy"
        write_npy(images, [count, 3, 32, 32], [numbers.random() for _ in range(count * 3 * 32 * 32)])
        write_npy(labels, [count], [i % 3 for i in range(count)], "<i8")
        return ["--images", images, "--labels", labels]

    def test_weights_that_run(self):
        out = self.folder / "w.safetensors"
        lines = self.succeed("train", NET, *self.data(), *self.OPTIONS, "--epochs", 2, "--hold-back", 0.5, "--out", out,
                             "--flip", "--crop", 2, "--momentum", 0.9, "--json").splitlines()
        epochs = [json.loads(line) for line in lines]
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2])
        for epoch in epochs:
            self.assertEqual(list(epoch), ["epoch", "loss", "learning_rate", "seconds", "images_per_second",
                                           "validation_loss", "accuracy", "best"])
        self.succeed("run", NET, "--size", 32, "--weights", out, "--repeat", 1)
        model = self.folder / "w.onnx"
        self.succeed("export", NET, model, "--weights", out, "--size", 32)
        image = self.folder / "one.npy"
        write_npy(image, [1, 3, 32, 32], [i % 13 / 13 for i in range(3 * 32 * 32)])
        by_net, by_model = (struct.unpack("<1000f", self.outputs(*of, "--input", image)[0])
                            for of in ([NET, "--size", 32, "--weights", out], [model]))
        for one, other in zip(by_net, by_model):
            self.assertAlmostEqual(one, other, delta=1e-4 * max(map(abs, by_net)))
        judged = ["accuracy", NET, "--size", 32, "--weights", out, *self.data()]
        result = json.loads(self.succeed(*judged, "--json"))
        self.assertEqual((result["images"], len(result["classes"])), (8, 3))
        right = sum(each["accuracy"] * each["images"] for each in result["classes"])
        self.assertAlmostEqual(right / 8, result["accuracy"])
        self.assertGreaterEqual(result["top5_accuracy"], result["accuracy"])
        for batch in (1, 3):  # the last one is padded
            self.assertEqual(json.loads(self.succeed(*judged, "--batch", batch, "--json"))["classes"], result["classes"])
        self.assertIn("of 8 images", self.succeed(*judged, "--mean", "0.5,0.5,0.5", "--std", "1,1,1"))
        self.refuse(1, ["1 means and 1 deviations"], *judged, "--mean", 0.5, "--std", 1)
        self.refuse(1, ["the images are 3x32x32", "3x64x64"], "accuracy", NET, "--size", 64, *self.data())
        self.refuse(2, ["--images and --labels, --cifar or --folder"], "accuracy", NET)

    def test_folders_of_images(self):
        for label in ("dark", "bright"):
            (self.folder / "data" / label).mkdir(parents=True)
            for i in range(3):
                pixel = bytes([20 + i if label == "dark" else 220 + i] * 3)
                write_png(self.folder / "data" / label / f"{i}.png", 32, 32, pixel * 32 * 32)
        out, data = self.folder / "w.safetensors", ["--folder", self.folder / "data"]
        self.succeed("train", NET, *data, "--size", 32, "--batch", 2, "--learning-rate", 0.001, "--out", out)
        result = json.loads(self.succeed("accuracy", NET, *data, "--size", 32, "--weights", out, "--json"))
        # The classes are those of the folders, not of the network's answers.
        self.assertEqual([(each["name"], each["images"]) for each in result["classes"]], [("bright", 3), ("dark", 3)])
        self.assertEqual(result["images"], 6)
        self.refuse(1, ["bright/0.png: is 1x3x32x32, not 3x64x64"], "accuracy", NET, *data, "--size", 64)
        for name in ("dark/4.gif", "dark/.DS_Store", "bright/Thumbs.db"):
            (self.folder / "data" / name).write_bytes(b"")
        steps = ["--size", 32, "--batch", 2, "--learning-rate", 0.001, "--out", out]
        for arguments in (["accuracy", NET, *data, "--size", 32], ["train", NET, *data, *steps],
                          ["train", NET, *self.data(), "--validation-folder", self.folder / "data", *steps]):
            result = self.call(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, f"^{self.NAME}: warning: {self.folder / 'data'}: 1 file is left out: dark/4.gif; "
                             "PNG.* JPEG.* files are read\n$")
        if "WebP" in self.succeed("accuracy", "--help"):
            shutil.copy(IMAGES / "lossy.webp", self.folder / "data" / "dark" / "5.webp")
            (self.folder / "data" / "dark" / "4.gif").unlink()
            result = json.loads(self.succeed("accuracy", NET, *data, "--size", 32, "--json"))
            self.assertEqual([(each["name"], each["images"]) for each in result["classes"]], [("bright", 3), ("dark", 4)])
        turned = bytes([77, 77, 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0])
        high = self.folder / "high"
        (high / "one").mkdir(parents=True)
        write_png(high / "one" / "1.png", 32, 64, bytes(3 * 32 * 64), turned)
        judge = ["accuracy", NET, "--folder", high, "--size", "64"]
        self.refuse(1, ["one/1.png: is 1x3x32x64"], *judge)
        self.refuse(1, ["one/1.png: is 1x3x64x32"], *judge, "--no-exif")


    def test_same_weights_again_and_for_any_threads(self):
        written, plan = [], self.folder / "plan.json"
        # Two measurements of a machine differ, and so may their plans.
        self.succeed("plan", NET, "--size", 32, "--batch", 4, "--training", "--save", plan)
        for threads in (1, 2):
            out = self.folder / f"{threads}.safetensors"
            self.succeed("train", NET, *self.data(), *self.OPTIONS, "--threads", threads, "--plan", plan, "--out", out)
            written.append(out.read_bytes())
        self.assertEqual(*written)
        self.refuse(1, ["plan.json: is no plan for such a step of"], "train", NET, *self.data(), *self.OPTIONS, "--plan",
                    plan, "--freeze", "features.*")

    def test_plans_of_steps(self):
        arguments = ["plan", NET, "--size", 32, "--batch", 4, "--training", "--json"]
        whole = json.loads(self.succeed(*arguments))
        self.assertGreater(whole["passes"]["backward_ms"], whole["passes"]["forward_ms"])
        self.assertEqual(whole["passes"]["again_ms"], 0)
        self.assertIn("conv_weight_gradient", {layer["kind"] for layer in whole["layers"]})
        most = whole["arena_bytes"] * 9 // 10
        less = json.loads(self.succeed(*arguments, "--max-arena", most))
        self.assertLessEqual(less["arena_bytes"], most)
        self.assertGreater(less["passes"]["again_ms"], 0)
        plan, trace = self.folder / "plan.json", self.folder / "trace.json"
        self.succeed(*arguments, "--max-arena", most, "--save", plan)
        self.succeed("trace", *arguments[1:], "--plan", plan, "--out", trace)
        self.assertIn("/again", trace.read_text())
        again = next(layer["name"] for layer in less["layers"] if layer["name"].endswith("/again"))
        self.assertIn(again, self.succeed("explain", *arguments[1:-1], again, "--max-arena", most))
        self.refuse(1, ["no step found needs at most 1000 bytes of arena; the smallest needs "], *arguments, "--max-arena",
                    1000)
        text = self.succeed("train", NET, *self.data(), *self.OPTIONS, "--max-arena", most)
        self.assertIn("layers are computed again", text)

    def test_killed_and_resumed_to_the_same_bits(self):
        data = self.data(16)
        runs = {name: self.folder / f"{name}.safetensors" for name in ("begun", "whole", "killed")}

        def arguments(name):
            return ["train", NET, *data, *self.OPTIONS, "--epochs", 20, "--hold-back", 0.25, "--momentum", 0.9, "--flip",
                    "--crop", 2, "--checkpoint", runs[name], "--checkpoint-every", 1]

        # Both begin with one plan: what is measured of a machine is not the same twice.
        while not runs["begun"].exists():
            self.call_and_kill(0.3, *arguments("begun"))
        for name in ("whole", "killed"):
            runs[name].write_bytes(runs["begun"].read_bytes())
        self.succeed(*arguments("whole"))
        numbers = random.Random(5)
        for _ in range(10):
            self.call_and_kill(numbers.uniform(0.1, 0.8), *arguments("killed"))
        self.assertIn("goes on after ", self.succeed(*arguments("killed")))
        self.assertEqual(runs["whole"].read_bytes(), runs["killed"].read_bytes())
        self.assertIn("goes on after 60 updates", self.succeed(*arguments("killed")))
        self.refuse(1, ["killed.safetensors: its seed is 1, here 2"], *arguments("killed"), "--seed", 2)
        self.refuse(1, ["killed.safetensors: made with", "here"], *arguments("killed"), "--nesterov")

    def test_a_full_disk_keeps_the_checkpoint(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        run = self.folder / "run.safetensors"
        arguments = ["train", NET, *self.data(), *self.OPTIONS, "--epochs", 30, "--checkpoint", run]
        seconds = 0.3  # until the first checkpoint, on a machine however busy
        while not run.exists():
            self.call_and_kill(seconds, *arguments)
            seconds *= 2
        before = run.read_bytes()
        result = subprocess.run([self.PRIMSEL, *map(str, arguments)], capture_output=True, text=True, check=False,
                                preexec_fn=limit, env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")})
        self.assertEqual(result.returncode, 1)
        self.assertIn("run.safetensors: cannot write: File too large", result.stderr)
        self.assertEqual(run.read_bytes(), before)
        self.assertIn("goes on after ", self.succeed(*arguments))

    def test_networks_of_files_come_back_with_their_weights(self):
        data, judged = self.data(), ["--hold-back", 0.5]
        for net in (NET, "alexnet_cifar", "resnet56"):
            file, weights, out, again = (self.folder / f"{net}{ending}" for ending in
                                         (".onnx", ".safetensors", "-out.onnx", "-again.safetensors"))
            self.succeed("export", net, file, *(["--size", 32] if net == NET else []))
            options = ["--batch", 4, "--learning-rate", 0.01, *data]
            self.succeed("train", file, *options, *judged, "--out", weights)
            # No epoch: the weights as they were read.
            self.succeed("train", file, *options, "--weights", weights, "--epochs", 0, "--out", out)
            self.succeed("train", out, *options, "--epochs", 0, "--out", again)
            self.assertEqual(again.read_bytes(), weights.read_bytes())
            image = self.folder / "one.npy"
            write_npy(image, [1, 3, 32, 32], [i % 13 / 13 for i in range(3 * 32 * 32)])
            plan = self.save_plan(file, "--costs", "analytical")
            by_file, by_weights, before = (self.output(*of, "--input", image, *plan)
                                           for of in ([out], [file, "--weights", weights], [file]))
            self.assertEqual(by_file, by_weights)
            self.assertNotEqual(by_file, before)
            # Parts that are not trained are as they were, and one file takes the place of the other.
            self.assertLess(abs(len(out.read_bytes()) - len(file.read_bytes())), 500)
            accuracies = {self.succeed("accuracy", *of, *data, "--json").split(":", 2)[2]
                          for of in ([out], [file, "--weights", weights])}
            self.assertEqual(len(accuracies), 1)
            exported = self.folder / "e.onnx"
            self.succeed("export", file, exported, "--weights", weights)
            self.assert_near(self.output(exported, "--input", image), by_file, 1e-4)
            self.succeed("prune", file, "--weights", weights, "--coupling")
            self.succeed("train", file, *options, "--weights", weights)
        other = self.folder / f"{NET}.safetensors"
        self.refuse(1, [f"{NET}.safetensors: ", "classifier"], "run", self.folder / "resnet56.onnx", "--weights", other)

    def test_what_cannot_be_written_is_found_before_the_work(self):
        nowhere, data = self.folder / "none", self.data()
        for option, name in [("--out", "x.safetensors"), ("--out", "x.onnx"), ("--checkpoint", "c.safetensors"),
                             ("--curves", "c.svg")]:
            self.refuse(1, [f"{name}: cannot write: "], "train", NET, *data, *self.OPTIONS, option, nowhere / name)
        self.refuse(2, ["w.pt: neither .onnx nor .safetensors"], "train", NET, *data, *self.OPTIONS, "--out",
                    self.folder / "w.pt")
        # Nor is one file written by two options, nor ONNX under another name.
        one, same = f"{self.folder}/x.onnx", f"{self.folder}/./x.onnx"
        for arguments in [["train", NET, *data, *self.OPTIONS, "--out", one, "--checkpoint", same],
                          ["prune", NET, "--sparsity", 0.5, "--out", one, "--dot", same], ["plan", NET, "--svg", one, "--dot", one]]:
            self.refuse(2, ["is the file of --", ", too"], *arguments)
        for arguments in [["export", NET, self.folder / "w.safetensors"],
                          ["train", NET, *data, "--pruning", "s.json", "--thin-out", self.folder / "x.pt"]]:
            self.refuse(2, ["does not end in .onnx"], *arguments)
        for arguments in [["prune", NET, "--out", nowhere / "x.onnx"], ["search", "--out", nowhere / "x.onnx"],
                          ["plan", NET, "--save", nowhere / "x.json"], ["fit", "--out", nowhere / "x"],
                          ["sensitivity", NET, "--svg", nowhere / "x.svg"], ["sweep", "x.yaml", "--out", nowhere / "x.onnx"]]:
            self.refuse(1, ["x", "cannot write: No such file"], *arguments)
        kept = self.folder / "kept.safetensors"
        kept.write_text("kept")
        self.refuse(2, ["--images and --labels"], "train", NET, "--out", kept)
        self.assertEqual(kept.read_text(), "kept")
        # No epoch: the weights as they are.
        self.succeed("train", NET, *data, *self.OPTIONS, "--epochs", 0, "--out", kept)
        self.succeed("run", NET, "--size", 32, "--weights", kept, "--repeat", 1)

    def test_options_that_would_do_nothing(self):
        for needs, arguments in [
                ("--momentum above 0", ["--nesterov"]), ("--optimizer sgd", ["--optimizer", "adam", "--momentum", 0.9]),
                ("--optimizer sgd", ["--optimizer", "adamw", "--nesterov"]),
                ("--schedule step or exponential", ["--schedule", "constant", "--decay", 0.5]),
                ("--schedule step or exponential", ["--decay", 0.5]),
                ("--schedule step", ["--schedule", "cosine", "--decay-every", 5]),
                ("--schedule step", ["--schedule", "exponential", "--decay-every", 5]),
                ("--checkpoint", ["--checkpoint-every", 2]), ("--hold-back", ["--patience", 2]),
                ("--epochs above 0", ["--epochs", 0, "--curves", self.folder / "c.svg"]),
                ("--epochs above 0", ["--epochs", 0, "--checkpoint", self.folder / "c.safetensors"]),
                ("--folder or --validation-folder", ["--no-exif"]),
                ("--validation", ["--hold-back", 0.5, "--validation-images", self.folder / "x.npy", "--validation-labels",
                                  self.folder / "y.npy"])]:
            self.refuse(2, ["has no effect here: it needs ", needs],
                        "train", NET, *self.data(), *self.OPTIONS, *arguments)
        for needs, arguments in [("--criterion taylor", ["--taylor-batches", 2]), ("--criterion taylor", self.data()),
                                 ("--latency", ["--sparsity", 0.5, "--most", 0.5]), ("--folder", ["--no-exif"]),
                                 ("without --coupling", ["--coupling", "--sparsity", 0.5]),
                                 ("without --coupling", ["--coupling", "--out", self.folder / "x.onnx"])]:
            self.refuse(2, ["has no effect here: it needs ", needs], "prune", NET, *arguments)
        net, weights, image = self.folder / "net.onnx", self.folder / "w.safetensors", self.folder / "x.npy"
        write_classifier(net, ["N", 3, 32, 32])
        self.succeed("train", net, *self.data(), *self.OPTIONS[2:], "--out", weights)
        random_weights, seed = "a network by name without --weights", ["--seed", 2]
        one = self.folder / "one.npy"
        write_npy(one, [1, 3, 32, 32], [0.5] * (3 * 32 * 32))
        for needs, arguments in [(random_weights, ["accuracy", net, *self.data(), *seed]),
                                 ("--folder", ["accuracy", net, *self.data(), "--no-exif"]),
                                 (random_weights, ["export", net, self.folder / "e.onnx", *seed]),
                                 (random_weights, ["prune", net, "--sparsity", 0.5, *seed]),
                                 ("an input that is not given", ["run", net, "--input", one, *seed]),
                                 ("random weights or images", ["dynamic", net, *self.data(), "--weights", weights, "--budget",
                                                               "time=1s", *seed]),
                                 ("--folder", ["dynamic", NET, *self.data(), "--budget", "time=1s", "--no-exif"])]:
            self.refuse(2, ["has no effect here: it needs ", needs], *arguments)
        self.succeed("run", net, "--repeat", 1, *seed)
        for command, option in (("plan", "--seed"), ("explain", "--seed"), ("dynamic", "--batch")):
            self.refuse(2, [f"{option}: no such option of {command}"], command, NET, option, 2)
        self.succeed("prune", net, "--sparsity", 0.5, "--criterion", "random", *seed)
        self.refuse(2, ["--pruning"], "train", NET, *self.data(), *self.OPTIONS, "--groups", 2, "--hold-back", 0.5,
                    "--pruning", "s.json")

    def test_sizes_of_files(self):
        """Sizes that a file leaves open, and a batch of one, for every command that trains or judges."""
        net, one = self.folder / "open.onnx", self.folder / "one.onnx"
        write_classifier(net, ["N", 3, "H", "W"])
        write_classifier(one, [1, 3, 32, 32])
        sweep = self.folder / "s.json"
        sweep.write_text(json.dumps({"method": "random", "metric": {"name": "top1"}, "budget": {"trials": 2},
                                     "parameters": {"stem": {"min": 0.0, "max": 0.5}}}))
        data, rate = self.data(), ["--learning-rate", 0.01]
        for sizes in ([net, "--dims", "x=4x3x32x32"], [net, "--dims", "x=1x3x32x32"], [net, "--size", 32], [one]):
            for command, *options in (["accuracy", *data], ["sensitivity", *data, "--sparsities", 0.5],
                                      ["prune", "--sparsity", 0.5, "--criterion", "taylor", *data],
                                      ["prune", "--sparsity", 0.5], ["plan"], ["run", "--repeat", 1], ["plan", "--training"],
                                      ["dynamic", "--groups", 2, "--budget", "time=1s", "--count", 2]):
                if command == "dynamic" and "x=4x3x32x32" in sizes:
                    self.refuse(1, ["open.onnx: takes 4 images at once; those of a stream come one at a time"], command,
                                *sizes, *options)
                    continue
                result = self.call(command, *sizes, *options)
                self.assertEqual(result.returncode, 0, (command, sizes, result.stderr))
            batch = [] if "--dims" in sizes else ["--batch", 4]
            self.assertIn("epoch 1 of 1", self.succeed("train", *sizes, *data, *rate, *batch))
            self.succeed("sweep", sweep, *sizes, *data, "--log", tempfile.mktemp(dir=self.folder))
        # As many at once as all sizes say, or a part of what an update is made by.
        sized = ["train", net, *data, *rate, "--dims", "x=2x3x32x32"]
        updates = self.folder / "c.safetensors"
        self.succeed(*sized, "--checkpoint", updates)
        self.assertIn("goes on after 4 updates", self.succeed(*sized, "--checkpoint", updates))
        self.succeed(*sized, "--batch", 8, "--part", 2)
        self.succeed(*sized, "--batch", 8)
        self.refuse(1, ["open.onnx: input x: the file leaves dimension 2 open; give --size"], "train", net, *data, *rate)

    def test_weights_stay_shared(self):
        net, sweep, out = self.folder / "shared.onnx", self.folder / "s.json", self.folder / "w.safetensors"
        write_classifier(net, ["N", 3, 32, 32], shared=True)
        sweep.write_text(json.dumps({"method": "random", "metric": {"name": "top1"}, "budget": {"trials": 1},
                                     "parameters": {"stem": {"min": 0.3, "max": 0.4}}}))
        data = self.data()
        again = [f"--training-{each[2:]}" if str(each).startswith("--") else each for each in data]
        self.succeed("sweep", sweep, net, *data, *again, "--epochs", 2, "--training-batch", 4, "--out", out)
        self.assertEqual(read_safetensors(out)["c1.weight"], read_safetensors(out)["c1_1.weight"])
        # A checkpoint of a network whose weights are apart.
        apart, checkpoint = self.folder / "apart.onnx", self.folder / "c.safetensors"
        write_classifier(apart, ["N", 3, 32, 32])
        options = [*data, "--batch", 4, "--learning-rate", 0.01, "--epochs", 2, "--checkpoint", checkpoint]
        self.succeed("train", apart, *options)
        self.refuse(1, ["c.safetensors: ", "sharing of weights"], "train", net, *options)

    def test_what_cannot_be_judged(self):
        arguments = ["train", "alexnet_cifar", *self.data(), "--batch", 4, "--learning-rate", 0.01]
        for c, h, classes, needles in ((3, 16, 3, ["the images are 3x16x16", "3x32x32"]), (3, 64, 3, ["3x64x64"]),
                                       (1, 32, 3, ["1x32x32"]), (3, 32, 11, ["of 11 classes", "has 10 values"])):
            images, labels = self.folder / "v.npy", self.folder / "w.npy"
            write_npy(images, [classes, c, h, h], [0.5] * (classes * c * h * h))
            write_npy(labels, [classes], list(range(classes)), "<i8")
            self.refuse(1, needles, *arguments, "--validation-images", images, "--validation-labels", labels)
        self.refuse(1, ["--hold-back 0.01: rounded, that is none of 8 images"], *arguments, "--hold-back", 0.01)
        self.refuse(1, ["--crop 32: moves images of 3x32x32 out of sight"], *arguments, "--crop", 32)
        # One value, and an image, are no values of several classes.
        one, picture, data = self.folder / "one.onnx", self.folder / "picture.onnx", self.data()
        write_classifier(one, ["N", 3, 32, 32], classes=1)
        write_onnx(picture, [("x", ["N", 3, 32, 32])],
                   [("Conv", "c", ["x", "c.weight"], ["y"], {"kernel_shape": [1, 1]})], [("y", ["N", 3, 32, 32])],
                   [("c.weight", [3, 3, 1, 1], [0.5] * 9)])
        for net, result in ((one, "1x1x1"), (picture, "3x32x32")):
            for command in (["train"], ["accuracy"], ["sensitivity"], ["prune", "--criterion", "taylor"]):
                self.refuse(1, [f"{net.name}: its result for an image is {result}: not a value for each"], *command, net, *data)
        # Classes are counted in the order of their names: folders of others would be other labels.
        for folder, names in (("a", ["cat", "dog"]), ("b", ["bird", "cat"])):
            for name in names:
                (self.folder / folder / name).mkdir(parents=True)
                for i in range(4):
                    write_png(self.folder / folder / name / f"{i}.png", 32, 32, bytes([i]) * 3 * 32 * 32)
        folders = ["--folder", self.folder / "a", "--validation-folder"]
        self.refuse(1, ["the classes to judge by are bird, cat; trained are cat, dog"], "train", "alexnet_cifar", "--batch", 4,
                    *folders, self.folder / "b")
        self.succeed("train", "alexnet_cifar", "--batch", 4, "--learning-rate", 0.001, *folders, self.folder / "a")
        sweep = self.folder / "s.json"
        sweep.write_text(json.dumps({"method": "random", "metric": {"name": "top1"}, "budget": {"trials": 1},
                                     "parameters": {"group1.conv2": {"min": 0.0, "max": 0.5}}}))
        self.refuse(1, ["the classes to judge by are cat, dog; trained are bird, cat"], "sweep", sweep, "alexnet_cifar",
                    *folders[:2], "--training-folder", self.folder / "b", "--epochs", 1)
        self.refuse(2, ["one.onnx: a network with its weights: give it as NET"], "run", NET, "--weights", one)

    def test_a_last_update_that_diverges(self):
        out = self.folder / "w.safetensors"
        self.refuse(1, ["after update 1 a value of ", "with a learning rate of ", "the training diverges"],
                    "train", "alexnet_cifar", *self.data(), "--batch", 8, "--learning-rate", 1e300, "--out", out)
        self.assertFalse(out.exists())

    def test_one_plan_from_beginning_to_end(self):
        checkpoint, plans = self.folder / "c.safetensors", [self.folder / "a.json", self.folder / "b.json"]
        for plan, solver in zip(plans, ("exact", "uniform:im2")):
            self.succeed("plan", NET, "--size", 32, "--batch", 4, "--training", "--solver", solver, "--save", plan)
        arguments = ["train", NET, *self.data(), *self.OPTIONS, "--epochs", 2, "--checkpoint", checkpoint]
        self.succeed(*arguments, "--plan", plans[0])
        self.assertIn("goes on after 4 updates", self.succeed(*arguments, "--plan", plans[0]))
        self.assertIn("goes on after 4 updates", self.succeed(*arguments))
        self.refuse(1, ["c.safetensors: its plan is another"], *arguments, "--plan", plans[1])
        self.refuse(1, ["c.safetensors: goes on by its plan, whose arena has ", "more than --max-arena"], *arguments,
                    "--max-arena", 1000)

    def test_pruners_that_never_act(self):
        schedule, thin = self.folder / "s.json", self.folder / "thin.onnx"
        pruner = {"class": "L1RankedStructureParameterPruner", "desired_sparsity": 0.5, "weights": ["features.0.weight"]}

        def prune(*epochs):
            policies = [{"pruner": {"instance_name": "first", "epochs": list(epochs)}}] if epochs else []
            schedule.write_text(json.dumps({"pruners": {"first": pruner}, "policies": policies}))
            return ["train", NET, *self.data(), *self.OPTIONS, "--epochs", 2, "--pruning", schedule, "--thin-out", thin]

        self.refuse(1, ["s.json: pruner first acts from epoch 2 on, counted from 0: not in --epochs 2"], *prune(2, 3))
        self.refuse(1, ["s.json: no policy says when pruner first acts"], *prune())
        result = self.call(*prune(1, 2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning: ", result.stderr)
        self.assertIn("acts until epoch 2", result.stderr)
        self.succeed(*prune(1))

    def test_schedules_of_pruning_say_the_learning_rate(self):
        schedule = self.folder / "s.json"

        def rates(fall, *options, epochs=4):
            schedule.write_text(json.dumps({
                "lr_schedulers": {"fall": fall},
                "policies": [{"lr_scheduler": {"instance_name": "fall"}, "starting_epoch": 0, "ending_epoch": 99,
                              "frequency": 1}]}))
            lines = self.succeed("train", "alexnet_cifar", *self.data(), "--batch", 4, "--learning-rate", 2**-7, "--epochs",
                                 epochs, "--pruning", schedule, "--json", *options).splitlines()
            return [round(json.loads(line)["learning_rate"], 15) for line in lines]

        halved = {"class": "ExponentialLR", "gamma": 0.5}
        for options in ([], ["--schedule", "constant"]):
            self.assertEqual(rates(halved, *options), [2**-7, 2**-8, 2**-9, 2**-10])
        self.assertEqual(rates({"class": "CosineAnnealingLR", "T_max": 2}, epochs=7),
                         [2**-7, 2**-8, 0, 2**-8, 2**-7, 2**-8, 0])
        self.assertEqual(rates({"class": "CosineAnnealingLR", "T_max": 2, "eta_min": 2**-8}, epochs=4),
                         [2**-7, 3 * 2**-9, 2**-8, 3 * 2**-9])
        self.refuse(1, ["s.json: its lr_schedulers say the learning rate, and so does --schedule"], "train", "alexnet_cifar",
                    *self.data(), "--batch", 4, "--pruning", schedule, "--schedule", "cosine")

    def test_recipes_and_curves(self):
        recipe, whole, curves = self.folder / "recipe.toml", self.folder / "whole.safetensors", self.folder / "c.svg"
        recipe.write_text('# as it was\nbatch = 4\nlearning-rate = 0.01\noptimizer = "adamw"\nepochs = 3\nflip = true\n'
                          'freeze = ["features.0*", "features.3*"]\nrate = "classifier*=0.5"\nhold-back = 0.5\n')
        by_file = ["train", NET, *self.data(), "--size", 32, "--recipe", recipe]
        options = ["--batch", 4, "--learning-rate", 0.01, "--optimizer", "adamw", "--flip", "--freeze", "features.0*",
                   "--freeze", "features.3*", "--rate", "classifier*=0.5", "--hold-back", 0.5]
        self.succeed(*by_file, "--checkpoint", whole, "--curves", curves)
        picture = curves.read_text()
        for text in ("Loss", "Accuracy, %", "Learning rate", "training: 3, ", "validation: 3, "):
            self.assertIn(text, picture)
        # The command line may repeat the file's options, or change them; a checkpoint knows all epochs' curves.
        half = self.folder / "half.safetensors"
        self.succeed(*by_file, "--epochs", 3, "--patience", 1, "--checkpoint", half)
        curves.unlink()
        self.succeed("train", NET, *self.data(), "--size", 32, *options, "--epochs", 3, "--checkpoint", whole, "--curves",
                     curves)
        self.assertEqual(curves.read_text(), picture)
        self.refuse(1, ["whole.safetensors: ", "epochs"], *by_file, "--epochs", 2, "--checkpoint", whole)
        for text, needles in [("bach = 4\n", ["recipe.toml: 'bach' is no option of train; did you mean batch"]),
                              ("[step]\nbatch = 4\n", ["recipe.toml: has a section [step]"]),
                              ("batch = many\n", ["recipe.toml: ", "many"]), ("optimizer = \"lion\"\n", ["recipe.toml: ", "lion"]),
                              ("rate = \"fc\"\n", ["recipe.toml: ", "fc: a pattern of names is needed"])]:
            recipe.write_text(text)
            self.refuse(1, needles, *by_file)
        self.refuse(2, ["nothing.toml"], "train", NET, *self.data(), "--recipe", self.folder / "nothing.toml")
        self.refuse(1, ["no weight's name fits 'fc*'"], "train", NET, *self.data(), *self.OPTIONS, "--freeze", "fc*")

    def test_frozen(self):
        out = self.folder / "w.safetensors"
        text = self.succeed("train", NET, *self.data(), *self.OPTIONS, "--optimizer", "adamw", "--freeze", "features.*",
                            "--out", out)
        self.assertIn("epoch 1 of 1: loss", text)
        self.assertIn("images a second", text)

    def test_groups(self):
        out, checkpoint = self.folder / "w.safetensors", self.folder / "c.safetensors"
        options = ["train", "alexnet_cifar", *self.data(), "--batch", 2, "--learning-rate", 0.01, "--hold-back", 0.5,
                   "--groups", 4, "--target", -1, "--dense-rate", 0.1]
        lines = self.succeed(*options, "--out", out, "--checkpoint", checkpoint, "--json").splitlines()
        epochs = [json.loads(line) for line in lines]
        self.assertEqual([epoch["groups"] for epoch in epochs], [1, 2, 3, 4])
        self.assertEqual([len(epoch["earlier"]) for epoch in epochs], [0, 1, 2, 3])
        self.succeed("run", "alexnet_cifar", "--weights", out, "--repeat", 1)
        self.assertIn("goes on with group 4", self.succeed(*options, "--out", out, "--checkpoint", checkpoint))
        self.refuse(1, ["alexnet_cifar: is in 4 groups, not 3"], *options[:-5], 3)
        self.refuse(2, ["--hold-back"], "train", "alexnet_cifar", *self.data(), "--groups", 4)
        self.refuse(2, ["--groups"], "train", NET, *self.data(), "--target", 0.1)

    def test_refusals(self):
        data = self.data()
        self.refuse(2, ["--images and --labels, --cifar or --folder"], "train", NET)
        self.refuse(1, ["the images are 3x32x32", "3x64x64"], "train", NET, *data, "--size", 64, "--batch", 4)
        self.refuse(1, ["cannot be taken in parts of 3"], "train", NET, *data, *self.OPTIONS, "--part", 3)
        self.refuse(1, ["no weight is trained"], "train", NET, *data, *self.OPTIONS, "--freeze", "*")
        labels = self.folder / "y.npy"
        write_npy(labels, [7], [0] * 7, "<i8")
        self.refuse(1, ["y.npy"], "train", NET, *data, *self.OPTIONS)
