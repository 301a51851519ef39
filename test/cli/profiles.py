"""primsel profile"""
import json
import os
import random
import signal
import subprocess
import time

from command import Cli
from redis_server import RedisServer


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
        l2 = ["# l2_bytes"] if self.json("machine")["l2_bytes"] else []  # where the system says it
        names = [line.split(":")[0] for line in about]
        self.assertEqual([name for name in names if not name.startswith("# threads")],  # as far as they are known
                         ["# arch", *(f"# bandwidth_{i}" for i in range(5)), "# bf16_flops", "# compiler", "# cpu", "# gemm_flops",
                          "# half_flops", "# idle_bandwidth", "# images", "# int8_flops", *l2, "# product_flops", "# reference_ns", "# scalar_flops", "# vector_flops", "# version"])
        self.assertEqual(header[:5], ["c", "k", "im", "f", "s"])
        self.assertEqual(len(header), 5 + 11)  # eight of conv-1x1
        self.assertEqual(len(rows), 9)
        for row in rows:
            times = dict(zip(header[5:], row[5:]))
            self.assertGreater(times["direct-hwc"], 0)
            self.assertEqual(times["conv-1x1-gemm-ab-ik"] > 0, row[3] == 1 and row[4] == 1, row)
        _, header, rows = self.rows(layouts)
        layouts_of = ["chw", "hcw", "hwc", "hwc_bf16", "hwc_u8", "hwc_f16"]
        self.assertEqual(header, ["c", "im", *(f"{a}-to-{b}" for a in layouts_of for b in layouts_of if a != b)])
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
                for _ in range(200000):
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
                output, errors = process.communicate(timeout=1200)
            self.assertEqual((process.returncode, output), (1, ""))
            self.assertIn("the same command goes on", errors)
        result = self.json("profile", "--out", out, "--budget", "1s")
        self.assertFalse(result["complete"])

    def test_by_workers(self):
        """Of two, one is killed in a part; so are the server and the one who hands out; junk is in the queue."""
        server, out, layouts = RedisServer(self), self.folder / "p.csv", self.folder / "l.csv"

        def wait_for(rows, process):
            while not out.exists() or sum(line[0].isdigit() for line in out.read_text().splitlines() if line) < rows:
                self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else "")
                time.sleep(0.01)

        # The speeds of this machine do not matter here: others use it too.
        profile = ["profile", "--out", out, "--layouts-out", layouts, *self.QUICK[:-1], 30, "--tolerance", 9, "--ahead", 3]
        server.call("XADD", "primsel:todo", "*", "junk", b"\xff")
        driver = server.primsel(*profile)
        workers = [server.primsel("worker", "--patience", 20), server.primsel("worker", "--patience", 4, "--json", "--name", "two")]
        wait_for(2, driver)
        workers[0].send_signal(signal.SIGKILL)
        server.restart()
        wait_for(4, driver)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        kept = out.read_bytes()
        kept = kept[:kept.rfind(b"\n") + 1]
        again = server.primsel(*profile, "--json")
        output, errors = again.communicate(timeout=1200)
        self.assertEqual((again.returncode, errors), (0, ""))
        result = json.loads(output)
        self.assertEqual(list(result), ["complete", "seconds", "workers", "files"])
        self.assertTrue(result["complete"])
        self.assertIn("two", result["workers"])
        self.assertTrue(out.read_bytes().startswith(kept))
        output, errors = workers[1].communicate(timeout=1200)
        self.assertEqual((workers[1].returncode, errors), (0, ""))
        self.assertGreater(json.loads(output)["parts"], 0)
        # The same files as of one machine alone, but for the order of rows and the times.
        alone = self.folder / "alone.csv", self.folder / "alone-layouts.csv"
        self.json("profile", "--out", alone[0], "--layouts-out", alone[1], *self.QUICK[:-1], 30)
        for ours, theirs, inputs in ((out, alone[0], 5), (layouts, alone[1], 2)):
            about, header, rows = self.rows(ours)
            other_about, other_header, other_rows = self.rows(theirs)
            self.assertEqual([line.split(":")[0] for line in about], [line.split(":")[0] for line in other_about])
            self.assertEqual(header, other_header)
            self.assertEqual(sorted(row[:inputs] for row in rows), sorted(row[:inputs] for row in other_rows))
            zeros = {tuple(row[:inputs]): [value == 0 for value in row] for row in rows}
            self.assertEqual(zeros, {tuple(row[:inputs]): [value == 0 for value in row] for row in other_rows})
        self.assertIn("0 of them now", self.succeed("profile", "--out", out, "--layouts-out", layouts, *self.QUICK[:-1], 30))
        self.refuse(1, ["other work", "use another --queue-name"], "profile", "--out", self.folder / "o.csv", *self.QUICK,
                    "--queue", server.url)

    def test_refused_machine(self):
        server, out = RedisServer(self), self.folder / "p.csv"
        with subprocess.Popen([self.PRIMSEL, "profile", "--out", out, *map(str, self.QUICK), "--queue", server.url,
                               "--reference-ns", "1000", "--tolerance", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as driver:
            result = self.call("worker", "--queue", server.url, "--patience", 60)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertRegex(result.stderr, r"cannot take part in the profile: its reference's time is \d+\.\d+ us, and "
                                            r"1\.000 us of the machine that is profiled; at most 200 % are borne")
            driver.send_signal(signal.SIGTERM)
            output, errors = driver.communicate(timeout=1200)
            self.assertEqual((driver.returncode, output), (1, ""))
            self.assertIn("the same command goes on", errors)
        self.assertEqual(self.rows(out)[2], [])

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
        for needs, arguments in [("--queue", ["--lease", 3]), ("--queue", ["--queue-name", "x"]),
                                 ("a network by name", ["--networks", "a.onnx,b.onnx", "--size", 32])]:
            self.refuse(2, ["has no effect here: it needs ", needs], "profile", "--out", out, *arguments)
        for arguments in ([], ["--out", out, "--budget", "1d"], ["--out", out, "--budget", "-1"],
                          ["--out", out, "--count", "0"], ["--out", out, "--max-operations", "0"]):
            self.refuse(2, [], "profile", *arguments)
