#!/usr/bin/env python3
"""quantised_export.py PRIMSEL NET.onnx IMAGES.npy [--shown N]: a network in 8 bits as primsel writes it, in ONNX Runtime.

The images but for the last N (8) choose the ranges: of primsel's `quantise`, whose file `export --ranges` writes, and of ONNX
Runtime's static quantiser, as quantise_onnx.py calls it. Printed is the error of results for the last N (RMS of the differences
over RMS) beside the network in floats: of both files in ONNX Runtime, and of primsel's file and ranges in primsel. Exit status 1
when ONNX Runtime's error with primsel's file is larger than with its own. PRIMSEL is the command line's program. Needs numpy,
onnx and onnxruntime."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

from onnxruntime_logits import make_session


def call(*arguments):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def in_onnxruntime(model, images):
    session = make_session(model)
    name = session.get_inputs()[0].name
    return numpy.concatenate([numpy.concatenate([value.ravel() for value in session.run(None, {name: image[None]})])
                              for image in images]).astype(numpy.float64)


def in_primsel(program, images, folder, *arguments):
    results = []
    for i, image in enumerate(images):
        numpy.save(folder / "image.npy", image[None])
        run = json.loads(call(program, "run", *arguments, "--input", folder / "image.npy", "--output", folder / str(i), "--repeat", 1,
                              "--json"))
        results += [numpy.load(output["file"]).ravel() for output in run["outputs"]]
    return numpy.concatenate(results).astype(numpy.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("net", type=pathlib.Path)
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--shown", type=int, default=8)
    options = parser.parse_args()
    program, net = options.program.resolve(), options.net.resolve()
    images = numpy.load(options.images).astype(numpy.float32)
    known, shown = images[:-options.shown], images[-options.shown:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        numpy.save(folder / "known.npy", known)
        ranges, own, theirs = folder / "r.json", folder / "own.onnx", folder / "theirs.onnx"
        call(program, "quantise", net, "--images", folder / "known.npy", "--out", ranges)
        call(program, "export", net, own, "--ranges", ranges)
        call(sys.executable, pathlib.Path(__file__).with_name("quantise_onnx.py"), net, folder / "known.npy", theirs)
        right = in_onnxruntime(net, shown)

        def error(values):
            return float(numpy.sqrt(numpy.mean((values - right)**2) / numpy.mean(right**2)))

        errors = {
            "ONNX Runtime, its quantiser": error(in_onnxruntime(theirs, shown)),
            "ONNX Runtime, primsel's file": error(in_onnxruntime(own, shown)),
            "primsel, its file": error(in_primsel(program, shown, folder, own, "--precision", "int8")),
            "primsel, its ranges": error(in_primsel(program, shown, folder, net, "--precision", "int8", "--ranges", ranges)),
        }
    for key, value in errors.items():
        print(f"{key:30}{100 * value:8.3f} %")
    sys.exit(errors["ONNX Runtime, primsel's file"] > errors["ONNX Runtime, its quantiser"])


if __name__ == "__main__":
    main()
