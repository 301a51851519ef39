"""primsel plan, explain and compare"""
import json
import xml.etree.ElementTree

from command import NET, SIZE, Cli


class Plan(Cli):
    def test_keys_and_totals(self):
        plan = self.json("plan", NET, "--size", SIZE)
        self.assertEqual(list(plan), ["model", "costs", "solver", "predicted_ms", "optimal", "bound_ms", "predict_ms", "solve_ms",
                                      "arena_bytes", "passes", "layers", "transforms", "strips"])
        self.assertTrue(plan["optimal"])
        together = {layer for strips in plan["strips"] for layer in strips["layers"]}
        alone = [layer for layer in plan["layers"] if layer["name"] not in together]
        total = sum(part["predicted_ms"] for part in alone + plan["transforms"] + plan["strips"])
        self.assertAlmostEqual(plan["predicted_ms"], total, places=6)
        for layer in plan["layers"]:
            self.assertEqual(list(layer), ["name", "kind", "shape", "primitive", "layouts", "predicted_ms"])
            self.assertEqual(layer["primitive"] is None, layer["kind"] != "conv")
            self.assertEqual(list(layer["layouts"]), ["in", "out"])
        text = self.succeed("plan", NET, "--size", SIZE)
        for layer in plan["layers"]:
            self.assertIn(layer["name"], text)
        self.assertIn("proven optimal", text)

    def test_solvers(self):
        plan = lambda *more: self.json("plan", NET, "--size", SIZE, *more)
        for solver in ("exact", "reduction", "greedy", "uniform:im2", "uniform:kn2", "uniform:direct-hwc"):
            other = plan("--solver", solver)
            self.assertEqual(other["solver"], solver)
            if solver not in ("exact", "reduction"):
                self.assertFalse(other["optimal"])
        used = {layer["primitive"] for layer in plan("--solver", "uniform:direct-hwc")["layers"]}
        self.assertLessEqual(used, {"direct-hwc", None})
        used = {layer["primitive"] for layer in plan("--solver", "uniform:im2")["layers"]}
        self.assertTrue(all(id is None or id.startswith("im2") for id in used))

    def test_costs(self):
        plan = self.json("plan", "alexnet_cifar", "--costs", "measured")
        self.assertEqual(plan["costs"], "measured")
        self.assertGreater(plan["predict_ms"], 1)
        for costs in ("analytical", "semi-empirical"):
            plan = self.json("plan", NET, "--size", SIZE, "--costs", costs)
            self.assertEqual(plan["costs"], costs)
            self.assertGreater(sum(layer["predicted_ms"] for layer in plan["layers"] if layer["kind"] == "max_pool"), 0)
        (self.folder / "model.csv").write_text("")
        self.refuse(1, ["model.csv", "is no model"], "plan", NET, "--costs", self.folder / "model.csv")
        self.refuse(1, ["guessed", "analytical", "measured"], "plan", NET, "--costs", "guessed")

    def test_bounds(self):
        bounds = {entry["id"]: entry["error_bound"] for entry in self.json("list", "primitives")["primitives"]}
        plan = self.json("plan", NET, "--max-error", 3e-5)
        for layer in plan["layers"]:
            if layer["primitive"]:
                self.assertLessEqual(bounds[layer["primitive"]], 3e-5)
        self.refuse(1, ["no primitive can compute layer", "error bound"], "plan", NET, "--max-error", 1e-12)
        for options in (["--max-error", 2e-5], ["--exact-support"]):
            for layer in self.json("plan", "vgg19", *options)["layers"]:
                self.assertNotIn("winograd", layer["primitive"] or "")

        self.assertEqual(self.json("plan", "mobilenet_v2", "--no-strips")["strips"], [])

        ids = {entry["id"] for entry in self.json("list", "primitives")["primitives"]}
        for precision, other, count in (("bf16", "-f16", 5), ("f16", "bf16", 0)):  # float16 is for dense weights alone
            own = {id for id in ids if f"-{precision}" in id}
            self.assertEqual(len(own), count)
            for options in ([], ["--precision", "float32"], ["--precision", precision, "--max-error", 1e-4]):
                self.assertFalse(own & {layer["primitive"] for layer in self.json("plan", NET, *options)["layers"]})
            planned = self.json("plan", NET, "--precision", precision)["layers"]
            self.assertFalse(any(other in (layer["primitive"] or "") for layer in planned))
            run = self.json("run", NET, "--precision", precision, "--repeat", 1)
            self.assertGreater(run["predicted_ms"], 0)
        self.refuse(2, ["--precision", "expected float32, f16, bf16 or int8, not int4"], "plan", NET, "--precision", "int4")

        # Patches take the most memory.
        arena = lambda *more: self.json("run", "resnet56", "--repeat", 1, *more)["arena_bytes"]
        plain = arena("--solver", "uniform:im2")
        bounded = arena("--max-arena", plain - 1)
        self.assertLess(bounded, plain)
        self.assertEqual(arena("--solver", "uniform:im2", "--max-arena", "1G"), plain)
        self.refuse(1, ["at most 2048 bytes of arena", "the smallest needs"], "plan", NET, "--max-arena", "2K")

    def test_pictures(self):
        svg, dot = self.folder / "p.svg", self.folder / "p.dot"
        plan = self.json("plan", "resnet56", "--svg", svg, "--dot", dot)
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        text = dot.read_text()
        self.assertTrue(text.startswith("digraph plan {") and text.endswith("}\n"))
        self.assertEqual(text.count("fillcolor="), len(plan["layers"]))
        self.refuse(1, ["none/p.svg", "cannot write"], "plan", NET, "--svg", self.folder / "none" / "p.svg")

    def test_save_and_run(self):
        saved = self.folder / "plan.json"
        plan = self.json("plan", NET, "--size", SIZE, "--solver", "greedy", "--save", saved)
        self.assertEqual(json.loads(saved.read_text())["format"], "primsel plan")
        self.assertEqual(self.json("plan", NET, "--size", SIZE, "--plan", saved)["layers"], plan["layers"])
        run = self.json("run", NET, "--size", SIZE, "--plan", saved)
        self.assertEqual((run["predict_ms"], run["solve_ms"]), (0, 0))
        self.assertAlmostEqual(run["predicted_ms"], plan["predicted_ms"])
        self.assert_near(self.output(NET, "--size", SIZE, "--plan", saved), self.output(NET, "--size", SIZE), 1e-3)
        self.refuse(1, ["another network"], "run", NET, "--plan", saved)
        self.refuse(1, ["missing.json", "cannot read"], "run", NET, "--plan", self.folder / "missing.json")
        saved.write_text("{")
        self.refuse(1, ["plan.json"], "run", NET, "--plan", saved)


class Explain(Cli):
    def test_candidates(self):
        plan = self.json("plan", NET, "--size", SIZE)
        layer = next(layer for layer in plan["layers"] if layer["primitive"])
        result = self.json("explain", NET, layer["name"], "--size", SIZE)
        self.assertEqual(list(result), ["model", "layer", "kind", "shape", "primitive", "layouts", "present_factor", "candidates"])
        self.assertEqual(result["primitive"], layer["primitive"])
        costs = [candidate["predicted_ms"] for candidate in result["candidates"] if candidate["refusal"] is None]
        self.assertEqual(costs, sorted(costs))
        self.assertNotIn(None, costs)
        refused = result["candidates"][len(costs):]
        self.assertTrue(all(candidate["refusal"] and candidate["predicted_ms"] is None for candidate in refused))
        ids = {entry["id"] for entry in self.json("list", "primitives")["primitives"]}
        self.assertEqual({candidate["primitive"] for candidate in result["candidates"]}, ids)
        text = self.succeed("explain", NET, layer["name"], "--size", SIZE)
        self.assertIn(f"*  {layer['primitive']}", text)
        other = next(layer["name"] for layer in plan["layers"] if not layer["primitive"])
        self.assertEqual(self.json("explain", NET, other, "--size", SIZE)["candidates"], [])

    def test_unknown_layer(self):
        name = self.json("plan", NET)["layers"][1]["name"]
        self.refuse(1, ["no layer is named nothing", name], "explain", NET, "nothing")


class Compare(Cli):
    def test_plans(self):
        result = self.json("compare", "resnet56", "--rounds", 2)
        self.assertEqual(list(result), ["model", "threads", "rounds", "costs", "predict_ms", "solve_ms", "optimal",
                                        "plans", "refused"])
        names = [plan["name"] for plan in result["plans"]]
        self.assertEqual(names[:2], ["plan", "greedy"])
        self.assertIn("uniform:im2", names)
        self.assertEqual({refused["name"] for refused in result["refused"]} & set(names), set())
        self.assertIn("uniform:wino5", [refused["name"] for refused in result["refused"]])
        first = result["plans"][0]
        for plan in result["plans"]:
            self.assertEqual(list(plan), ["name", "predicted_ms", "median_ms", "at_clock_ms", "min_ms", "ratio"])
            self.assertGreaterEqual(plan["predicted_ms"], first["predicted_ms"] * (1 - 1e-9))
            self.assertAlmostEqual(plan["ratio"], plan["median_ms"] / first["median_ms"])
            self.assertGreaterEqual(plan["median_ms"], plan["min_ms"])
        text = self.succeed("compare", "resnet56", "--rounds", 1)
        for name in names:
            self.assertIn(name, text)

    def test_against_other_costs(self):
        names = ["analytical", "measured", "analytical+0.2"]
        against = [option for name in names for option in ("--against", name)]
        result = self.json("compare", NET, "--size", SIZE, "--rounds", 2, *against)
        self.assertEqual([plan["name"] for plan in result["plans"]], ["plan", *names])
        # It begins without what is known and keeps nothing but the machine's speeds.
        self.assertEqual([path for path in (self.folder / "cache").rglob("*.*") if not path.name.startswith("machine-")], [])
        self.refuse(1, ["guessed", "neither a cost model nor a file"], "compare", NET, "--against", "guessed")
        self.refuse(1, ["soon"], "compare", NET, "--against", "analytical+soon")
