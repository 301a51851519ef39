#!/usr/bin/env python3
"""prepare_detector.py SRC.onnx IMAGES.npy DST.onnx IMAGE.npy RESULT.npy: a published detector as engines.py's engines load it.

IMAGE is the first of IMAGES. DST has ONNX Runtime's basic optimisations (batch norms folded, constants computed) and at least opset 13, which scales a channel need.
RESULT is SRC's first result for the image, by ONNX Runtime in float32 without optimisations. Needs numpy, onnx and onnxruntime."""
import pathlib
import sys

import numpy
import onnx
import onnxruntime
from onnx import version_converter

OPSET = 13


def session(model, level, path=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 3
    if path:
        options.optimized_model_filepath = str(path)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    source, images, destination, image, result = map(pathlib.Path, sys.argv[1:])
    numpy.save(image, numpy.load(images)[:1])
    levels = onnxruntime.GraphOptimizationLevel
    plain = session(source.read_bytes(), levels.ORT_DISABLE_ALL)
    numpy.save(result, plain.run(None, {plain.get_inputs()[0].name: numpy.load(image)})[0].astype(numpy.float64).reshape(1, -1))
    model = onnx.load(source)
    # Weights that are inputs, too, stay as they are: they may change.
    given = {weight.name for weight in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in given]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    if model.opset_import[0].version < OPSET:
        model = version_converter.convert_version(model, OPSET)
    model.ir_version = max(model.ir_version, 7)
    session(model.SerializeToString(), levels.ORT_ENABLE_BASIC, destination)


if __name__ == "__main__":
    main()
