#!/usr/bin/env python3
"""The README's chart, docs/images/engines.svg, from the tables of networks in bench/results/.

    chart.py --write|--check      --check: exit status 1 if the chart is not that of the tables
"""
import pathlib
import re
import sys
from html import escape

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = TOP / "bench/results/2026-11-30-engines.md"
CHART = TOP / "docs/images/engines.svg"
COLOURS = ("#3949ab", "#26a69a", "#ef8f35", "#8e5bb5", "#c0504d")
LEFT, BAR, GAP, SCALE, WIDTH, HEAD = 120, 9, 11, 250, 720, 66  # pixels; SCALE: of a ratio of 1


def series():
    """{machine: {network: ratio}} of each section whose table is of networks."""
    found = {}
    for section in re.split(r"^## ", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.split("\n") if line.startswith("|")]
        if rows and rows[0][0] == "network":
            column = rows[0].index("ratio")
            found[section.split(" (")[0]] = {row[0]: float(row[column]) for row in rows[2:]}
    return found


def draw(machines):
    networks = list(next(iter(machines.values())))
    row = len(machines) * BAR + GAP
    height = HEAD + row * len(networks) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
             '<text x="12" y="20" font-size="14" font-weight="bold">Speed beside the fastest of five other engines, one thread (higher is faster)</text>']
    x = 12
    for index, machine in enumerate(machines):
        parts += [f'<rect x="{x:g}" y="34" width="12" height="12" fill="{COLOURS[index]}"/>', f'<text x="{x + 18:g}" y="44">{escape(machine)}</text>']
        x += 30 + 6.7 * len(machine)
    for index, network in enumerate(networks):
        top = HEAD + index * row
        weight = ' font-weight="bold"' if network == "geometric mean" else ""
        parts.append(f'<text x="{LEFT - 8}" y="{top + row / 2 - 1:g}" text-anchor="end"{weight}>{escape(network)}</text>')
        for bar, (machine, ratios) in enumerate(machines.items()):
            y, length = top + bar * BAR, ratios[network] * SCALE
            parts += [f'<rect x="{LEFT}" y="{y}" width="{length:g}" height="{BAR - 1}" fill="{COLOURS[bar]}"/>',
                      f'<text x="{LEFT + length + 4:g}" y="{y + BAR - 1}" font-size="9">{ratios[network]:.2f}</text>']
    parts += [f'<line x1="{LEFT + SCALE}" x2="{LEFT + SCALE}" y1="{HEAD - 6}" y2="{height - 10}" stroke="#222" stroke-dasharray="3 3"/>', "</svg>"]
    return "\n".join(parts) + "\n"


def main(arguments):
    if arguments not in (["--write"], ["--check"]):
        print(__doc__)
        return 2
    chart = draw(series())
    if arguments == ["--write"]:
        CHART.write_text(chart, encoding="utf-8")
    elif not CHART.is_file() or CHART.read_text(encoding="utf-8") != chart:
        print(f"{CHART.relative_to(TOP)}: run `bench/peers/chart.py --write`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
