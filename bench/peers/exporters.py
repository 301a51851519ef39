#!/usr/bin/env python3
"""exporters.py: what exporters write, in primsel and in ONNX Runtime on one core: read, right, fast, trained, pruned and written back.

    exporters.py [GROUP...] [--only PATTERN]     makes what is missing and checks it; a line a file, then the table
    exporters.py --report                        prints the table of what was checked

Makes virtual environments with PyTorch, TensorFlow and JAX in --work (nine gigabytes, once), exports networks with random weights into
WORK/exported (exported_nets.py, exported_keras.py, exported_again.py), and fetches the published files with recurrent layers
(published.py, which needs pip and npm). Each file is then checked in primsel. What was checked is in --out and not checked again, but for
rows that have the text of --again, such as refused.

right: every output as check_files.py compares it; of float16 files and other opsets, an error beside PyTorch's default file of at
most 1e-4 or 1.05 times ONNX Runtime's. slower, least, median: of ONNX Runtime's time over primsel's, each the least of the medians of
turns. within 1.5: the plan's time is within 1.5 times of the measured. trained: `primsel train` makes a step; what gives no scores gets
two. pruned: `primsel prune` takes out filters, and ONNX Runtime computes with the result what primsel does; none may go: it says why
none can. back: `primsel export` keeps names, shapes and types, and ONNX Runtime computes with the result what it does with the file. The
programs are built by `make configure` and `cmake --build build/release --target primsel_cli peers_primsel_worker`.
"""
import argparse
import collections
import fnmatch
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

import prepare

HERE = prepare.HERE
# Pinned packages by environment.
ENVIRONMENTS = {
    "torch": ["torch==2.15.0", "torchvision==0.29.2", "timm==1.0.31", "onnx==1.23.2", "onnxscript==0.7.2", "onnxruntime==1.32.0",
              "onnxsim==0.8.1", "onnxslim==0.1.98", "onnxoptimizer==0.4.2", "keras==3.15.1"],
    "tensorflow": ["tensorflow-cpu==2.21.0", "keras==3.15.1", "tf2onnx==1.17.0"],
    "jax": ["jax==0.10.2", "jax2onnx==0.17.1", "keras==3.15.1"],
}  # fmt: skip
TORCH = "small", "old", "opset", "timm", "torchvision"
AGAIN = "onnxsim", "onnxslim", "onnxoptimizer", "float16", "ort-basic", "ort-extended"
KERAS = {f"keras-{backend}": backend for backend in ("torch", "jax", "tensorflow")}
GROUPS = [*TORCH, *KERAS, "recurrent", *AGAIN]
# The files of FROM_SOURCES are made from those of SOURCES, or compared with them.
SOURCES, FROM_SOURCES = ("small", "timm"), {"opset", *AGAIN}
# Files of these groups are trained, pruned and written back; the others hold the same networks.
WHOLE = {"small", "old", "timm", "torchvision", *KERAS, "recurrent"}
RECURRENT = """dtln_1 dtln_2 faster_whisper_silero_vad_v6 gtcrn gtcrn_simple openwakeword_hey_mycroft_v0_1 openwakeword_silero_vad
piper_tashkeel silero_vad_16k_op15 silero_vad_16k_sequence silero_vad_half silero_vad_openvino_16k speechmos_plcmos_v2""".split()
NONE_MAY_GO = "prune: no filter of"
# Extents that a file leaves open, where not every one will do.
OPEN = {"speechmos_plcmos_v2": 384, "silero_vad_half": 512}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"else all: {', '.join(GROUPS)}")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="files whose names fit")
    parser.add_argument("--work", type=pathlib.Path, default=prepare.TOP / "build/peers", help="folder for everything")
    parser.add_argument("--build", type=pathlib.Path, default=prepare.TOP / "build/release", help="folder of primsel's programs")
    parser.add_argument("--out", type=pathlib.Path, help="what was checked (WORK/exporters.jsonl)")
    parser.add_argument("--again", metavar="TEXT", help="check the rows again that have this anywhere")
    parser.add_argument("--rounds", type=int, default=5, help="of each engine; 0: measure no time")
    parser.add_argument("--cpu", action="store_true", help="compare processor time, on a machine that others keep busy")
    parser.add_argument("--worker", type=pathlib.Path, help="(BUILD/bin/peers/primsel_worker)")
    parser.add_argument("--turn", type=float, default=0.03, help="seconds")
    parser.add_argument("--keep", action="store_true", help="make no files, check those that are there")
    parser.add_argument("--fast", action="store_true", help="train, prune and write back nothing; a call without goes on from there")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.worker = options.worker or options.build / "bin/peers/primsel_worker"
    options.out = options.out or options.work / "exporters.jsonl"
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"{', '.join(unknown)}: no such group")
    options.groups = options.groups or GROUPS
    return options


# --- files


def environment(work, name):
    """The interpreter of an environment that has its packages."""
    folder = work / f"venv-{name}"
    python, marker, wanted = folder / "bin/python", folder / "packages", "\n".join(ENVIRONMENTS[name])
    if not marker.exists() or marker.read_text() != wanted:
        prepare.say(f"making {folder}")
        prepare.call(sys.executable, "-m", "venv", folder)
        prepare.call(python, "-m", "pip", "install", "--quiet", *ENVIRONMENTS[name])
        marker.write_text(wanted)
    return python


def make_files(options, folder):
    def run(name, script, *arguments):
        subprocess.run([environment(options.work, name), "-B", HERE / script, *map(str, arguments)], check=True)

    chosen = options.groups
    if torch := [group for group in TORCH if group in chosen or (FROM_SOURCES & set(chosen) and group in SOURCES)]:
        run("torch", "exported_nets.py", folder, *torch)
    for group, backend in KERAS.items():
        if group in chosen:
            run(backend, "exported_keras.py", backend, folder)
    if again := [group for group in AGAIN if group in chosen]:
        run("torch", "exported_again.py", folder, *again)
    if "recurrent" in chosen:
        subprocess.run([sys.executable, "-B", HERE / "published.py", folder / "recurrent", *RECURRENT], check=False)


# --- one file


class Program:
    """The command line, in a folder of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *words):
        """Nothing, or why it did not do it."""
        try:
            done = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "takes more than 300 s"
        return None if done.returncode == 0 else prepare.last_line(done.stderr)


def tensors(values):
    """Names, types and sizes."""
    return [(value.name, value.type.tensor_type.elem_type,
             [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]) for value in values]


def agree(found, wanted, open_sizes):
    """Whether signatures are the same. An exporter may call a size of a result open that no input leaves open."""
    if [each[:2] for each in found] != [each[:2] for each in wanted]:
        return False
    for (_, _, one), (_, _, other) in zip(found, wanted):
        if len(one) != len(other) and other:
            return False
        if any(a != b and (isinstance(b, int) and b > 0 or b in open_sizes) for a, b in zip(one, other)):
            return False
    return True


def with_two_scores(model, inputs):
    """The same network with two scores, products of all its results with drawn numbers, and with only its first input left."""
    import numpy
    import onnxruntime
    from onnx import helper, numpy_helper

    results = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)
    if len(results) == 1 and len(inputs) == 1 and results[0].ndim == 2 and results[0].shape[1] > 1:
        return model
    random, graph, parts = numpy.random.default_rng(1), model.graph, []
    for i, (output, value) in enumerate(zip(list(graph.output), results)):
        if value.dtype != numpy.float32 or value.shape[:1] != next(iter(inputs.values())).shape[:1]:
            continue
        count = value.size // value.shape[0]
        rows, weight = numpy.array([value.shape[0], count]), random.standard_normal((count, 2)) / count**0.5
        graph.initializer.extend([numpy_helper.from_array(rows, f"head.rows{i}"), numpy_helper.from_array(weight.astype(numpy.float32), f"head{i}.weight")])
        graph.node.extend([helper.make_node("Reshape", [output.name, f"head.rows{i}"], [f"head.flat{i}"]),
                           helper.make_node("MatMul", [f"head.flat{i}", f"head{i}.weight"], [f"head.part{i}"])])  # fmt: skip
        parts.append(f"head.part{i}")
    if not parts:
        raise ValueError("it gives no floats for an image")
    graph.node.append(helper.make_node("Sum", parts, ["scores"]))
    for name in list(inputs)[1:]:
        graph.initializer.append(numpy_helper.from_array(inputs[name], name))
        graph.input.remove(next(each for each in graph.input if each.name == name))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("scores", 1, [1, 2]))
    return model


def trained(program, model, inputs):
    """A step on four images of two classes. An input of fewer dimensions is an image of one row, or of one pixel."""
    import numpy
    import onnx

    shape = list(next(iter(inputs.values())).shape[1:])
    shape = shape + [1] * (3 - len(shape)) if len(shape) < 2 else [shape[0], 1, shape[1]] if len(shape) == 2 else shape
    if len(shape) != 3:
        return f"its input has {len(shape) + 1} dimensions"
    try:
        onnx.save(with_two_scores(model, inputs), program.folder / "trains.onnx")
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"
    random = numpy.random.default_rng(1)
    numpy.save(program.folder / "images.npy", random.standard_normal((4, *shape), numpy.float32))
    numpy.save(program.folder / "labels.npy", numpy.array([0, 1, 0, 1]))
    return program("train", "trains.onnx", "--images", "images.npy", "--labels", "labels.npy", "--batch", 4, "--learning-rate", 1e-3,
                   "--out", "trained.safetensors")  # fmt: skip


def pruned(program, path, compare):
    reason = program("prune", path, "--filters", 0.9, "--out", "thin.onnx")
    if reason:
        return reason
    what, detail = compare(program.folder / "thin.onnx")
    return None if what == "equal" else f"{what}: {detail}"


def written_back(program, path, inputs):
    import onnx
    from check_files import inputs_in, plain_options, verdict
    from onnxruntime_logits import make_session

    back = program.folder / "back.onnx"
    if reason := program("export", path, back):
        return reason
    was, now = onnx.load(path, load_external_data=False), onnx.load(back)
    open_sizes = {size for _, _, sizes in tensors(inputs_in(was)) for size in sizes if isinstance(size, str)}
    for which, found, wanted in (("inputs", inputs_in(now), inputs_in(was)), ("outputs", now.graph.output, was.graph.output)):
        if not agree(tensors(found), tensors(wanted), open_sizes):
            return f"its {which} are {tensors(found)}, not {tensors(wanted)}"
    try:
        found = make_session(back).run(None, inputs)
    except Exception as fault:
        return f"ONNX Runtime refuses it: {prepare.last_line(fault)}"
    wanted, again = (make_session(path, options).run(None, inputs) for options in (None, plain_options()))
    what, detail = verdict(found, wanted, again)
    return None if what == "equal" else f"{what}: {detail}"


def source_of(path):
    """The file of the same network by PyTorch's default exporter, if there is one."""
    name = path.stem.rsplit(".", 1)[0] if path.parent.name == "opset" else path.stem
    return next((file for group in SOURCES if (file := path.parent.parent / group / f"{name}.onnx").exists()), None)


def judged_by_source(program, path, inputs):
    """The verdict by the network's own file: primsel is as near to it as ONNX Runtime is, if that runs it."""
    import numpy
    from check_files import BOUND, error, ours
    from onnxruntime_logits import make_session

    exact = make_session(source_of(path)).run(None, {name: value.astype(numpy.float32) for name, value in inputs.items()})
    found, why = ours(program.program, path, inputs, program.folder)
    if found is None:
        return "refused", why
    try:
        theirs = max(map(error, make_session(path).run(None, inputs), exact))
    except Exception:  # of an opset that is too new for it
        theirs = 0.0
    here = max(map(error, found, exact))
    return "equal" if here <= max(BOUND, 1.05 * theirs) else "different", f"{here:.1e}, ONNX Runtime {theirs:.1e}"


def check(options, group, path):
    """The row of a file."""
    import onnx
    import check_files
    import layers

    row = {"group": group, "name": path.stem, "bytes": path.stat().st_size}
    tool = (options.build / "bin/primsel").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        program = Program(tool, pathlib.Path(scratch))
        model = onnx.load(path)
        inputs = check_files.inputs_of(model, OPEN.get(path.stem, 224))
        whole = program.folder / "fixed.onnx"
        onnx.save(check_files.fixed(model, inputs), whole)
        try:
            if group in ("float16", "opset"):
                row["verdict"], row["detail"] = judged_by_source(program, path, inputs)
            else:
                row["verdict"], row["detail"] = check_files.check(tool, whole, 224)
        except Exception as fault:
            row["verdict"], row["detail"] = "not run", f"{type(fault).__name__}: {fault}"
        if row["verdict"] not in ("equal", "different"):
            return row
        if options.rounds:
            settings = types.SimpleNamespace(worker=options.worker, rounds=options.rounds, turn=options.turn, cpu=options.cpu)
            try:
                row |= layers.measure(whole, inputs, settings, program.folder)
            except Exception as fault:  # of either engine
                row["untimed"] = f"{type(fault).__name__}: {prepare.last_line(fault)}"
        if group in WHOLE and not options.fast:
            row["train"] = trained(program, check_files.fixed(model, inputs), inputs)
            row["prune"] = pruned(program, whole, lambda file: check_files.check(tool, file, 224))
            row["back"] = written_back(program, whole if path.stem in OPEN else path, inputs)
    return row


# --- the table


def speed(row):
    return row["onnxruntime_ms"] / row["primsel_ms"]


def line_of(row):
    timed = f"{speed(row):6.2f} {row['predicted_ms'] / row['primsel_ms']:6.2f}" if "primsel_ms" in row else " " * 13
    faults = "".join(f"\n    {what}: {row[what]}" for what in ("untimed", "train", "prune", "back") if row.get(what))
    return f"{row['group'] + '/' + row['name']:48} {row['verdict']:9} {timed}  {row.get('detail', '')}{faults}"


def cells(group, rows, failed):
    run = [row for row in rows if row["verdict"] != "not run"]
    read = [row for row in run if row["verdict"] != "refused"]
    timed = [row for row in read if "primsel_ms" in row]
    ratios = [speed(row) for row in timed]
    within = sum(1 / 1.5 <= row["predicted_ms"] / row["primsel_ms"] <= 1.5 for row in timed)
    whole = [row for row in read if "back" in row]
    none = sum(NONE_MAY_GO in (row["prune"] or "") for row in whole)
    well = [sum(row[what] is None for row in whole) for what in ("train", "prune", "back")]
    well.insert(2, none)
    well = [f"{count} of {len(whole)}" if len(whole) < len(read) else count for count in well] if whole else ["-"] * 4
    speeds = [sum(ratio < 1 for ratio in ratios), f"{min(ratios):.2f}", f"{statistics.median(ratios):.2f}", within] if ratios else ["-"] * 4
    return [group, failed, len(run), len(read), sum(row["verdict"] == "equal" for row in read), *speeds, *well]


def report(rows, folder):
    titles = ["from", "not exported", "files", "read", "right", "slower", "least", "median", "within 1.5", "trained", "pruned", "none may go", "back"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["group"]].append(row)
    for group in [group for group in GROUPS if group in groups]:
        failed = len(list(folder.glob(f"{group}/*.failed")))
        print("| " + " | ".join(map(str, cells(group, groups[group], failed))) + " |")
    ratios = [speed(row) for row in rows if "primsel_ms" in row]
    if ratios:
        print(f"\n{len(ratios)} timed: median {statistics.median(ratios):.2f}, slower than ONNX Runtime {sum(ratio < 1 for ratio in ratios)}")


def main():
    options = parse()
    folder = options.work / "exported"
    rows = {}
    if options.out.exists():
        rows = {(row["group"], row["name"]): row for row in map(json.loads, options.out.read_text().splitlines())}
    if options.report:
        return report(list(rows.values()), folder)
    for file in (options.build / "bin/primsel", *([options.worker] if options.rounds else [])):
        if not file.exists():
            sys.exit(f"exporters.py: there is no {file}; --help says what builds it")
    folder.mkdir(parents=True, exist_ok=True)
    if not options.keep:
        make_files(options, folder)
    python = environment(options.work, "torch")
    if pathlib.Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [python, "-B", __file__, *sys.argv[1:], "--keep"])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for group in options.groups:
        for path in sorted(folder.glob(f"{group}/*.onnx")):
            key = group, path.stem
            row = rows.get(key, {})
            lacks = group in WHOLE and not options.fast and row.get("verdict") in ("equal", "different") and "back" not in row
            stale = lacks or (options.again and options.again in json.dumps(row))
            if path.name.startswith("part.") or not fnmatch.fnmatch(path.stem, options.only) or (key in rows and not stale):
                continue
            rows[key] = check(options, group, path)
            with options.out.open("a") as file:
                file.write(json.dumps(rows[key]) + "\n")
            print(line_of(rows[key]), flush=True)
    report(list(rows.values()), folder)


if __name__ == "__main__":
    main()
