"""primsel fit, primsel evaluate, and --costs FILE"""
import json
import random

from command import NET, SIZE, Cli


class Profiles(Cli):
    """Writes profiles of machines that there are not, and learns from them."""

    # Times in proportion to the operations, and a little more, on configurations of a small network's kind.
    SPEED = {"direct-hwc": 1.0, "im2row-copy-short-ab-ik": 0.4, "kn2row": 0.6, "winograd-2-3": 0.3}

    @classmethod
    def write(cls, path, rows=120, slower=1.0, about=(), seed=1, of_each=(1, 1, 1, 1)):
        """A profile: c, k, im, f, s and a time for each primitive, 0 where it cannot."""
        draw = random.Random(seed)
        lines = [f"# {key}: {value}\n" for key, value in about]
        lines.append(",".join(["c", "k", "im", "f", "s", *cls.SPEED, "never"]) + "\n")
        for _ in range(rows):
            c, k, im = draw.randint(3, 256), draw.randint(8, 256), draw.choice([7, 8, 14, 16, 28, 32, 56])
            f, s = draw.choice([1, 3, 5]), draw.choice([1, 2])
            operations = 2 * c * k * f * f * (im // s) ** 2
            times = [round(slower * factor * (1000 + operations * speed / 20))
                     for speed, factor in zip(cls.SPEED.values(), of_each)]
            if f != 3 or s != 1:
                times[3] = 0
            lines.append(",".join(map(str, [c, k, im, f, s, *times, 0])) + "\n")
        path.write_text("".join(lines))

    @staticmethod
    def write_layouts(path, rows=150, about=(), seed=2, slower=1):
        names = ["chw", "hcw", "hwc"]
        pairs = [(a, b) for a in names for b in names]
        lines = [f"# {key}: {value}\n" for key, value in about]
        lines.append("c,im," + ",".join(f"{a}-to-{b}" for a, b in pairs) + "\n")
        draw = random.Random(seed)
        for _ in range(rows):
            c, im = draw.randint(3, 512), draw.choice([7, 14, 28, 56, 112])
            lines.append(f"{c},{im}," + ",".join(str(0 if a == b else slower * (500 + c * im * im)) for a, b in pairs) + "\n")
        path.write_text("".join(lines))

    def here(self):
        """What a profile of this machine says of it."""
        out = self.folder / "here.csv"
        self.json("profile", "--out", out, "--networks", "resnet56", "--max-operations", "2e7", "--primitives",
                  "direct-hwc", "--count", 1)
        return [line[2:].split(": ", 1) for line in out.read_text().splitlines() if line.startswith("# ")]

    def fit(self, kind, *more, about=()):
        data, layouts, model = self.folder / "p.csv", self.folder / "l.csv", self.folder / f"{kind}.model"
        self.write(data, about=about)
        self.write_layouts(layouts, about=about)
        return model, self.json("fit", "--data", data, "--layouts", layouts, "--model", kind, "--out", model, *more)


class Models(Profiles):
    def test_fit_and_evaluate(self):
        most = {"linear": 0.8, "forest": 0.3, "boosted": 0.25, "mlp": 0.8, "gp": 0.1}
        for kind, error in most.items():
            model, result = self.fit(kind)
            self.assertEqual(list(result), ["model", "file", "primitives", "layouts"])
            for part, rows, tested, subjects in (("primitives", 96, 12, 4), ("layouts", 120, 15, 6)):
                self.assertEqual(list(result[part]), ["data", "rows", "seconds", "test"])
                self.assertEqual(result[part]["rows"], rows)
                self.assertEqual(result[part]["test"]["rows"], tested)
                self.assertEqual(len(result[part]["test"]["subjects"]), subjects)  # without never, and chw-to-chw
                self.assertLess(result[part]["test"]["mdrae"], error, (kind, part))
            self.assertEqual([f["name"] for f in result["primitives"]["test"]["families"]],
                             ["direct", "im2", "kn2", "wino3"])
            again = self.json("evaluate", "--costs", model, "--data", self.folder / "p.csv", "--layouts",
                              self.folder / "l.csv")
            for part in ("primitives", "layouts"):
                self.assertEqual(again[part], result[part]["test"])
                self.assertEqual(again[part + "_unknown"], [])
            text = self.succeed("evaluate", "--costs", model, "--data", self.folder / "p.csv")
            self.assertTrue(all(name in text for name in self.SPEED))

    def test_deterministic(self):
        first, _ = self.fit("gp")
        bytes_of_first = first.read_bytes()
        self.assertEqual(self.fit("gp", "--threads", 2)[0].read_bytes(), bytes_of_first)
        self.assertNotEqual(self.fit("gp", "--seed", 2)[0].read_bytes(), bytes_of_first)

    def test_other_rows(self):
        model, result = self.fit("gp")
        other = self.folder / "slow.csv"
        self.write(other, slower=3)
        self.refuse(1, ["slow.csv", "--all-rows"], "evaluate", "--costs", model, "--data", other)
        judged = self.json("evaluate", "--costs", model, "--data", other, "--all-rows")["primitives"]
        self.assertEqual(judged["rows"], 120)
        self.assertAlmostEqual(judged["mdrae"], 2 / 3, delta=0.05)  # three times too fast
        self.assertLess(result["primitives"]["test"]["mdrae"], 0.1)

    def test_analytical(self):
        self.fit("linear")
        result = self.json("evaluate", "--costs", "analytical", "--data", self.folder / "p.csv", "--layouts",
                           self.folder / "l.csv")
        self.assertEqual(result["primitives"]["rows"], 120)
        self.assertEqual({s["name"] for s in result["primitives"]["subjects"]}, set(self.SPEED))
        self.assertEqual(len(result["layouts"]["subjects"]), 6)
        self.assertGreater(result["primitives"]["mdrae"], 0)
        # The same of what a profile has.
        other = self.json("evaluate", "--costs", "semi-empirical", "--data", self.folder / "p.csv", "--layouts",
                          self.folder / "l.csv")
        self.assertEqual(list(other), list(result))
        self.assertEqual(other["primitives"]["rows"], 120)

    def test_plans(self):
        model, _ = self.fit("gp", about=self.here())
        plan = self.json("plan", NET, "--size", SIZE, "--costs", model)
        self.assertEqual(plan["costs"], str(model))
        self.assertEqual(self.json("plan", NET, "--size", SIZE, "--costs", model)["layers"][1]["primitive"],
                         plan["layers"][1]["primitive"])
        self.json("run", NET, "--size", SIZE, "--costs", model, "--repeat", 1)
        self.json("trace", NET, "--size", SIZE, "--costs", model, "--out", self.folder / "t.json")
        self.json("compare", NET, "--size", SIZE, "--costs", model, "--rounds", 1)
        # A layer of the kind that was learned: kernels take what the profile said.
        layer = next(l["name"] for l in plan["layers"] if l["kind"] == "conv" and l["primitive"])
        candidates = self.json("explain", NET, layer, "--size", SIZE, "--costs", model)["candidates"]
        self.assertTrue(any(c["predicted_ms"] for c in candidates if c["primitive"] in self.SPEED))

    def test_origin(self):
        about = dict(self.here())
        model, _ = self.fit("linear", about=[*{**about, "arch": "abacus"}.items()])
        self.refuse(1, ["linear.model", "was trained for abacus", about["arch"]], "plan", NET, "--costs", model)
        model, _ = self.fit("linear", about=[*{**about, "cpu": "a slide rule", "version": "0.0.1"}.items()])
        result = self.call("plan", NET, "--size", SIZE, "--costs", model, "--json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["costs"], str(model))
        self.assertIn("its cpu is a slide rule", result.stderr)
        self.assertIn("its version is 0.0.1", result.stderr)

    def test_refusals(self):
        model, _ = self.fit("linear")
        data, good = self.folder / "p.csv", model.read_bytes()
        for damaged, reason in ((good[:-1], "cut off"), (good + b"x", "1 bytes behind"), (b"x" + good, "no model"),
                                (good[:100] + b"\xff" + good[101:], "damaged"),
                                (good.replace(b"model 2", b"model 9"), "format 2, not 9")):
            model.write_bytes(damaged)
            self.refuse(1, ["linear.model", reason], "plan", NET, "--costs", model)
            self.refuse(1, ["linear.model", reason], "evaluate", "--costs", model, "--data", data)
        self.refuse(1, ["none.csv"], "fit", "--data", self.folder / "none.csv", "--out", model)
        self.refuse(1, ["l.csv", "c, k, im, f, s"], "fit", "--data", self.folder / "l.csv", "--out", model)
        self.refuse(1, ["No space left"], "fit", "--data", data, "--model", "linear", "--out", "/dev/full")
        few = self.folder / "few.csv"
        self.write(few, rows=9)
        self.refuse(1, ["few.csv", "9 rows are too few"], "fit", "--data", few, "--out", model)
        self.write(few, rows=20, about=[("arch", "abacus")])
        self.write_layouts(self.folder / "l.csv", about=[("arch", "slate")])
        self.refuse(1, ["its arch is slate", "abacus"], "fit", "--data", few, "--layouts", self.folder / "l.csv", "--out",
                    model)
        for command in ("fit", "evaluate"):
            self.assertIn("--data", self.succeed(command, "--help"))
        for arguments in (["fit", "--data", data], ["fit", "--out", model], ["evaluate", "--data", data],
                          ["fit", "--data", data, "--out", model, "--model", "oracle"]):
            self.refuse(2, [], *arguments)
