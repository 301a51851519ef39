#!/usr/bin/env python3
"""servers.py: primsel and ONNX Runtime behind one HTTP server, that of examples/serve, under load by wrk.

    servers.py --work FOLDER [--net NAME]... [--connections N]... [--seconds S] [--rounds R]

Every server has loaded the network, and they take turns while the others are stopped. A turn is --seconds of JPEG images of 224x224
from so many connections, each of which sends its next request when it has the answer. The table has the median over the rounds of
requests a second and of the percentiles of a turn. Server and wrk share the processors that this process may run on.

A column is an engine, its workers and the threads of each. Memory is the server's: its peak, mapped files included, and what it
holds at the end that belongs to no file. The answers to one image are compared. With --batches it prints instead the time of an image
in a batch, one thread, without any load.

Needs wrk (Debian: wrk, libcpp-httplib-dev); the rest is as for engines.py.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import prepare
import worker

MEAN, DEVIATION = "0.449", "0.226"  # of all channels of ImageNet's images
SCRIPT = """
wrk.method = "POST"
local file = io.open("%s", "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format('\\n{"requests": %%d, "us": %%d, "p50": %%f, "p99": %%f, "failed": %%d}\\n', summary.requests, summary.duration,
             latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
"""


class Server:
    def __init__(self, title, command, queue):
        words = [*command, "--port", 0, "--queue", queue, "--deadline", 600, "--size", 224, "--mean", MEAN, "--std", DEVIATION]
        self.title = title
        self.process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True, preexec_fn=worker.die_with_parent)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            sys.exit(f"{title}: it does not listen")
        self.port = int(line.split(":")[2].split()[0])

    def post(self, body):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)) as connection:
            connection.request("POST", "/run", body)
            response = connection.getresponse()
            text = response.read()
        if response.status != 200:
            sys.exit(f"{self.title}: {text.decode()}")
        return json.loads(text)

    def load(self, script, connections, seconds):
        """Requests a second, and milliseconds of the median and of the 99th percentile."""
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "600s", "-s", script, f"http://127.0.0.1:{self.port}/run"]
        text = prepare.call(*command)
        figures = json.loads(text.strip().splitlines()[-1])
        if figures["failed"]:
            sys.exit(f"{self.title}, {connections} connections: {figures['failed']} requests failed")
        while "primsel_queue_jobs 0\n" not in self.metrics():  # requests that wrk left behind
            time.sleep(0.02)
        return figures["requests"] / figures["us"] * 1e6, figures["p50"] * 1e-3, figures["p99"] * 1e-3

    def metrics(self):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)) as connection:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()

    def memory(self):
        """MiB of the peak, and of what is held beside files."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        held = dict(line.split(":", 1) for line in lines)
        return [int(held[key].split()[0]) / 1024 for key in ("VmHWM", "RssAnon")]

    def sleep(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.wake()
        self.process.terminate()
        self.process.communicate()


def build(options):
    theirs, = prepare.build(options.build, "onnxruntime_server", jobs=options.jobs)
    prepare.call("cmake", "--build", options.build, "--parallel", options.jobs, "--target", "serve")
    return options.build / "bin/serve", theirs


def photo(python):
    """A photograph of 224x224 as a JPEG file."""
    code = """if True:
        import io, pathlib, sys
        from PIL import Image
        folder = next(pathlib.Path(path) / "skimage/data" for path in sys.path if (pathlib.Path(path) / "skimage/data").exists())
        Image.open(folder / "astronaut.png").convert("RGB").resize((224, 224)).save(sys.stdout.buffer, "JPEG", quality=90)
    """
    return subprocess.run([python, "-c", code], capture_output=True, check=True).stdout


def array(images):
    """So many equal images of 224x224 as an .npy file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({images}, 3, 224, 224)}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0\0\0\x3f" * (images * 3 * 224 * 224)


def difference(answer, exact):
    """The largest of the values, over the root of their mean square."""
    one, other = (each["outputs"][0]["values"] for each in (answer, exact))
    return max(abs(x - y) for x, y in zip(one, other, strict=True)) / statistics.fmean(y * y for y in other) ** 0.5


def commands(options, library, net):
    """The servers by title: primsel's default, and ONNX Runtime with one thread a worker, and with all for one worker."""
    ours, theirs = options.programs
    model, cpus = options.onnx / f"{net}.onnx", len(os.sched_getaffinity(0))
    ways = {f"primsel {cpus}x{cpus}": [ours, model]}
    if options.ways:
        ways[f"primsel {cpus}x1"] = [ours, model, "--threads", 1]
        ways[f"primsel 1x{cpus}"] = [ours, model, "--workers", 1]
        ways[f"ONNX Runtime {cpus}x{cpus}"] = [theirs, library, model]
    ways[f"ONNX Runtime {cpus}x1"] = [theirs, library, model, "--threads", 1]
    ways[f"ONNX Runtime 1x{cpus}"] = [theirs, library, model, "--workers", 1]
    return ways


def measure(options, library, net, image, script):
    servers = [Server(title, command, max(options.connections)) for title, command in commands(options, library, net).items()]
    try:
        answers = [server.post(image) for server in servers]
        for server in servers:
            server.sleep()
        figures = {(server, connections): [] for server in servers for connections in options.connections}
        for _ in range(options.rounds):
            for (server, connections), turns in figures.items():
                server.wake()
                turns.append(server.load(script, connections, options.seconds))
                server.sleep()
        print(f"\n{net}\n{'':22}{'peak':>8}{'held':>8}{'error':>9}", end="")
        print("".join(f"{f'{connections} connections':>26}" for connections in options.connections))
        print(f"{'':22}{'MiB':>8}{'MiB':>8}{'':9}" + f"{'req/s':>10}{'p50':>8}{'p99':>8}" * len(options.connections))
        for server, answer in zip(servers, answers):
            peak, held = server.memory()
            print(f"{server.title:22}{peak:8.0f}{held:8.0f}{difference(answer, answers[-1]):9.0e}", end="")
            for connections in options.connections:
                rate, p50, p99 = map(statistics.median, zip(*figures[server, connections]))
                print(f"{rate:10.1f}{p50:8.1f}{p99:8.1f}", end="")
            print(flush=True)
    finally:
        for server in servers:
            server.end()


def batches(options, net):
    """Milliseconds an image, the fastest of the rounds."""
    server = Server("primsel", [options.programs[0], options.onnx / f"{net}.onnx", "--workers", 1, "--threads", 1], 1)
    sizes = (1, 2, 4, 8, 16)
    took = {size: [] for size in sizes}
    for _ in range(options.rounds + 1):
        for size in sizes:
            took[size].append(server.post(array(size))["run_ms"] / size)
    server.end()
    print(f"{net:14}" + "".join(f"{min(took[size][1:]):8.2f}" for size in sizes), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=prepare.TOP / "build/peers", help="folder for everything")
    parser.add_argument("--onnx", type=pathlib.Path, help="folder of export_torchvision.py (WORK/onnx)")
    parser.add_argument("--build", type=pathlib.Path, default=prepare.TOP / "build/release", help="CMake's folder")
    parser.add_argument("--torch", type=pathlib.Path, default="/usr/bin/python3", metavar="PYTHON")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    parser.add_argument("--programs", nargs=2, type=pathlib.Path, metavar="PROGRAM", help="serve and onnxruntime_server; else they are built")
    parser.add_argument("--net", action="append", metavar="NAME", help="else mobilenet_v2 and resnet50")
    parser.add_argument("--connections", action="append", type=int, metavar="N", help="else 1, 16 and 64")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", action="store_true", help="also primsel with other numbers of workers and threads")
    parser.add_argument("--batches", action="store_true")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.onnx = (options.onnx or options.work / "onnx").resolve()
    options.net = options.net or ["mobilenet_v2", "resnet50"]
    options.connections = options.connections or [1, 16, 64]
    python, versions, missing = prepare.make_venv(options.work / "venv", ["onnxruntime"])
    if missing:
        sys.exit(missing["onnxruntime"])
    models = options.work / "models"
    models.mkdir(exist_ok=True)
    if not all((options.onnx / f"{net}.onnx").exists() for net in options.net):
        prepare.export(python, options.torch, options.onnx, models, options.net)
    options.programs = options.programs or build(options)
    if options.batches:
        print(f"{'ms an image':14}" + "".join(f"{size:>8}" for size in (1, 2, 4, 8, 16)))
        for net in options.net:
            batches(options, net)
        return
    (library,) = python.parent.parent.glob("lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")
    print(f"ONNX Runtime {versions['onnxruntime']}, {len(os.sched_getaffinity(0))} processors for server and load, {options.rounds} rounds "
          f"of {options.seconds} s; milliseconds; workers x threads")
    with tempfile.TemporaryDirectory() as folder:
        image, script = pathlib.Path(folder) / "image.jpg", pathlib.Path(folder) / "post.lua"
        image.write_bytes(photo(python))
        script.write_text(SCRIPT % image, encoding="utf-8")
        for net in options.net:
            measure(options, library, net, image.read_bytes(), script)


if __name__ == "__main__":
    main()
