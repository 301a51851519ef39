#!/usr/bin/env python3
"""Times of the convolutions of table II by numbers of channels, computed as Caffe does on a CPU: im2col, then one product
by BLAS for each convolution. One thread, medians of 300 runs in turns. Needs NumPy.
"""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import statistics  # noqa: E402
import time  # noqa: E402

import numpy  # noqa: E402

# Input channels at the full width (None: the image's three), kernel, padding, size of the input.
LAYERS = [(None, 3, 0, 32), (64, 5, 2, 27), (64, 3, 1, 13), (64, 3, 1, 13), (64, 3, 1, 13)]
WIDTHS = [16, 32, 48, 64]


def network(channels):
    draw, layers = numpy.random.default_rng(1), []
    for inputs, kernel, pad, size in LAYERS:
        depth, out = channels if inputs else 3, size + 2 * pad - kernel + 1
        image = draw.standard_normal((depth, size + 2 * pad, size + 2 * pad), dtype=numpy.float32)
        windows = numpy.lib.stride_tricks.sliding_window_view(image, (out, out), axis=(1, 2))
        weights = draw.standard_normal((channels, depth * kernel * kernel), dtype=numpy.float32)
        layers.append((windows, numpy.empty((depth * kernel * kernel, out * out), numpy.float32), weights))
    return layers


def run(layers):
    for windows, columns, weights in layers:
        numpy.copyto(columns.reshape(windows.shape), windows)
        weights @ columns  # pylint: disable=pointless-statement


def main():
    networks = [network(channels) for channels in WIDTHS]
    times = [[] for _ in networks]
    for _ in range(300):
        for layers, taken in zip(networks, times):
            begun = time.perf_counter()
            run(layers)
            taken.append(1e3 * (time.perf_counter() - begun))
    medians = [statistics.median(taken) for taken in times]
    for channels, median in zip(WIDTHS, medians):
        print(f"{channels} of 64 channels: {median:.3f} ms")
    print(f"largest / smallest: {medians[-1] / medians[0]:.2f}")


if __name__ == "__main__":
    main()
