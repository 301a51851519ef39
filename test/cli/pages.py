"""The pages name commands and options that there are."""
import functools
import pathlib
import re

from command import Cli

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMAND = re.compile(r"(?:^|build/release/bin/|bin/)primsel ([a-z]+)")


class Pages(Cli):
    @functools.lru_cache(maxsize=None)
    def options(self, command):
        return set(re.findall(r"--[a-z][\w-]*", self.succeed(command, "--help")))

    def look_up(self, where, command, text):
        for option in re.findall(r"(?<!\S)--[a-z][\w-]*", text):
            if option not in self.options(command):
                self.findings.append(f"{where}: primsel {command} has no {option}")

    def test_every_option_is_one_of_the_command(self):
        self.findings, count = [], 0
        for page in [TOP / "README.md", *sorted(TOP.glob("docs/**/*.md"))]:
            text = page.read_text(encoding="utf-8").replace("\\\n", " ")
            for number, line in enumerate(text.splitlines(), start=1):
                command = None
                # Code spans, or a line of a block. Options that follow a command in a row of a table are that command's.
                for part in re.findall(r"`([^`]+)`", line) or [part.strip() for part in re.split(r"&&|#", line)]:
                    found = COMMAND.match(part)
                    if found:
                        command = found[1]
                    elif not (line.startswith("|") and part.startswith("--")):
                        command = None if not line.startswith("|") else command
                    if command and (found or part.startswith("--")):
                        count += 1
                        self.look_up(f"{page.relative_to(TOP)}:{number}", command, part)
        self.assertEqual(self.findings, [])
        self.assertGreater(count, 100)
