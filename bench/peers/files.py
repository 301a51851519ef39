#!/usr/bin/env python3
"""files.py FILE.onnx...: published ONNX files of one image in primsel and in ONNX Runtime, in turns.

Each file runs in two processes on processor 0, primsel's worker and engine_worker.py; in each round each has a turn, in an order drawn
anew, while the other is stopped (as engines.py measures networks). Printed are the medians of the turns, the median over the rounds of
how much longer ONNX Runtime took, and what primsel had predicted. Images are normal, of the extents in the file, which must be given
but for the first. Run by an interpreter with numpy, onnx and onnxruntime; the worker is built by `cmake --build build/release --target
peers_primsel_worker`.
"""
import argparse
import pathlib
import random
import statistics
import sys
import tempfile

import numpy
import onnx

from check_files import inputs_of
from engines import turn
from worker import Gone, Worker, progress

HERE = pathlib.Path(__file__).resolve().parent


def image_of(path):
    """Normal values for the one input that is no weight."""
    inputs = list(inputs_of(onnx.load(str(path)), 224).values())
    if len(inputs) != 1:
        raise Gone(f"{len(inputs)} inputs")
    return inputs[0]


def measure(file, options, order):
    """{engine: median of each turn}, and what primsel predicted, all in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder) / "image.npy"
        numpy.save(image, image_of(file))
        commands = {"primsel": [options.worker, file, image, 1],
                    "onnxruntime": [sys.executable, HERE / "engine_worker.py", "onnxruntime", file, image, 1]}  # fmt: skip
        workers, ready = {}, {}
        try:
            for engine, command in commands.items():
                workers[engine] = Worker(command, 1, pathlib.Path(folder) / f"{engine}.log")
                ready[engine] = workers[engine].ready()
                workers[engine].sleep()
            rounds = {engine: [] for engine in workers}
            for done in range(options.rounds):
                for engine in order.sample(sorted(workers), len(workers)):
                    rounds[engine].append(turn(workers[engine], options.turn))
                progress(f"\r{file.name}: round {done + 1} of {options.rounds}", end="")
            progress("")
            return rounds, ready["primsel"]["predicted_ms"]
        finally:
            for worker in workers.values():
                worker.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--worker", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/peers/primsel_worker")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn", type=float, default=0.25, help="seconds")
    options = parser.parse_args()
    order, ratios = random.Random(1), []
    print(f"{'file':44} {'primsel':>9} {'ONNX Runtime':>13} {'ratio':>6} {'predicted':>10}")
    for file in options.files:
        try:
            rounds, predicted = measure(file, options, order)
        except Gone as fault:
            print(f"{file.name:44} {fault}", flush=True)
            continue
        pairs = zip(rounds["onnxruntime"], rounds["primsel"])
        ratios.append(statistics.median(other / ours for other, ours in pairs))
        ours, other = (statistics.median(rounds[engine]) for engine in ("primsel", "onnxruntime"))
        print(f"{file.name:44} {ours:9.3f} {other:13.3f} {ratios[-1]:6.2f} {predicted:10.3f}", flush=True)
    if ratios:
        print(f"median ratio {statistics.median(ratios):.2f}, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
