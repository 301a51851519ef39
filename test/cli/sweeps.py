"""primsel sweep and primsel report"""
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

from command import NET, Cli, write_npy
from redis_server import RedisServer


class Sweeps(Cli):
    SWEEP = {"method": "bayes", "metric": {"name": "hybrid"}, "budget": {"trials": 7}, "seed": 3,
             "parameters": {"features.*.squeeze": {"min": 0.0, "max": 0.9},
                            "features.12.expand1x1": {"values": [0, 0.5]}}}

    def data(self, prefix="", count=6):
        numbers = random.Random(3)
        images, labels = self.folder / f"{prefix}x.npy", self.folder / f"{prefix}y.npy"
        write_npy(images, [count, 3, 32, 32], [numbers.random() for _ in range(count * 3 * 32 * 32)])
        write_npy(labels, [count], [i % 3 for i in range(count)], "<i8")
        return [f"--{prefix}images", images, f"--{prefix}labels", labels]

    def file(self, **changes):
        path = self.folder / "sweep.json"
        path.write_text(json.dumps(self.SWEEP | changes, indent=1))
        return path

    def test_sweep_log_and_report(self):
        log, page, out = self.folder / "sweep.jsonl", self.folder / "p.html", self.folder / "best.onnx"
        options = {"net": NET, "size": 32, "images": str(self.data()[1]), "labels": str(self.data()[3])}
        arguments = ["sweep", self.file(options=options)]  # two arguments are enough
        result = self.json(*arguments, "--report", page, "--out", out)
        self.assertEqual(list(result), ["trials", "failed", "best", "log", "importance", "seconds", "choosing_seconds"])
        self.assertEqual(set(result["importance"]), {"latency", "top1", "hybrid", "operations", "parameters"})
        for shares in result["importance"].values():
            self.assertEqual(list(shares), list(self.SWEEP["parameters"]))
            self.assertTrue(sum(shares.values()) == 0 or abs(sum(shares.values()) - 1) < 1e-9)
        self.assertLess(result["choosing_seconds"], result["seconds"])
        self.assertEqual((result["trials"], result["failed"], result["log"]), (7, 0, str(log)))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual(list(lines[0]), ["file", "sweep", "about"])
        self.assertEqual([line["trial"] for line in lines[1:]], list(range(7)))
        hybrids = [line["metrics"]["hybrid"] for line in lines[1:]]
        self.assertEqual(result["best"][0]["metrics"]["hybrid"], min(hybrids))
        self.assertAlmostEqual(self.json("plan", out)["predicted_ms"] / result["best"][0]["metrics"]["latency"], 1, delta=0.3)
        self.succeed("run", out)
        # It is over: nothing is tried again. Cut in the middle, it goes on to the same end.
        before = log.read_text()
        self.assertIn("7 trials, 0 failed", self.succeed(*arguments))
        self.assertEqual(log.read_text(), before)
        log.write_text(before[:len(before) * 2 // 3])
        result = self.call(*arguments)
        self.assertEqual(result.returncode, 0)
        self.assertIn("the last line was cut short and is dropped", result.stderr)
        again = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([line.get("parameters") for line in again], [line.get("parameters") for line in lines])
        self.refuse(1, ["cannot go on with it: its network is"], *arguments, "--size", 64)
        for path in (page, self.folder / "sweep.html"):
            self.succeed("report", log)
            text = path.read_text().removeprefix("<!DOCTYPE html>\n")
            self.assertTrue(xml.etree.ElementTree.fromstring(text).tag.endswith("html"))
            self.assertNotIn("href", text)

    def test_precision_is_a_parameter(self):
        networks, out = self.folder / "networks", self.folder / "best.onnx"
        values = ["float32", "bf16", "int8"]
        file = self.file(method="grid", metric={"name": "latency"}, budget={"trials": 6},
                         parameters={"precision": {"values": values}, "features.12.*": {"values": [0, 0.5]}})
        arguments = ["sweep", file, NET, "--size", 32, *self.data()]
        result = self.json(*arguments, "--measure", networks, "--out", out)
        self.assertEqual((result["trials"], result["failed"]), (6, 0))
        trials = [json.loads(line) for line in (self.folder / "sweep.jsonl").read_text().splitlines()[1:]]
        latency = {tuple(trial["parameters"].values()): trial["metrics"]["latency"] for trial in trials}
        self.assertEqual(len(latency), 6)
        for share in (0, 0.5):
            floats, *narrow = (latency[(value, share)] for value in values)
            self.assertLessEqual(max(narrow), floats)  # every choice in floats is one in less, too
        for trial in trials:
            self.assertTrue(0 <= trial["metrics"]["top1"] <= 1)
        (best,) = result["best"]
        self.assertAlmostEqual(best["measured"]["predicted"] / best["metrics"]["latency"], 1, delta=0.3)
        self.assertEqual(b"QuantizeLinear" in out.read_bytes(), best["parameters"]["precision"] == "int8")
        self.succeed("run", out, "--precision", "int8") if best["parameters"]["precision"] == "int8" else self.succeed("run", out)
        self.refuse(1, ["int8 need images to choose ranges by"], "sweep", file, NET, "--size", 32, "--out", out,
                    "--log", self.folder / "other.jsonl")
        self.refuse(1, ["parameter precision cannot be int4", "float32, f16, bf16 and int8"], "sweep",
                    self.file(parameters={"precision": {"values": ["int4"]}}, metric={"name": "latency"}), NET, "--size", 32)

    def test_killed(self):
        log = self.folder / "sweep.jsonl"
        arguments = ["sweep", self.file(method="random", metric={"name": "latency"}, budget={"trials": 40}), NET, "--size", 32]
        for _ in range(3):
            process = subprocess.Popen([self.PRIMSEL, *map(str, arguments)], stdout=subprocess.DEVNULL)
            lines = log.read_text().count("\n") if log.exists() else 0
            while process.poll() is None and not (log.exists() and log.read_text().count("\n") > lines + 3):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertEqual(self.json(*arguments)["trials"], 40)
        numbers = [json.loads(line)["trial"] for line in log.read_text().splitlines()[1:]]
        self.assertEqual(numbers, list(range(40)))

    def check_measured(self, trials):
        """The first four, and those that may be best."""
        self.assertTrue(all("measured" in trial for trial in trials[:4]))
        for trial in trials:
            self.assertIn(", ", trial["machine"])
            if "measured" not in trial:
                continue
            measured = trial["measured"]
            self.assertEqual(list(measured), ["latency", "predicted", "throughput", "machine", "layers"])
            self.assertEqual(measured["machine"], trial["machine"])
            self.assertGreater(min(measured["latency"], measured["predicted"], measured["throughput"]), 0)
            self.assertIn("features.0", measured["layers"])
            self.assertGreater(sum(measured["layers"].values()), 0)

    def test_measured(self):
        networks, page = self.folder / "networks", self.folder / "p.html"
        arguments = ["sweep", self.file(method="random", metric={"name": "latency"}), NET, "--size", 32, "--measure", networks]
        result = self.json(*arguments, "--report", page)
        trials = [json.loads(line) for line in (self.folder / "sweep.jsonl").read_text().splitlines()[1:]]
        self.check_measured(trials)
        (best,) = result["best"]
        self.assertEqual(list(best), ["trial", "parameters", "metrics", "measured"])
        times = [trial["measured"]["latency"] for trial in trials if "measured" in trial]
        self.assertEqual(best["measured"]["latency"], min(times))
        # Only the best network is left, and it was measured.
        self.assertEqual([path.name for path in networks.iterdir()], [f"trial-{best['trial']}.onnx"])
        self.succeed("run", next(networks.iterdir()), "--batch", 1)
        self.assertIn("<h2>Measured</h2>", page.read_text())
        self.assertIn("measured ms", self.succeed(*arguments))
        self.succeed("report", self.folder / "sweep.jsonl", "--out", page)
        self.assertIn("<h2>Measured</h2>", page.read_text())

    def wait_for(self, sweep, log, trials):
        """Until the log has more than so many trials."""
        while not log.exists() or log.read_text().count("\n") <= trials:
            self.assertIsNone(sweep.poll(), sweep.stderr.read() if sweep.poll() is not None else "")
            time.sleep(0.02)

    def test_measured_by_a_consumer(self):
        """Two producers, of which one is killed, and one consumer, which is killed and started again."""
        server, log, networks = RedisServer(self), self.folder / "sweep.jsonl", self.folder / "networks"

        sweep = server.primsel("sweep", self.file(budget={"trials": 10}, method="random", metric={"name": "latency"}), NET, "--size",
                      32, "--log", log, "--measure", networks)
        producers = [server.primsel("worker", "--patience", 10), server.primsel("worker", "--patience", 10)]
        consumer = server.primsel("worker", "--measure")
        self.wait_for(sweep, log, 1)
        producers[0].send_signal(signal.SIGKILL)
        consumer.send_signal(signal.SIGKILL)
        consumer = server.primsel("worker", "--measure", "--patience", 10, "--json")
        self.assertEqual(sweep.wait(1200), 0, sweep.stderr.read())
        trials = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        self.assertEqual(sorted(trial["trial"] for trial in trials), list(range(10)))
        self.check_measured(trials)
        output, errors = consumer.communicate(timeout=1200)
        self.assertEqual((consumer.returncode, errors), (0, ""))
        self.assertLessEqual(json.loads(output)["trials"], sum("measured" in trial for trial in trials))

    def test_front_with_retraining_by_a_schedule(self):
        schedule = self.folder / "s.json"
        schedule.write_text(json.dumps({
            "pruners": {"squeeze": {"class": "L2RankedStructureParameterPruner", "group_type": "Filters",
                                    "desired_sparsity": 0.5, "weights": ["module.features.*.squeeze.weight"]}},
            "policies": [{"pruner": {"instance_name": "squeeze", "epochs": [0]}}]}))
        file = self.file(metric=None, metrics=[{"name": "Latency"}, {"name": "Top-1", "goal": "maximize"}],
                         budget={"trials": 4}, parameters={"squeeze_desired_sparsity": {"min": 0.0, "max": 0.9},
                                                           "squeeze_group_type": {"values": ["Filters", "Channels"]}})
        file.write_text(json.dumps({key: value for key, value in json.loads(file.read_text()).items() if value}))
        arguments = ["sweep", file, NET, "--size", 32, *self.data(), *self.data("training-"), "--epochs", 1,
                     "--training-batch", 3, "--pruning", schedule]
        result = self.json(*arguments)
        self.assertEqual((result["trials"], result["failed"]), (4, 0))
        best = [trial["metrics"] for trial in result["best"]]
        self.assertEqual(best, sorted(best, key=lambda metrics: metrics["Latency"]))
        self.assertEqual(set(best[0]), {"Latency", "Top-1", "operations", "parameters"})
        self.refuse(2, ["--out"], *arguments, "--out", "w.pt")
        self.refuse(1, ["--out: needs one metric"], *arguments, "--out", "w.onnx")
        file.write_text(file.read_text().replace("squeeze_desired", "squeze_desired"))
        self.refuse(1, ["sets nothing in", "did you mean squeeze_desired_sparsity?"], *arguments)

    GRADUAL = {"pruners": {"squeeze": {"class": "L1RankedStructureParameterPruner_AGP", "final_sparsity": 0.9,
                                       "weights": ["module.features.*.squeeze.weight"]}},
               "lr_schedulers": {"fall": {"class": "ExponentialLR", "gamma": 0.5}},
               "extensions": {"thin": {"class": "FilterRemover", "thinning_func_str": "remove_filters", "arch": "a",
                                       "dataset": "d"}},
               "policies": [{"pruner": {"instance_name": "squeeze"}, "starting_epoch": 0, "ending_epoch": 3, "frequency": 1},
                            {"extension": {"instance_name": "thin"}, "epochs": [2]},
                            {"lr_scheduler": {"instance_name": "fall", "starting_epoch": 0, "ending_epoch": 9, "frequency": 1}}]}

    def test_a_trial_is_the_training_of_its_schedule(self):
        """A trial's network is that of `primsel train` by the schedule with the trial's parameters, byte for byte."""
        schedule, weights = self.folder / "s.json", self.folder / "w.safetensors"
        trained, best = self.folder / "trained.onnx", self.folder / "best.onnx"
        data, training = self.data(), self.data("training-")
        images = [option.replace("training-", "") if isinstance(option, str) else option for option in training]
        net = [NET, "--size", 32, "--weights", weights]
        self.succeed("train", NET, "--size", 32, *images, "--batch", 3, "--epochs", 0, "--out", weights)
        schedule.write_text(json.dumps(self.GRADUAL))
        file = self.file(method="grid", metric={"name": "top1", "goal": "maximize"}, budget={"trials": 1},
                         parameters={"squeeze_final_sparsity": {"value": 0.5}, "fall_gamma": {"value": 0.25},
                                     "momentum": {"value": 0.5}, "weight_decay": {"value": 1e-3}})
        result = self.json("sweep", file, *net, *data, *training, "--training-batch", 3, "--epochs", 3, "--pruning", schedule,
                           "--learning-rate", 0.02, "--out", best)
        self.assertEqual((result["trials"], result["failed"]), (1, 0))
        text = json.dumps(self.GRADUAL).replace('"final_sparsity": 0.9', '"final_sparsity": 0.5')
        schedule.write_text(text.replace('"gamma": 0.5', '"gamma": 0.25'))
        output = self.succeed("train", *net, *images, "--batch", 3, "--epochs", 3, "--learning-rate", 0.02, "--momentum", 0.5,
                              "--weight-decay", 1e-3, "--seed", self.SWEEP["seed"], "--pruning", schedule, "--thin-out", trained)
        self.assertIn("thin: filters are removed when the training ends", output)
        self.assertEqual(best.read_bytes(), trained.read_bytes())
        thin = self.json("plan", best)
        self.assertAlmostEqual(thin["predicted_ms"] / result["best"][0]["metrics"]["latency"], 1, delta=0.3)
        # Without training the pruners act at once, and a warning says so.
        call = self.call("sweep", self.file(parameters={"squeeze_final_sparsity": {"value": 0.5}}, method="grid"), *net, *data,
                         "--pruning", schedule, "--log", self.folder / "other.jsonl")
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn("without --epochs its pruners act at once", call.stderr)

    def test_distillers_schedule(self):
        """A schedule of the structure of Distiller's resnet56_cifar_filter_rank_v2.yaml leaves as many multiply-adds as that says,
        67,797,632, but for the two projections of its network, of 131,072 each."""
        groups = {70: (1, range(9)), 60: (2, (1, 2, 3, 4, 6, 7)), 20: (3, (1,)), 40: (3, (2, 3, 5, 6, 7, 8))}
        schedule = self.folder / "s.json"
        schedule.write_text(json.dumps({
            "version": 1,
            "pruners": {f"filter_pruner_{share}": {"class": "L1RankedStructureParameterPruner", "group_type": "Filters",
                                                   "desired_sparsity": share / 100,
                                                   "weights": [f"module.layer{stage}.{i}.conv1.weight" for i in blocks]}
                        for share, (stage, blocks) in groups.items()},
            "extensions": self.GRADUAL["extensions"],
            "policies": [{"pruner": {"instance_name": f"filter_pruner_{share}"}, "epochs": [0]} for share in groups] +
                        [{"extension": {"instance_name": "thin"}, "epochs": [0]}]}))
        file = self.file(method="grid", metric={"name": "operations"}, budget={"trials": 1},
                         parameters={"filter_pruner_70_desired_sparsity": {"value": 0.7}})
        (best,) = self.json("sweep", file, "resnet56", "--pruning", schedule)["best"]
        self.assertEqual(best["metrics"]["operations"], 67797632 - 2 * 131072)

    def test_parameters_of_training(self):
        parameters = {"learning_rate": {"min": -9.0, "max": -4.0, "distribution": "log_uniform"}, "epochs": {"values": [1, 2]},
                      "flip": {"values": ["true", "false"]}, "batch": {"min": 2, "max": 3}, "features.12.*": {"value": 0.5}}
        file = self.file(method="random", metric={"name": "top1", "goal": "maximize"}, run_cap=3, parameters=parameters)
        arguments = [NET, "--size", 32, *self.data()]
        result = self.json("sweep", file, *arguments, *self.data("training-"))
        self.assertEqual((result["trials"], result["failed"]), (3, 0))
        self.refuse(1, ["needs --training-images"], "sweep", file, *arguments)
        file = self.file(method="random", budget={"trials": 1}, parameters={"momentum": {"value": 2}, "features.12.*": {"value": 0.5}})
        result = self.call("sweep", file, *arguments, *self.data("training-"), "--epochs", 1, "--log", self.folder / "x.jsonl")
        self.assertIn("parameter momentum: ", result.stderr)
        self.refuse(1, ["parameter momentum is one of training: it needs --epochs"], "sweep", file, *arguments)

    PROGRAM = """
import json, os, sys
given = dict(word[2:].split("=") for word in sys.argv[1:])
if given["kind"] == "bad":
    sys.exit("no luck with bad")
print("some words")
for epoch in (1, 2, 3):
    print(json.dumps({"epoch": epoch, "loss": (float(given["x"]) - 0.5)**2 + 1 / epoch}), flush=True)
if "PRIMSEL_MODEL" in os.environ:
    open(os.environ["PRIMSEL_MODEL"], "w").write(given["x"])
print(json.dumps({"latency": 1 + float(given["x"])}))
"""

    def test_a_program_does_the_trials(self):
        program, log = self.folder / "train.py", self.folder / "sweep.jsonl"
        program.write_text(self.PROGRAM)
        parameters = {"x": {"min": 0.0, "max": 1.0}, "kind": {"values": ["good", "bad"], "probabilities": [0.8, 0.2]}}
        about = {"program": str(program), "method": "random", "metric": {"name": "loss"}, "budget": {"trials": 12},
                 "parameters": parameters, "early_terminate": {"type": "hyperband", "min_iter": 1, "eta": 3}}
        result = self.json("sweep", self.file(**about))
        trials = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        self.assertEqual(result["trials"], 12)
        for trial in trials:
            x, kind, stopped = *trial["parameters"].values(), "stopped" in trial
            self.assertEqual("failure" in trial, kind == "bad")
            if kind == "bad":
                self.assertIn("failed with status 1: no luck with bad", trial["failure"])
            else:
                self.assertAlmostEqual(trial["metrics"]["loss"], (x - 0.5)**2 + (1 if stopped else 1 / 3))
        self.assertTrue(any("stopped" in trial for trial in trials))
        self.assertEqual(result["failed"], sum(trial["parameters"]["kind"] == "bad" for trial in trials))
        log.unlink()
        for command, needle in ((["${programm}"], "there is no macro ${programm}; did you mean ${program}?"),
                                (["python3", "-c", "print(1)"], "no line of its output is JSON with the number loss"),
                                (["/no/such/program"], "/no/such/program: ")):
            with self.subTest(command):
                call = self.call("sweep", self.file(**about, command=command))
                self.assertEqual(call.returncode, 1)
                self.assertIn(needle, call.stderr)
                log.unlink(missing_ok=True)
        self.refuse(1, ["no network is named"], "sweep", self.file(metric={"name": "latency"}))

    def test_measured_by_a_command(self):
        """The device of the command likes x near 0.7, whatever the program predicts; what it measures decides."""
        program, measure, networks = self.folder / "train.py", self.folder / "measure.py", self.folder / "it's networks"
        program.write_text(self.PROGRAM)
        measure.write_text("import json, sys\nx = float(open(sys.argv[1]).read())\n"
                           "print(json.dumps({'latency': 3 + 5 * (x - 0.7)**2, 'machine': 'stick'}))\n")
        file = self.file(program=str(program), metric={"name": "latency"}, budget={"trials": 16},
                         parameters={"x": {"min": 0.0, "max": 1.0}, "kind": {"value": "good"}})
        result = self.json("sweep", file, "--measure", networks, "--measure-command", f"python3 {measure} {{model}}")
        (best,) = result["best"]
        self.assertEqual(best["measured"]["machine"], "stick")
        self.assertLess(best["measured"]["latency"], 3.1)
        trials = [json.loads(line) for line in (self.folder / "sweep.jsonl").read_text().splitlines()[1:]]
        self.assertNotEqual(best["trial"], min(trials, key=lambda trial: trial["metrics"]["latency"])["trial"])
        self.refuse(2, ["--measure"], "sweep", file, "--measure-command", "x")
        measure.write_text("import sys\nsys.exit('no device')\n")
        call = self.call("sweep", file, "--measure", networks, "--measure-command", f"python3 {measure} {{model}}", "--log",
                         self.folder / "other.jsonl")
        self.assertIn("failed with status 1: no device", call.stdout)

    def test_measured_by_onnx_runtime(self):
        try:
            import onnxruntime  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("onnxruntime is not installed")
        measure, networks = self.folder / "measure.py", self.folder / "networks"
        measure.write_text("import json, sys, time\nimport numpy, onnxruntime\n"
                           "session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\n"
                           "name = session.get_inputs()[0].name\n"
                           "image, times = numpy.zeros((1, 3, 32, 32), 'f'), []\n"
                           "for _ in range(9):\n    begin = time.time()\n    session.run(None, {name: image})\n"
                           "    times.append(time.time() - begin)\n"
                           "print(json.dumps({'latency': 1e3 * sorted(times)[4], 'machine': 'ONNX Runtime'}))\n")
        file = self.file(method="random", metric={"name": "latency"}, budget={"trials": 3})
        result = self.json("sweep", file, NET, "--size", 32, "--measure", networks, "--measure-command",
                           f"{sys.executable} {measure} {{model}}")
        self.assertEqual(result["best"][0]["measured"]["machine"], "ONNX Runtime")

    def test_unlike_workers_are_refused(self):
        server, log = RedisServer(self), self.folder / "sweep.jsonl"
        sweep = server.primsel("sweep", self.file(budget={"trials": 2}, method="random", metric={"name": "latency"}), NET, "--size",
                               32, "--log", log, "--measure", self.folder / "networks")
        self.addCleanup(sweep.kill)
        while not (about := server.call("GET", "primsel:about")).startswith(b"$") or about.startswith(b"$-1"):
            self.assertIsNone(sweep.poll())
            time.sleep(0.01)
        text = about.split(b"\r\n", 1)[1].removesuffix(b"\r\n").decode()
        self.assertIn('"machine":', text)
        machine = json.loads(text)["machine"]
        server.call("SET", "primsel:about", text.replace(json.dumps(machine), '"another board"'))
        worker = server.primsel("worker", "--patience", 5)
        self.assertEqual(worker.wait(1200), 1)
        self.assertIn("the sweep predicts latencies of another board, and this machine is " + machine, worker.stderr.read())
        server.call("SET", "primsel:about", text)
        worker = server.primsel("worker", "--patience", 10)
        server.call("SET", "primsel-measure:about", "another board")
        consumer = server.primsel("worker", "--measure", "--patience", 10)
        self.assertEqual(consumer.wait(1200), 1)
        self.assertIn("networks are measured by another board, and here it would be by " + machine, consumer.stderr.read())
        server.call("DEL", "primsel-measure:about")
        consumer = server.primsel("worker", "--measure", "--patience", 10)
        self.assertEqual(sweep.wait(1200), 0, sweep.stderr.read())
        for process in (worker, consumer):
            process.kill()

    def test_workers_by_redis(self):
        """Two workers, of which one is killed in a trial, and a server that is killed and started again."""
        server, log = RedisServer(self), self.folder / "sweep.jsonl"

        arguments = ["sweep", self.file(budget={"trials": 14}, method="random"), NET, "--size", 32, *self.data()]
        sweep = server.primsel(*arguments, "--log", log)
        workers = [server.primsel("worker", "--patience", 5), server.primsel("worker", "--patience", 5)]
        try:
            self.wait_for(sweep, log, 3)
            workers[0].send_signal(signal.SIGKILL)
            self.wait_for(sweep, log, 6)
            server.restart()
            self.assertEqual(sweep.wait(1200), 0, sweep.stderr.read())
            self.assertEqual(workers[1].wait(1200), 0, workers[1].stderr.read())
            numbers = sorted(json.loads(line)["trial"] for line in log.read_text().splitlines()[1:])
            self.assertEqual(numbers, list(range(14)))
            self.assertEqual(server.primsel(*arguments, "--threads", 2).wait(1200), 1)  # another sweep of this name
        finally:
            for process in (*workers, sweep):
                process.kill()
                process.communicate()

    def test_lease_of_the_sweep(self):
        """A worker that is told no lease is killed in a trial: when the sweep's lease is over, another takes that."""
        server, log = RedisServer(self), self.folder / "sweep.jsonl"

        sweep = server.primsel("sweep", self.file(budget={"trials": 3}, method="random"), NET, "--size", 32, *self.data(),
                               *self.data("training-"), "--epochs", 40, "--training-batch", 3, "--log", log)
        killed = server.primsel("worker", lease=())
        while not server.is_held():
            self.assertIsNone(killed.poll(), killed.stderr.read() if killed.poll() is not None else "")
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        self.assertTrue(server.is_held())
        worker = server.primsel("worker", "--patience", 20, lease=())  # less than a worker's own lease
        self.assertEqual(worker.wait(1200), 0, worker.stderr.read())
        numbers = sorted(json.loads(line)["trial"] for line in log.read_text().splitlines()[1:])
        self.assertEqual(numbers, [0, 1, 2])
        self.assertEqual(sweep.wait(1200), 0, sweep.stderr.read())

    def test_password_and_database(self):
        server, log = RedisServer(self, password="open%sesame", database=3), self.folder / "sweep.jsonl"

        arguments = [self.file(budget={"trials": 3}, method="random", metric={"name": "latency"}), NET, "--size", 32]
        sweep = server.primsel("sweep", *arguments, "--log", log)
        worker = server.primsel("worker", "--patience", 5)
        self.assertEqual(sweep.wait(1200), 0, sweep.stderr.read())
        self.assertEqual(worker.wait(1200), 0, worker.stderr.read())
        numbers = sorted(json.loads(line)["trial"] for line in log.read_text().splitlines()[1:])
        self.assertEqual(numbers, [0, 1, 2])
        self.assertEqual([server.call("EXISTS", "primsel:done", database=i) for i in (0, 3)], [b":0\r\n", b":1\r\n"])
        for wrong in (server.url.replace("sesame", "barley"), server.url.replace(":open%sesame@", "")):
            for arguments_of in (["sweep", *arguments, "--log", self.folder / "other.jsonl"], ["worker"]):
                result = self.call(*arguments_of, "--queue", wrong)
                self.assertEqual(result.returncode, 1)
                self.assertIn("queue redis://127.0.0.1:", result.stderr)
                for secret in ("open%", "sesame", "barley"):
                    self.assertNotIn(secret, result.stderr)

    def test_choosing_is_shown(self):
        """On a terminal the line says when the next trial is being chosen."""
        arguments = ["sweep", self.file(budget={"trials": 2}, metric={"name": "latency"}), NET, "--size", 32]
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        with subprocess.Popen([self.PRIMSEL, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=end) as process:
            os.close(end)
            text = b""
            try:
                while chunk := os.read(terminal, 1 << 12):
                    text += chunk
            except OSError:  # all of it was read
                pass
            self.assertEqual(process.wait(1200), 0, text)
        self.assertEqual(text.count(b"; choosing the next"), 2)
        self.assertIn(b"\x1b[Ksweep: 0 trials; choosing the next", text)

    def test_out_is_the_file_it_was_made_of(self):
        """Names, numbers of dimensions and properties of an ONNX file stay, whatever filters go."""
        whole, out, networks = self.folder / "whole.onnx", self.folder / "out.onnx", self.folder / "networks"
        self.succeed("export", NET, whole, "--size", 32)
        data = whole.read_bytes().replace(b"input", b"photo")  # of one length, so that no size in the file changes
        # ModelProto.metadata_props, field 14: the key, field 1, and the value, field 2.
        whole.write_bytes(data + b"\x72\x0d\x0a\x05names\x12\x04cats")
        file = self.file(budget={"trials": 2}, method="random", metric={"name": "latency"})
        self.succeed("sweep", file, whole, "--out", out, "--measure", networks, "--mean", "0.5,0.4,0.3", "--std", "1,2,4")
        for path in (out, *networks.iterdir()):
            text = path.read_bytes()
            for needle in (b"photo", b"\x0a\x05names\x12\x04cats", b"0.4"):
                self.assertTrue(needle in text, needle)
            self.assertFalse(b"input" in text)
            self.assertLess(len(text), len(data))

    def test_options_without_effect(self):
        images, training = self.data(), self.data("training-")
        schedule = self.write("s.json", "{}")
        for needs, arguments in [("--epochs", ["--learning-rate", 0.1]), ("--epochs", ["--training-batch", 2]),
                                 ("--epochs", training), ("the metric hybrid", ["--threshold", 0.5]),
                                 ("--criterion taylor", ["--taylor-batches", 3]), ("--measure", ["--calibrate", 1]),
                                 ("--measure", ["--max-arena", "1M"]), ("--report", ["--sensitivity", "s.csv"]),
                                 ("--queue", ["--lease", 3]), ("--queue", ["--ahead", 3]), ("--queue", ["--queue-name", "x"]),
                                 ("without --pruning", ["--pruning", schedule, "--criterion", "l2"])]:
            with self.subTest(arguments):
                self.refuse(2, ["has no effect here: it needs ", needs], "sweep", self.file(metric={"name": "top1"}), NET,
                            "--size", 32, *images, *arguments)
        for arguments in (["--threads", 2], ["--mean", "0,0,0", "--std", "1,1,1"]):
            self.refuse(2, ["has no effect here: it needs images"], "sweep", self.file(metric={"name": "latency"}), NET, "--size",
                        32, *arguments)
        # So do those of the file.
        self.refuse(2, ["--learning-rate: has no effect here"], "sweep", self.file(options={"learning-rate": 0.1}), NET,
                    "--size", 32, *images)

    def test_nothing_chosen(self):
        """A sweep that chooses nothing says why, writes nothing and fails."""
        out = self.folder / "best.onnx"
        arguments = [NET, "--size", 32, *self.data(), "--out", out]
        for name, text, changes, more in (
                ("failed", "every trial failed; 2 trials: ", {}, ["--epochs", 1, *self.data("training-")]),  # a batch of 64 of 6 images
                ("bound", "no trial keeps the bounds", {"constraints": [{"name": "parameters", "at_most": 1}]}, [])):
            with self.subTest(name):
                file = self.file(budget={"trials": 2}, method="random", **changes)
                result = self.call("sweep", file, *arguments, *more, "--log", self.folder / name)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertIn("best.onnx is not written", result.stderr)
                self.assertFalse(out.exists())

    def test_torn_first_line(self):
        log = self.folder / "sweep.jsonl"
        arguments = ["sweep", self.file(budget={"trials": 2}, metric={"name": "latency"}), NET, "--size", 32]
        self.succeed(*arguments)
        log.write_text(log.read_text()[:50])
        result = self.call(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the last line was cut short and is dropped", result.stderr)
        self.assertEqual(len(log.read_text().splitlines()), 3)
        log.write_text("notes")
        self.refuse(1, ["is no log of trials"], *arguments)
        self.assertEqual(log.read_text(), "notes")

    def test_refusals(self):
        self.refuse(1, ["sweep.json:2: 'bayse' is none of", "did you mean bayes?"], "sweep", self.file(method="bayse"), NET)
        self.refuse(1, ["there is no metric latencie; did you mean latency?"], "sweep", self.file(metric={"name": "latencie"}), NET)
        self.refuse(1, ["need images"], "sweep", self.file(), NET)
        self.refuse(1, ["no network is named"], "sweep", self.file())
        self.refuse(1, ["'wieghts' is no option of sweep; did you mean weights?"], "sweep", self.file(options={"wieghts": "w"}), NET)
        self.refuse(1, ["no layer that can be pruned", "did you mean features.3.squeeze?"], "sweep",
                    self.file(metric={"name": "latency"}, parameters={"features.3.squeze": {"min": 0.0, "max": 0.5}}), NET)
        self.refuse(1, ["does not say of which sweep"], "report", self.write("none.jsonl", '{"trial": 1}\n'))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path
