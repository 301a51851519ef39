#!/usr/bin/env python3
"""natural_images.py KIND HEIGHT WIDTH WHOLE.npy HALVES.npy: pictures that scikit-image ships, as a network reads them.

WHOLE has eight pictures, which calibrate; HALVES has the left and right half of each, on which errors are measured. KIND is how the network wants pixels:
imagenet (RGB less the mean, over the deviation), unit (0 to 1) or nanodet (BGR less the mean, over the
deviation). Needs numpy, Pillow and scikit-image's files, which are not imported."""
import pathlib
import sys

import numpy
from PIL import Image

NAMES = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png", "ihc.png", "retina.jpg", "hubble_deep_field.jpg")
# Whether the channels are BGR, mean and deviation of pixels of 0 to 255.
KINDS = {
    "imagenet": (False, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "unit": (False, (0, 0, 0), (255, 255, 255)),
    "nanodet": (True, (103.53, 116.28, 123.675), (57.375, 57.12, 58.395)),
}


def images(pictures, left, right, kind, size):
    """That part of each picture, in the width from 0 to 1."""
    reverse, mean, deviation = KINDS[kind]
    result = []
    for picture in pictures:
        box = (round(left * picture.width), 0, round(right * picture.width), picture.height)
        pixels = numpy.asarray(picture.crop(box).resize(size, Image.BILINEAR), numpy.float64)
        pixels = (pixels[..., ::-1] if reverse else pixels) - mean
        result.append((pixels / deviation).transpose(2, 0, 1))
    return numpy.array(result, numpy.float32)


def main():
    kind, height, width, whole, halves = sys.argv[1:]
    folder = next(pathlib.Path(path) / "skimage/data" for path in sys.path if (pathlib.Path(path) / "skimage/data").exists())
    pictures = [Image.open(folder / name).convert("RGB") for name in NAMES]
    size = int(width), int(height)
    numpy.save(whole, images(pictures, 0, 1, kind, size))
    numpy.save(halves, numpy.concatenate([images(pictures, 0, 0.5, kind, size), images(pictures, 0.5, 1, kind, size)]))


if __name__ == "__main__":
    main()
