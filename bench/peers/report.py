#!/usr/bin/env python3
"""report.py FILE.json [--markdown] [--readme] [--force]: the tables of what engines.py has measured.

--readme prints the short table of the README: primsel beside the best of the others on each network, with one thread
and with two. Nothing is printed, and the exit status is 3, where the machine was too noisy while it was measured: the
FMA peak's quartiles more than 10 % apart, or, for two threads, the upper quartile of the time from core to core
more than twice the lower one.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

FMA_SPREAD, LATENCY_RATIO = 0.10, 2.0
TITLES = {
    "primsel": "primsel",
    "primsel:measured": "primsel, measured costs",
    "primsel:plan": "primsel, plan from file",
    "primsel:float32": "primsel, float32",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "nncf": "OpenVINO, its own file",
    "mnn": "MNN",
    "ncnn": "ncnn",
    "torchscript": "TorchScript",
}
NETS = {
    "alexnet": "AlexNet",
    "vgg11": "VGG-11",
    "vgg19": "VGG-19",
    "googlenet": "GoogLeNet",
    "resnet18": "ResNet-18",
    "resnet34": "ResNet-34",
    "resnet50": "ResNet-50",
    "squeezenet1_1": "SqueezeNet 1.1",
    "mobilenet_v2": "MobileNetV2",
}
DETECTORS = {"yolox_nano": "YOLOX-nano", "nanodet_m_416": "NanoDet-m", "yolo_fastest_v2": "YOLO-Fastest v2"}
EVERY = NETS | DETECTORS


def is_ours(engine):
    return engine.startswith("primsel")


# --- noise


def quartiles(values):
    """Lower, middle, upper."""
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3


def spread(values):
    low, middle, high = quartiles(values)
    return (high - low) / middle


def fma_samples(probes):
    """Of each processor."""
    return list(zip(*(probe["fma_gflops"] for probe in probes)))


def noise(probes, threads):
    """Why measurements between these probes do not count; nothing if they do."""
    for cpu, samples in enumerate(fma_samples(probes)[:threads]):
        if spread(samples) > FMA_SPREAD:
            return (f"the FMA peak of processor {cpu} has quartiles {spread(samples):.0%} of its median apart, "
                    f"more than {FMA_SPREAD:.0%}")
    latencies = [probe["latency_ns"] for probe in probes if probe["latency_ns"]]
    if threads > 1 and latencies:
        low, _, high = quartiles(latencies)
        if high > LATENCY_RATIO * low:
            return f"the time from core to core has quartiles {low:.0f} and {high:.0f} ns, a factor of more than 2"
    return None


def describe(probes):
    fma = fma_samples(probes)
    peaks = ", ".join(f"{quartiles(samples)[1]:.1f}" for samples in fma)
    apart = ", ".join(f"{spread(samples):.1%}" for samples in fma)
    read = [probe["read_gbs"] for probe in probes]
    text = (f"FMA peak of each core {peaks} GFLOP/s (quartiles {apart} apart), memory read at {quartiles(read)[1]:.1f} "
            f"GB/s ({spread(read):.1%})")
    latencies = [probe["latency_ns"] for probe in probes if probe["latency_ns"]]
    if latencies:
        low, middle, high = quartiles(latencies)
        text += f", core to core {middle:.0f} ns ({low:.0f} to {high:.0f})"
    return f"{text}; {len(probes)} probes."


# --- tables


def table(header, rows, markdown):
    """The first column to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        lines.insert(1, "|---|" + "---:|" * (len(header) - 1))
        return "\n".join(lines)
    widths = [max(map(len, column)) for column in zip(*cells)]
    first, *others = widths
    return "\n".join(
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others))]) for row in cells
    )


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def milliseconds(value):
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def medians(row):
    return {engine: statistics.median(rounds) for engine, rounds in row["rounds_ms"].items()}


def best_of(row):
    """The fastest of the others and its milliseconds."""
    others = {engine: ms for engine, ms in medians(row).items() if not is_ours(engine)}
    return min(others.items(), key=lambda item: item[1]) if others else (None, None)


def ratio_of(row, ours="primsel"):
    """How many times as fast as the best of the others."""
    (_, best), own = best_of(row), medians(row).get(ours)
    return best / own if best and own else None


def rows_of(data, threads):
    return {net: data["rows"][f"{net} {threads}"] for net in EVERY if f"{net} {threads}" in data["rows"]}


def first_of_ours(engines):
    return next((engine for engine in engines if is_ours(engine)), None)


def times_table(data, threads, markdown):
    engines, rows = list(data["engines"]), rows_of(data, threads)
    ours = first_of_ours(engines)
    header = ["ms", *(TITLES[engine] for engine in engines), "best other", "ratio"]
    header += ["core to core, ns"] if threads > 1 else []
    body, ratios, beside_floats = [], {}, {}
    for net, row in rows.items():
        times, (best, _), ratio = medians(row), best_of(row), ratio_of(row, ours)
        if ratio:
            ratios[net] = ratio
        if ours in times and "primsel:float32" in times:
            beside_floats[net] = times["primsel:float32"] / times[ours]
        cells = [milliseconds(times[engine]) if engine in times else "-" for engine in engines]
        body.append([EVERY[net], *cells, TITLES.get(best, "-"), f"{ratio:.2f}" if ratio else "-"])
        if threads > 1:
            latencies = [probe["latency_ns"] for probe in row["probes"] if probe["latency_ns"]]
            body[-1].append(f"{statistics.median(latencies):.0f}" if latencies else "-")
    text = table(header, body, markdown)
    for about, values in ((f"best of the others / {TITLES[ours]}: above 1 primsel is ahead", ratios),
                          (f"primsel in float32 / {TITLES[ours]}", beside_floats)):
        for nets, kind in ((NETS, "torchvision's networks"), (DETECTORS, "the detectors")):
            some = [value for net, value in values.items() if net in nets]
            if some:
                text += f"\n\n{about}: geometric mean {geometric_mean(some):.3f}, least {min(some):.2f} of {kind}."
    return text


def predictions_table(data, threads, markdown):
    """What each of our plans was predicted to take over what it took, and the median of the errors."""
    ours = [engine for engine in data["engines"] if is_ours(engine)]
    body, errors = [], {engine: [] for engine in ours}
    for net, row in rows_of(data, threads).items():
        body.append([EVERY[net]])
        for engine in ours:
            predicted = row["ready"].get(engine, {}).get("predicted_ms")
            if predicted is None or engine not in row["rounds_ms"]:
                body[-1].append("-")
                continue
            share = predicted / medians(row)[engine]
            errors[engine].append(abs(share - 1))
            body[-1].append(f"{share:.2f}")
    body.append(["median error", *(f"{statistics.median(each):.0%}" if each else "-" for each in errors.values())])
    return table(["predicted / run", *(TITLES[engine] for engine in ours)], body, markdown)


def natural_table(data, markdown):
    """Each engine's results on natural images beside ONNX Runtime's in float32."""
    engines = [engine for engine in data["engines"] if any(engine in row for row in data["natural"].values())]

    def cell(one):
        agreement = f", {one['same_class']:.0%}" if "same_class" in one else ""
        return f"{one['error']:.2%}{agreement}"

    body = [[EVERY[net], *(cell(row[engine]) if engine in row else "-" for engine in engines)]
            for net, row in ((net, data["natural"][net]) for net in EVERY if net in data["natural"])]
    return table(["", *(TITLES[engine] for engine in engines)], body, markdown)


def figures_table(data, threads, what, cell, markdown):
    engines = list(data["engines"])
    body = [
        [EVERY[net], *(cell(row[key][engine]) if engine in row[key] else "-" for engine in engines)]
        for key in [what]
        for net, row in rows_of(data, threads).items()
    ]
    return table(["", *(TITLES[engine] for engine in engines)], body, markdown)


def startup_table(data, markdown):
    engines = [engine for engine in data["engines"] if any(engine in row for row in data["startup"].values())]

    def cell(starts):
        whole, loaded = (statistics.median(start[i] for start in starts) for i in (0, 1))
        return f"{milliseconds(whole)} ({milliseconds(loaded)})"

    body = [
        [EVERY[net], *(cell(row[engine]) if engine in row else "-" for engine in engines)]
        for net, row in ((net, data["startup"][net]) for net in EVERY if net in data["startup"])
    ]
    return table(["ms", *(TITLES[engine] for engine in engines)], body, markdown)


def absent(data):
    """Reasons for the dashes."""
    lines = [f"{TITLES[name]}: {about['missing']}" for name, about in data["engines"].items() if "missing" in about]
    for name, row in data["rows"].items():
        net, threads = name.split()
        where = f"on {EVERY[net]} with {threads} thread{'s' if threads != '1' else ''}"
        lines += [f"{TITLES[engine]} {where}: {reason}" for engine, reason in row["failed"].items()
                  if "missing" not in data["engines"].get(engine, {})]
    return lines


def threads_of(data):
    return sorted({int(name.split()[1]) for name in data["rows"]})


def refusals(data):
    reasons = []
    for name, row in data["rows"].items():
        net, threads = name.split()
        reason = noise(row["probes"], int(threads))
        if reason:
            reasons.append(f"{EVERY[net]}, {threads} thread(s): {reason}")
    for threads in threads_of(data):
        probes = [probe for row in rows_of(data, threads).values() for probe in row["probes"]]
        reason = noise(probes, threads)
        if reason:
            reasons.append(f"all rows of {threads} thread(s): {reason}")
    return reasons


def engines_line(data):
    known = [f"{TITLES[name]} {about['version']}" for name, about in data["engines"].items() if "version" in about]
    return f"{data['cpu']}; {', '.join(known)}."


def full(data, markdown):
    heading = "### " if markdown else ""
    in_threads = {threads: f"{threads} thread{'s' if threads != 1 else ''}" for threads in threads_of(data)}
    parts = [f"Batch 1, 224x224 (detectors: as published), {data.get('precision', 'float32')}. {engines_line(data)}"]
    for threads in threads_of(data):
        probes = [probe for row in rows_of(data, threads).values() for probe in row["probes"]]
        parts.append(f"{heading}{in_threads[threads]}: median milliseconds of interleaved rounds")
        parts += [times_table(data, threads, markdown), describe(probes)]
    for threads in threads_of(data)[:1]:
        parts.append(f"{heading}Predicted by primsel over measured; {in_threads[threads]}")
        parts.append(predictions_table(data, threads, markdown))
        parts.append(f"{heading}Largest error of a logit, relative to the RMS of the logits computed in double (of detectors: of ONNX "
                     "Runtime's results in float32)")
        parts.append(figures_table(data, threads, "error", "{:.1e}".format, markdown))
        parts.append(f"{heading}Peak memory in MiB: resident, the model file's pages included, beyond what the process "
                     f"had before loading; {in_threads[threads]}")
        parts.append(figures_table(data, threads, "peak_kib", lambda kib: f"{kib / 1024:.0f}", markdown))
    if data.get("natural"):
        parts.append(f"{heading}Natural images: the RMS of the difference to ONNX Runtime's results in float32 over the RMS of these, and how "
                     "many images keep their class")
        parts.append(natural_table(data, markdown))
    if data.get("startup"):
        parts.append(f"{heading}Start-up, one thread: milliseconds from process start to first answer (in brackets: "
                     "from when program and packages had been loaded); model files in the file cache")
        parts.append(startup_table(data, markdown))
    parts += ["\n".join(absent(data))] if absent(data) else []
    return "\n\n".join(parts)


def readme(data):
    """As Markdown."""
    counts = threads_of(data)
    ours = first_of_ours(data["engines"])
    header = ["ms"]
    for threads in counts:
        header += [f"primsel, {threads} thread{'s' if threads != 1 else ''}", "best other", "ratio"]
    header += ["logits' error"]
    body = []
    for net in NETS:
        rows = [rows_of(data, threads).get(net) for threads in counts]
        if None in rows or not all(ratio_of(row, ours) for row in rows):
            continue
        body.append([EVERY[net]])
        for row in rows:
            name, best = best_of(row)
            body[-1] += [milliseconds(medians(row)[ours]), f"{milliseconds(best)} {TITLES[name]}"]
            body[-1] += [f"{ratio_of(row, ours):.2f}"]
        body[-1] += [f"{max(row['error'][ours] for row in rows):.0e}"]
    means = ["geometric mean"]
    for threads in counts:
        ratios = [ratio for ratio in (ratio_of(row, ours) for net, row in rows_of(data, threads).items() if net in NETS) if ratio]
        means += ["", "", f"{geometric_mean(ratios):.2f}" if ratios else "-"]
    return "\n\n".join([table(header, [*body, [*means, ""]], True), engines_line(data)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--force", action="store_true", help="however noisy the machine was")
    options = parser.parse_args()
    return show(json.loads(options.file.read_text()), options)


def show(data, options):
    """Prints the tables, or why not; the exit status."""
    reasons = refusals(data)
    for reason in reasons:
        print(f"too noisy: {reason}", file=sys.stderr)
    if reasons and not options.force:
        return 3
    print(readme(data) if options.readme else full(data, options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
