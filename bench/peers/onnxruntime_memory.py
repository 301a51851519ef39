#!/usr/bin/env python3
"""onnxruntime_memory.py MODEL.onnx...: the memory that ONNX Runtime holds during a run beyond what it holds between
runs, at its peak: activations, kernels' workspaces and the outputs. Not the weights, nor the input, which is the
caller's.

ONNX Runtime gives no such figure by itself. Its arena's MaxInUse counts the weights too, and loading often needs more
than running; the process's resident size has the model file, code and malloc's caches in it; and profiles have the size
of each node's output, not what is alive at a time. So this script registers an allocator of its own through the C API,
which the session uses in place of the arena ("session.use_env_allocators"), and counts the bytes requested and not yet
freed. What the arena adds by rounding up and by fragmentation is left out, in ONNX Runtime's favour.

Two peaks are printed. In the first run of an input shape each tensor is allocated when it is needed and freed after its
last use: the least that this order of the nodes and these kernels need. The first run records those lifetimes, and
later runs have one block for all activations, planned from them ("memory pattern", on by default); outputs and
workspaces come on top.

All other options are ONNX Runtime's own: its graph optimisations and its blocked NCHWc convolutions are on. Open
dimensions are set to 1 for the batch and to --size for height and width. Needs onnx, onnxruntime and numpy.
"""
import argparse
import ctypes
import json
import pathlib

import numpy
import onnx
import onnxruntime

# Places in the C API's table of functions, struct OrtApi, which only grows at its end.
API_VERSION = 18
PLACES = {
    "GetErrorMessage": 2,
    "CreateEnv": 3,
    "CreateSession": 7,
    "Run": 9,
    "CreateSessionOptions": 10,
    "SetIntraOpNumThreads": 24,
    "CreateTensorWithDataAsOrtValue": 49,
    "CreateCpuMemoryInfo": 69,
    "ReleaseSession": 95,
    "ReleaseValue": 96,
    "ReleaseSessionOptions": 100,
    "AddSessionConfigEntry": 130,
    "RegisterAllocator": 176,
}
ERROR, DEVICE_ALLOCATOR, MEMORY_DEFAULT, FLOAT = 3, 0, 0, 1

Pointer = ctypes.c_void_p
Allocate = ctypes.CFUNCTYPE(Pointer, Pointer, ctypes.c_size_t)
Free = ctypes.CFUNCTYPE(None, Pointer, Pointer)
Info = ctypes.CFUNCTYPE(Pointer, Pointer)


class OrtAllocator(ctypes.Structure):
    """The C API's struct as of API_VERSION; Reserve is what sessions call while they load."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("Alloc", Allocate),
        ("Free", Free),
        ("Info", Info),
        ("Reserve", Allocate),
    ]


class OrtApiBase(ctypes.Structure):
    _fields_ = [("GetApi", ctypes.CFUNCTYPE(Pointer, ctypes.c_uint32)), ("GetVersionString", Pointer)]


class Runtime:
    """The C API of the library in the onnxruntime package."""

    def __init__(self):
        (library,) = (pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
        self.library = ctypes.CDLL(str(library))
        self.library.OrtGetApiBase.restype = ctypes.POINTER(OrtApiBase)
        self.table = ctypes.cast(self.library.OrtGetApiBase().contents.GetApi(API_VERSION), ctypes.POINTER(Pointer))

    def call(self, name, *arguments):
        status = ctypes.CFUNCTYPE(Pointer)(self.table[PLACES[name]])(*arguments)
        if status:
            message = ctypes.CFUNCTYPE(ctypes.c_char_p, Pointer)(self.table[PLACES["GetErrorMessage"]])(status)
            raise RuntimeError(f"{name}: {message.decode()}")

    def make(self, name, *arguments):
        made = Pointer()
        self.call(name, *arguments, ctypes.byref(made))
        return made

    def release(self, name, released):
        ctypes.CFUNCTYPE(None, Pointer)(self.table[PLACES[name]])(released)


class CountingAllocator:
    def __init__(self, runtime):
        self.sizes = {}
        self.live = self.peak = self.count = 0
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.restype = Pointer
        libc.aligned_alloc.argtypes = ctypes.c_size_t, ctypes.c_size_t
        libc.free.argtypes = (Pointer,)
        self.libc = libc
        self.memory = runtime.make("CreateCpuMemoryInfo", DEVICE_ALLOCATOR, MEMORY_DEFAULT)
        self.callbacks = OrtAllocator(
            API_VERSION,
            Allocate(lambda _, size: self.allocate(size)),
            Free(lambda _, address: self.free(address)),
            Info(lambda _: self.memory.value),
            Allocate(lambda _, size: self.allocate(size)),
        )

    def allocate(self, size):
        if not size:
            return None
        address = self.libc.aligned_alloc(64, -(-size // 64) * 64)
        self.sizes[address] = size
        self.count += 1
        self.live += size
        self.peak = max(self.peak, self.live)
        return address

    def free(self, address):
        if address:
            self.live -= self.sizes.pop(address)
            self.libc.free(address)


def read_input(path, size):
    """The name of the model's only input, and random values for it."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    (value,) = [value for value in graph.input if value.name not in given]
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    shape = [dim or (1 if axis == 0 else size) for axis, dim in enumerate(dims)]
    outputs = [output.name.encode() for output in graph.output]
    return value.name.encode(), outputs, numpy.random.default_rng(1).standard_normal(shape, numpy.float32)


def measure(runtime, env, allocator, path, size, threads):
    name, outputs, image = read_input(path, size)
    options = runtime.make("CreateSessionOptions")
    runtime.call("SetIntraOpNumThreads", options, threads)
    runtime.call("AddSessionConfigEntry", options, b"session.use_env_allocators", b"1")
    session = runtime.make("CreateSession", env, str(path).encode(), options)
    dims = (ctypes.c_int64 * image.ndim)(*image.shape)
    data = image.ctypes.data_as(Pointer)
    tensor = runtime.make(
        "CreateTensorWithDataAsOrtValue", allocator.memory, data, ctypes.c_size_t(image.nbytes),
        dims, ctypes.c_size_t(image.ndim), FLOAT,
    )  # fmt: skip

    between_runs = allocator.live
    peaks = []
    for _ in range(3):
        allocator.peak, allocator.count = allocator.live, 0
        made = (Pointer * len(outputs))()
        runtime.call(
            "Run", session, None, (ctypes.c_char_p * 1)(name), ctypes.byref(tensor), ctypes.c_size_t(1),
            (ctypes.c_char_p * len(outputs))(*outputs), ctypes.c_size_t(len(outputs)), made,
        )  # fmt: skip
        peaks.append((allocator.peak - between_runs, allocator.count))
        for value in made:
            runtime.release("ReleaseValue", Pointer(value))
        if allocator.live != between_runs:
            raise RuntimeError(f"{path}: {allocator.live - between_runs} bytes stay allocated after a run")
    if peaks[1] != peaks[2]:
        raise RuntimeError(f"{path}: the second and third run differ: {peaks}")
    runtime.release("ReleaseValue", tensor)
    runtime.release("ReleaseSession", session)
    runtime.release("ReleaseSessionOptions", options)
    return {
        "model": str(path),
        "input": "x".join(map(str, image.shape)),
        "first_run_bytes": peaks[0][0],
        "first_run_allocations": peaks[0][1],
        "later_run_bytes": peaks[1][0],
        "later_run_allocations": peaks[1][1],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, nargs="+")
    parser.add_argument("--size", type=int, default=224, help="height and width where the file leaves them open")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one object a line in place of the table, in bytes")
    options = parser.parse_args()
    runtime = Runtime()
    env = runtime.make("CreateEnv", ERROR, b"memory")
    allocator = CountingAllocator(runtime)
    runtime.call("RegisterAllocator", env, ctypes.byref(allocator.callbacks))
    if not options.json:
        print(f"ONNX Runtime {onnxruntime.__version__}, {options.threads} thread(s); peaks in MiB")
        print(f"{'':24} {'input':>15} {'first run':>11} {'later runs':>11}")
    for path in options.model:
        figures = measure(runtime, env, allocator, path, options.size, options.threads)
        if options.json:
            print(json.dumps(figures), flush=True)
        else:
            first, later = (figures[key] / 2**20 for key in ("first_run_bytes", "later_run_bytes"))
            print(f"{path.stem:24} {figures['input']:>15} {first:11.2f} {later:11.2f}", flush=True)


if __name__ == "__main__":
    main()
