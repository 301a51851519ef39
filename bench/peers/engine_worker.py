#!/usr/bin/env python3
"""engine_worker.py ENGINE MODEL INPUT.npy THREADS [PRECISION]: one inference engine, for engines.py to compare with others.

Imports the engine, loads the model and runs it once on the processors 0 to THREADS - 1, then prints the line
`ready {...}`: JSON with the engine's version; import_end and answered, the seconds of the monotonic clock when
the engine had been imported and when it had answered; load_ms and first_run_ms; before_kib and before_anon_kib, the
resident memory before the model was loaded. Then it answers lines of the standard input with one line each:

run N          N times in milliseconds, each from the image in memory to the logits in memory
output PATH    writes the logits of the last run as .npy; ok
answers A B    runs each image of the .npy A and writes their logits as the .npy B; ok
memory         JSON: peak_kib, the largest resident memory since before loading; held_kib, the anonymous memory now
quit           ends

MODEL is a file in the engine's own format; nncf is OpenVINO on a file of its own quantiser. PRECISION is float32 (default), which every engine has; bf16, which OpenVINO has; or
int8 for a quantised MODEL, of which OpenVINO computes the rest in bfloat16 where the processor has it. Every engine runs on as
many threads as it is told, and is told the input's sizes before it loads or prepares. MNN runs with precision "high": of its documented "low", "normal"
and "high" the one that allows no half floats.
"""
import contextlib
import importlib.metadata
import json
import os
import sys
import time

import numpy


class OnnxRuntime:
    def __init__(self):
        import onnxruntime

        self.module, self.version = onnxruntime, onnxruntime.__version__

    def load(self, model, image, threads):
        options = self.module.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        for name, size in zip(("batch", "height", "width"), (image.shape[0], *image.shape[2:])):
            options.add_free_dimension_override_by_name(name, size)
        self.session = self.module.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.feed = {self.session.get_inputs()[0].name: image}

    def run(self):
        return self.session.run(None, self.feed)[0]


class OpenVino:
    precision = "f32"

    def __init__(self):
        import openvino

        self.module, self.version = openvino, importlib.metadata.version("openvino")

    def load(self, model, image, threads):
        core = self.module.Core()
        network = core.read_model(model)
        network.reshape(list(image.shape))
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": self.precision,
        }
        compiled = core.compile_model(network, "CPU", settings)
        self.request = compiled.create_infer_request()
        self.request.set_input_tensor(self.module.Tensor(image, shared_memory=True))

    def run(self):
        self.request.infer()
        return self.request.get_output_tensor(0).data


class OpenVinoBf16(OpenVino):
    precision = "bf16"


class Mnn:
    def __init__(self):
        import MNN

        self.module, self.version = MNN, importlib.metadata.version("MNN")

    def load(self, model, image, threads):
        tensor = self.module.Tensor
        self.interpreter = self.module.Interpreter(model)
        self.session = self.interpreter.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
        self.src = self.interpreter.getSessionInput(self.session)
        self.interpreter.resizeTensor(self.src, image.shape)
        self.interpreter.resizeSession(self.session)
        self.dst = self.interpreter.getSessionOutput(self.session)
        caffe, kind = self.module.Tensor_DimensionType_Caffe, self.module.Halide_Type_Float
        self.take = lambda values: tensor(values.shape, kind, values, caffe)
        self.take_image(image)
        shape = self.dst.getShape()
        self.logits = tensor(shape, kind, numpy.zeros(shape, numpy.float32), caffe)

    def take_image(self, image):
        self.image = self.take(image)

    def run(self):
        self.src.copyFrom(self.image)
        self.interpreter.runSession(self.session)
        self.dst.copyToHostTensor(self.logits)
        return self.logits.getNumpyData()


class Ncnn:
    def __init__(self):
        import ncnn

        self.module, self.version = ncnn, importlib.metadata.version("ncnn")

    def load(self, model, image, threads):
        self.net = self.module.Net()
        self.net.opt.num_threads = threads
        self.net.opt.use_vulkan_compute = False
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(self.net.opt, option, False)
        if self.net.load_param(model) or self.net.load_model(model.removesuffix(".param") + ".bin"):
            raise RuntimeError(f"{model}: ncnn cannot read it")
        # pnnx numbers a network's results; ncnn lists them in no order.
        self.src, names = self.net.input_names()[0], self.net.output_names()
        self.dst = "out0" if "out0" in names else names[0]
        self.take_image(image)

    def take_image(self, image):
        self.image = self.module.Mat(image[0]).clone()

    def run(self):
        extractor = self.net.create_extractor()
        extractor.input(self.src, self.image)
        failed, logits = extractor.extract(self.dst)
        if failed:
            raise RuntimeError(f"ncnn: extract: {failed}")
        return numpy.array(logits)


class TorchScript:
    def __init__(self):
        import torch

        self.module, self.version = torch, torch.__version__

    def load(self, model, image, threads):
        torch = self.module
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.net = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.load(model).eval()))
        self.image = torch.from_numpy(image)

    def run(self):
        return self.net(self.image).numpy()


class OpenVinoInt8(OpenVino):
    def load(self, model, image, threads):
        capabilities = self.module.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.precision = "bf16" if "BF16" in capabilities else "f32"
        super().load(model, image, threads)


ENGINES_IN = {
    "bf16": {"openvino": OpenVinoBf16},
    "int8": {"onnxruntime": OnnxRuntime, "openvino": OpenVinoInt8, "nncf": OpenVinoInt8, "ncnn": Ncnn},
}
ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "mnn": Mnn, "ncnn": Ncnn, "torchscript": TorchScript}


def status_kib(key):
    with open("/proc/self/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith(key + ":")), 0)


def reset_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5\n")


def pin(threads):
    """All threads of this process that may run elsewhere: engines may have pinned theirs more narrowly."""
    cpus = set(range(threads))
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(ProcessLookupError):
            if not os.sched_getaffinity(thread) <= cpus:
                os.sched_setaffinity(thread, cpus)


def timed(engine):
    start = time.perf_counter()
    logits = engine.run()
    return (time.perf_counter() - start) * 1e3, logits


def answer_all(engine, image, source, destination):
    """The logits of each image of a file. Engines that do not copy the image see it change."""
    kept, results = image.copy(), []
    for values in [*numpy.load(source), kept[0]]:
        image[0] = values
        if hasattr(engine, "take_image"):
            engine.take_image(image)
        results.append(numpy.array(engine.run(), numpy.float32).ravel())
    numpy.save(destination, numpy.array(results[:-1]))


def serve(engine, image, logits, answer):
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "run":
            times = []
            for _ in range(int(argument)):
                milliseconds, logits = timed(engine)
                times.append(milliseconds)
            answer(" ".join(f"{each:.6f}" for each in times))
        elif command == "output":
            numpy.save(argument, numpy.asarray(logits, numpy.float32).reshape(1, -1))
            answer("ok")
        elif command == "answers":
            answer_all(engine, image, *argument.split())
            answer("ok")
        elif command == "memory":
            answer(json.dumps({"peak_kib": status_kib("VmHWM"), "held_kib": status_kib("RssAnon")}))
        elif command == "quit":
            return
        else:
            sys.exit(f"{command}?")


def main():
    name, model, image_path, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    # The engines' own output is not part of the answers.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(text):
        print(text, file=output, flush=True)

    pin(threads)
    image = numpy.ascontiguousarray(numpy.load(image_path), numpy.float32)
    engine = ENGINES_IN.get("".join(sys.argv[5:]), ENGINES)[name]()
    reset_peak()
    before, before_anon = status_kib("VmRSS"), status_kib("RssAnon")
    import_end = time.monotonic()
    engine.load(model, image, threads)
    loaded = time.monotonic()
    first, logits = timed(engine)
    ready = {
        "version": engine.version,
        "import_end": import_end,
        "answered": time.monotonic(),
        "load_ms": (loaded - import_end) * 1e3,
        "first_run_ms": first,
        "before_kib": before,
        "before_anon_kib": before_anon,
    }
    pin(threads)
    answer("ready " + json.dumps(ready))
    serve(engine, image, logits, answer)


if __name__ == "__main__":
    main()
