#!/usr/bin/env python3
"""quantise_onnx.py SRC.onnx IMAGES.npy[,IMAGES.npy] DST.onnx: writes the network with QDQ nodes, by ONNX Runtime's static quantiser:
activations u8, weights s8 with a scale a channel, ranges by minimum and maximum over the images."""
import sys

import numpy
import onnx
from onnxruntime import quantization


class Images(quantization.CalibrationDataReader):
    def __init__(self, name, images):
        self.feeds = iter([{name: image[None]} for image in images])

    def get_next(self):
        return next(self.feeds, None)


def main():
    source, images, destination = sys.argv[1:]
    name = onnx.load(source, load_external_data=False).graph.input[0].name
    quantization.quantize_static(
        source,
        destination,
        Images(name, numpy.concatenate([numpy.load(path) for path in images.split(",")]).astype(numpy.float32)),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )


if __name__ == "__main__":
    main()
