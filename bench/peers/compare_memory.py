#!/usr/bin/env python3
"""compare_memory.py PRIMSEL MODEL.onnx...: primsel's arena beside the memory that ONNX Runtime holds during a run.

PRIMSEL is the command line's program. The arena is all that primsel holds for a run beside the weights, the input and
the output; ONNX Runtime's figure, the first run's peak as onnxruntime_memory.py counts it, has the output too. The last
columns are primsel's arena where --max-arena asks for the least that a plan can be found for, and what that costs in
predicted time. Needs onnx, onnxruntime and numpy.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys


def primsel(program, model, size, *options):
    """What `primsel run --json` says, or the least bytes that it names where no plan fits."""
    command = [program, "run", model, "--size", f"{size}x{size}", "--repeat", "1", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    least = re.search(r"the smallest needs (\d+)", done.stderr)
    if not least:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return int(least.group(1))


def onnxruntime(model, size):
    script = pathlib.Path(__file__).with_name("onnxruntime_memory.py")
    command = [sys.executable, str(script), str(model), "--size", str(size), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path, nargs="+")
    parser.add_argument("--size", type=int, default=224, help="height and width where the file leaves them open")
    options = parser.parse_args()
    print(f"{'MiB':28}{'primsel':>9}{'ONNX Runtime':>14}{'ratio':>7}{'least':>8}{'predicted time':>16}")
    for model in options.model:
        plan = primsel(options.program, model, options.size)
        least = primsel(options.program, model, options.size, "--max-arena", "1")
        small = primsel(options.program, model, options.size, "--max-arena", str(least))
        peer = onnxruntime(model, options.size)["first_run_bytes"]
        arena = plan["arena_bytes"]
        print(f"{model.name:28}{arena / 2**20:9.2f}{peer / 2**20:14.2f}{arena / peer:7.2f}"
              f"{small['arena_bytes'] / 2**20:8.2f}{small['predicted_ms'] / plan['predicted_ms']:15.2f}x", flush=True)


if __name__ == "__main__":
    main()
