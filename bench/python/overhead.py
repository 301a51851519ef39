#!/usr/bin/env python3
"""Times a call from Python on a network of one Relu of 16 values, where the call is all there is: beside the same run in C++ (the
median of a trace, two readings of the clock included), and beside ONNX Runtime where it is installed."""
import statistics
import time

import numpy as np
import primsel


def field(number, value):
    """A field of a protobuf message: a number, or bytes."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def tensor(name):
    dims = b"".join(field(1, field(1, extent)) for extent in (1, 1, 4, 4))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


RELU = (field(1, 8) + field(7, field(1, field(1, b"x") + field(2, b"y") + field(3, b"relu") + field(4, b"Relu")) + field(2, b"g") +
                            field(11, tensor(b"x")) + field(12, tensor(b"y"))) + field(8, field(2, 13)))


def microseconds(call, calls=2000, repeats=25):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begin) / calls * 1e6)
    return statistics.median(times)


def main():
    engine = primsel.Engine(primsel.parse(RELU))
    image = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 1, 4, 4)
    out = np.empty_like(image)
    run = engine.run
    assert np.array_equal(run(image), np.maximum(image, 0))
    print(f"in C++                    {engine.trace(image, runs=20001).seconds * 1e6:6.2f} us")
    print(f"run(image, out=out)       {microseconds(lambda: run(image, out=out)):6.2f} us")
    print(f"run(image)                {microseconds(lambda: run(image)):6.2f} us")
    try:
        import onnxruntime
    except ImportError:
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(RELU, options, providers=["CPUExecutionProvider"])
    print(f"ONNX Runtime's run        {microseconds(lambda: session.run(None, {'x': image})):6.2f} us")


main()
