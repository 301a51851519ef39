"""primsel calibrate, --calibrate, and primsel pretrain"""
import os
import pathlib
import random
import re

from command import NET, SIZE, Cli
from models import Profiles


class Calibrate(Cli):
    def calibrate(self, *more):
        return self.json("calibrate", NET, "--size", SIZE, *more)

    def test_what_was_measured_is_remembered(self):
        # Without learned corrections there is always something to measure.
        first = self.calibrate("--costs", "analytical", "--calibrate", 20)
        self.assertEqual(list(first), ["model", "costs", "known", "settled", "file", "steps"])
        self.assertEqual((first["costs"], first["known"]), ("analytical, calibrated", 0))
        self.assertEqual(list(first["steps"][0]), ["measurements", "seconds", "predicted_ms"])
        measured = [step["measurements"] for step in first["steps"]]
        self.assertEqual(measured[0], 0)
        self.assertEqual(measured, sorted(measured))
        self.assertGreater(measured[-1], 0)
        self.assertTrue(first["settled"])
        self.assertTrue(first["file"].startswith(str(self.folder / "cache" / "primsel")))

        second = self.calibrate("--costs", "analytical", "--calibrate", 20)
        self.assertEqual(second["known"], measured[-1])
        self.assertEqual(second["file"], first["file"])
        third = self.calibrate("--costs", "analytical", "--calibrate", 0.01, "--forget")
        self.assertEqual(third["known"], 0)

    def test_a_pipe_in_place_of_the_cache_is_left_alone(self):
        measure = lambda: self.calibrate("--costs", "analytical", "--calibrate", 0.2)
        file = pathlib.Path(measure()["file"])
        file.unlink()
        os.mkfifo(file)
        self.assertIsNone(measure()["file"])
        self.assertTrue(file.is_fifo())

    def test_text(self):
        text = self.succeed("calibrate", NET, "--size", SIZE, "--calibrate", 0.05)
        self.assertIn("calibrated, 0 times known from before", text)
        self.assertRegex(text, r"\n +0 +\d+\.\d\d +\d+\.\d{3} ms\n")

    def test_plans_and_runs(self):
        plan = self.json("plan", NET, "--size", SIZE, "--costs", "analytical", "--calibrate", 0.1)
        self.assertEqual(plan["costs"], "analytical, calibrated")
        self.output(NET, "--size", SIZE, "--calibrate", 0.1)
        self.refuse(2, ["--calibrate"], "plan", NET, "--calibrate", "-1")


class Pretrain(Profiles):
    SPEED = {"direct-hwc": 1.0, "im2row-copy-short-ab-ik": 0.4, "kn2row": 0.6}

    def write(self, path, rows=60, slower=1.0, about=(), seed=1, of_each=(1, 1, 1)):
        draw = random.Random(seed)
        lines = [f"# {key}: {value}\n" for key, value in about] + [",".join(["c", "k", "im", "f", "s", *self.SPEED]) + "\n"]
        for _ in range(rows):
            c, k, im, f = draw.randint(3, 256), draw.randint(8, 256), draw.choice([7, 14, 28, 56]), draw.choice([1, 3])
            times = [round(slower * factor * (1000 + 2 * c * k * f * f * im ** 2 * speed / 20))
                     for speed, factor in zip(self.SPEED.values(), of_each)]
            lines.append(",".join(map(str, [c, k, im, f, 1, *times])) + "\n")
        path.write_text("".join(lines))

    def test_ops(self):
        header = self.folder / "mine_ops.hpp"
        result = self.json("pretrain", "--ops", header, "--networks", "googlenet")
        self.assertEqual(list(result), ["ops_header", "ops"])
        text = header.read_text()
        self.assertIn("struct mine_ops {", text)
        number = r"[0-9.]+(?:e[-+][0-9]+)?"
        rows = re.findall(rf'^        \{{"([a-z_]+)", "([a-z0-9_]+)", \{{{number}(?:, {number}){{5}}\}}(?:, "([a-z0-9_]+)")?\}},$', text, re.M)
        self.assertEqual(len(rows), result["ops"])
        self.assertEqual(len(set(rows)), len(rows))
        for op in ("concat", "conv", "max_pool"):
            self.assertIn((op, "chw"), [row[:2] for row in rows])
        self.assertIn(f'arch = "{dict(self.here())["arch"]}"', text)

    def test_ops_of_profiles(self):
        out, ops, header = self.folder / "p.csv", self.folder / "p-ops.csv", self.folder / "mine_ops.hpp"
        profile = ["profile", "--out", out, "--ops-out", ops, "--ops-drawn", 0, "--networks", "googlenet", "--count", 1,
                   "--primitives", "direct-hwc"]  # fmt: skip
        self.json(*profile)
        text = ops.read_text()
        self.assertIn(f'# arch: {dict(self.here())["arch"]}', text)
        self.assertIn("# bandwidth_4: ", text)
        self.json(*profile)
        self.assertEqual(ops.read_text(), text)
        result = self.json("pretrain", "--profiles", out, ops, "--ops", header, "--convolutions", self.folder / "convs.hpp")
        self.assertIn(f'arch = "{dict(self.here())["arch"]}"', header.read_text())
        self.assertEqual(header.read_text().count('{"'), result["ops"])
        self.assertIn('{"max_pool", "hwc", ', header.read_text())
        self.assertNotIn('"channel_shuffle"', header.read_text())
        ops.write_text(re.sub(r"(?<=# arch: ).*", "abacus", text))
        self.refuse(1, ["no times of other layers"], "pretrain", "--profiles", out, ops, "--ops", header)
        ops.write_text(text.rsplit(",", 1)[0] + "\n")
        self.refuse(1, [str(ops), "is no line of"], "pretrain", "--profiles", out, ops, "--ops", header)

    def test_convolutions(self):
        """Times that are three times the coefficients of one profile, of which a second one says the same."""
        paths = [self.folder / "p.csv", self.folder / "q.csv"]
        for seed, path in enumerate(paths):
            self.write(path, about=self.here(), seed=seed)
        layouts, header = self.folder / "l.csv", self.folder / "mine.hpp"
        self.write_layouts(layouts, rows=20, about=self.here())
        result = self.json("pretrain", "--profiles", *paths, layouts, "--convolutions", header)
        self.assertEqual(result, {"convolutions_header": str(header), "convolutions": 3})
        rows = dict(re.findall(r'^        \{"([a-z0-9-]+)", \{([^}]+)\}\},$', header.read_text(), re.M))
        self.assertEqual(list(rows), sorted(self.SPEED))
        self.assertIn("struct mine {", header.read_text())
        judged = self.json("pretrain", "--profiles", *paths, layouts, "--leave-one-out")["leave_one_out"]
        self.assertEqual([row["profile"] for row in judged], [str(path) for path in paths])
        for row in judged:  # all are of one machine, which leaves no other to learn from
            self.assertEqual(list(row), ["profile", "cpu", "rows", "analytical", "all"])
            self.assertGreaterEqual(row["all"]["regret"], 1)
            self.assertGreaterEqual(row["all"]["error"], 0)
        self.refuse(1, ["no times"], "pretrain", "--profiles", layouts, "--convolutions", header)
        self.write(paths[0], about=[("arch", "abacus"), *self.here()[1:]])
        self.refuse(1, [str(paths[0]), "abacus"], "pretrain", "--profiles", *paths, "--convolutions", header)
        self.write(paths[0], about=self.here()[:4])
        self.refuse(1, [str(paths[0]), "gemm_flops"], "pretrain", "--profiles", *paths, "--convolutions", header)
        self.refuse(2, [], "pretrain", "--convolutions", header)
        self.refuse(1, ["named so"], "pretrain", "--profiles", *paths, "--convolutions", "convolutions.hpp")

    def test_refusals(self):
        header = self.folder / "mine.hpp"
        self.refuse(1, ["8up", "no name in C++"], "pretrain", "--ops", self.folder / "8up.hpp")
        self.refuse(1, ["--ops, --training-ops and --convolutions"], "pretrain")
        self.refuse(2, [], "pretrain", "--ops", header, "--epochs", 3)
        self.refuse(1, ["resnet81", "resnet18"], "pretrain", "--ops", header, "--networks", "resnet81")
        self.assertFalse(header.exists())
