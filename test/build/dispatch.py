#!/usr/bin/env python3
"""dispatch.py <program> <compiler>: a program with copies for several instruction sets runs the right one.

The program is examples/dispatch. Emulated processors without AVX-512, AVX2 and SSE4.2 would stop it at the first instruction
that they do not know, whatever it belongs to. What dispatch.sh does to objects is tested on a small part of its own.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake/dispatch/dispatch.sh"
MARCH = {"sse4_2": "x86-64-v2", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}
NAMES = {"sse4_2": "sse4.2", "avx2": "fma3+avx2", "avx512": "avx512bw"}

PART = """
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef __AVX512F__
#define HERE "avx512"
#elif defined(__AVX2__)
#define HERE "avx2"
#else
#define HERE "sse4_2"
#endif
inline std::string& shared() { static std::string text = HERE; return text; }  // in both objects of a copy
inline thread_local std::vector<float> per_thread(3, 1.5F);
"""
FIRST = PART + """
struct Loud {
    Loud() { std::puts("begin " HERE); }
    ~Loud() { std::puts("end " HERE); }
} loud;
void second();
extern "C" double add(int a, double b, float c) {
    if (a == 0) throw std::runtime_error("zero of " HERE);
    shared() += "!";
    second();
    return a + b + c + per_thread[2];
}
"""
SECOND = PART + "void second() { std::puts(shared().c_str()); }\n"
MAIN = """
#include <cstdio>
#include <exception>
extern "C" double add(int a, double b, float c);
double early = add(1, 2, 3);  // before main
int main() {
    std::printf("%g\\n", early + add(1, 2, 4));
    try { add(0, 0, 0); } catch (std::exception const& error) { std::puts(error.what()); }
}
"""


def here():
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return [arch for arch, flag in (("sse4_2", "sse4_2"), ("avx2", "avx2"), ("avx512", "avx512bw")) if flag in flags]


def run(*command, arch=None):
    environment = {name: value for name, value in os.environ.items() if name != "PRIMSEL_ARCH"}
    if arch:
        environment["PRIMSEL_ARCH"] = arch
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)


class Program(unittest.TestCase):
    PROGRAM = ""

    def test_takes_the_widest(self):
        result = run(self.PROGRAM)
        self.assertIn(f"by {NAMES[here()[-1]]}\n", result.stdout, result.stderr)

    def test_takes_what_is_asked_for(self):
        answers = set()
        for arch in here():
            result = run(self.PROGRAM, arch=arch)
            answer, name = result.stdout.strip().split(", by ")
            self.assertEqual(name, NAMES[arch])
            answers.add(answer)
        self.assertEqual(len(answers), 1)

    def test_refuses_what_there_is_not(self):
        result = run(self.PROGRAM, arch="mmx")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "PRIMSEL_ARCH=mmx: there is no such copy; there are avx512 avx2 sse4_2\n")

    @unittest.skipUnless(shutil.which("qemu-x86_64"), "needs qemu-user (Debian: qemu-user)")
    def test_older_processors(self):
        for processor, arch in (("Nehalem", "sse4_2"), ("SandyBridge", "sse4_2"), ("Haswell", "avx2")):
            result = run("qemu-x86_64", "-cpu", processor, self.PROGRAM)
            self.assertIn(f"by {NAMES[arch]}\n", result.stdout, f"{processor}: {result.stderr}")
        result = run("qemu-x86_64", "-cpu", "core2duo", self.PROGRAM)
        self.assertEqual(result.returncode, 1)
        self.assertIn("this processor runs none of avx512 avx2 sse4_2", result.stderr)
        result = run("qemu-x86_64", "-cpu", "Nehalem", self.PROGRAM, arch="avx2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("PRIMSEL_ARCH=avx2: this processor cannot run it", result.stderr)


class Script(unittest.TestCase):
    COMPILER = ""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in (("first", FIRST), ("second", SECOND), ("main", MAIN)):
            (self.folder / f"{name}.cpp").write_text(text)

    def compile(self, name, output, *options):
        result = run(self.COMPILER, "-std=c++20", "-O2", "-g", "-fPIC", *options, "-c", self.folder / f"{name}.cpp", "-o", output)
        self.assertEqual(result.returncode, 0, result.stderr)
        return output

    def copies(self, archs, *options):
        words = []
        for arch in archs:
            objects = [self.compile(name, self.folder / f"{name}_{arch}.o", f"-march={MARCH[arch]}", *options)
                       for name in ("first", "second")]
            words += ["--", arch, *objects]
        return words

    def unique(self):
        """What keeps g++ from making a symbol unique in the whole program; clang never does."""
        version = run(self.COMPILER, "--version").stdout
        return [] if "clang" in version else ["-fno-gnu-unique"]

    def test_copies_are_apart(self):
        joined = self.folder / "part.o"
        result = run(SCRIPT, joined, "add", *self.copies(MARCH, *self.unique()))
        self.assertEqual(result.returncode, 0, result.stderr)
        symbols = run("nm", "--defined-only", "--extern-only", joined).stdout.split()
        self.assertEqual(symbols[2:], ["add"])
        self.assertEqual(sorted(path.name for path in self.folder.glob("part.o*")), ["part.o"])
        main = self.compile("main", self.folder / "main.o")
        for options in ([], ["-Wl,--gc-sections"], ["-static"]):
            program = self.folder / "program"
            result = run(self.COMPILER, main, joined, *options, "-o", program)
            self.assertEqual(result.returncode, 0, result.stderr)
            for arch in here():
                text = run(program, arch=arch).stdout.split("\n")
                self.assertEqual(text, [f"begin {arch}", f"{arch}!", f"{arch}!!", "16", f"zero of {arch}", f"end {arch}", ""])
        library = self.folder / "libpart.so"
        result = run(self.COMPILER, "-shared", joined, "-o", library)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run(self.COMPILER, main, library, "-o", program, f"-Wl,-rpath,{self.folder}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"zero of {here()[-1]}", run(program).stdout)

    def test_errors(self):
        copies = self.copies(["avx2"], *self.unique())
        for words, message in ((["add"], "usage"), (["--", *copies[1:]], "no entry is named"),
                               (["add", "--", "mmx", copies[2]], "mmx: no such instruction set"),
                               (["add", *copies, "--", "avx2"], "no objects for avx2"),
                               (["second", *copies], 'no function is called second; is it extern "C"?')):
            result = run(SCRIPT, self.folder / "part.o", *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(message, result.stderr)
            self.assertEqual(list(self.folder.glob("part.o*")), [])
        if self.unique():
            result = run(SCRIPT, self.folder / "part.o", "add", *self.copies(["avx2"]))
            self.assertIn("compile with -fno-gnu-unique", result.stderr)


if __name__ == "__main__":
    Script.COMPILER = sys.argv.pop()
    Program.PROGRAM = sys.argv.pop()
    unittest.main()
