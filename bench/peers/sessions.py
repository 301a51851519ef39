#!/usr/bin/env python3
"""sessions.py BIN: what several engines over one network take, primsel's beside ONNX Runtime's, on one thread.

BIN has the programs `primsel` and `bench_engine_model` (build/release/bin). The first table has the resident memory and the time
of N engines (a Model and its ModelEngines) and of N sessions, each of which has run once: the time is that of the last one. Of
primsel's memory it also has the network's weights as they were given, packed weights and arenas. ONNX Runtime shares the weights of sessions that are given them (add_initializer); packed weights it shares by its C API alone. The
second table has the time from a new image size to its first and its second answer, means over random sizes of 96 to 320 pixels.
Every row is a process of its own, and the two libraries take turns. Networks have random weights. Needs numpy, onnx, onnxruntime.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

NETS, COUNTS = ("mobilenet_v2", "resnet50"), (1, 2, 4, 8)


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def options_of(path, shared):
    """Options of a session on one thread, with the weights of the file at `path` if they are shared."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    weights = []
    for weight in onnx.load(path).graph.initializer if shared else []:
        weights.append(onnxruntime.OrtValue.ortvalue_from_numpy(onnx.numpy_helper.to_array(weight).copy()))
        options.add_initializer(weight.name, weights[-1])
    return options, weights


def run_sessions(path, count, shared):
    """Prints the memory of `count` sessions and the time to make the last one."""
    image = numpy.full((1, 3, 224, 224), 0.5, numpy.float32)
    before = resident_bytes()
    options, weights = options_of(path, shared)
    sessions, seconds = [], 0
    for _ in range(count):
        start = time.perf_counter()
        sessions.append(onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
        seconds = time.perf_counter() - start
        sessions[-1].run(None, {sessions[-1].get_inputs()[0].name: image})
    print(json.dumps({"resident_MB": (resident_bytes() - before) * 1e-6, "make_ms": seconds * 1e3}))


def run_sizes(path, count):
    """Prints the time of the first and the second answer at random sizes."""
    session = onnxruntime.InferenceSession(path, options_of(path, False)[0], providers=["CPUExecutionProvider"])
    random, total = numpy.random.default_rng(1), [0.0, 0.0]
    for _ in range(count):
        image = numpy.full((1, 3, *random.integers(96, 321, 2)), 0.5, numpy.float32)
        for answer in range(2):
            start = time.perf_counter()
            session.run(None, {session.get_inputs()[0].name: image})
            total[answer] += time.perf_counter() - start
    print(json.dumps({"first_ms": total[0] * 1e3 / count, "second_ms": total[1] * 1e3 / count}))


def open_sizes(exported, path):
    """Writes the file again, for images of any size."""
    model = onnx.load(exported)
    del model.graph.value_info[:]
    for axis, name in ((2, "height"), (3, "width")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    onnx.save(model, path)


def ask(command):
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def ours(folder, benchmark):
    """The counters of one of bench_engine_model's benchmarks."""
    command = [folder / "bench_engine_model", f"--benchmark_filter=^{benchmark}/", "--benchmark_format=json"]
    text = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    return json.loads(text)["benchmarks"][0]


def theirs(path, *arguments):
    return ask([sys.executable, __file__, "--session", path, *arguments])


def compare(options, net, path):
    print(f"\n{net}: memory in MB (time in ms to make the last one)")
    print(f"{'':>3} {'primsel':>16} {'weights':>9} {'packed':>8} {'arenas':>8} {'ONNX Runtime':>18} {'sharing weights':>18}")
    for count in options.counts:
        own = ours(options.bin, f"engines/{net}/{count}")
        cells = [f"{own['resident_MB']:8.1f} ({own['real_time'] * 1e-6:5.1f})"]
        cells += [f"{own[name]:.1f}" for name in ("of_network_MB", "weights_MB", "arenas_MB")]
        for shared in (0, 1):
            row = theirs(path, "--count", count, "--shared", shared)
            cells.append(f"{row['resident_MB']:9.1f} ({row['make_ms']:6.1f})")
        print(f"{count:>3} {cells[0]:>16} {cells[1]:>9} {cells[2]:>8} {cells[3]:>8} {cells[4]:>18} {cells[5]:>18}", flush=True)
    own = ours(options.bin, f"new_size/{net}")
    row = theirs(path, "--sizes", options.sizes)
    print(f"{net}: ms from a new size to the first and to the second answer")
    print(f"primsel {own['first_ms']:.2f} (where nothing had to be packed {own['found_first_ms']:.2f}), {own['second_ms']:.2f}; "
          f"ONNX Runtime {row['first_ms']:.2f}, {row['second_ms']:.2f}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path, nargs="?")
    parser.add_argument("--nets", nargs="+", default=NETS)
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS)
    parser.add_argument("--sizes", type=int, default=100, help="how many new sizes ONNX Runtime gets")
    for name in ("--session", "--count", "--shared"):  # for the processes that it starts
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session and options.count:
        return run_sessions(options.session, int(options.count), options.shared == "1")
    if options.session:
        return run_sizes(options.session, options.sizes)
    if options.bin is None:
        parser.error("BIN is missing")
    with tempfile.TemporaryDirectory() as folder:
        for net in options.nets:
            exported, path = pathlib.Path(folder) / "fixed.onnx", pathlib.Path(folder) / "open.onnx"
            subprocess.run([options.bin / "primsel", "export", net, exported], check=True, capture_output=True)
            open_sizes(exported, path)
            compare(options, net, path)


if __name__ == "__main__":
    main()
