#!/usr/bin/env python3
"""differential.py [--seeds FIRST:LAST]: random small networks, run by primsel and by ONNX Runtime, whose results must
agree in shape, and in value to 1e-4 of their RMS. Needs the packages onnx, onnxruntime and numpy, and a build of
primsel. A seed gives the same network again. One whose results differ is made smaller and saved."""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import networks

TOP = pathlib.Path(__file__).resolve().parents[2]
BOUND = 1e-4


class Worker:
    """bin/differential_worker, started again when it has died."""

    def __init__(self, program, folder):
        self.program, self.folder, self.process = program, folder, None

    def run(self, plan, model, inputs):
        """The outputs, or a text: `refused ...` or `died ...`."""
        onnx.save(model, self.folder / "model.onnx")
        files = []
        for name, value in inputs.items():
            files.append(self.folder / f"{name}.npy")
            np.save(files[-1], value)
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        words = [plan, self.folder / "model.onnx", self.folder, *files]
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            answer = f"died with status {self.process.wait()}"
            self.process = None
        if answer != "ok":
            return answer
        return [np.load(self.folder / f"{i}.npy") for i in range(len(model.graph.output))]


def differs(result, expected):
    """How far apart, relative to the RMS; None where it is close enough."""
    if result.shape != expected.shape:
        return f"{result.shape} in place of {expected.shape}"
    exact = expected.astype(np.float64)
    distance, rms = np.abs(result - exact).max(), np.sqrt(np.mean(exact**2))
    return None if distance <= BOUND * rms or distance <= 1e-7 else f"{distance / max(rms, 1e-30):.1e} of the RMS"


def verdict(worker, plan, network, outputs):
    """`equal`, or what is wrong."""
    model, inputs = network.model(outputs)
    results = worker.run(plan, model, inputs)
    if isinstance(results, str):
        return results
    for name, result in zip(outputs, results):
        if fault := differs(result, network.values[name]):
            return f"{name} differs: {fault}"
    return "equal"


def export_verdict(worker, network, outputs):
    """Whether ONNX Runtime computes the same from what primsel wrote; None where that is no ONNX model."""
    path = worker.folder / "exported.onnx"
    if not path.exists():
        return None
    model, inputs = network.model(outputs)
    exported, given = onnx.load(path), {}
    for info, value in zip(exported.graph.input, inputs.values()):
        dims = [d.dim_value or -1 for d in info.type.tensor_type.shape.dim]  # the number of images is open
        given[info.name] = value.reshape(dims)
    try:
        results = networks.run_onnxruntime(exported, given)
    except Exception as fault:
        return f"exported: {fault}"
    for name, result in zip(outputs, results):
        expected = network.values[name]
        if result.size != expected.size:
            return f"exported: {name} differs: {result.shape} in place of {expected.shape}"
        if fault := differs(result.reshape(expected.shape), expected):
            return f"exported: {name} differs: {fault}"
    return "equal"


def is_wrong(text):
    return text not in ("equal", None) and not text.startswith("refused")


def smaller(worker, plan, network, outputs):
    """The network of one node that is wrong by itself, or the first output that is with all that it needs."""
    for node in network.nodes:
        names = [name for name in node.output if name in network.values]
        if names and is_wrong(verdict(worker, plan, alone := network.alone(node), names)):
            return alone, names
    for node in network.nodes:
        names = [name for name in node.output if name in network.values]
        if names and is_wrong(verdict(worker, plan, network, names)):
            return network, names
    return network, outputs


def save(folder, seed, network, outputs):
    folder = folder / str(seed)
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs = network.model(outputs)
    onnx.save(model, folder / "model.onnx")
    for name, value in {**inputs, **{name: network.values[name] for name in outputs}}.items():
        np.save(folder / f"{name}.npy", value)
    return folder, " ".join(node.op_type for node in model.graph.node)


def reason(text):
    """A refusal without what is this network's alone."""
    text = re.sub(r"^refused \S+: (node \S+ )?", "", text)
    text = re.sub(r" \(the \d+ images cannot run one by one: .*", " (images cannot run one by one)", text)
    return re.sub(r"\d+", "N", re.sub(r"\b[cvx]\d+\b", "X", text))


def unsupported(worker):
    """The operators that primsel refuses by name, or at run time."""
    operators = set()
    for op in networks.LESS_COMMON:
        x = np.ones((1, 1, 1, 1), np.float32)
        node = onnx.helper.make_node(op, ["x"], ["y"])
        answer = worker.run(0, networks.make_model(21, [node], {"x": x}, {}, {"y": x}), {"x": x})
        if "not supported" in str(answer) or "for constants only" in str(answer):
            operators.add(op)
    return operators


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="FIRST:LAST, the last not included (%(default)s)")
    parser.add_argument("--size", type=int, default=8, help="nodes of a network, at most (%(default)s)")
    parser.add_argument("--build", type=pathlib.Path, default=TOP / "build/release", help="build folder (%(default)s)")
    parser.add_argument("--worker", type=pathlib.Path, help="the program, in place of building it")
    parser.add_argument("--findings", type=pathlib.Path, default=TOP / "build/differential",
                        help="where networks go whose results differ (%(default)s)")  # fmt: skip
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    if options.worker is None:
        subprocess.run(["cmake", "--build", options.build, "--target", "differential_worker"], check=True)
    program = options.worker or options.build / "bin/differential_worker"
    examples = {}
    counts, operators, refusals = collections.Counter(), collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(program, pathlib.Path(folder))
        skipped = unsupported(worker)
        for seed in range(first, last):
            network = networks.Generator(seed, skipped).grow(1 + seed % options.size)
            if not (outputs := network.leaves()):
                counts["empty"] += 1
                continue
            operators.update(node.op_type for node in network.nodes)
            plan = seed // 2 if seed % 2 else 0
            text = verdict(worker, plan, network, outputs)
            counts[text.split()[0] if not is_wrong(text) else "different"] += 1
            if text.startswith("refused"):
                refusals[reason(text)] += 1
                examples.setdefault(reason(text), seed)
            if is_wrong(text):
                least, outputs = smaller(worker, plan, network, outputs)
                where, nodes = save(options.findings, seed, least, outputs)
                print(f"seed {seed}: {text}; {nodes}: {verdict(worker, plan, least, outputs)}; in {where}", flush=True)
            if text == "equal" and (exported := export_verdict(worker, network, outputs)):
                counts[f"exported {exported}" if exported == "equal" else "exported different"] += 1
                if exported != "equal":
                    print(f"seed {seed}: {exported}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    print("not supported: " + (", ".join(sorted(skipped)) or "none"))
    print("nodes: " + ", ".join(f"{count} {op}" for op, count in operators.most_common()))
    for text, count in refusals.most_common():
        print(f"{count:6} refused, as seed {examples[text]}: {text}")
    return 1 if counts["different"] or counts["exported different"] else 0


if __name__ == "__main__":
    sys.exit(main())
