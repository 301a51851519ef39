#!/usr/bin/env python3
"""Checks a server of examples/serve: right answers, bad requests, a full queue, deadlines, limits, metrics, no time lost between
writes nor without requests, and an end while it starts and under load.

    check.py PROGRAM [--load SECONDS]    exit status 1 and the reason where something is wrong

--load also prints requests a second, and the median and the 99th percentile of their seconds, for 1, 16 and 64 connections.
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

TEST = pathlib.Path(__file__).resolve().parents[2] / "test"
sys.path.insert(0, str(TEST / "cli"))
from command import write_classifier, write_npy, write_png  # pylint: disable=wrong-import-position


def expect(condition, *what):
    if not condition:
        sys.exit("serve: " + " ".join(map(str, what)))


class Server:
    """A running server."""

    def __init__(self, program, model, *options):
        self.process = subprocess.Popen([program, model, "--port", "0", "--size", "32", *map(str, options)], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        expect(line.startswith("listening on http://127.0.0.1:"), "no port in", repr(line))
        self.port = int(line.split(":")[2].split()[0])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def get(self, path):
        with contextlib.closing(self.connect()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def post(self, body, connection=None, raw=False):
        with contextlib.closing(self.connect()) if connection is None else contextlib.nullcontext(connection) as to:
            to.request("POST", "/run", body)
            response = to.getresponse()
            text = response.read()
            return response.status, text if raw else json.loads(text)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """The requests that it says it answered."""
        self.process.send_signal(signal.SIGTERM)
        text = self.process.communicate(timeout=120)[0]
        expect(self.process.returncode == 0, "ended with", self.process.returncode)
        return int(text.split("answered ")[1].split()[0])


class Images:
    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "image.npy"

    def npy(self, dims, seed=1):
        count = 1
        for dim in dims:
            count *= dim
        draw = random.Random(seed)
        write_npy(self.path, dims, [draw.uniform(-1, 1) for _ in range(count)])
        return self.path.read_bytes()

    def png(self, width, height):
        write_png(self.path, width, height, random.Random(1).randbytes(3 * width * height))
        return self.path.read_bytes()


def check_answers(server, images):
    expect(server.get("/health") == (200, "ok\n"), "is not healthy")
    values = {}
    for size in ((8, 8), (9, 31), (40, 7), (8, 8), (9, 31)):
        status, answer = server.post(images.npy([3, *size]))
        expect(status == 200, size, answer)
        result = answer["outputs"][0]
        expect(result["name"] == "y" and len(result["values"]) == 3, answer)
        expect(values.setdefault(size, result["values"]) == result["values"], "other values for the same image of", size)
    one, two = images.npy([3, 8, 8], 1), images.npy([3, 8, 8], 2)
    apart = [server.post(image)[1]["outputs"][0]["values"] for image in (one, two)]
    elements = len(one) - 3 * 8 * 8 * 4
    write_npy(images.path, [2, 3, 8, 8], struct.unpack(f"<{6 * 64}f", one[elements:] + two[elements:]))
    status, answer = server.post(images.path.read_bytes())
    expect(status == 200 and answer["batch"] == 2, answer)
    expect(answer["outputs"][0]["values"] == apart[0] + apart[1], "a batch has other values than its images")


def check_refusals(server, images):
    good = images.npy([3, 8, 8])
    draw = random.Random(3)
    bad = [b"", b"\x93NUMPY", good[:-1], good + b"x", images.npy([4, 8, 8]), images.npy([8, 8]), images.npy([0, 3, 8, 8]),
           images.npy([3, 0, 8]), good.replace(b"(3, 8, 8, )", b"(3, 8, 99999999)")]
    bad += [draw.randbytes(draw.randrange(200)) for _ in range(20)]
    for body in bad:
        status, answer = server.post(body)
        expect(status == 400 and answer["error"], len(body), "bytes are answered by", status, answer)
    for _ in range(100):  # damaged files: any answer but an end
        damaged = bytearray(good)
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(128)] = draw.randrange(256)
        expect(server.post(bytes(damaged))[0] in (200, 400), "a damaged file")
    expect(server.post(good)[0] == 200, "refuses a good image after bad ones")
    expect(server.get("/none")[0] == 404, "finds /none")


def check_pictures(program, model, images):
    """PNG and JPEG files, whole and damaged, and those of more pixels than the server takes."""
    server = Server(program, model, "--pixels", 1000)
    good = images.png(20, 30)
    status, answer = server.post(good)
    if status == 400 and "no .npy array" in answer["error"]:
        server.stop()
        return print("no pictures: this server was built without them")
    expect(status == 200, "a PNG file", answer)
    head = b"IHDR" + struct.pack(">II", 60000, 60000) + good[24:29]
    huge = good[:12] + head + struct.pack(">I", zlib.crc32(head)) + good[33:]
    for body in (images.png(20, 51), images.npy([3, 20, 51]), images.npy([2, 3, 20, 26]), huge):
        status, answer = server.post(body)
        expect(status == 400 and "pixels" in answer["error"], "more pixels than it takes:", status, answer)
    expect(server.post(bytes(1000 * 3 * 8 + 5000), raw=True)[0] == 413, "a body of more bytes than an array of that many pixels")
    files = [good, *(path.read_bytes() for path in sorted((TEST / "fuzz/corpus/image").iterdir()))]
    draw, codes = random.Random(5), {}
    for body in files * 8:
        damaged = bytearray(body)
        for _ in range(draw.randrange(4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        status = server.post(bytes(damaged[:draw.randrange(1, 2 * len(damaged))]))[0]
        codes[status] = codes.get(status, 0) + 1
    expect(set(codes) <= {200, 400} and len(codes) == 2, "damaged pictures are answered by", codes)
    expect(server.post(good)[0] == 200, "refuses a good picture after bad ones")
    server.stop()
    return None


def check_waits(server, images):
    """An answer does not wait for the acknowledgement of its first part (40 ms), and no thread spins without requests."""
    body, taken = images.npy([3, 8, 8]), []
    with contextlib.closing(server.connect()) as connection:
        for _ in range(100):
            begun = time.monotonic()
            expect(server.post(body, connection)[0] == 200, "a request on a kept connection")
            taken.append(time.monotonic() - begun)
    taken.sort()
    expect(taken[50] < 0.03, "the median of small requests is", taken[50], "seconds")
    before = server.cpu_seconds()
    time.sleep(2)
    idle = (server.cpu_seconds() - before) / 2
    expect(idle < 0.05, "without requests it takes", idle, "of a processor")
    print(f"one connection: median {1e3 * taken[50]:.2f} ms; without requests: {100 * idle:.1f} % of a processor")


def check_queue(program, model, images):
    server = Server(program, model, "--workers", 1, "--queue", 1)
    body = images.npy([3, 400, 400])
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        codes = [result.result()[0] for result in [threads.submit(server.post, body) for _ in range(48)]]
    expect(set(codes) == {200, 429}, "a full queue answers", set(codes))
    metrics = server.get("/metrics")[1]
    for code in (200, 429):
        expect(f'primsel_requests_total{{code="{code}"}} {codes.count(code)}\n' in metrics, "metrics", metrics)
    expect(f"primsel_run_seconds_count {codes.count(200)}\n" in metrics, "metrics", metrics)
    expect(server.stop() == 48, "answered another number of requests")
    server = Server(program, model, "--deadline", 0)
    expect(server.post(body)[0] == 503, "a deadline of 0 is kept")
    server.stop()


def check_end_while_it_starts(program, model):
    """A signal is never lost: neither one that waits from the beginning, nor one that comes at any moment of the start."""
    begun = time.monotonic()
    Server(program, model).stop()
    whole, draw = time.monotonic() - begun, random.Random(7)
    for delay in (None, None, *(draw.uniform(0, whole) for _ in range(8))):
        mask = (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])) if delay is None else None
        process = subprocess.Popen([program, model, "--port", "0", "--size", "32"], stdout=subprocess.DEVNULL, preexec_fn=mask)
        time.sleep(delay or 0)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            expect(False, "goes on after SIGTERM while it starts, after", delay, "seconds")
        # Before main() begins, the signal ends the process as it ends any other.
        expect(process.returncode in ((0,) if mask else (0, -signal.SIGTERM)), "ended with", process.returncode)


def check_end_under_load(program, model, images):
    server = Server(program, model, "--queue", 64)
    body = images.npy([3, 64, 64])
    begun = time.monotonic()

    def ask(keeps):
        answered, kept = 0, server.connect() if keeps else None
        while time.monotonic() < begun + 30:
            try:
                expect(server.post(body, kept)[0] == 200, "a request under load")
                answered += 1
            except (ConnectionError, http.client.HTTPException):
                break  # not accepted
        if kept:
            kept.close()
        return answered

    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        asked = [threads.submit(ask, i % 2 == 0) for i in range(16)]
        time.sleep(1)
        said = server.stop()
        answered = sum(result.result() for result in asked)
    expect(answered > 16 and said == answered, "answered", said, "requests, of which", answered, "arrived")
    print(f"SIGTERM under load: it answered {said} requests, and all answers arrived")


def load(program, model, images, seconds):
    server = Server(program, model, "--queue", 128)
    body = images.npy([3, 64, 64])

    def ask(until):
        taken = []
        with contextlib.closing(server.connect()) as connection:
            while (now := time.monotonic()) < until:
                expect(server.post(body, connection)[0] == 200, "a request under load")
                taken.append(time.monotonic() - now)
        return taken

    for connections in (1, 16, 64):
        with concurrent.futures.ThreadPoolExecutor(connections) as threads:
            until = time.monotonic() + seconds
            taken = sorted(sum((each.result() for each in [threads.submit(ask, until) for _ in range(connections)]), []))
        print(f"{connections} connections: {len(taken) / seconds:.0f} requests a second, "
              f"p50 {1e3 * taken[len(taken) // 2]:.1f} ms, p99 {1e3 * taken[len(taken) * 99 // 100]:.1f} ms")
    server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--load", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        images, model = Images(folder), pathlib.Path(folder) / "net.onnx"
        write_classifier(model, ["n", 3, "h", "w"])
        if options.load:
            return load(options.program, model, images, options.load)
        server = Server(options.program, model)
        check_answers(server, images)
        check_refusals(server, images)
        check_waits(server, images)
        server.stop()
        check_pictures(options.program, model, images)
        check_queue(options.program, model, images)
        check_end_while_it_starts(options.program, model)
        check_end_under_load(options.program, model, images)
    return None


if __name__ == "__main__":
    main()
