"""The completion of shells, and the man page."""
import re
import shutil
import subprocess
import unittest

from command import NET, Cli

# Sets what bash would set, for the words that are given; the last is the one that is completed.
BASH = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_primsel
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(Cli):
    def setUp(self):
        super().setUp()
        self.commands = re.findall(r"^  (\w+) ", self.succeed("--help").split("Subcommands:")[1], re.MULTILINE)

    def script(self, shell):
        path = self.folder / shell
        path.write_text(self.succeed("completion", shell))
        return path

    def run_shell(self, *arguments):
        result = subprocess.run(list(map(str, arguments)), cwd=self.folder, capture_output=True, text=True, check=False, timeout=1200)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout.splitlines()

    def complete(self, *words):
        return [word for word in self.run_shell("bash", "-c", BASH, "bash", self.script("bash"), "primsel", *words) if word]

    def test_bash_knows_commands_and_options(self):
        self.assertEqual(self.complete(""), self.commands)
        self.assertEqual(self.complete("tra"), ["trace", "transfer", "train"])
        self.assertEqual(self.complete("--v"), ["--version"])
        for command in self.commands:
            text = self.succeed(command, "--help").split("For example:")[0]
            options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", text, re.MULTILINE))
            self.assertEqual(set(self.complete(command, "--")), options, command)

    def test_bash_knows_values(self):
        solvers = ["exact", "reduction", "greedy"]
        self.assertEqual(self.complete("plan", NET, "--solver", ""), solvers)
        self.assertEqual(self.complete("plan", "--solver", "=", "g"), ["greedy"])
        self.assertEqual(self.complete("plan", NET, "--solver", "="), solvers)
        self.assertEqual(self.complete("fit", "--model", "n"), ["nn1", "nn2"])
        self.assertEqual(self.complete("run", NET, "--batch", ""), [])
        self.assertIn("winograd-4x4-3x3-vec-16", self.complete("profile", "--primitives", "winograd"))
        self.assertIn("wino3", self.complete("profile", "--primitives", "wi"))
        for what in self.complete("list", ""):
            self.succeed("list", what)
        self.assertEqual(self.complete("completion", ""), ["bash", "zsh", "fish"])

    def test_bash_knows_networks_and_files(self):
        networks = {network["name"] for network in self.json("list", "networks")["networks"]}
        (self.folder / "squeezed net.onnx").touch()
        (self.folder / "square").mkdir()
        files = {"bash", "squeezed net.onnx", "square"}
        for command in ("run", "plan", "explain", "trace", "compare", "calibrate", "export"):
            self.assertEqual(set(self.complete(command, "")), networks | files)
            self.assertEqual(set(self.complete(command, "--batch", "2", "sq")),
                             {name for name in networks | files if name.startswith("sq")})
        self.assertEqual(set(self.complete("plan", NET, "--plan", "")), files)
        self.assertEqual(self.complete("run", NET, "--output", ""), ["square"])
        self.assertEqual(set(self.complete("export", NET, "")), files)
        # All arguments are there: options are left.
        self.assertIn("--threads", self.complete("plan", NET, ""))
        self.assertIn("--threads", self.complete("plan", NET, "--solver", "uniform", ":", "im2", ""))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_reads_it(self):
        self.run_shell("zsh", "-n", self.script("zsh"))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes(self):
        source = f"source {self.script('fish')}; complete -C "
        offered = lambda line: [row.split("\t")[0] for row in self.run_shell("fish", "-c", source + f"'{line}'")]
        self.assertEqual(set(offered("primsel ")), set(self.commands))
        self.assertEqual(offered("primsel plan --solver g"), ["greedy"])
        self.assertIn("--threads", offered("primsel run --th"))
        self.assertIn("resnet18", offered("primsel run resnet1"))


class Manual(Cli):
    def test_every_command_and_option(self):
        page = self.succeed("manual")
        self.assertTrue(page.startswith(".TH PRIMSEL 1 "))
        self.assertTrue(page.isascii())
        page = page.replace("\\-", "-")
        commands = re.findall(r"^  (\w+) ", self.succeed("--help").split("Subcommands:")[1], re.MULTILINE)
        for command in commands:
            section = re.split(r"^\.S[SH] ", page.split(f'.SS "primsel {command}', 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
            for option in re.findall(r"^  (--[a-z-]+)", self.succeed(command, "--help"), re.MULTILINE):
                self.assertIn(f"\\fB{option}\\fR", section, command)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_is_sound(self):
        page = self.folder / "primsel.1"
        page.write_text(self.succeed("manual"))
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=False, timeout=1200)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
