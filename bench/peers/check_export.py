#!/usr/bin/env python3
"""check_export.py PRIMSEL [NETWORK...]: every network of the zoo as an ONNX file, in ONNX Runtime and read back.

PRIMSEL is the command line's program. Each network, with seeded random weights, is run by primsel as it is; exported,
checked by onnx, and run by ONNX Runtime; and read back and run by primsel. Printed are the largest differences of the
other two results from the first, relative to its RMS; more than 1e-4 is a failure. Needs numpy, onnx and onnxruntime.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx

from onnxruntime_logits import make_session

BOUND = 1e-4


def primsel(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def result_of(program, network, image, folder):
    run = primsel(program, "run", network, "--input", image, "--output", folder, "--repeat", 1)
    return numpy.load(run["outputs"][0]["file"]).ravel()


def check(program, network, shape, folder):
    image, model = folder / "image.npy", folder / "model.onnx"
    numpy.save(image, numpy.random.default_rng(1).standard_normal((1, *shape), numpy.float32))
    ours = result_of(program, network, image, folder / "ours")
    subprocess.run([program, "export", network, model], check=True, stdout=subprocess.DEVNULL)
    onnx.checker.check_model(str(model), full_check=True)
    session = make_session(model)
    theirs = session.run(None, {session.get_inputs()[0].name: numpy.load(image)})[0].ravel()
    back = result_of(program, model, image, folder / "back")
    rms = numpy.sqrt(numpy.mean(numpy.square(ours, dtype=numpy.float64)))
    return [float(numpy.max(numpy.abs(other - ours)) / rms) for other in (theirs, back)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("network", nargs="*")
    options = parser.parse_args()
    program, good = options.program.resolve(), True
    print(f"{'':24}{'ONNX Runtime':>14}{'read back':>12}")
    for entry in primsel(program, "list", "networks")["networks"]:
        if options.network and entry["name"] not in options.network:
            continue
        with tempfile.TemporaryDirectory() as folder:
            differences = check(program, entry["name"], entry["input"], pathlib.Path(folder))
        far = max(differences) >= BOUND
        good = good and not far
        print(f"{entry['name']:24}{differences[0]:14.1e}{differences[1]:12.1e}{'  TOO FAR' if far else ''}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
