#!/usr/bin/env python3
"""Tests the report of Mulder et al. 2020: its tables, that it goes on where it was stopped, and bad input.

    reproduce_mulder2020.py <reproduce_mulder2020> [<unittest's arguments>]    exit status 77: every test chosen was skipped
"""
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from command import Cli  # pylint: disable=wrong-import-position


class Reproduce(Cli):
    NAME = "reproduce_mulder2020"

    def test_refusals(self):
        self.refuse(1, ["intel_primitives.csv", "cannot read"], "--data", self.folder)
        self.refuse(2, ["other2020"], "other2020", "--data", self.folder)
        self.refuse(2, ["--data"])
        self.refuse(1, ["here_primitives.csv", "cannot read"], "--data", self.folder, "--machines",
                    "here,there")
        self.refuse(2, ["--machines"], "--data", self.folder, "--machines", "here")

    def test_help_and_version(self):
        self.assertIn("--machines", self.succeed("--help"))
        self.assertRegex(self.succeed("--version"), r"^\d+\.\d+\.\d+\n$")


class Unlike(Cli):
    """Machines that were measured by other rows, primitives and strides, from the profiles of this library."""
    NAME = "reproduce_mulder2020"
    PROFILES = pathlib.Path(__file__).resolve().parents[2] / "bench" / "profiles"

    def setUp(self):
        super().setUp()
        for name in ("zen5-avx512", "zen4-avx512"):
            for end in (".csv", "-layouts.csv"):
                (self.folder / (name + end)).write_bytes((self.PROFILES / (name + end)).read_bytes())

    def take_out(self, machine, row=lambda configuration: False, column=lambda name: False):
        """Removes rows by their c, k, im, f, s, and primitives by their names."""
        path = self.folder / f"{machine}.csv"
        lines = path.read_text().splitlines()
        facts = [line for line in lines if line.startswith("#")]
        table = [line.split(",") for line in lines if not line.startswith("#")]
        kept = [i for i, name in enumerate(table[0]) if not column(name)]
        rows = [table[0]] + [cells for cells in table[1:] if not row([int(cell) for cell in cells[:5]])]
        path.write_text("\n".join(facts + [",".join(cells[i] for i in kept) for cells in rows]) + "\n")

    ARGUMENTS = ("--machines", "zen5-avx512,zen4-avx512", "--quick")

    def reproduce(self, only):
        return self.json("--data", self.folder, *self.ARGUMENTS, "--out", self.folder / "report", "--only", only)

    def increases(self, tables):
        """Of all plans: figure 7, figure 8, those refined."""
        for table, columns in (("figure_7", slice(2, 8)), ("figure_8", slice(3, 4)), ("refined", slice(1, 8))):
            for row in tables[table]["rows"]:
                yield from (value for value in row[columns] if isinstance(value, (int, float)))

    def test_rows_primitives_and_strides_taken_out(self):
        # The source has never seen a stride; the target has other primitives, fewer images, and not all of ResNet.
        sizes = {224, 112, 56, 55, 28, 27, 14, 13, 7}
        self.take_out("zen5-avx512", row=lambda c: c[4] > 1, column=lambda name: name.startswith("kn2"))
        self.take_out("zen4-avx512", row=lambda c: c[2] not in sizes or c == [128, 256, 28, 3, 2],
                      column=lambda name: name == "direct-sum2d")
        for only in ("'s ours on", "model ours of zen4", "refine googlenet"):
            result = self.reproduce(only)
        said = " ".join(result["left_out"])
        for words in ("only zen4-avx512 has are left out: kn2", "does not have direct-sum2d", "are the same",
                      "zen5-avx512 was not measured by kernels of ", "3 x 3 with stride 2", "11 x 11 with stride 4",
                      "resnet34 is left out on zen4-avx512, where nothing was measured for 128 channels to 256 at 28 x 28"):
            self.assertIn(words, said)
        self.assertNotIn("googlenet is left out", said)
        increases = list(self.increases(result["tables"]))
        self.assertGreater(len(increases), 10)
        # One layer without a time would take 1000 s, or a plan that was told so another hundred times as long.
        for value in increases:
            self.assertGreaterEqual(value, -1e-6)
            self.assertLess(value, 100)

    def test_nothing_in_common(self):
        one = ("c", "k", "im", "f", "s", "direct-hwc")
        self.take_out("zen5-avx512", column=lambda name: name == "direct-hwc")
        self.take_out("zen4-avx512", column=lambda name: name not in one)
        self.refuse(1, ["zen5-avx512 and zen4-avx512 have no primitive in common"], "--data", self.folder, *self.ARGUMENTS)


@unittest.skipUnless(os.environ.get("PRIMSEL_DATA"), "no PRIMSEL_DATA")
class Published(Cli):
    NAME = "reproduce_mulder2020"
    DATA = os.environ.get("PRIMSEL_DATA")
    TABLES = ["table_2", "figure_4", "figure_5", "figure_6_source", "figure_6_target", "table_4", "figure_7", "figure_8",
              "figure_9_error", "figure_9_increase", "refined", "table_5", "table_5_absolute"]

    def reproduce(self, out):
        """Its JSON; progress may be on the standard error."""
        result = self.call("--data", self.DATA, "--quick", "--out", out, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_quick(self):
        out = self.folder / "report"
        # Stopped once something has been found, and gone on with.
        journal = out / "results.jsonl"
        with subprocess.Popen([self.PRIMSEL, "--data", self.DATA, "--quick", "--out", str(out)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(6000):
                if process.poll() is not None or journal.exists() and journal.read_bytes().count(b"\n") >= 2:
                    break
                time.sleep(0.02)
            self.assertIsNone(process.poll())
            process.kill()
        kept = journal.read_bytes()
        kept = kept[:kept.rfind(b"\n") + 1]
        with journal.open("ab") as file:
            file.write(b'{"experiment":"cut sho')

        result = self.reproduce(out)
        self.assertEqual(list(result), ["report", "quick", "experiments", "seconds", "left_out", "tables"])
        self.assertEqual(list(result["tables"]), self.TABLES)
        lines = journal.read_bytes()
        self.assertTrue(lines.startswith(kept))
        names = [json.loads(line)["experiment"] for line in lines.splitlines()]
        self.assertEqual((len(names), len(set(names))), (result["experiments"],) * 2)
        self.check_tables(result["tables"])
        root = xml.etree.ElementTree.fromstring(pathlib.Path(result["report"]).read_text().removeprefix("<!DOCTYPE html>").replace(
            '<meta charset="utf-8">', ""))
        self.assertEqual(sum(table.tag == "table" for table in root.iter()), len(self.TABLES))
        self.assertGreaterEqual(sum(picture.tag.endswith("}svg") for picture in root.iter()), 8)
        self.assertIn("QUICK", "".join(root.itertext()))
        numbers = json.loads((out / "results.json").read_text())
        self.assertTrue(numbers["quick"] and numbers["complete"])
        self.assertEqual(numbers["tables"], result["tables"])

        # All is there: the same again, and nothing is run.
        self.assertEqual(self.reproduce(out)["tables"], result["tables"])
        self.assertEqual(journal.read_bytes(), lines)

    def check_tables(self, tables):
        for name, table in tables.items():
            for row in table["rows"]:
                self.assertLessEqual(len(row), len(table["columns"]), name)
                self.assertNotIn(None, row, (name, row))
        rows = {row[0]: row for row in tables["table_2"]["rows"]}
        self.assertEqual(rows["kn2"], ["kn2", "8 x 1974", "8 x 1974", "1974"])
        # However rough: learned models beat a straight line, a factor what it corrects, and data of its own the factor.
        error = {row[0]: row[1] for row in tables["figure_4"]["rows"]}
        self.assertLess(error["ours"], error["Lin"] / 3)
        self.assertLess(error["NN2"], error["Lin"])
        for row in tables["figure_7"]["rows"]:
            self.assertTrue(all(value >= -1e-6 for value in row[2:] if value != ""), row)
        direct, factor, native = (row[2] for row in tables["figure_8"]["rows"][3:])
        self.assertLess(native, factor)
        self.assertLess(factor, direct)
        # Measuring what could change a plan leaves next to nothing that it costs more.
        for row in tables["refined"]["rows"]:
            self.assertLess(row[7], max(0.2 * row[1], 0.3), row)
            self.assertLess(row[9], 1, row)
        for i, row in enumerate(tables["table_5"]["rows"]):
            self.assertEqual(row[1 + i], "1.0 (1)")

    def test_refusals(self):
        self.refuse(1, ["cannot make the folder"], "--data", self.DATA, "--out", self.folder / "none" / "report")
        self.refuse(1, ["--only nothing", "no experiment"], "--data", self.DATA, "--out", self.folder / "report", "--only",
                    "nothing")


if __name__ == "__main__":
    Cli.PRIMSEL = sys.argv.pop(1)
    outcome = unittest.main(exit=False).result
    everything_skipped = outcome.testsRun == len(outcome.skipped)
    sys.exit(1 if not outcome.wasSuccessful() or not outcome.testsRun else 77 if everything_skipped else 0)
