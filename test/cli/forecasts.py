"""primsel forecast and primsel search"""
import xml.etree.ElementTree

from command import NET, SIZE, Cli


class Forecast(Cli):
    def test_own_engine(self):
        run = self.json("forecast", NET, "--size", SIZE, "--batch", 2)
        self.assertEqual(list(run), ["model", "batch", "pass", "device", "ms", "ms_deviation", "bytes", "bytes_deviation", "memory"])
        self.assertEqual(sum(run["memory"].values()), run["bytes"])
        self.assertEqual(run["memory"]["optimizer"], 0)
        self.assertIsNone(run["ms_deviation"])  # not known before it runs
        step = self.json("forecast", NET, "--size", SIZE, "--batch", 2, "--training")
        self.assertGreater(step["bytes"], run["bytes"])
        self.assertGreater(step["ms"], run["ms"])
        self.assertGreater(step["memory"]["optimizer"], 0)
        measured = self.json("forecast", NET, "--size", SIZE, "--runs", 2)
        self.assertGreater(measured["ms"], 0)
        self.assertIsNotNone(measured["ms_deviation"])
        text = self.succeed("forecast", NET, "--size", SIZE, "--training")
        self.assertIn("optimiser", text)
        self.refuse(1, ["--max-memory"], "forecast", NET, "--size", SIZE, "--runs", 1, "--max-memory", "1K")
        self.refuse(2, ["NET"], "forecast")
        self.refuse(1, ["squeezenet1_1"], "forecast", "squeezenet1_2")

    def test_profile_and_device(self):
        table, model = self.folder / "t.csv", self.folder / "f.model"
        arguments = ["forecast", NET, "--size", SIZE, "--profile", table, "--batches", "1,2", "--runs", 1]
        first = self.json(*arguments, "--levels", "0,50")
        self.assertEqual((first["measured"], first["rows"]), (4, 4))
        more = self.json(*arguments, "--levels", "0,50,70")
        self.assertEqual((more["measured"], more["rows"]), (2, 6))
        rows = [line.split(",") for line in table.read_text().splitlines() if not line.startswith("#")]
        columns = {name: i for i, name in enumerate(rows[0])}
        for row in rows[1:]:
            self.assertEqual(row[columns["outcome"]], "measured")
            forecast, held = int(row[columns["forecast_bytes"]]), int(row[columns["held_bytes"]])
            self.assertLessEqual(abs(forecast - held), 0.01 * held)
        self.succeed("forecast", "--fit", table, "--save", model)
        forecast = self.json("forecast", NET, "--size", SIZE, "--batch", 2, "--device", model)
        self.assertGreater(forecast["ms"], 0)
        self.assertGreater(forecast["ms_deviation"], 0)
        self.assertGreater(forecast["bytes"], 0)
        self.refuse(1, ["inference"], "forecast", NET, "--size", SIZE, "--training", "--device", model)
        self.refuse(1, ["no measured row"], "forecast", "--training", "--fit", table, "--save", model)
        model.write_bytes(model.read_bytes()[:-9])
        self.refuse(1, [str(model)], "forecast", NET, "--device", model)
        self.refuse(2, ["--save"], "forecast", "--fit", table)
        # A network that would not fit is recorded and not tried.
        small = self.folder / "s.csv"
        self.succeed("forecast", NET, "--size", SIZE, "--profile", small, "--levels", 0, "--batches", 1, "--max-memory", "1K")
        self.assertIn(",too large,", small.read_text())

    def test_other_tables(self):
        """A plain table, and perf4sight's; bad ones are refused in words."""
        model, plain = self.folder / "f.model", self.folder / "p.csv"
        rows = [f"{net},{batch},{0.01 * batch},{1000000 * batch}" for net in (NET, "resnet18") for batch in (1, 4, 16)]
        plain.write_text("network,batch,seconds,bytes\n" + "\n".join(rows) + "\n")
        learned = self.json("forecast", "--training", "--fit", plain, "--save", model)
        self.assertEqual(learned["rows"], 6)
        kinds = [error["model"] for error in learned["time"]["errors"]]
        self.assertIn("forest", kinds)
        self.assertIn(learned["time"]["model"], kinds)
        self.assertGreater(self.json("forecast", NET, "--training", "--batch", 8, "--device", model)["ms"], 0)
        forest = self.json("forecast", "--training", "--fit", plain, "--save", model, "--model", "forest")
        self.assertEqual(forest["memory"]["model"], "forest")
        self.assertIn("another network", self.succeed("forecast", "--training", "--fit", plain, "--save", model))
        layers, times = self.folder / "l.csv", self.folder / "t.csv"
        layers.write_text("network,level,layer,n,m,kh,kw,s,ph,pw,g,ip,op\na,0,0,8,3,3,3,1,1,1,1,8,8\na,50,0,4,3,3,3,1,1,1,1,8,8\n")
        times.write_text("network,level,bs,latency_ms,memory_mb\na,0,2,1.5,100\na,0,4,2.5,120\na,50,2,1.1,90\na,50,4,1.9,\n")
        self.assertEqual(self.json("forecast", "--training", "--fit", times, "--layers", layers, "--save", model)["rows"], 4)
        self.refuse(1, ["--layers"], "forecast", "--training", "--fit", times, "--save", model)
        plain.write_text("network,batch,seconds,bytes\nresnet18,0,1,1\n")
        self.refuse(1, ["p.csv:2"], "forecast", "--fit", plain, "--save", model)
        plain.write_text("network,time\nresnet18,1\n")
        self.refuse(1, ["network,batch,seconds,bytes"], "forecast", "--fit", plain, "--save", model)
        self.refuse(2, ["--model"], "forecast", NET, "--model", "forest")


class Search(Cli):
    few = ["search", "resnet-small", "--population", 20, "--iterations", 20, "--samples", 8, "--training-batch", 4]

    def test_bounds(self):
        free = self.json(*self.few)
        self.assertEqual(list(free), ["space", "objective", "asked", "kept", "learning_seconds", "searching_seconds",
                                      "subnet", "size", "score", "costs"])
        self.assertGreaterEqual(free["asked"], 20 * 20)
        most = int(0.7 * free["costs"]["training_bytes"])
        picture, network = self.folder / "s.svg", self.folder / "n.onnx"
        bound = self.json(*self.few, "--bound", f"training-memory={most}", "--svg", picture, "--out", network)
        self.assertLessEqual(bound["costs"]["training_bytes"], most)
        self.assertLess(bound["score"], free["score"])
        self.assertTrue(xml.etree.ElementTree.fromstring(picture.read_text()).tag.endswith("svg"))
        # Another process may plan otherwise, but it is such a network.
        step = self.json("forecast", network, "--batch", 4, "--training")
        self.assertAlmostEqual(step["bytes"] / bound["costs"]["training_bytes"], 1, delta=0.3)
        self.assertIn("best: ", self.succeed(*self.few, "--bound", "time=1s", "--objective", "multiply-adds"))

    def test_same_seed(self):
        """By a device's forecasts, as plans may differ from one process to the next."""
        table, model = self.folder / "t.csv", self.folder / "f.model"
        self.succeed("forecast", NET, "--size", SIZE, "--training", "--profile", table, "--levels", "0,70", "--batches", "2,4",
                     "--runs", 1)
        self.succeed("forecast", "--training", "--fit", table, "--save", model)
        arguments = [*self.few[:6], "--training-batch", 4, "--training-device", model, "--seed", 3]
        free = self.json(*arguments)
        self.assertIsNone(free["costs"]["ms"])
        most = int(0.8 * free["costs"]["training_bytes"])
        first, second = [self.json(*arguments, "--bound", f"training-memory={most}") for _ in range(2)]
        self.assertLessEqual(first["costs"]["training_bytes"], most)
        for key in ("subnet", "asked", "kept", "score", "costs"):
            self.assertEqual(first[key], second[key])

    def test_options_without_effect(self):
        no_fit = "without --fit"
        for needs, arguments in [(no_fit, ["--fit", "t.csv", "--save", "m", "--batch", 2]), (no_fit, [NET, "--fit", "t.csv", "--save", "m"]),
                                 (no_fit, ["--fit", "t.csv", "--save", "m", "--runs", 2]),
                                 ("--batches", [NET, "--profile", "t.csv", "--batch", 2]), ("--profile", [NET, "--seed", 2]),
                                 ("--profile or --runs", [NET, "--max-memory", "1G"]), ("its layers alone", [NET, "--weights", "w"])]:
            with self.subTest(arguments):
                self.refuse(2, ["has no effect here: it needs ", needs], "forecast", *arguments)
        for needs, arguments in [("--training-device", ["--samples", 3, "--device", "m"]), ("--device", ["--batch", 2, "--training-device", "m"]),
                                 ("--training-device", ["--training-batch", 2, "--device", "m"])]:
            with self.subTest(arguments):
                self.refuse(2, ["has no effect here: it needs ", needs], "search", "resnet-small", *arguments)
        self.refuse(2, ["--bound: time and memory need --device"], "search", "resnet-small", "--training-device", "m", "--bound",
                    "time=3ms")
        self.refuse(2, ["--bound: training-memory needs --training-device"], "search", "resnet-small", "--device", "m", "--bound",
                    "training-memory=3M")

    def test_refusals(self):
        self.refuse(1, ["none keeps the bounds; the nearest, ", " takes memory ", " of "], *self.few, "--bound", "memory=1K")
        self.refuse(1, ["none keeps the bounds; the nearest, ", " ms of 0.001 ms, memory "], *self.few, "--bound", "time=0.001ms",
                    "--bound", "memory=1G")
        self.refuse(2, ["--bound"], *self.few, "--bound", "colour=3")
        self.refuse(2, ["--bound"], *self.few, "--bound", "time=3")
        self.refuse(2, ["SPACE"], "search", "resnet-huge")
