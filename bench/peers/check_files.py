#!/usr/bin/env python3
"""check_files.py PRIMSEL PATH...: ONNX files (or folders of them) in primsel and in ONNX Runtime, on the same random input.

PRIMSEL is the command line's program. A file is `equal` when every output has ONNX Runtime's shape and values within 1e-4 of
their RMS, or within twice as much as ONNX Runtime with its optimisations differs from itself without. An RMS below 0.01 counts
as 0.01: float32 computes a sigmoid near 0 no better than to 1e-7. A file is `refused` when primsel does not import it (the
reason is printed), `different` otherwise. Extents that a file leaves open are 1 for the first, and wherever else they have
its name, and 224 for the others, or what --open says. Inputs of floats are normal, of integers 1. Needs numpy, onnx and
onnxruntime. Exit status 1 when a file is different.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

from onnxruntime_logits import make_session

BOUND = 1e-4


def inputs_in(model):
    """The inputs that are no weights."""
    weights = {weight.name for weight in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def inputs_of(model, open_extent):
    """Random values for each input that is no weight."""
    values = inputs_in(model)
    dims_of = {value.name: value.type.tensor_type.shape.dim for value in values}
    batches = {dims[0].dim_param for dims in dims_of.values() if dims} - {""}
    random, inputs = numpy.random.default_rng(1), {}
    for value in values:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [
            dim.dim_value if dim.dim_value > 0 else 1 if i == 0 or dim.dim_param in batches else open_extent
            for i, dim in enumerate(dims_of[value.name])
        ]
        is_float = numpy.issubdtype(kind, numpy.floating)
        inputs[value.name] = random.standard_normal(shape).astype(kind) if is_float else numpy.ones(shape, kind)
    return inputs


def fixed(model, inputs):
    """A copy of the model whose inputs have the shapes of these values."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for value in inputs_in(result):
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, inputs[value.name].shape))
    return result


def ours(program, path, inputs, folder):
    """The outputs in their order, or why there are none."""
    command = [program, "run", path, "--output", folder / "out", "--repeat", 1, "--json"]
    for i, (name, values) in enumerate(inputs.items()):
        numpy.save(folder / f"{i}.npy", values)
        command += ["--input", f"{name}={folder / f'{i}.npy'}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        return None, done.stderr.strip()
    return [numpy.load(output["file"]) for output in json.loads(done.stdout)["outputs"]], ""


def error(found, wanted):
    """The largest difference relative to the RMS."""
    found, wanted = numpy.asarray(found, numpy.float64), numpy.asarray(wanted, numpy.float64)
    if wanted.size == 0:
        return 0.0
    return float(numpy.abs(found - wanted).max() / max(numpy.sqrt(numpy.mean(numpy.square(wanted))), 0.01))


def verdict(found, wanted, again):
    if len(found) != len(wanted):
        return "different", f"{len(found)} outputs, not {len(wanted)}"
    worst, bound, equal = 0.0, BOUND, True
    for one, other, third in zip(found, wanted, again):
        if one.shape != numpy.shape(other):
            return "different", f"shape {one.shape}, not {numpy.shape(other)}"
        here = error(one, other)
        allowed = max(BOUND, 2 * error(third, other))
        equal = equal and here <= allowed
        if here > worst:
            worst, bound = here, allowed
    return ("equal" if equal else "different"), f"{worst:.1e} of {bound:.1e} allowed"


def plain_options():
    """A session without optimisations."""
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return plain


def check(program, path, open_extent):
    try:
        inputs = inputs_of(onnx.load(str(path)), open_extent)
        wanted = make_session(path).run(None, inputs)
        again = make_session(path, plain_options()).run(None, inputs)
    except Exception as reason:  # of whichever kind: the file is none of ours to judge
        return "not run", f"by ONNX Runtime: {(str(reason).splitlines() or [type(reason).__name__])[0][:120]}"
    with tempfile.TemporaryDirectory() as folder:
        found, why = ours(program, path, inputs, pathlib.Path(folder))
    return ("refused", why) if found is None else verdict(found, wanted, again)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--open", type=int, default=224)
    options = parser.parse_args()
    files = [file for path in options.paths for file in (sorted(path.glob("**/*.onnx")) if path.is_dir() else [path])]
    counts = collections.Counter()
    for file in files:
        what, detail = check(options.program.resolve(), file, options.open)
        counts[what] += 1
        print(f"{file.name:60}{what:>10}  {detail}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
