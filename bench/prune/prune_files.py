#!/usr/bin/env python3
"""prune_files.py PRIMSEL FILE.onnx|NETWORK|FOLDER... [--sparsity 0.5] [--size 224]: what `primsel prune --sparsity` does to each.

PRIMSEL is the command line's program; of a folder all its .onnx files are taken, of `zoo` all networks by name. A file is pruned as it
is; where the program refuses because layers hold filters back, it is called again as it proposes, with those layers left whole. Printed
are the exit status of the first call, the shares of filters and multiply-adds that are left, and why filters stay that were asked
for. It is a fault, and ends the script with an error, when a layer keeps more than its share and neither the program nor its table of
coupled layers (`--coupling`) says why, and when what was written does not run.
"""
import argparse
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


class Program:
    def __init__(self, path, size):
        self.path, self.size = path, size

    def __call__(self, *arguments):
        return subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, check=False)

    def sizes(self, network):
        """Options for the sizes that the file leaves open."""
        result = self("plan", network)
        return ["--size", self.size] if "give --size" in result.stderr else []


def silent_layers(program, network, sizes, result, sparsity, said):
    """The layers that keep more than their share, though neither the run nor the table of `--coupling` says why."""
    sets = json.loads(program("prune", network, *sizes, "--coupling", "--json").stdout)["coupled"]
    set_of = {name: each for each in sets for name in each["made_by"]}
    silent = []
    for layer in json.loads(result)["layers"]:
        name, filters = layer["name"], layer["filters"]
        if name not in set_of or set_of[name]["fixed"] or re.search(rf"(?<![\w./]){re.escape(name)}(?![\w/])", said):
            continue
        # Channels that are coupled go as a block; of several layers each may keep a block more than its share.
        blocks = set_of[name]["channels"]
        go = math.floor(sparsity * blocks + 1e-9) - (len(set_of[name]["made_by"]) > 1)
        if filters - layer["left"] < math.floor(go / blocks * filters):
            silent.append(name)
    return silent


def prune(program, network, sparsity, folder):
    """(the status of the first call, what is left or why not, a fault or nothing)"""
    out, sizes = folder / "thin.onnx", program.sizes(network)
    arguments = ["prune", network, *sizes, "--sparsity", sparsity, "--out", out, "--json"]
    first = result = program(*arguments)
    _, held_back, proposal = first.stderr.partition("; to leave them whole:")
    if held_back:
        result = program(*arguments, *shlex.split(proposal))
    reason = re.sub(r"^primsel: (warning: )?", "", (first.stderr.strip() or " ").splitlines()[0]).partition("; to leave")[0]
    if result.returncode:
        return first.returncode, result.stderr.strip().removeprefix("primsel: "), None
    silent = silent_layers(program, network, sizes, result.stdout, sparsity, first.stderr + result.stderr)
    found = json.loads(result.stdout)
    left = {key: found["thinned"][key] / found["whole"][key] for key in ("filters", "multiply_adds")}
    text = f"{left['filters']:7.1%} {left['multiply_adds']:7.1%}  {reason[:110]}"
    ran = program("run", out, *sizes, "--repeat", 1)
    out.unlink()
    fault = f"silent of {', '.join(silent)}" if silent else ran.stderr.strip() if ran.returncode else None
    return first.returncode, text, fault


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("primsel")
    parser.add_argument("networks", nargs="+", metavar="FILE|NETWORK|FOLDER")
    parser.add_argument("--sparsity", type=float, default=0.5)
    parser.add_argument("--size", type=int, default=224, help="of files that leave it open")
    options = parser.parse_args()
    program = Program(options.primsel, options.size)
    networks = []
    for each in options.networks:
        if each == "zoo":
            networks += [network["name"] for network in json.loads(program("list", "networks", "--json").stdout)["networks"]]
        elif pathlib.Path(each).is_dir():
            networks += sorted(pathlib.Path(each).glob("**/*.onnx"))
        else:
            networks.append(each)
    print(f"{'network':36}status filters multiply-adds")
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for network in networks:
            status, text, fault = prune(program, network, options.sparsity, pathlib.Path(folder))
            print(f"{pathlib.Path(network).name:36}{status:>6} {text}{'; FAULT: ' + fault if fault else ''}", flush=True)
            faults += fault is not None
    sys.exit(f"{faults} of {len(networks)} have a fault" if faults else 0)


if __name__ == "__main__":
    main()
