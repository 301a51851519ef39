#!/usr/bin/env python3
"""exported_again.py FOLDER [TOOL...]: the files of FOLDER/small and FOLDER/timm as tools for ONNX files rewrite them, for exporters.py.

FOLDER/TOOL/NAME.onnx is the file, NAME.failed says why there is none; what is there is kept. Needs onnxruntime, onnxsim, onnxslim and
onnxoptimizer.
"""
import functools
import multiprocessing
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

import onnx
import onnxruntime

from prepare import tried

COUNT = {"small": 20, "timm": 10}


def onnxsim(source, out):
    import onnxsim

    model, right = onnxsim.simplify(onnx.load(source))
    if not right:
        raise RuntimeError("onnxsim's own check fails")
    onnx.save(model, out)


def onnxslim(source, out):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), out)


def onnxoptimizer(source, out):
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(source), onnxoptimizer.get_fuse_and_elimination_passes()), out)


def float16(source, out):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(source)), out)


def by_onnxruntime(level, source, out):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(out)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


LEVELS = onnxruntime.GraphOptimizationLevel
TOOLS = {
    "onnxsim": onnxsim, "onnxslim": onnxslim, "onnxoptimizer": onnxoptimizer, "float16": float16,
    "ort-basic": functools.partial(by_onnxruntime, LEVELS.ORT_ENABLE_BASIC), "ort-extended": functools.partial(by_onnxruntime, LEVELS.ORT_ENABLE_EXTENDED),
}  # fmt: skip


def apart(write, *arguments):
    """In a process of its own: what a tool written in C++ does not survive ends that one."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(write, *arguments).result()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    sources = []
    for group, count in COUNT.items():
        files = sorted(folder.glob(f"{group}/*.onnx"))
        sources += files[:: max(1, len(files) // count)][:count]
    for tool in sys.argv[2:] or TOOLS:
        for source in sources:
            tried(folder / tool / source.name, lambda part: apart(TOOLS[tool], source, part))


if __name__ == "__main__":
    main()
