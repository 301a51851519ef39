"""Long-lived processes that measure and answer line by line. One at a time is awake: the others are stopped, so that no
thread of theirs spins meanwhile."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


def die_with_parent(libc=ctypes.CDLL(None)):
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)


class Gone(RuntimeError):
    """The process ended; the text is the last that it said."""


class Worker:
    """A process started as `command`, on as many threads as it is told."""

    def __init__(self, command, threads, log):
        self.log = open(log, "w+")
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=environment, preexec_fn=die_with_parent,
        )  # fmt: skip

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.log.seek(0)
            said = self.log.read().strip().splitlines()
            raise Gone(said[-1] if said else f"ended with status {self.process.returncode}")
        return line.rstrip("\n")

    def ready(self):
        """What it says of itself once it has answered for the first time."""
        line = self.read()
        if not line.startswith("ready "):
            raise Gone(f"said {line!r} in place of ready")
        return json.loads(line.removeprefix("ready "))

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # why, read() says
        return self.read()

    def sleep(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()


def progress(text, end="\n"):
    print(text, file=sys.stderr, end=end, flush=True)
