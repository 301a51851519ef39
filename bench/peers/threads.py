#!/usr/bin/env python3
"""threads.py PROGRAM: primsel on 1, 2, 4, 8 and 16 threads beside ONNX Runtime and OpenVINO, and what was predicted.

PROGRAM is `primsel`. It needs nothing else but Python with numpy, onnxruntime and openvino; an engine that is not there has no column.
Networks are those of `primsel export`, with random weights, in float32. Engines take turns, in another order each round; a turn is
--seconds of runs, of which the median counts, and a cell is the median over the rounds, in milliseconds. Threads run on a processor of
each core before a second one of any core. The line of a number of threads for which there are no processors has predictions alone.
`predicted` continues the speeds of several threads that `primsel machine` prints in proportion, with the memory as fast as it was measured.
`own cores` is the prediction by the same cost model for threads that have a core each, whose memory is as fast as for one, and which
never wait for each other. `ratio` is the time of the fastest other engine over that of primsel.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

from worker import Gone, Worker, die_with_parent

ENGINES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def processors(count):
    """So many of the processors that this process may use: one of each core before a second one of any core."""
    allowed = sorted(os.sched_getaffinity(0))

    def place(cpu):
        try:
            text = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text(encoding="utf-8")
        except OSError:
            return 0
        ranges = [list(map(int, part.split("-"))) for part in text.split(",")]
        return sum(1 for each in ranges for other in range(each[0], each[-1] + 1) if other < cpu and other in allowed)

    return sorted(allowed, key=lambda cpu: (place(cpu), cpu))[:count]


def serve(name, model, image, threads):
    """Answers each line, a number of seconds, with the median milliseconds of the runs in that time."""
    os.sched_setaffinity(0, processors(threads))
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print is no answer
    import engine_worker  # pylint: disable=import-outside-toplevel

    engine, values = engine_worker.ENGINES[name](), numpy.load(image)  # which some engines read where they are
    engine.load(model, values, threads)
    engine.run()
    print("ready {}", file=output, flush=True)
    for line in sys.stdin:
        begun, took = time.perf_counter(), []
        while not took or time.perf_counter() < begun + float(line):
            took.append(engine_worker.timed(engine)[0])
        print(statistics.median(took), file=output, flush=True)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.ask("machine", "--json")
        self.ask("machine", "--json", threads=1, cache="own cores")

    def ask(self, *command, threads=None, cache="here"):
        """What primsel prints as JSON. A cache has the speeds that were measured on the processors of these threads."""

        def prepare():
            die_with_parent()
            if threads:
                os.sched_setaffinity(0, processors(threads))

        done = subprocess.run([self.options.program, *map(str, command)], stdout=subprocess.PIPE, check=True, preexec_fn=prepare,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder / cache)})  # fmt: skip
        return json.loads(done.stdout)

    def predicted(self, net, threads):
        """Milliseconds, with the speeds of several threads as measured, and on cores of their own."""
        command = ["plan", net, "--threads", threads, "--json"]
        return self.ask(*command)["predicted_ms"], self.ask(*command, threads=1, cache="own cores")["predicted_ms"]

    def run(self, net, threads, expected_ms):
        """Milliseconds of runs that take some --seconds together."""
        runs = max(3, round(self.options.seconds * 1e3 / expected_ms))
        return self.ask("run", net, "--threads", threads, "--repeat", runs, "--json", threads=threads)["median_ms"]

    def others(self, net, threads):
        model, image = self.folder / f"{net}.onnx", self.folder / f"{net}.npy"
        if not model.exists():
            self.ask("export", net, model, "--json")
            numpy.save(image, numpy.random.default_rng(1).standard_normal((1, 3, 224, 224), dtype=numpy.float32))
        workers = {}
        for name in self.options.engines:
            command = [sys.executable, "-B", __file__, "--serve", name, model, image, threads]
            workers[name] = Worker(command, threads, self.folder / f"{name}.log")
            workers[name].ready()
            workers[name].sleep()
        return workers

    def measure(self, net, threads, expected_ms):
        """Milliseconds of each engine."""
        workers = self.others(net, threads)
        took = {name: [] for name in ("primsel", *workers)}
        try:
            for _ in range(self.options.rounds):
                for name in random.sample(list(took), len(took)):
                    if name == "primsel":
                        took[name].append(self.run(net, threads, expected_ms))
                        continue
                    workers[name].wake()
                    took[name].append(float(workers[name].ask(str(self.options.seconds))))
                    workers[name].sleep()
        finally:
            for worker in workers.values():
                worker.close()
        return {name: statistics.median(all_) for name, all_ in took.items()}


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:5], int(sys.argv[5]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--net", action="append", metavar="NAME", help="else mobilenet_v2, resnet50 and squeezenet1_0")
    parser.add_argument("--threads", action="append", type=int, metavar="N", help="else 1, 2, 4, 8 and 16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    options = parser.parse_args()
    options.program = options.program.resolve()
    options.engines = [name for name in ENGINES if importlib.util.find_spec(name)]
    cpus = len(os.sched_getaffinity(0))
    titles = "".join(f"{ENGINES[name]:>14}" for name in options.engines)
    print(f"{'':14}{'threads':>8}{'primsel':>10}{'predicted':>11}{'own cores':>11}{titles}" + (f"{'ratio':>8}" if titles else ""))
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for net in options.net or ["mobilenet_v2", "resnet50", "squeezenet1_0"]:
            for threads in options.threads or [1, 2, 4, 8, 16]:
                predicted, apart = bench.predicted(net, threads)
                if threads > cpus:
                    print(f"{net:14}{threads:8}{'-':>10}{predicted:11.2f}{apart:11.2f}", flush=True)
                    continue
                took = bench.measure(net, threads, predicted)
                own, others = took["primsel"], [took[name] for name in options.engines]
                errors.append(abs(predicted / own - 1))
                cells = f"{net:14}{threads:8}{own:10.2f}{predicted:11.2f}{apart:11.2f}" + "".join(f"{each:14.2f}" for each in others)
                print(cells + (f"{min(others) / own:8.2f}" if others else ""), flush=True)
    if errors:
        print(f"median error of the predictions: {statistics.median(errors):.1%}")


if __name__ == "__main__":
    try:
        main()
    except Gone as fault:
        sys.exit(f"threads.py: {fault}")
