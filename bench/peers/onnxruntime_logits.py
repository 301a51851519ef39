#!/usr/bin/env python3
"""onnxruntime_logits.py MODEL.onnx INPUT.npy OUTPUT.npy: what ONNX Runtime makes of the model's only input, as its
first output, by one thread on the CPU with its default optimisations. Needs onnxruntime and numpy alone."""
import argparse
import os

import numpy
import onnxruntime


def make_session(model, options=None):
    """A session of one thread on the CPU."""
    options = options or onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("input")
    parser.add_argument("output")
    options = parser.parse_args()
    session = make_session(options.model)
    (argument,) = session.get_inputs()
    logits = session.run(None, {argument.name: numpy.load(options.input)})[0]
    part = options.output + ".part.npy"
    numpy.save(part, logits)
    os.replace(part, options.output)


if __name__ == "__main__":
    main()
