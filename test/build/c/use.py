#!/usr/bin/env python3
"""use.py <libprimsel.so> <nm> <C compiler>: the C interface by ctypes: which symbols the library exports, the results that the ONNX standard
publishes for its models (Debian: libonnx-testdata), threads that share an engine; and the program of the page."""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

LIBRARY, NM, CC = pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:]
TOP = pathlib.Path(__file__).resolve().parents[3]
HEADER = TOP / "include/primsel/primsel.h"
STANDARD = pathlib.Path("/usr/share/libonnx-testdata/data/pytorch-converted")
FLOATS = ctypes.POINTER(ctypes.c_float)


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_size_t),
                ("floats", ctypes.c_size_t)]


def opened():
    lib = ctypes.CDLL(str(LIBRARY))
    lib.primsel_last_error.restype = ctypes.c_char_p
    lib.primsel_engine_run.argtypes = [ctypes.c_void_p, FLOATS, ctypes.c_size_t, FLOATS, ctypes.c_size_t]
    for name in ("options_free", "network_free", "engine_free"):
        getattr(lib, f"primsel_{name}").argtypes = [ctypes.c_void_p]
    return lib


lib = opened()


def check(status):
    if status != 0:
        raise RuntimeError(lib.primsel_last_error().decode())


class Engine:
    def __init__(self, make, name):
        network, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        check(make(name.encode(), None, ctypes.byref(network)))
        try:
            check(lib.primsel_engine_new(network, None, ctypes.byref(self.handle)))
        finally:
            lib.primsel_network_free(network)

    def __del__(self):
        lib.primsel_engine_free(self.handle)

    def tensor(self, which):
        tensor = Tensor()
        check(getattr(lib, f"primsel_engine_{which}")(self.handle, ctypes.c_size_t(0), ctypes.byref(tensor)))
        return tensor

    def run(self, src):
        dst = (ctypes.c_float * self.tensor("output").floats)()
        check(lib.primsel_engine_run(self.handle, src, len(src), dst, len(dst)))
        return dst


def fields_of(message):
    """(number, value) of each field of a protobuf message; what is not of bytes is left out."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, message[at:at + size]
            at += size
        elif tag & 7 == 0:
            varint()
        else:
            at += 8 if tag & 7 == 1 else 4


def floats_of(path):
    """The values of an ONNX tensor file of floats."""
    raw = dict(fields_of(path.read_bytes())).get(9, b"")
    return (ctypes.c_float * (len(raw) // 4)).from_buffer_copy(raw)


class CInterface(unittest.TestCase):
    def test_exports_what_the_header_declares_and_nothing_else(self):
        declared = set(re.findall(r"PRIMSEL_C_API [^;(]*?\b(primsel_\w+)\(", HEADER.read_text()))
        listed = subprocess.run([NM, "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertGreater(len(declared), 25)
        self.assertEqual({line.split()[-1].split("@")[0] for line in listed.splitlines()}, declared)

    def test_published_results(self):
        """Convolutions of the ONNX standard, with the results that it publishes."""
        if not STANDARD.exists():
            self.skipTest("no ONNX test data (Debian: libonnx-testdata)")
        count = 0
        for model in sorted(STANDARD.glob("test_Conv2d*/model.onnx")):
            with self.subTest(model=str(model)):
                engine = Engine(lib.primsel_network_load, str(model))
                data = model.parent / "test_data_set_0"
                expected = floats_of(data / "output_0.pb")
                result = engine.run(floats_of(data / "input_0.pb"))
                self.assertEqual(len(result), len(expected))
                for a, b in zip(result, expected):
                    self.assertAlmostEqual(a, b, delta=1e-3 * max(1, abs(b)))
                count += 1
        self.assertGreater(count, 5)

    def test_threads_share_an_engine(self):
        engine = Engine(lib.primsel_network_by_name, "resnet56")
        srcs = [(ctypes.c_float * engine.tensor("input").floats)(*([i / 7] * 1000)) for i in range(4)]
        alone = [bytes(engine.run(src)) for src in srcs]
        self.assertEqual(len(set(alone)), 4)
        wrong = []

        def run(i):
            for _ in range(5):
                if bytes(engine.run(srcs[i])) != alone[i]:
                    wrong.append(i)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_each_thread_has_its_own_last_error(self):
        with self.assertRaisesRegex(RuntimeError, "no network is named nothing"):
            Engine(lib.primsel_network_by_name, "nothing")
        other = []
        thread = threading.Thread(target=lambda: other.append(lib.primsel_last_error()))
        thread.start()
        thread.join()
        self.assertEqual(other, [b""])
        self.assertIn(b"nothing", lib.primsel_last_error())


    def test_the_program_of_the_page(self):
        model = STANDARD / "test_Conv2d/model.onnx"
        if not model.exists():
            self.skipTest("no ONNX test data (Debian: libonnx-testdata)")
        (program,) = re.findall(r"```c\n(.*?)```", (TOP / "docs/c.md").read_text(), re.DOTALL)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "program.c").write_text(program)
            (folder / "model.onnx").symlink_to(model)
            subprocess.run([CC, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", TOP / "include", "program.c", "-o", "program", LIBRARY,
                            f"-Wl,-rpath,{LIBRARY.parent}"], check=True, cwd=folder)
            printed = subprocess.run(["./program"], check=True, cwd=folder, capture_output=True, text=True).stdout
        self.assertIn("ms predicted by", printed)
        self.assertRegex(printed, r"\n\S+: \d+ floats\n$")


unittest.main(argv=sys.argv[:1])
