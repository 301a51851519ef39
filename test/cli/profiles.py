"""primsel profile"""
import os
import random
import signal
import subprocess
import time

from command import Cli


class Profile(Cli):
    # Milliseconds a row: 9 configurations and tensors of a small network.
    QUICK = ["--networks", "resnet56", "--max-operations", "2e7", "--primitives", "direct-hwc,indirect,conv-1x1,kn2row",
             "--count", 9]

    @staticmethod
    def rows(path):
        """(lines about the machine, header, the rows as lists of numbers)"""
        text = path.read_text()
        assert text.endswith("\n")
        lines = text.splitlines()
        about = [line for line in lines if line.startswith("#")]
        header, *rows = [line.split(",") for line in lines[len(about):]]
        return about, header, [[int(cell) for cell in row] for row in rows]

    def test_profile(self):
        out, layouts = self.folder / "p.csv", self.folder / "l.csv"
        result = self.json("profile", "--out", out, "--layouts-out", layouts, *self.QUICK)
        self.assertEqual(list(result), ["complete", "seconds", "runs", "undisturbed", "files"])
        self.assertTrue(result["complete"])
        self.assertEqual([(f["what"], f["file"], f["done"] == f["total"] == f["now"]) for f in result["files"]],
                         [("layouts", str(layouts), True), ("convolutions", str(out), True)])
        about, header, rows = self.rows(out)
        self.assertEqual([line.split(":")[0] for line in about],
                         ["# arch", *(f"# bandwidth_{i}" for i in range(5)), "# compiler", "# cpu", "# gemm_flops",
                          "# half_flops", "# images", "# product_flops", "# reference_ns", "# scalar_flops", "# vector_flops", "# version"])
        self.assertEqual(header[:5], ["c", "k", "im", "f", "s"])
        self.assertEqual(len(header), 5 + 11)  # eight of conv-1x1
        self.assertEqual(len(rows), 9)
        for row in rows:
            times = dict(zip(header[5:], row[5:]))
            self.assertGreater(times["direct-hwc"], 0)
            self.assertEqual(times["conv-1x1-gemm-ab-ik"] > 0, row[3] == 1 and row[4] == 1, row)
        _, header, rows = self.rows(layouts)
        self.assertEqual(header, ["c", "im", "chw-to-hcw", "chw-to-hwc", "hcw-to-chw", "hcw-to-hwc", "hwc-to-chw",
                                  "hwc-to-hcw"])
        self.assertEqual(len(rows), result["files"][0]["total"])
        # All is there: nothing more to do, and nothing changes.
        before = out.read_bytes()
        self.assertIn("0 of them now", self.succeed("profile", "--out", out, *self.QUICK))
        self.assertEqual(out.read_bytes(), before)

    def test_networks_in_files(self):
        net, out, again = self.folder / "net.onnx", self.folder / "p.csv", self.folder / "q.csv"
        self.json("export", "resnet56", net)
        self.json("profile", "--out", out, *self.QUICK)
        self.json("profile", "--out", again, "--networks", net, *self.QUICK[2:])
        self.assertEqual([row[:5] for row in self.rows(out)[2]], [row[:5] for row in self.rows(again)[2]])

    def test_the_most_telling_first(self):
        def first(*options):
            out = self.folder / f"{len(options)}.csv"
            self.succeed("profile", "--out", out, *self.QUICK[:-1], 2, *options)
            return [row[:5] for row in self.rows(out)[2]]

        telling, drawn = first("--telling"), first()
        self.assertEqual(len(telling), 2)
        self.assertNotEqual(telling, drawn)
        self.refuse(2, ["excludes"], "profile", "--out", self.folder / "x.csv", "--telling", "--mixed")

    def test_killed_ten_times(self):
        out = self.folder / "p.csv"
        command = [self.PRIMSEL, "profile", "--out", out, *self.QUICK]
        random.seed(1)
        kept, kills = [], 0
        while kills < 10:
            with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                # Once a row more is there, at a random moment of the next; a start takes two seconds.
                rows = kept
                for _ in range(2000):
                    time.sleep(0.005)
                    rows = out.read_bytes().splitlines(keepends=True) if out.exists() else []
                    if len(rows) > len(kept) or process.poll() is not None:
                        break
                if process.poll() is None:
                    time.sleep(random.random() * 0.05)
                    process.kill()
                    kills += 1
                process.wait()
            after = out.read_bytes().splitlines(keepends=True)
            whole = [line for line in after if line.endswith(b"\n")]
            self.assertEqual(whole[:len(kept)], kept)  # nothing that was there is lost or changed
            kept = whole
            if process.returncode == 0:  # it was complete before it was killed: once more from the start
                out.unlink()
                kept = []
        self.json(*command[1:])
        _, _, rows = self.rows(out)
        self.assertEqual(out.read_bytes().splitlines(keepends=True)[:len(kept)], kept)
        again = self.folder / "again.csv"
        self.json("profile", "--out", again, *self.QUICK)
        self.assertEqual([row[:5] for row in rows], [row[:5] for row in self.rows(again)[2]])
        self.assertEqual(len({tuple(row[:5]) for row in rows}), 9)

    def test_stopped(self):
        out = self.folder / "p.csv"
        for stop in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([self.PRIMSEL, "profile", "--out", str(out)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                time.sleep(0.5)
                process.send_signal(stop)
                output, errors = process.communicate(timeout=300)
            self.assertEqual((process.returncode, output), (1, ""))
            self.assertIn("the same command goes on", errors)
        result = self.json("profile", "--out", out, "--budget", "1s")
        self.assertFalse(result["complete"])

    def test_refusals(self):
        out = self.folder / "p.csv"
        self.json("profile", "--out", out, *self.QUICK[:-1], 1)
        before = out.read_bytes()
        self.refuse(1, ["p.csv", "columns differ"], "profile", "--out", out, "--networks", "resnet56")
        self.refuse(1, ["p.csv", "--reference-ns", "not 7"], "profile", "--out", out, *self.QUICK, "--reference-ns", 7)
        pipe = self.folder / "pipe.csv"
        os.mkfifo(pipe)
        self.refuse(1, ["pipe.csv", "it is a pipe"], "profile", "--out", pipe, *self.QUICK)
        out.write_bytes(before.replace(b"# version: ", b"# version: 9."))
        self.refuse(1, ["p.csv", "version is 9."], "profile", "--out", out, *self.QUICK)
        self.refuse(1, ["cannot write", "No space left"], "profile", "--out", "/dev/full", *self.QUICK)
        self.refuse(1, ["cannot write"], "profile", "--out", self.folder / "none" / "p.csv", *self.QUICK)
        self.refuse(1, ["magic"], "profile", "--out", out, "--primitives", "magic")
        self.refuse(1, ["nonet"], "profile", "--out", self.folder / "q.csv", "--networks", "nonet")
        self.refuse(1, ["processor 4095"], "profile", "--out", self.folder / "q.csv", "--cpu", 4095)
        for arguments in ([], ["--out", out, "--budget", "1d"], ["--out", out, "--budget", "-1"],
                          ["--out", out, "--count", "0"], ["--out", out, "--max-operations", "0"]):
            self.refuse(2, [], "profile", *arguments)
