#!/usr/bin/env python3
"""Makes single_include/primsel/primsel.hpp: the umbrella header and the opt-in headers that need no further library,
with every primsel header that they include inlined once, where it is first included; other includes stay where they
stand. Beside primsel's own headers it would define everything twice: whichever comes second is an #error.

    amalgamate.py            writes it
    amalgamate.py --check    exit status 1 if the one in the repository differs from a fresh one
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
INCLUDE_DIR = TOP / "include"
OUTPUT = TOP / "single_include" / "primsel" / "primsel.hpp"
HEADERS = ["primsel/primsel.hpp", "primsel/engine/trace.hpp", "primsel/io/npy.hpp", "primsel/plan/plan_file.hpp",
           "primsel/show/dot.hpp", "primsel/show/svg.hpp", "primsel/train.hpp", "primsel/prune.hpp",
           "primsel/dynamic.hpp", "primsel/forecast.hpp", "primsel/train/idx.hpp", "primsel/train/cifar.hpp", "primsel/train/npy_images.hpp", "primsel/train/image_folder.hpp"]
LICENCE = "".join(f"// {line}".rstrip() + "\n" for line in (TOP / "LICENSE").read_text(encoding="utf-8").splitlines())
HEAD = f"""\
// primsel in one header, generated from include/primsel/ by scripts/amalgamate.py: do not edit.
// SPDX-License-Identifier: MIT
//
{LICENCE}#pragma once
#ifdef PRIMSEL_VERSION
#error "primsel: the single header is the whole library; include it alone, or the headers of include/ alone"
#endif
"""
TAIL = "#define PRIMSEL_SINGLE_INCLUDE  // core/config.hpp refuses to come after it\n"

PRIMSEL_INCLUDE = re.compile(r"^\s*#\s*include\s*<(primsel/[^>]+)>")
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|endif)\b")
PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")


def inline(header, seen):
    """The lines of the header, its primsel includes replaced by their lines, unless `seen` has them already."""
    seen.add(header)
    lines, depth = [f"// {header}"], 0
    for number, line in enumerate((INCLUDE_DIR / header).read_text(encoding="utf-8").splitlines(), start=1):
        if condition := CONDITION.match(line):
            depth += -1 if condition.group(1) == "endif" else 1
        if PRAGMA_ONCE.match(line):
            continue
        include = PRIMSEL_INCLUDE.match(line)
        if not include:
            lines.append(line)
            continue
        if depth:
            # Inlined once, it would be lost to whoever includes it where the condition does not hold.
            sys.exit(f"amalgamate: {header}:{number}: a primsel header is included under a condition")
        if include.group(1) not in seen:
            lines += inline(include.group(1), seen)
    return lines


def amalgamated():
    seen, lines = set(), []
    for header in HEADERS:
        if header not in seen:
            lines += inline(header, seen)
    return re.sub(r"\n{3,}", "\n\n", HEAD + "\n".join(lines) + "\n" + TAIL)


def main(arguments):
    text = amalgamated()
    if arguments == ["--check"]:
        if not OUTPUT.is_file() or OUTPUT.read_text(encoding="utf-8") != text:
            print(f"{OUTPUT.relative_to(TOP)} is out of date; run `make single-include`")
            return 1
        return 0
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
