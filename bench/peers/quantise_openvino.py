#!/usr/bin/env python3
"""quantise_openvino.py SRC.onnx IMAGES.npy[,IMAGES.npy] DST.xml: writes the network in 8 bits by NNCF, OpenVINO's quantiser, with its default settings."""
import sys

import nncf
import numpy
import openvino


def main():
    source, images, destination = sys.argv[1:]
    images = numpy.concatenate([numpy.load(path) for path in images.split(",")]).astype(numpy.float32)
    model = openvino.Core().read_model(source)
    model.reshape([1, *images.shape[1:]])
    quantised = nncf.quantize(model, nncf.Dataset([image[None] for image in images]), subset_size=len(images))
    openvino.save_model(quantised, destination, compress_to_fp16=False)


if __name__ == "__main__":
    main()
