"""primsel transfer"""
from models import Profiles


class Transfer(Profiles):
    # How much slower than usual each primitive is on another machine.
    OF_EACH = [1, 0.8, 1.2, 2]

    def setUp(self):
        super().setUp()
        self.source, _ = self.fit("gp", about=[("arch", "abacus"), ("cpu", "wooden")])
        self.data, self.layouts, self.out = (self.folder / name for name in ("there.csv", "layouts.csv", "there.model"))

    def measure(self, rows, about=(("arch", "slate"), ("cpu", "a hand")), **differences):
        self.write(self.data, rows=rows, about=about, **differences)

    def transfer(self, *more):
        return self.json("transfer", "--model", self.source, "--data", self.data, "--out", self.out, *more)

    def judged(self, model, of_each):
        """How far off it is on many other rows of the machine that is three times slower."""
        self.write(self.folder / "many.csv", rows=200, seed=5, slower=3, of_each=of_each)
        return self.json("evaluate", "--costs", model, "--data", self.folder / "many.csv", "--all-rows")["primitives"]

    def test_few_rows(self):
        self.measure(30, seed=3, slower=3, of_each=self.OF_EACH)
        self.assertGreater(self.judged(self.source, self.OF_EACH)["mdrae"], 0.5)
        for method in ("factor", "transferred"):
            result = self.transfer("--method", method)
            self.assertEqual(list(result), ["model", "method", "file", "primitives"])
            self.assertEqual((result["model"], result["method"], result["file"]),
                             (str(self.source), method, str(self.out)))
            part = result["primitives"]
            self.assertEqual(list(part), ["data", "rows", "method", "seconds", "test", "direct", "unknown"])
            self.assertEqual((part["rows"], part["method"]), (30, method))
            self.assertEqual((part["test"], part["direct"], part["unknown"]), (None, None, []))
            self.assertLess(self.judged(self.out, self.OF_EACH)["mdrae"], 0.15)
        self.refuse(1, ["there.csv", "none of these rows were held back", "--all-rows"], "evaluate", "--costs", self.out,
                    "--data", self.data)
        text = self.succeed("transfer", "--model", self.source, "--data", self.data, "--out", self.out)
        self.assertIn("transferred by 30 rows", text)
        self.assertIn("none left to judge by", text)

    def test_rows_held_back(self):
        self.measure(60, seed=3, slower=3, of_each=self.OF_EACH)
        part = self.transfer()["primitives"]
        self.assertEqual((part["rows"], part["test"]["rows"], part["direct"]["rows"]), (54, 6, 6))
        self.assertEqual([s["name"] for s in part["test"]["subjects"]], list(self.SPEED))
        self.assertLess(part["test"]["mdrae"], 0.2)
        self.assertGreater(part["direct"]["mdrae"], 0.5)
        self.assertEqual(self.json("evaluate", "--costs", self.out, "--data", self.data)["primitives"], part["test"])
        text = self.succeed("transfer", "--model", self.source, "--data", self.data, "--out", self.out)
        for words in ("primitives on 6 other rows, transferred", "all, as the model was: ", "by 54 rows"):
            self.assertIn(words, text)

    def test_published_networks_are_fine_tuned(self):
        self.measure(60, seed=3, slower=3)
        self.write(self.folder / "few.csv", rows=60)
        perceptron = self.folder / "perceptron.model"
        for kind in ("nn1", "nn2"):
            fitted = self.json("fit", "--data", self.folder / "few.csv", "--model", kind, "--out", perceptron)
            self.assertEqual((fitted["model"], fitted["primitives"]["rows"]), (kind, 48))
            part = self.json("transfer", "--model", perceptron, "--data", self.data, "--out", self.out)["primitives"]
            self.assertEqual((part["rows"], part["method"], part["unknown"]), (54, "fine-tuned", []))
            self.assertGreater(part["direct"]["mdrae"], 0.5)  # three times too fast
            self.assertLess(part["test"]["mdrae"], 0.8 * part["direct"]["mdrae"], kind)
        self.refuse(1, ["gp.model", "is no perceptron (nn1, nn2, mlp)"], "transfer", "--model", self.source, "--data", self.data,
                    "--out", self.out, "--method", "fine-tuned")

    def test_deterministic(self):
        self.measure(60, seed=3, slower=3)
        self.transfer()
        first = self.out.read_bytes()
        self.transfer("--threads", 2)
        self.assertEqual(self.out.read_bytes(), first)
        self.transfer("--seed", 2)
        self.assertNotEqual(self.out.read_bytes(), first)

    def test_what_the_file_says(self):
        self.measure(60, about=[("arch", "slate"), ("version", "0.0.1")], seed=3)
        self.transfer("--seed", 4)
        content = self.out.read_bytes()
        for key, value in (("arch", "slate"), ("version", "0.0.1"), ("source_arch", "abacus"), ("source_cpu", "wooden"),
                           ("source_seed", "1"), ("seed", "4"), ("method", "transferred"), ("primitives_rows", "54")):
            entry = b"".join(len(text).to_bytes(8, "little") + text.encode() for text in (key, value))
            self.assertIn(entry, content)

    def test_layouts(self):
        for rows, method in ((9, "factor"), (10, "transferred"), (60, "transferred")):
            self.measure(20, seed=3)
            self.write_layouts(self.layouts, rows=rows, seed=9, slower=4)
            result = self.transfer("--layouts", self.layouts)
            self.assertEqual(list(result), ["model", "method", "file", "primitives", "layouts"])
            part = result["layouts"]
            self.assertEqual(part["method"], method)
            self.assertEqual(part["rows"], 54 if rows == 60 else rows)
            judged = self.json("evaluate", "--costs", self.out, "--data", self.folder / "p.csv", "--layouts",
                               self.layouts, "--all-rows")["layouts"]
            self.assertEqual(judged["rows"], rows)
            self.assertLess(judged["mdrae"], 0.1)
            self.assertEqual(self.transfer("--layouts", self.layouts, "--method", "factor")["layouts"]["method"],
                             "factor")
        # Without samples of them nothing is said of changes of layout.
        self.transfer()
        self.refuse(1, ["l.csv", "of none of its layouts"], "evaluate", "--costs", self.out, "--data",
                    self.folder / "p.csv", "--layouts", self.folder / "l.csv", "--all-rows")

    def test_other_primitives(self):
        # The model of the new machine scales primitives without measurements by the factor of all.
        self.measure(30, seed=3, slower=3)
        self.data.write_text(self.data.read_text().replace("kn2row", "sundial"))
        for method in ("factor", "transferred"):
            self.assertEqual(self.transfer("--method", method)["primitives"]["unknown"], ["sundial"])
            subjects = {s["name"]: s["mdrae"] for s in self.judged(self.out, [1] * 4)["subjects"]}
            self.assertLess(subjects["kn2row"], 0.25)

    def test_plans(self):
        here = self.here()
        self.measure(40, about=here, seed=3, slower=2)
        self.write_layouts(self.layouts, rows=40, about=here)
        self.transfer("--layouts", self.layouts)
        plan = self.json("plan", "squeezenet1_1", "--size", "64", "--costs", self.out)
        self.assertEqual(plan["costs"], str(self.out))
        # Its source is of another instruction set.
        self.refuse(1, ["was trained for abacus"], "plan", "squeezenet1_1", "--costs", self.source)

    def test_refusals(self):
        self.measure(30, seed=3)
        bad = lambda needles, *arguments: self.refuse(1, needles, "transfer", "--out", self.out, *arguments)
        source, data = ["--model", self.source], ["--data", self.data]
        bad(["none.model", "cannot read"], "--model", self.folder / "none.model", *data)
        bad(["there.csv", "no model"], "--model", self.data, *data)
        bad(["none.csv", "cannot read"], *source, "--data", self.folder / "none.csv")
        bad(["p.csv", "is what", "gp.model was learned from"], *source, "--data", self.folder / "p.csv")
        bad(["l.csv", "c, k, im, f, s"], *source, "--data", self.folder / "l.csv")
        bad(["there.csv", "c, im"], *source, *data, "--layouts", self.data)
        self.refuse(1, ["gp.model", "would be written over"], "transfer", *source, *data, "--out", self.source)
        self.write_layouts(self.layouts, about=[("arch", "abacus")])
        bad(["layouts.csv", "its arch is abacus", "slate"], *source, *data, "--layouts", self.layouts)

        # Models that were transferred, or know nothing of layouts.
        self.transfer()
        again = self.folder / "again.model"
        self.refuse(1, ["there.model", "its primitives were transferred already"], "transfer", "--model", self.out,
                    "--data", self.folder / "p.csv", "--out", again)
        self.write_layouts(self.layouts)
        self.refuse(1, ["there.model", "has learned no layouts"], "transfer", "--model", self.out, "--data",
                    self.folder / "p.csv", "--layouts", self.layouts, "--out", again)
        self.assertFalse(again.exists())

        good = self.data.read_text()
        header = next(line for line in good.splitlines(keepends=True) if line.startswith("c,"))
        self.data.write_text(header)
        bad(["there.csv", "has no rows"], *source, *data)
        self.data.write_text("")
        bad(["there.csv", "no header"], *source, *data)
        self.data.write_text("c,k,im,f,s,sundial\n3,8,14,3,1,500\n")
        bad(["there.csv", "of none of its primitives does", "gp.model"], *source, *data)
        self.data.write_text("c,k,im,f,s,kn2row\n3,8,14,3,1,0\n")
        bad(["there.csv", "of none of its primitives"], *source, *data)
        # Kernels of 3 x 3 are all that this one was taught.
        self.data.write_text("c,k,im,f,s,winograd-2-3\n3,8,14,5,1,500\n")
        bad(["there.csv", "gp.model has no prediction for anything"], *source, *data)
        self.measure(30, seed=3)
        self.refuse(1, ["No space left"], "transfer", *source, *data, "--out", "/dev/full")
        for arguments in ([*source, *data], ["--out", self.out, *data], ["--out", self.out, *source],
                          ["--out", self.out, *source, *data, "--method", "guess"]):
            self.refuse(2, [], "transfer", *arguments)
        self.assertIn("--data", self.succeed("transfer", "--help"))
