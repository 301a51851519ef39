#!/usr/bin/env python3
"""A user's project takes `primsel_freeze` and the program `primsel` from an installed package, and freezes a file.

    frozen_project.py <build folder of primsel> <folder> <compiler>

The program gives the scores that `primsel run` does, is not made again when nothing changed, and is another one when the file is
another network. Functions that nothing calls are no part of it.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from frozen import call, floats_of_npy, write_npy  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent / "frozen_project"
NETS = [["resnet56", "--seed", 1], ["resnet56", "--seed", 2]]


def scores_of_engine(primsel, model, folder):
    count = 3 * 32 * 32
    write_npy(folder / "image.npy", (1, 3, 32, 32), struct.pack(f"<{count}f", *(i % 17 / 8 - 1 for i in range(count))))
    out = json.loads(call(primsel, "run", model, "--batch", 1, "--input", folder / "image.npy", "--output", folder / "scores",
                          "--repeat", 1, "--json"))["outputs"]
    values = floats_of_npy(pathlib.Path(out[0]["file"]))
    return struct.unpack(f"<{len(values) // 4}f", values)


def main(build, folder, compiler):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    installed, project = folder / "installed", folder / "project"
    project.mkdir(parents=True)
    call("cmake", "--install", build, "--prefix", installed)
    primsel = installed / "bin/primsel"
    faults, answers = [], []
    for turn, net in enumerate(NETS):
        call(primsel, "export", *net, project / "net.onnx")
        if turn == 0:
            call("cmake", "-S", PROJECT, "-B", project, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={installed}",
                 f"-DCMAKE_CXX_COMPILER={compiler}")
        built = call("cmake", "--build", project)
        if "Freezing" not in built:
            faults.append(f"{net}: the change of the file froze nothing: {built}")
        if "no work to do" not in call("cmake", "--build", project):
            faults.append("a build without a change makes something")
        answers.append([float(line) for line in call(project / "app", project / "primsel_frozen/app/net.bin").split()])
        expected = scores_of_engine(primsel, project / "net.onnx", folder)
        if len(expected) != len(answers[-1]) or any(abs(a - b) > 1e-4 * (1 + abs(b)) for a, b in zip(answers[-1], expected)):
            faults.append(f"{net}: {answers[-1]} and not {expected}")
    if answers[0] == answers[1]:
        faults.append("another network gives the same scores")
    symbols = call("nm", project / "app")
    if "never_called" in symbols or " main\n" not in symbols:
        faults.append("a function that nothing calls is a part of the program")
    print("\n".join(faults) or "an installed package freezes a file, and freezes it again when it changes")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
