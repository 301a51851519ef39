#!/usr/bin/env python3
"""engines.py: primsel beside other inference engines on nine of torchvision's networks and three published detectors, batch 1.

Makes what it needs in --work: a virtual environment with ONNX Runtime, OpenVINO, MNN and ncnn, the networks with seeded
random weights exported to ONNX and converted, and primsel's programs, built by CMake. Then all engines load a network,
and they take turns, in another order each round, while all but one are stopped: every turn is two runs to warm
up and then --turn seconds of runs, of which the median counts, and what is printed is the median over the rounds. A run
is from the image in memory to the logits in memory. With one thread all processes are on processor 0, with two on 0
and 1. Before and after each round the machine is probed (probe.cpp); if that shows too much noise, there is no table
but exit status 3, and the same command measures again what was noisy.

What is measured is kept in --json, so that a command that was broken off goes on where it was; what was measured with
other versions, settings or another build of primsel is measured again. report.py prints the tables from that file. An
engine that is not to be had is a column of dashes, with the reason below. In int8 primsel, ONNX Runtime and OpenVINO load the same
file, which ONNX Runtime's static quantiser wrote (quantise_onnx.py); ncnn and OpenVINO, once more, load those of their own quantisers
(quantise_ncnn.py, quantise_openvino.py). All are calibrated on the same nine images: eight natural ones and that which they run. The
report also says what primsel's plans were predicted to take.

PyTorch and torchvision come from the interpreter --torch, 1.13 or newer (Debian: python3-torch, python3-torchvision).
With --startup also the time from process start to first answer is measured, one thread, the files in the file cache. With --natural
also results on sixteen natural images are compared with ONNX Runtime's in float32.
"""
import argparse
import array
import ast
import hashlib
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import sys

import prepare
import report
from worker import Gone, Worker, progress

ENGINES = ["onnxruntime", "openvino", "mnn", "ncnn", "torchscript"]
ENGINES_IN = {"float32": ENGINES, "bf16": ["openvino"], "int8": ["onnxruntime", "openvino", "nncf", "ncnn"]}
WARM_UP = 2


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=prepare.TOP / "build/peers", help="folder for everything")
    parser.add_argument("--onnx", type=pathlib.Path, help="folder of export_torchvision.py (WORK/onnx)")
    parser.add_argument("--json", type=pathlib.Path, help="what has been measured (WORK/engines.json)")
    parser.add_argument("--build", type=pathlib.Path, default=prepare.TOP / "build/release", help="CMake's folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    parser.add_argument("--torch", type=pathlib.Path, default="/usr/bin/python3", metavar="PYTHON")
    parser.add_argument("--published", type=pathlib.Path, help="folder of published.py, for the detectors (WORK/published)")
    parser.add_argument("--net", action="append", choices=report.EVERY, metavar="NAME", help="else all twelve")
    parser.add_argument("--engine", action="append", choices=[*ENGINES, "nncf"], metavar="NAME", help=f"else all: {ENGINES}")
    parser.add_argument("--threads", action="append", type=int, choices=(1, 2), help="else 1 and 2")
    parser.add_argument("--costs", action="append", choices=("default", "measured"),
                        help="how primsel plans; a column for each (analytical)")
    parser.add_argument("--plans", type=pathlib.Path, metavar="DIR",
                        help="another column: primsel by the plans DIR/NAME.json that `primsel plan --save` wrote")
    parser.add_argument("--precision", choices=tuple(ENGINES_IN), default="float32",
                        help="of all engines that have it; else than in float32, primsel in float32 has a column, too")
    parser.add_argument("--max-error", type=float, help="of primsel's primitives, as `primsel run` takes it")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--turn", type=float, default=0.25, metavar="SECONDS")
    parser.add_argument("--startup", action="store_true")
    parser.add_argument("--natural", action="store_true")
    parser.add_argument("--starts", type=int, default=9, help="of each engine and network")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--readme", action="store_true", help="print the README's table")
    parser.add_argument("--force", action="store_true", help="print however noisy the machine was")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.onnx = (options.onnx or options.work / "onnx").resolve()
    options.json = options.json or options.work / (
        "engines.json" if options.precision == "float32" else f"engines-{options.precision}.json")
    options.published = (options.published or options.work / "published").resolve()
    options.net = [net for net in report.EVERY if net in (options.net or report.EVERY)]
    engines = ENGINES_IN[options.precision]
    options.engine = [engine for engine in engines if engine in (options.engine or engines)]
    options.threads = sorted(set(options.threads or (1, 2)))
    for cpus in options.threads:
        if not set(range(cpus)) <= os.sched_getaffinity(0):
            parser.error(f"--threads {cpus}: this process may not run on processors 0 to {cpus - 1}")
    return options


class Bench:
    """What is compared: how to start each engine on each network, and the file that keeps the results."""

    def __init__(self, options):
        self.options = options
        options.work.mkdir(parents=True, exist_ok=True)
        self.models = options.work / "models"
        self.models.mkdir(exist_ok=True)
        self.probe, self.program = prepare.build(options.build, "probe", "primsel_worker", jobs=options.jobs)
        self.python, packages, missing = prepare.make_venv(options.work / "venv", ["onnxruntime", *options.engine])
        classifiers = [net for net in options.net if net in report.NETS]
        absent = prepare.export(self.python, options.torch, options.onnx, self.models, classifiers) if classifiers else None
        missing |= {"torchscript": absent} if absent else {}
        try:
            prepare.detectors(self.python, options.published, options.onnx, self.models, options.net)
        except RuntimeError as fault:
            progress(f"without the detectors: {prepare.last_line(fault)}")
            options.net = classifiers
        self.primsel = self.ways_of_primsel()
        digest = hashlib.sha256(self.program.read_bytes()).hexdigest()[:16]
        self.key = {
            "cpu": cpu_name(),
            "primsel": digest,
            "ways": self.primsel,
            "packages": packages,
            "turn": options.turn,
        }
        self.data = self.read()
        self.data["engines"] = {
            engine: {"missing": missing[engine]} if engine in missing else {}
            for engine in [*self.primsel, *options.engine]
        }
        for row in self.data["rows"].values():
            for engine, version in row["versions"].items():
                self.data["engines"].get(engine, {})["version"] = version

    def read(self):
        """What has been measured, as far as it was measured in the same way."""
        path, fresh = self.options.json, {"key": self.key, "cpu": cpu_name(), "precision": self.options.precision, "engines": {},
                                          "rows": {}, "startup": {}, "natural": {}}
        if not path.exists():
            return fresh
        data = json.loads(path.read_text())
        if data["key"] == self.key:
            return data
        old = path.with_suffix(".old.json")
        shutil.copy(path, old)
        progress(f"{path} is of other settings, packages or another build: measuring anew ({old} keeps it)")
        return fresh

    def ways_of_primsel(self):
        """Options of the worker for each column."""
        common = ["--max-error", str(self.options.max_error)] if self.options.max_error else []
        ways = {}
        for costs in self.options.costs or ["default"]:
            name = "primsel" if costs == "default" else f"primsel:{costs}"
            ways[name] = ["--costs", costs, "--precision", self.options.precision, *common]
        if self.options.precision != "float32":
            ways["primsel:float32"] = common
        if self.options.plans:
            ways["primsel:plan"] = ["--plan", str(self.options.plans.resolve() / "NET.json")]
        return ways

    def save(self):
        part = self.options.json.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1))
        os.replace(part, self.options.json)

    def image_of(self, net):
        return prepare.image_of(self.options.onnx, net)

    def start(self, engine, net, threads, precision=None):
        """A worker of that engine. Throws RuntimeError where the model cannot be converted."""
        precision = precision or self.options.precision
        if report.is_ours(engine):
            way = [word.replace("NET.json", f"{net}.json") for word in self.primsel[engine]]
            precision = "float32" if engine == "primsel:float32" or "--plan" in way else precision
            model = prepare.model_of(engine, self.python, self.options.onnx, self.models, net, precision)
            command = [self.program, model, self.image_of(net), threads, *way]
        else:
            python = self.options.torch if engine == "torchscript" else self.python
            if engine == "torchscript" and net in report.DETECTORS:
                raise RuntimeError("has no TorchScript")
            model = prepare.model_of(engine, self.python, self.options.onnx, self.models, net, precision)
            script = prepare.HERE / "engine_worker.py"
            command = [python, "-B", script, engine, model, self.image_of(net), threads]
            command += [precision]
        return Worker(command, threads, self.options.work / f"{engine.replace(':', '_')}.log")

    def present(self):
        return [engine for engine, about in self.data["engines"].items() if "missing" not in about]


def cpu_name():
    with open("/proc/cpuinfo") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "?")


# --- a row: one network, so many threads


def load_all(bench, net, threads, row):
    """Workers that have answered once, asleep. What could not be loaded is in row["failed"]."""
    workers = {}
    for engine in bench.present():
        worker = None
        try:
            worker = bench.start(engine, net, threads)
            ready = worker.ready()
            error = error_of(bench, worker, net)
        except RuntimeError as fault:
            row["failed"][engine] = str(fault)
            if worker:
                worker.close()
            continue
        bench.data["engines"][engine]["version"] = row["versions"][engine] = ready["version"]
        row["ready"][engine], row["error"][engine] = ready, error
        workers[engine] = worker
        worker.sleep()
    return workers


def error_of(bench, worker, net):
    """The largest, relative to the RMS of what is exact."""
    path = bench.options.work / "logits.npy"
    worker.ask(f"output {path}")
    logits, exact = read_npy(path), read_npy(bench.models / f"{net}.exact.npy")
    if len(logits) != len(exact):
        raise Gone(f"gives {len(logits)} logits, not {len(exact)}")
    rms = math.sqrt(statistics.fmean(each * each for each in exact))
    errors = [abs(one - other) / rms for one, other in zip(logits, exact)]
    # NaN has no largest value.
    return max(errors) if all(map(math.isfinite, errors)) else math.inf


def read_npy(path):
    """The elements, floats or doubles, of a NumPy array: here is no NumPy."""
    data = path.read_bytes()
    start = 10 if data[6] == 1 else 12
    end = start + int.from_bytes(data[8:start], "little")
    kind = ast.literal_eval(data[start:end].decode().strip())["descr"]
    return array.array({"<f4": "f", "<f8": "d"}[kind], data[end:])


def run(worker, runs):
    return [float(each) for each in worker.ask(f"run {runs}").split()]


def turn(worker, seconds):
    """The median in milliseconds; asleep before and after."""
    worker.wake()
    warm = run(worker, WARM_UP)[-1]
    runs = max(3, min(100, round(seconds * 1e3 / max(warm, 1e-3))))
    median = statistics.median(run(worker, runs))
    worker.sleep()
    return median


def measure_row(bench, net, threads, order):
    row = {"versions": {}, "failed": {}, "ready": {}, "error": {}, "rounds_ms": {}, "peak_kib": {},
           "held_kib": {}, "probes": []}
    probe = Worker([bench.probe, *range(min(2, len(os.sched_getaffinity(0))))], 1, bench.options.work / "probe.log")
    workers = {}

    def look():
        probe.wake()
        row["probes"].append(json.loads(probe.ask("probe")))
        probe.sleep()

    try:
        workers |= load_all(bench, net, threads, row)
        row["rounds_ms"] = {engine: [] for engine in workers}
        look()
        for done in range(bench.options.rounds):
            for engine in order.sample(sorted(workers), len(workers)):
                try:
                    row["rounds_ms"][engine].append(turn(workers[engine], bench.options.turn))
                except Gone as fault:
                    row["failed"][engine] = str(fault)
                    workers.pop(engine).close()
                    del row["rounds_ms"][engine]
            look()
            progress(f"\r{report.EVERY[net]}, {threads} thread(s): round {done + 1} of {bench.options.rounds}", end="")
        progress("")
        for engine, worker in workers.items():
            worker.wake()
            memory, ready = json.loads(worker.ask("memory")), row["ready"][engine]
            row["peak_kib"][engine] = memory["peak_kib"] - ready["before_kib"]
            row["held_kib"][engine] = memory["held_kib"] - ready["before_anon_kib"]
    finally:
        for worker in [probe, *workers.values()]:
            worker.close()
    for engine, reason in row["failed"].items():
        progress(f"{report.TITLES[engine]}, {report.EVERY[net]}: {reason}")
    return row


def is_good(bench, row, threads):
    """Whether a row of the file may stay. An engine that ended in the middle is tried again."""
    tried = row["rounds_ms"].keys() | (row["failed"].keys() - row["ready"].keys())
    enough = all(len(rounds) >= bench.options.rounds for rounds in row["rounds_ms"].values())
    return set(bench.present()) <= tried and enough and not report.noise(row["probes"], threads)


# --- starting


def measure_startup(bench, net):
    """[from process start, from the end of the imports] in milliseconds to the first answer, of each start."""
    # Measuring costs is not a way to start.
    starts = {engine: [] for engine in bench.present() if engine != "primsel:measured"}
    order = random.Random(1)
    for done in range(bench.options.starts + 1):
        for engine in order.sample(sorted(starts), len(starts)):
            try:
                worker = bench.start(engine, net, 1)
            except RuntimeError as fault:
                del starts[engine]
                progress(f"{report.TITLES[engine]}, {report.EVERY[net]}: {fault}")
                continue
            try:
                ready = worker.ready()
                # The first start brings the files into the cache.
                if done:
                    answered = ready["answered"]
                    since = worker.started, ready["import_end"]
                    starts[engine].append([(answered - each) * 1e3 for each in since])
            except Gone as fault:
                del starts[engine]
                progress(f"{report.TITLES[engine]}, {report.EVERY[net]}: {fault}")
            finally:
                worker.close()
        progress(f"\r{report.EVERY[net]}: start {done} of {bench.options.starts}", end="")
    progress("")
    return starts


# --- natural images


def answers(bench, engine, net, images, precision=None):
    """The results of an engine for each image: one array, and how many elements an image has."""
    path = bench.options.work / "answers.npy"
    worker = bench.start(engine, net, 1, precision)
    try:
        worker.ready()
        worker.ask(f"answers {images} {path}")
    finally:
        worker.close()
    return read_npy(path)


def best_classes(values, size):
    return [max(range(size), key=values[at : at + size].__getitem__) for at in range(0, len(values), size)]


def measure_natural(bench, net):
    """How far each engine's results for natural images are from ONNX Runtime's in float32."""
    _, images = prepare.natural_images(bench.python, bench.options.onnx, net)
    wanted = answers(bench, "onnxruntime", net, images, "float32")
    norm, size, row = sum(each * each for each in wanted), len(wanted) // 16, {}
    for engine in bench.present():
        try:
            found = answers(bench, engine, net, images)
            if len(found) != len(wanted):
                raise Gone(f"gives {len(found)} numbers, not {len(wanted)}")
        except RuntimeError as fault:
            progress(f"{report.TITLES[engine]}, {report.EVERY[net]}: {fault}")
            continue
        row[engine] = {"error": math.sqrt(sum((one - other) ** 2 for one, other in zip(found, wanted)) / norm)}
        if net in report.NETS:
            pairs = list(zip(best_classes(found, size), best_classes(wanted, size)))
            row[engine]["same_class"] = sum(one == other for one, other in pairs) / len(pairs)
    progress(f"{report.EVERY[net]}: natural images")
    return row


def main():
    options = parse()
    try:
        bench = Bench(options)
    except RuntimeError as fault:
        sys.exit(f"engines.py: {fault}")
    order = random.Random(1)
    for threads in options.threads:
        for net in options.net:
            name = f"{net} {threads}"
            if name in bench.data["rows"] and is_good(bench, bench.data["rows"][name], threads):
                continue
            bench.data["rows"][name] = measure_row(bench, net, threads, order)
            bench.save()
    if options.startup:
        for net in options.net:
            bench.data["startup"][net] = measure_startup(bench, net)
            bench.save()
    if options.natural:
        for net in options.net:
            bench.data["natural"][net] = measure_natural(bench, net)
            bench.save()
    bench.save()
    return report.show(bench.data, options)


if __name__ == "__main__":
    sys.exit(main())
