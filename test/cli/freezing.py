"""Networks as headers of constants. test/build/frozen.py compiles them."""
from command import NET, SIZE, Cli


class Freeze(Cli):
    def test_header_and_weights(self):
        header, net = self.folder / "my-net.hpp", [NET, "--size", SIZE]
        net += self.save_plan(*net)
        result = self.json("freeze", *net, "--out", header)
        self.assertEqual(list(result), ["model", "header", "weights", "weights_bytes", "arena_bytes", "struct", "arch", "predicted_ms"])
        weights = self.folder / "my-net.bin"
        self.assertEqual(result["weights"], str(weights))
        self.assertEqual(result["weights_bytes"], weights.stat().st_size)
        self.assertEqual(result["struct"], "my_net")
        text = header.read_text(encoding="utf-8")
        self.assertIn("struct my_net {", text)
        self.assertIn(result["arch"], text)
        self.assertIn(f"arena_bytes = {result['arena_bytes']}", text)

        again = self.folder / "again.hpp"
        self.succeed("freeze", *net, "--out", again, "--bin", self.folder / "w.bin", "--name", "my_net")
        self.assertEqual(weights.read_bytes(), (self.folder / "w.bin").read_bytes())
        self.assertEqual(text, again.read_text(encoding="utf-8"))

    def test_a_batch_on_threads(self):
        """Threads of a frozen network share its layers."""
        header = self.folder / "batch.hpp"
        result = self.json("freeze", NET, "--size", SIZE, "--batch", 4, "--threads", 2, "--out", header)
        self.assertIn(f"arena_bytes = {result['arena_bytes']}", header.read_text(encoding="utf-8"))

    def test_several_instruction_sets(self):
        """A program of one instruction set freezes for that alone; test/build/frozen_archs.py has a program of several."""
        header, net = self.folder / "archs.hpp", [NET, "--size", SIZE]
        arch = self.json("freeze", *net, "--out", header)["arch"]
        level = arch[:arch.rindex("_")]
        result = self.json("freeze", *net, "--arch", level, "--out", header)
        self.assertEqual(list(result), ["header", "weights", "weights_bytes", "weights_bytes_apart", "struct", "archs"])
        self.assertEqual(result["archs"], [arch])
        text = header.read_text(encoding="utf-8")
        self.assertIn("#if defined(", text)
        self.assertIn(f"frozen for {level}, and", text)
        self.assertEqual(result["weights_bytes"], header.with_suffix(".bin").stat().st_size)
        self.refuse(1, ["--arch mmx", f"built for {level} alone"], "freeze", *net, "--arch", "mmx", "--out", header)
        self.assertEqual(sorted(path.name for path in self.folder.glob("archs.*")), ["archs.bin", "archs.hpp"])

    def test_refusals(self):
        header = self.folder / "net.hpp"
        self.refuse(2, ["--out"], "freeze", NET)
        self.refuse(2, ["--out", "--bin"], "freeze", NET, "--out", header, "--bin", header)
        self.refuse(1, ["nosuch"], "freeze", "nosuch", "--out", header)
        self.refuse(1, ["net.hpp", "cannot write"], "freeze", NET, "--out", self.folder / "none" / "net.hpp")
        self.assertFalse(header.exists())
