#!/usr/bin/env python3
"""Programs of one network made by several engines and generators of C, one thread: size, compile time, first answer, speed.

    peers.py <primsel> <models> <folder> [--net NET]... [--engine ENGINE]... [--rounds R] [--seconds S]
             [--only-prepare]
             [--kernels libprimsel_kernels.a] [--onnxruntime LIB --onnxruntime-include DIR] [--ncnn PYTHON]
             [--litert PYTHON] [--emx PROGRAM] [--onnx2c PROGRAM]

<models> has NET.onnx, and for ncnn and LiteRT NET.ncnn.param, NET.ncnn.bin and NET.tflite. Engines without an option are left
out. <folder> keeps what was compiled: a second call only measures. Columns: kB of the stripped program and of the engine's
libraries that it loads, without weights and without libc; seconds of the processor and memory that compiling and linking take;
milliseconds from before the process is made to the end of its first run, least of many, files in the page cache; milliseconds of
a run, least of all rounds, in turns. ncnn and LiteRT run from Python, whose start is a row of its own; what they compile
is nothing. Every engine's first score must be that of ONNX Runtime, or else of the frozen network, within 1e-3.
Needs the Python package onnx.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sizes  # noqa: E402

COLUMNS = {"engine": "", "program_kb": "kB", "compile_s": "s", "compile_mb": "MB", "first_ms": "ms", "run_ms": "ms"}
GENERATED = ["-O3", "-march=native", "-ffast-math"]  # plain loops, which need it to become vectors

# A program of an engine: open_net and run_net.
MAIN_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
void open_net(const char* model);
void run_net(const float* image, float* scores);
static float image[3 * 224 * 224], scores[1000];
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(int count, char** words) {
    for (size_t i = 0; i < sizeof(image) / sizeof(float); ++i) image[i] = (float)(i % 17) / 8 - 1;
    open_net(words[1]);
    run_net(image, scores);
    const double answered = now();
    double least = 1e9;
    for (int runs = count > 2 ? atoi(words[2]) : 0; runs > 0; --runs) {
        const double begin = now();
        run_net(image, scores);
        const double end = now();
        if (end - begin < least) least = end - begin;
    }
    printf("%.9f %.9g %.9g\n", answered, least, (double)scores[0]);
    return 0;
}
"""
ONNXRUNTIME_C = r"""
#include <onnxruntime_c_api.h>
static const OrtApi* api;
static OrtSession* session;
static OrtMemoryInfo* memory;
static char *in, *out;
static void check(OrtStatus* status) { if (status) { puts(api->GetErrorMessage(status)); exit(1); } }
void open_net(const char* model) {
    OrtEnv* env;
    OrtSessionOptions* options;
    OrtAllocator* allocator;
    api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "net", &env));
    check(api->CreateSessionOptions(&options));
    check(api->SetIntraOpNumThreads(options, 1));
    check(api->CreateSession(env, model, options, &session));
    check(api->GetAllocatorWithDefaultOptions(&allocator));
    check(api->SessionGetInputName(session, 0, allocator, &in));
    check(api->SessionGetOutputName(session, 0, allocator, &out));
    check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
}
void run_net(const float* src, float* dst) {
    const int64_t shape[] = {1, 3, 224, 224}, classes[] = {1, 1000};
    OrtValue *from = NULL, *to = NULL;
    check(api->CreateTensorWithDataAsOrtValue(memory, (void*)src, sizeof(image), shape, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &from));
    check(api->CreateTensorWithDataAsOrtValue(memory, dst, sizeof(scores), classes, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &to));
    check(api->Run(session, NULL, (const char* const*)&in, (const OrtValue* const*)&from, 1, (const char* const*)&out, 1, &to));
    api->ReleaseValue(from);
    api->ReleaseValue(to);
}
"""
ENGINE_CPP = """
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/onnx/import.hpp>
#include <primsel/primsel.hpp>

#include <optional>
#include <span>

namespace ps = primsel;
std::optional<ps::Engine<ps::Graph>> engine;
extern "C" void open_net(const char* model) {
    const ps::OnnxModel net = ps::load_onnx(model);
    engine.emplace(net.graph, net.weights);
}
extern "C" void run_net(const float* image, float* scores) {
    engine->run(std::span(image, 3 * 224 * 224), std::span(scores, 1000));
}
"""
PYTHON = """
import sys, time
import numpy
image = (numpy.arange(3 * 224 * 224) % 17 / 8 - 1).astype("float32").reshape(1, 3, 224, 224)
{engine}
scores = run()
answered = time.monotonic()
least = 1e9
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
    begin = time.perf_counter()
    scores = run()
    least = min(least, time.perf_counter() - begin)
print(answered, least, float(scores.reshape(-1)[0]))
if len(sys.argv) > 3:
    print(" ".join({{line.split()[-1] for line in open("/proc/self/maps") if "/{package}" in line and ".so" in line}}))
"""
NCNN_PY = """
import ncnn
net = ncnn.Net()
net.opt.num_threads = 1
net.opt.use_vulkan_compute = False
for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
    setattr(net.opt, option, False)
assert net.load_param(sys.argv[1]) == 0 and net.load_model(sys.argv[1].removesuffix("param") + "bin") == 0
src, dst, mat = net.input_names()[0], net.output_names()[0], ncnn.Mat(image[0]).clone()
def run():
    extractor = net.create_extractor()
    extractor.input(src, mat)
    return numpy.array(extractor.extract(dst)[1])
"""
LITERT_PY = """
from ai_edge_litert.interpreter import Interpreter
net = Interpreter(sys.argv[1], num_threads=1)
src, dst = net.get_input_details()[0], net.get_output_details()[0]
if src["shape"][3] == 3:
    image = numpy.ascontiguousarray(image.transpose(0, 2, 3, 1))
net.resize_tensor_input(src["index"], image.shape)
net.allocate_tensors()
def run():
    net.set_tensor(src["index"], image)
    net.invoke()
    return net.get_tensor(dst["index"])
"""


def fixed_onnx(source, to):
    """Sizes that a file leaves open: one image of 224 x 224."""
    import onnx
    from onnx import shape_inference

    if to.exists():
        return to
    model = onnx.load(source)
    for value in [*model.graph.input, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = {"height": 224, "width": 224}.get(dim.dim_param, 1)
    del model.graph.value_info[:]
    onnx.save(shape_inference.infer_shapes(model), to)
    return to


def kilobytes(path):
    return pathlib.Path(path).stat().st_size / 1024


def built(folder, sources, command):
    """Compiles the sources, {name: text or None for a file that is there}, and links; a row without its times."""
    seconds = memory = 0
    objects = []
    for name, text in sources.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
        compiler = ["g++", "-std=c++20"] if name.endswith("cpp") else ["gcc"]
        flags = [flag for flag in command if not str(flag).endswith((".a", ".so")) and not str(flag).startswith(("-l", "-Wl"))]
        objects.append(folder / f"{name}.o")
        took = sizes.compiled([*compiler, *flags, "-c", folder / name, "-o", objects[-1]])
        seconds, memory = seconds + took[0], max(memory, took[1])
    program = folder / "program"
    links = [flag for flag in command if str(flag).endswith((".a", ".so")) or str(flag).startswith(("-l", "-Wl"))]
    took = sizes.compiled(["g++", *objects, *links, "-s", "-o", program])
    return {"program_kb": kilobytes(program), "compile_s": seconds + took[0], "compile_mb": max(memory, took[1]), "command": [str(program)]}


def frozen(net, options, folder):
    options.compiler, options.flags = "g++", sizes.FLAGS
    header, program = folder / "net.hpp", folder / "program"
    sizes.call(options.primsel, "freeze", fixed(net, options), "--name", "net", "--out", header)
    (folder / "main.cpp").write_text(sizes.MAIN.replace("NAME", "net"), encoding="utf-8")
    seconds, memory = sizes.compiled(["g++", "-std=c++20", f"-I{sizes.TOP}/include", *sizes.FLAGS, folder / "main.cpp", "-o", program])
    return {"engine": "primsel, frozen", "program_kb": kilobytes(program), "compile_s": seconds, "compile_mb": memory,
            "command": [str(program), str(folder / "net.bin")]}


def engine(net, options, folder):
    if not options.kernels:
        return None
    row = built(folder, {"main.c": MAIN_C, "engine.cpp": ENGINE_CPP},
                ["-O2", "-march=native", "-DPRIMSEL_EXTERN_KERNELS", f"-I{sizes.TOP}/include", "-fopenmp", options.kernels, "-lgomp", "-Wl,--gc-sections"])
    return {**row, "engine": "primsel, Engine (kernels compiled before)", "command": ["env", "OMP_NUM_THREADS=1", *row["command"], str(fixed(net, options))]}


def onnxruntime(net, options, folder):
    if not options.onnxruntime:
        return None
    library = pathlib.Path(options.onnxruntime).resolve()
    row = built(folder, {"main.c": MAIN_C + ONNXRUNTIME_C},
                ["-O2", f"-I{options.onnxruntime_include}", f"-Wl,{library},-rpath,{library.parent}"])
    # The loader looks for the name that the library gives itself.
    name = sizes.call("readelf", "-d", library).partition("SONAME")[2].partition("[")[2].partition("]")[0]
    if name and not (library.parent / name).exists():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(library)
        row["command"] = ["env", f"LD_LIBRARY_PATH={folder}", *row["command"]]
    row["program_kb"] += kilobytes(library)
    return {**row, "engine": "ONNX Runtime, C API", "command": [*row["command"], str(fixed(net, options))]}


def from_python(name, package, python, text, model, folder):
    if not python or not model.exists():
        return None
    worker = folder / "worker.py"
    worker.write_text(PYTHON.format(engine=text, package=package), encoding="utf-8")
    libraries = sizes.call(python, worker, model, 1, "maps").splitlines()[-1].split()
    return {"engine": f"{name}, from Python", "program_kb": sum(map(kilobytes, libraries)),
            "command": [python, str(worker), str(model)]}


def ncnn(net, options, folder):
    return from_python("ncnn", "ncnn", options.ncnn, NCNN_PY, options.models / f"{net}.ncnn.param", folder)


def litert(net, options, folder):
    return from_python("LiteRT", "ai_edge_litert", options.litert, LITERT_PY, options.models / f"{net}.tflite", folder)


def python_alone(net, options, folder):
    del net
    python = options.ncnn or options.litert
    if not python:
        return None
    (folder / "worker.py").write_text("import time\nimport numpy\nprint(time.monotonic())\n", encoding="utf-8")
    return {"engine": "Python and numpy alone", "command": [python, str(folder / "worker.py")]}


def generated(name, folder, sources, glue, weights_kb):
    """C of which the weights are constants; its size is given without them."""
    row = built(folder, {"main.c": MAIN_C, "glue.c": glue, **{source: None for source in sources}}, [*GENERATED, "-lm"])
    row["program_kb"] -= weights_kb
    return {**row, "engine": name, "command": [*row["command"], "-"]}


def weights_kb(model):
    import onnx

    return sum(len(tensor.raw_data) for tensor in onnx.load(model).graph.initializer) / 1024


def emx(net, options, folder):
    """Large weights are a file that the program reads."""
    if not options.emx:
        return None
    model = fixed(net, options)
    sizes.call(options.emx, "compile", "--model-name", "net", "--emit-data-file", model, folder / "net.c")
    glue = """#include <stdlib.h>
void net(const void*, void*);
_Bool net_load(const char*);
void open_net(const char* model) { if (!net_load(model)) exit(1); }
void run_net(const float* image, float* scores) { net(image, scores); }
"""
    row = generated("emx-onnx-cgen", folder, ["net.c", "net_data.c"], glue, weights_kb(model) - kilobytes(folder / "net.bin"))
    return {**row, "command": [*row["command"][:-1], str(folder / "net.bin")]}


def onnx2c(net, options, folder):
    if not options.onnx2c:
        return None
    model = fixed(net, options)
    (folder / "net.c").write_text(sizes.call(options.onnx2c, model), encoding="utf-8")
    glue = "void entry(const void*, void*);\nvoid open_net(const char* m) { (void)m; }\nvoid run_net(const float* a, float* b) { entry(a, b); }\n"
    return generated("onnx2c", folder, ["net.c"], glue, weights_kb(model))


ENGINES = {"frozen": frozen, "engine": engine, "onnxruntime": onnxruntime, "ncnn": ncnn, "litert": litert, "emx": emx, "onnx2c": onnx2c,
           "python": python_alone}


def fixed(net, options):
    return fixed_onnx(options.models / f"{net}.onnx", options.folder / f"{net}.onnx")


def prepared(net, options):
    """The rows, from the folder where they are there."""
    for name in options.engine or ENGINES:
        folder = options.folder / net / name
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / "row.json"
        if not kept.exists():
            row = ENGINES[name](net, options, folder)
            if row is None:
                continue
            kept.write_text(json.dumps(row), encoding="utf-8")
        yield json.loads(kept.read_text(encoding="utf-8"))


def measure(rows, options):
    """The first answers and the speeds, in turns."""
    for row in rows:
        row["first_ms"] = row["run_ms"] = float("inf")
    began = time.monotonic()
    for done in range(options.rounds):
        if done > 0 and (time.monotonic() - began) * (done + 1) / done > options.seconds:
            break
        for row in rows:
            row["first_ms"] = min(row["first_ms"], 1e3 * min(sizes.first_answers(row["command"], 2)))
            if row["engine"].startswith("Python"):
                continue
            runs = 1 if row["run_ms"] == float("inf") else max(1, min(20, int(300 / row["run_ms"])))
            _, least, row["score"] = map(float, sizes.call(*row["command"], runs).split())
            row["run_ms"] = min(row["run_ms"], 1e3 * least)
    scores = {row["engine"]: row["score"] for row in rows if "score" in row}
    expected = scores.get("ONNX Runtime, C API", next(iter(scores.values())))
    return [f"{name}: its first score is {score}, not {expected}" for name, score in scores.items()
            if abs(score - expected) > 1e-3 * max(1, abs(expected))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("primsel")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("--net", action="append")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=600, help="no round begins that would end later")
    for option in ("kernels", "onnxruntime", "onnxruntime-include", "ncnn", "litert", "emx", "onnx2c"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--only-prepare", action="store_true", help="compile, and measure nothing")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faults = []
    for net in options.net or ["mobilenet_v2", "resnet18"]:
        rows = list(prepared(net, options))
        if options.only_prepare:
            continue
        faults += measure(rows, options)
        print(f"\n{net}\n\n| " + " | ".join(f"{column.rsplit('_', 1)[0]} {unit}".strip() for column, unit in COLUMNS.items()) + " |")
        print("|" + "---|" * len(COLUMNS))
        for row in rows:
            row = {name: value for name, value in row.items() if value != float("inf")}
            print("| " + " | ".join(sizes.text(row, column) for column in COLUMNS) + " |", flush=True)
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
