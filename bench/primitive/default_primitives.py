#!/usr/bin/env python3
"""Chooses the default primitives from bench/profiles: a list for vectors of 16 lanes (AVX-512), of 8 (AVX2), and of 4
(SSE4.2; NEON, of which there are no profiles, has the same).

    bench/primitive/default_primitives.py             prints the lists and how far they are behind all primitives
    bench/primitive/default_primitives.py --left-out  also chooses without each processor and looks at its profiles
    bench/primitive/default_primitives.py --write     writes include/primsel/primitive/default_primitives.hpp
    bench/primitive/default_primitives.py --check     fails unless that file is what would be written

The loss on a layer is the time of the list's fastest primitive over that of the fastest of all, less 1. A list meets
these targets on every profile of its instruction set: a geometric mean of at most MEAN over the layers, at most WORST on
any of them; and, among the primitives of each pair of layouts alone, a mean of at most PAIR_MEAN. Primitives are added
greedily, whichever brings the targets nearest, and those without which the targets still hold are dropped, Winograd's
first, which take longest to compile. Winograd's transforms of less than half a vector are not considered. Every list has
KEPT, because all layers of the profiles have square kernels and one group, and those of few input channels are rare.
"""
import argparse
import math
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = TOP / "include" / "primsel" / "primitive" / "default_primitives.hpp"
SETS = {16: "avx512", 8: "avx2", 4: "sse4_2"}

# Tighter than what test/primitive/default_primitives.cpp allows (0.005 and 1.10): times are noisy, and other processors
# are not in the profiles.
MEAN, WORST = 0.0025, 1.08
PAIR_MEAN = 0.05

# For groups, for kernels of one row or column, for stride 2, for few input channels, and in each pair of layouts one that
# supports any convolution.
KEPT = """direct-sum2d direct-hwc direct-chw-hwc direct-chw depthwise-chw depthwise-hwc grouped-hwc indirect mec-col
    im2row-copy-short-abt-ki winograd-4-1x3-vec-16 winograd-4-3x1-vec-16 winograd-2-1x7-vec-16
    winograd-2-7x1-vec-16 winograd-2x2-3x3-stride-2-vec-16 winograd-4x4-3x3-stride-2-vec-16
    winograd-stem-4-7x7-stride-2 winograd-stem-4-11x11-stride-4""".split()


def layouts_of(primitive):
    """The layouts that a primitive reads and writes."""
    if primitive == "mec-col":
        return "hcw", "hwc"
    from_chw = ("winograd-stem", "direct-sum2d", "direct-chw", "depthwise-chw", "im2row-scan", "im2col", "kn2row-as", "kn2row-aa-ab",
                "kn2row-aa-atb", "conv-1x1-gemm-ab-ki", "conv-1x1-gemm-atb")
    to_hwc = ("direct-hwc", "direct-chw-hwc", "depthwise-hwc", "grouped-hwc", "indirect", "im2win", "mec-row", "winograd")
    reads_chw = primitive.startswith(from_chw) and primitive not in ("kn2row-aa-abt", "kn2row-aa-atbt")
    if primitive.startswith("conv-1x1-gemm-atbt"):
        reads_chw = primitive.endswith("-ik")
    writes_hwc = primitive.startswith(to_hwc) or primitive.endswith("-ik")
    return "chw" if reads_chw else "hwc", "hwc" if writes_hwc else "chw"


class Profile:
    """The times of a profile: rows[i][primitive] in nanoseconds."""

    def __init__(self, path):
        lines = [line.strip() for line in path.open() if not line.startswith("#")]
        primitives = lines[0].split(",")[5:]
        self.name, self.processor = path.stem, path.stem.split("-")[0]
        self.rows = []
        for line in lines[1:]:
            times = {p: float(t) for p, t in zip(primitives, line.split(",")[5:]) if float(t or 0) > 0}
            if times:
                self.rows.append(times)


def profiles_of(lanes):
    """Those of an instruction set that timed all primitives."""
    return [Profile(path) for path in sorted((TOP / "bench" / "profiles").glob(f"*-{SETS[lanes]}.csv"))]


class Group:
    """Layers whose losses have targets: logarithms of each primitive's time over the fastest one's, by row."""

    def __init__(self, rows, mean, worst):
        self.mean, self.worst = math.log1p(mean), math.log(worst)
        self.rows = []
        for times in rows:
            fastest = min(times.values())
            self.rows.append({p: math.log(t / fastest) for p, t in times.items()})

    def losses(self, primitives):
        return [min((row[p] for p in primitives if p in row), default=math.log(100)) for row in self.rows]

    def missed(self, losses):
        """How far the targets are missed."""
        return (max(0.0, sum(losses) / len(losses) - self.mean) * 100 + sum(max(0.0, x - self.worst) for x in losses))


def groups_of(profiles):
    groups = []
    for profile in profiles:
        groups.append(Group(profile.rows, MEAN, WORST))
        for pair in sorted({layouts_of(p) for row in profile.rows for p in row}):
            rows = [{p: t for p, t in row.items() if layouts_of(p) == pair} for row in profile.rows]
            # Profiles that are older than the primitives which are kept for this pair of layouts say nothing of it.
            rows = [row for row in rows if len(row) > 1 and any(p in row for p in KEPT + ["conv-1x1-gemm-ab-ki"])]
            if rows:
                groups.append(Group(rows, PAIR_MEAN, math.inf))
    return groups


def channels_at_once(primitive):
    """Channels that Winograd's transforms take side by side; 0 where there are no such transforms."""
    match = re.fullmatch(r"winograd-.*?(?:-vec-(\d+))?", primitive)
    return int(match[1] or 1) if match else 0


def choose(profiles, lanes):
    groups = groups_of(profiles)
    timed = {p for profile in profiles for row in profile.rows for p in row}
    narrow = {p for p in timed if 0 < channels_at_once(p) < lanes / 2}
    candidates = sorted(timed - narrow - set(KEPT))
    chosen, losses = list(KEPT), [group.losses(KEPT) for group in groups]
    while sum(group.missed(loss) for group, loss in zip(groups, losses)) > 1e-12:
        best = None
        for candidate in candidates:
            if candidate in chosen:
                continue
            after = [[min(x, row.get(candidate, x)) for x, row in zip(loss, group.rows)]
                     for group, loss in zip(groups, losses)]
            missed = sum(group.missed(loss) for group, loss in zip(groups, after))
            if best is None or missed < best[0]:
                best = missed, candidate, after
        chosen.append(best[1])
        losses = best[2]
    for primitive in sorted(chosen[len(KEPT):], key=lambda p: not p.startswith("winograd")):
        rest = [p for p in chosen if p != primitive]
        if all(group.missed(group.losses(rest)) <= 1e-12 for group in groups):
            chosen = rest
    return chosen


def all_ids():
    """Every primitive, in the order of AllPrimitives, as the newest profile lists them."""
    path = TOP / "bench" / "profiles" / "zen5-avx512.csv"
    ids = next(line for line in path.open() if not line.startswith("#")).strip().split(",")[5:]
    if "direct-chw" not in ids:  # younger than the profile
        ids.insert(ids.index("direct-chw-hwc") + 1, "direct-chw")
    return ids + [primitive for primitive in KEPT if primitive not in ids]


def spelling(primitive, lanes):
    """A primitive as a type of C++; widths of Winograd's transforms that the profiles compare, in vectors."""
    def pattern(expression):
        return re.fullmatch(expression, primitive)

    def width(text):
        wide = int(text)
        return f"{wide // lanes} * lanes" if wide > lanes else "lanes" if wide == lanes else f"lanes / {lanes // wide}"

    named = {"direct-sum2d": "DirectSum2d", "direct-hwc": "DirectHwc", "direct-chw-hwc": "DirectChwHwc",
             "direct-chw": "DirectChw", "depthwise-chw": "DepthwiseChw", "depthwise-hwc": "DepthwiseHwc",
             "grouped-hwc": "GroupedHwc",
             "indirect": "Indirect", "im2win": "Im2Win", "mec-col": "MecCol", "mec-row-partition": "MecRowPartition",
             "kn2row": "Kn2Row<>", "kn2col": "Kn2Col<>", "kn2row-as": "Kn2AccumulateShift<true>",
             "kn2col-as": "Kn2AccumulateShift<false>"}
    if primitive in named:
        return named[primitive]
    if match := pattern(r"im2(row|col)-(.*)-(a\w*)-(ik|ki)"):
        patch, copy, form, out = match.groups()
        return (f"Im2<Patch::{patch}, PatchCopy::{copy.replace('-', '_')}, GemmForm::{form}, GemmOut::{out}>")
    if match := pattern(r"conv-1x1-gemm-(a\w*)-(ik|ki)"):
        return f"Conv1x1Gemm<GemmForm::{match[1]}, GemmOut::{match[2]}>"
    if match := pattern(r"kn2row-aa-(a\w*)"):
        return f"Kn2RowAccumulate<GemmForm::{match[1]}>"
    if match := pattern(r"winograd-(\d)x\d-(\d)x\d-vec-(\d+)"):
        return f"Winograd<{match[1]}, {match[2]}, {width(match[3])}>"
    if match := pattern(r"winograd-(\d)x\d-3x3-stride-2-vec-16"):
        return f"StridedWinograd<{match[1]}, 16>"
    if match := pattern(r"winograd-stem-(\d)-(\d+)x\d+-stride-(\d)"):
        return f"WinogradStem<{match[1]}, {match[2]}, {match[3]}>"
    if match := pattern(r"winograd-(\d)-(\d)-vec-(\d+)"):
        return f"WinogradLine<{match[1]}, {match[2]}, {width(match[3])}>"
    if match := pattern(r"winograd-(\d)-(\d)x(\d)-vec-16"):
        form, size = ("row", match[3]) if match[2] == "1" else ("column", match[2])
        return f"WinogradLine<{match[1]}, {size}, 16, KernelForm::{form}>"
    sys.exit(f"default_primitives: how is {primitive} written in C++?")


def header(lists):
    text = """// Written by bench/primitive/default_primitives.py from the profiles in bench/profiles; not to be edited.
// clang-format off
#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/primitive/conv1x1.hpp>
#include <primsel/primitive/depthwise.hpp>
#include <primsel/primitive/direct.hpp>
#include <primsel/primitive/direct_chw.hpp>
#include <primsel/primitive/grouped.hpp>
#include <primsel/primitive/im2.hpp>
#include <primsel/primitive/im2win.hpp>
#include <primsel/primitive/indirect.hpp>
#include <primsel/primitive/kn2.hpp>
#include <primsel/primitive/mec.hpp>
#include <primsel/primitive/winograd.hpp>
#include <primsel/primitive/winograd_line.hpp>
#include <primsel/primitive/winograd_stem.hpp>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {
template <int lanes_of_list>
struct ChosenPrimitives;
"""
    for lanes, chosen in lists.items():
        types = ",\n        ".join(spelling(p, lanes) for p in chosen)
        text += (f"template <>\nstruct ChosenPrimitives<{lanes}> {{\n    static constexpr int lanes = {lanes};\n"
                 f"    using type = TypeList<\n        {types}>;\n}};\n")
    return text + """}  // namespace primitive::detail

/// The primitives that an engine for an Arch considers by default. On every profile of the Arch's vector width, their
/// best is at most 0.5 % slower than the best of AllPrimitives in the mean over the layers, and at most 10 % on any
/// layer.
template <class Arch>
using DefaultPrimitivesOf =
    typename primitive::detail::ChosenPrimitives<lanes<Arch> >= 16 ? 16 : lanes<Arch> >= 8 ? 8 : 4>::type;
/// The default primitives for the instruction set of this translation unit. They compile faster than all primitives.
using DefaultPrimitives = DefaultPrimitivesOf<default_arch>;

}  // namespace primsel::inline PRIMSEL_ABI
"""


def print_losses(profiles, chosen, note=""):
    for profile in profiles:
        losses = Group(profile.rows, MEAN, WORST).losses(chosen)
        mean, worst = math.expm1(sum(losses) / len(losses)), math.exp(max(losses))
        print(f"{profile.name:<18}{len(profile.rows):>6}{len(chosen):>12}{100 * mean:>11.2f} %{worst:>13.3f}{note}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    order, lists = all_ids(), {}
    head = f"{'profile':<18}{'layers':>6}{'primitives':>12}{'mean loss':>13}{'worst layer':>13}"
    print(head)
    for lanes in SETS:
        profiles = profiles_of(lanes)
        lists[lanes] = sorted(choose(profiles, lanes), key=order.index)
        print_losses(profiles, lists[lanes])
    for lanes, chosen in lists.items():
        print(f"\n{lanes} lanes: {' '.join(chosen)}")
    if options.left_out:
        print(f"\nChosen without the profiles of its processor\n{head}")
        for lanes in SETS:
            profiles = profiles_of(lanes)
            for processor in sorted({profile.processor for profile in profiles}):
                others = [profile for profile in profiles if profile.processor != processor]
                print_losses([p for p in profiles if p.processor == processor], choose(others, lanes))
    text = header(lists)
    if options.write:
        HEADER.write_text(text)
    if options.check and HEADER.read_text() != text:
        sys.exit(f"default_primitives: {HEADER} is not what --write writes")


if __name__ == "__main__":
    main()
