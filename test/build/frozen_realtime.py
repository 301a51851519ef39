#!/usr/bin/env python3
"""Runs a frozen network under clang's real-time sanitizer, which reports calls that may block or allocate.

    frozen_realtime.py <folder of frozen.py> <file of flags> [<clang++ of version 20 or newer>]

The folder has tiny.hpp and tiny.bin. A function that allocates is reported, so that silence means something. Without such a clang++
nothing is checked, which the exit status 77 says.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMPILERS = [*(f"clang++-{version}" for version in range(30, 19, -1)), "clang++"]
SANITIZER = ["-std=c++20", "-O1", "-march=native", "-fsanitize=realtime"]
MAIN = """#include "tiny.hpp"

#include <cstdio>
#include <cstdlib>

using Engine = primsel::FrozenEngine<tiny>;
static Engine::Arena arena;
static Engine engine;
static float image[Engine::in_floats()], scores[Engine::out_floats()];

static void process(bool allocates) noexcept [[clang::nonblocking]] {
    engine.run(image, scores);
    if (!allocates) return;
    void* volatile memory = std::malloc(4);
    std::free(memory);
}

int main(int count, char** words) {
    primsel::frozen::WeightsFile weights;
    const char* refusal = weights.open(words[1]);
    if (refusal == nullptr) refusal = engine.open(weights.bytes(), arena);
    if (refusal != nullptr) return std::puts(refusal), 1;
    process(count > 2);
    return std::puts("ran") < 0;
}
"""


def compiler_among(names, folder):
    """The first that links a program with the sanitizer."""
    (folder / "probe.cpp").write_text("void f() noexcept [[clang::nonblocking]] {}\nint main() { f(); }\n", encoding="utf-8")
    for name in filter(shutil.which, names):
        probe = [name, *SANITIZER, folder / "probe.cpp", "-o", folder / "probe"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return name
    return None


def main(frozen, flags, *names):
    frozen = pathlib.Path(frozen)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        compiler = compiler_among(names or COMPILERS, folder)
        if compiler is None:
            print(f"not checked: none of {', '.join(names or COMPILERS)} has -fsanitize=realtime, which clang 20 and newer have")
            return 77
        (folder / "main.cpp").write_text(MAIN, encoding="utf-8")
        subprocess.run([compiler, f"@{flags}", *SANITIZER, "-fno-exceptions", "-fno-rtti", f"-I{frozen}", folder / "main.cpp",
                        "-o", folder / "program"], check=True)
        silent = subprocess.run([folder / "program", frozen / "tiny.bin"], capture_output=True, text=True, check=False)
        loud = subprocess.run([folder / "program", frozen / "tiny.bin", "allocate"], capture_output=True, text=True, check=False)
    if silent.returncode != 0 or silent.stdout != "ran\n" or silent.stderr:
        print(f"a run is not real-time: {silent.stdout}{silent.stderr}")
        return 1
    if "malloc" not in loud.stderr:
        print(f"the sanitizer does not report malloc: {loud.stdout}{loud.stderr}")
        return 1
    print(f"{compiler}: a run calls nothing that may block")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
