#!/usr/bin/env python3
"""layers.py: layers as people write them, drawn at random, in primsel and in ONNX Runtime on one core, in turns.

    layers.py [--seed N] [--count N] [--out FILE.jsonl]     single layers of every kind; what FILE has is not measured again
    layers.py --nets ...                                    small networks of 5 to 30 layers in their place
    layers.py --files FILE.onnx... [--out FILE.jsonl]       published files in their place
    layers.py --report FILE.jsonl...                        measures nothing, prints what was measured
    layers.py --seed N --only INDEX [--keep FOLDER]         one layer; its files stay in FOLDER

Inputs are normal, tensors are chw before and after. A turn lasts --turn seconds; a time is the least of the turns' medians. For each kind
the report says how many layers are below 0.9 of ONNX Runtime's speed, the worst, and how many were predicted within 1.5 times; layers
that take ONNX Runtime less than --least microseconds are counted apart, as reading a clock and calling from Python weigh there. An
error is the RMS of the difference over the RMS of ONNX Runtime's first result; it is named above 1e-4, and above twice what ONNX
Runtime without its optimisations differs by. Extents that a file leaves open are 1 for the first, and wherever else they
have its name, and 224 for the others, or what --open says. On a machine that others keep busy, --cpu compares the processor time of
both processes in place of the clock's. Run by an interpreter with numpy, onnx and onnxruntime. The worker is built, for the
instruction set of this machine, by `make configure` and `cmake --build build/release --target peers_primsel_worker`.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

import draw
from check_files import BOUND, fixed, inputs_of, plain_options
from onnxruntime_logits import make_session
from worker import Worker, progress

HERE = pathlib.Path(__file__).resolve().parent


class OnnxRuntime:
    """Inputs and results lie in buffers that are kept."""

    def __init__(self, model, inputs):
        self.session = make_session(model)
        self.binding = self.session.io_binding()
        for name, values in inputs.items():
            self.binding.bind_cpu_input(name, values)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)
        self.result = self.session.run(None, inputs)[0]

    def run(self, runs):
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append((time.perf_counter() - start) * 1e3)
        return times


def own_processor_ms():
    return time.process_time() * 1e3


def processor_ms(pid):
    """The time that another process has spent on processors, until it last slept."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def on_processor(run, clock):
    """The same runs as one time: their mean by the clock."""

    def timed(runs):
        start = clock()
        run(runs)
        return [(clock() - start) / runs]

    return timed


def turn(run, seconds):
    """The median in milliseconds."""
    warm = run(2)[-1]
    return statistics.median(run(max(3, min(1000, round(seconds * 1e3 / max(warm, 1e-3))))))


def error(found, wanted):
    """The RMS of the difference over that of what is wanted; an RMS below 0.01 counts as 0.01."""
    return math.sqrt(numpy.mean((found - wanted) ** 2) / max(numpy.mean(wanted**2), 1e-4))


def measure(model, inputs, options, folder):
    """{onnxruntime_ms, primsel_ms, predicted_ms, error, and allowed where the error is above 1e-4}; throws where either engine refuses it."""
    paths = [folder / f"{name.replace('/', '_')}.npy" for name in inputs]
    for path, values in zip(paths, inputs.values()):
        numpy.save(path, values)
    worker = Worker([options.worker, model, ",".join(map(str, paths)), 1], 1, folder / "primsel.log")
    try:
        ready = worker.ready()
        other = OnnxRuntime(model, inputs)
        engines = {"onnxruntime_ms": other.run, "primsel_ms": lambda runs: [float(each) for each in worker.ask(f"run {runs}").split()]}
        if options.cpu:
            clocks = {"onnxruntime_ms": own_processor_ms, "primsel_ms": lambda: processor_ms(worker.process.pid)}
            engines = {name: on_processor(run, clocks[name]) for name, run in engines.items()}
        rounds = collections.defaultdict(list)
        for i in range(options.rounds):
            for name in sorted(engines, reverse=i % 2 == 1):
                rounds[name].append(turn(engines[name], options.turn))
        worker.ask(f"output {folder / 'result.npy'}")
        found, wanted = numpy.load(folder / "result.npy").ravel(), numpy.asarray(other.result, numpy.float64).ravel()
        row = {name: min(each) for name, each in rounds.items()} | {"predicted_ms": ready["predicted_ms"], "error": error(found, wanted)}
        if row["error"] > BOUND:
            again = make_session(model, plain_options()).run(None, inputs)[0]
            row["allowed"] = 2 * error(numpy.asarray(again, numpy.float64).ravel(), wanted)
        return row
    finally:
        worker.close()


def cases(options):
    """What is to be measured: {name: function that returns kind, text, model and inputs}."""
    if options.files:
        def load(path):
            model = onnx.load(str(path))
            inputs = inputs_of(model, options.open)
            return "file", path.name, fixed(model, inputs), inputs
        return {str(path): (lambda path=path: load(path)) for path in options.files}
    make, word = (draw.network, "network") if options.nets else (draw.layer, "layer")
    indices = range(options.count) if options.only is None else [options.only]
    return {f"{word} {options.seed} {index}": (lambda index=index: make(options.seed, index)) for index in indices}


def read(paths):
    return [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines()]


def again(row):
    """The command that measures it again."""
    word, *numbers = row["case"].split(" ")
    if word not in ("layer", "network") or len(numbers) != 2:
        return f"--files {row['case']}"
    return f"{'--nets ' if word == 'network' else ''}--seed {numbers[0]} --only {numbers[1]}"


def speed(row):
    return row["onnxruntime_ms"] / row["primsel_ms"]


def price(row):
    return row["predicted_ms"] / row["primsel_ms"]


def within(rows, factor):
    return sum(1 / factor <= price(row) <= factor for row in rows)


def summary(rows):
    ratios, prices = sorted(map(speed, rows)), [row for row in rows if row["primsel_ms"] > 0.02]
    line = f"{len(rows)} measured: geometric mean {statistics.geometric_mean(ratios):.2f}, least {ratios[0]:.2f}, below 0.9: "
    line += f"{sum(ratio < 0.9 for ratio in ratios)}, below 0.5: {sum(ratio < 0.5 for ratio in ratios)}"
    if prices:
        line += f"; of {len(prices)} above 20 us, predicted within 1.5 times {within(prices, 1.5) / len(prices):.0%}, "
        line += f"within 2 {within(prices, 2) / len(prices):.0%}"
    return line


def report(rows, least):
    """Prints a line a kind, then the worst of all and what was refused."""
    measured = [row for row in rows if "error" in row]
    large = [row for row in measured if row["onnxruntime_ms"] * 1e3 >= least]
    kinds = collections.defaultdict(list)
    for row in large:
        kinds[row["kind"]].append(row)
    print(f"{'kind':18} {'n':>4} {'mean':>6} {'<0.9':>5} {'<1.5x':>6} {'worst':>6} {'price':>6}  the worst")
    for kind, group in sorted(kinds.items(), key=lambda item: min(map(speed, item[1]))):
        worst, mean = min(group, key=speed), statistics.geometric_mean(map(speed, group))
        print(f"{kind:18} {len(group):4} {mean:6.2f} {sum(speed(row) < 0.9 for row in group):5} {within(group, 1.5):6} "
              f"{speed(worst):6.2f} {price(worst):6.2f}  {again(worst)}: {worst['text']}")  # fmt: skip
    if large:
        print(f"\n{summary(large)}")
        far = max(large, key=lambda row: abs(math.log(price(row))))
        print(f"falsest price: {price(far):.2f} of {far['primsel_ms']:.4f} ms, {again(far)}: {far['text']}")
    small = [row for row in measured if row["onnxruntime_ms"] * 1e3 < least]
    if small:
        print(f"Less than {least:g} us in ONNX Runtime: {summary(small)}")
    for row in rows:
        if "refused" in row:
            print(f"refused: {again(row)}: {row['text']}: {row['refused']}")
    for row in measured:
        if not row["error"] <= max(BOUND, row.get("allowed", 0)):
            print(f"differs by {row['error']:.1e}: {again(row)}: {row['text']}")


def run_case(name, make, options):
    """The row of one case, which has why it was refused if one of the engines did so; None where --kind leaves it out."""
    row = {"case": name, "kind": "?", "text": ""}
    try:
        row["kind"], row["text"], model, inputs = make()
        if options.kind and row["kind"] != options.kind:
            return None
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep or pathlib.Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            onnx.save(model, folder / "model.onnx")
            row |= measure(folder / "model.onnx", inputs, options, folder)
        progress(f"{name:16} {speed(row):6.2f} {price(row):6.2f} {row['primsel_ms']:9.4f} ms  {row['kind']}: {row['text']}")
    except Exception as fault:  # of either engine, and of whichever kind
        row["refused"] = f"{type(fault).__name__}: {(str(fault).splitlines() or [''])[0]}"
        progress(f"{name:16} refused: {row['refused']}")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--only", type=int, metavar="INDEX")
    parser.add_argument("--kind", help="only layers of this kind, such as conv_1d")
    parser.add_argument("--nets", action="store_true")
    parser.add_argument("--files", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="each result is added to it at once")
    parser.add_argument("--report", nargs="+", type=pathlib.Path, metavar="FILE.jsonl")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--worker", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/peers/primsel_worker")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.03, help="seconds")
    parser.add_argument("--cpu", action="store_true", help="compare processor time")
    parser.add_argument("--open", type=int, default=224, metavar="EXTENT", help="what a file leaves open, but for the first axis")
    parser.add_argument("--least", type=float, default=50, help="microseconds")
    options = parser.parse_args()
    if options.report:
        report(read(options.report), options.least)
        return
    if not options.worker.exists():
        sys.exit(f"layers.py: there is no {options.worker}; --help says what builds it")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = read([options.out]) if options.out else []
    done = {row["case"] for row in rows}
    for name, make in cases(options).items():
        if name in done:
            continue
        row = run_case(name, make, options)
        if row is None:
            continue
        rows.append(row)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    report(rows, options.least)


if __name__ == "__main__":
    main()
