#!/usr/bin/env python3
"""onnx_surgery.py PRIMSEL [NETWORK...] [--sparsity 0 0.3 0.5 0.7] [--bound 1e-4]: networks of the zoo without that share
of each layer's filters, run by primsel, and exported and run by ONNX Runtime.

PRIMSEL is the command line's program. A network with seeded random weights is pruned (`primsel prune`; at 0 it is exported
as it is), checked by onnx, and run by both on one image. Printed are the parameters that are left and the largest
difference of the two results, relative to the RMS of the first; the bound or more is a failure. Needs numpy, onnx and
onnxruntime.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
from onnxruntime_logits import make_session  # pylint: disable=wrong-import-position


def primsel(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    _, marker, groups = done.stderr.partition("; to leave them whole:")  # what a layer holds back
    if done.returncode and marker:
        return primsel(program, *arguments, *shlex.split(groups))
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def difference(program, network, shape, sparsity, folder):
    """(millions of parameters, the largest difference relative to the RMS)"""
    image, model = folder / "image.npy", folder / "model.onnx"
    numpy.save(image, numpy.random.default_rng(1).standard_normal((1, *shape), numpy.float32))
    if sparsity:
        left = primsel(program, "prune", network, "--sparsity", sparsity, "--out", model)["thinned"]["parameters"]
    else:
        primsel(program, "export", network, model)
        left = next(entry["parameters"] for entry in primsel(program, "list", "networks")["networks"] if entry["name"] == network)
    onnx.checker.check_model(str(model), full_check=True)
    run = primsel(program, "run", model, "--input", image, "--output", folder / "ours", "--repeat", 1)
    ours = numpy.load(run["outputs"][0]["file"]).ravel()
    session = make_session(model)
    theirs = session.run(None, {session.get_inputs()[0].name: numpy.load(image)})[0].ravel()
    rms = numpy.sqrt(numpy.mean(numpy.square(ours, dtype=numpy.float64)))
    if not rms > 0:
        sys.exit(f"{network} at {sparsity}: its result is zero, which says nothing")
    return left / 1e6, float(numpy.max(numpy.abs(theirs - ours)) / rms)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("network", nargs="*")
    parser.add_argument("--sparsity", type=float, nargs="+", default=[0, 0.3, 0.5, 0.7])
    parser.add_argument("--bound", type=float, default=1e-4)
    options = parser.parse_args()
    program, good = options.program.resolve(), True
    print("| network |" + "".join(f" at {share:.0%}: M parameters | difference |" for share in options.sparsity))
    print("|---|" + "---:|---:|" * len(options.sparsity))
    for entry in primsel(program, "list", "networks")["networks"]:
        if options.network and entry["name"] not in options.network:
            continue
        line = f"| {entry['name']} |"
        for share in options.sparsity:
            with tempfile.TemporaryDirectory() as folder:
                left, far = difference(program, entry["name"], entry["input"], share, pathlib.Path(folder))
            good = good and far < options.bound
            line += f" {left:.3g} | {far:.1e}{'' if far < options.bound else ' TOO FAR'} |"
        print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
