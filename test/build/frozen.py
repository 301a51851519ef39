#!/usr/bin/env python3
"""Freezes networks, compiles them into one program, and compares its results with those of `primsel run`, bit for bit.

    frozen.py <primsel> <frozen_type> <folder> <file of flags> -- <compiler> [<flags>...]

frozen_type freezes a network type and a graph (frozen_type.cpp). The program is compiled as small programs are: without exceptions and RTTI. It also refuses weights that were changed.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[2]

# Each with the options of the network, and those of its plan: concatenations, transforms and several images; strips and residuals; slices and shuffles on
# several threads in bfloat16.
NETS = [
    ("squeezenet", ["squeezenet1_1", "--size", "64", "--batch", "2"], []),
    ("mobilenet", ["mobilenet_v2"], []),
    ("shuffle", ["shufflenet_v2_x0_5", "--size", "64", "--threads", "2"], ["--precision", "bf16"]),
]

MAIN = """
#include <cstdio>
#include <cstring>

template <class Net>
int run(const char* name) {
    using Engine = primsel::FrozenEngine<Net>;
    static typename Engine::Arena arena;
    static float src[Engine::in_floats()], dst[Engine::out_floats()];
    char path[4096];
    const auto file = [&](const char* end, const char* mode) {
        std::snprintf(path, sizeof(path), "%s%s", name, end);
        return std::fopen(path, mode);
    };
    std::FILE* in = file(".in", "rb");
    if (in == nullptr || std::fread(src, sizeof(float), Engine::in_floats(), in) != Engine::in_floats()) return 1;
    std::fclose(in);
    primsel::frozen::WeightsFile weights;
    Engine engine;
    std::snprintf(path, sizeof(path), "%s.bin", name);
    const char* refusal = weights.open(path);
    if (refusal == nullptr) refusal = engine.open(weights.bytes(), arena);
    if (refusal != nullptr) {
        std::printf("%s: %s\\n", name, refusal);
        return 2;
    }
    if (!engine.run(src, dst)) return 3;
    std::FILE* out = file(".out", "wb");
    if (out == nullptr || std::fwrite(dst, sizeof(float), Engine::out_floats(), out) != Engine::out_floats()) return 4;
    return std::fclose(out);
}

int main(int count, char** arguments) {
    if (count != 3) return 5;
"""


def call(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def write_npy(path, shape, values):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values)


def floats_of_npy(path):
    data = path.read_bytes()
    return data[10 + struct.unpack("<H", data[8:10])[0]:]


def example(primsel, folder, command):
    """Builds examples/frozen as a user's project does, with the weights within the program, and runs it."""
    build = folder / "example"
    call("cmake", "-S", TOP / "examples" / "frozen", "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={command[0]}",
         f"-DPRIMSEL_SOURCE={TOP}", f"-DPRIMSEL_TOOL={primsel}")
    call("cmake", "--build", build)
    image = struct.pack(f"<{3 * 224 * 224}f", *((i % 251 - 125) / 60 for i in range(3 * 224 * 224)))
    text = subprocess.run([build / "frozen"], input=image, capture_output=True, check=True).stdout.decode()
    short = subprocess.run([build / "frozen"], input=image[4:], capture_output=True, check=False)
    faults = [] if re.fullmatch(r"class \d+, score [-+.e\d]+\n", text) else [f"the example printed: {text}"]
    if short.returncode != 1 or b"150527 of the 150528" not in short.stderr:
        faults.append(f"the example took too short an image: {short.stderr}")
    return faults


def main(primsel, frozen_type, folder, flags, command):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    call(frozen_type, folder)
    expected = {name: (folder / f"{name}.expected").read_bytes() for name in ("tiny", "strided")}
    for name, options, planning in NETS:
        # Plans of two processes may differ, as what they measure of the machine does.
        call(primsel, "plan", *options, *planning, "--save", folder / f"{name}.json")
        options = [*options, "--plan", folder / f"{name}.json"]
        call(primsel, "freeze", *options, "--out", folder / f"{name}.hpp", "--json")
        batch = int(options[options.index("--batch") + 1]) if "--batch" in options else 1
        size = int(options[options.index("--size") + 1]) if "--size" in options else 224
        count = batch * 3 * size * size
        values = struct.pack(f"<{count}f", *((i * 2654435761 % 1000 - 500) / 250 for i in range(count)))
        (folder / f"{name}.in").write_bytes(values)
        write_npy(folder / f"{name}.npy", (batch, 3, size, size), values)
        out = json.loads(call(primsel, "run", *options, "--input", folder / f"{name}.npy", "--output", folder / name,
                              "--repeat", 1, "--json"))["outputs"]
        expected[name] = floats_of_npy(pathlib.Path(out[0]["file"]))
    includes = "".join(f'#include "{name}.hpp"\n' for name in expected)
    calls = "".join(f'    if (std::strcmp(arguments[1], "{name}") == 0) return run<{name}>(arguments[2]);\n' for name in expected)
    source, program = folder / "main.cpp", folder / "frozen"
    source.write_text(includes + MAIN + calls + "    return 6;\n}\n", encoding="utf-8")
    call(*command, f"@{flags}", "-O2", "-fno-exceptions", "-fno-rtti", source, "-o", program)
    faults = []
    for name in expected:
        call(program, name, folder / name)
        if (folder / f"{name}.out").read_bytes() != expected[name]:
            faults.append(f"{name}: the frozen engine's result differs from the engine's")
        weights = bytearray((folder / f"{name}.bin").read_bytes())
        weights[len(weights) // 2] ^= 1
        (folder / "changed.bin").write_bytes(weights)
        (folder / "changed.in").write_bytes((folder / f"{name}.in").read_bytes())
        changed = subprocess.run([program, name, folder / "changed"], capture_output=True, text=True, check=False)
        if changed.returncode != 2 or "checksum" not in changed.stdout:
            faults.append(f"{name}: changed weights were not refused, but: {changed.stdout}")
    faults += example(primsel, folder, command)
    print("\n".join(faults) or f"{len(expected)} networks: as their engines, bit for bit")
    return bool(faults)


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(main(*sys.argv[1:split], sys.argv[split + 1:]))
