#!/usr/bin/env bash
# Weights & Biases' sweeps draws values below the minimum, searches others in a grid than at random, and judges a step late.
#
# sweeps 0.2.0. q_uniform from 1 to 10 with q = 4: the random draws are 0, 4 and 8, the grid is 1, 5, 9. Documentation: min and max
# are the least and the greatest value, a draw is round(X / q) * q. early_terminate {type: hyperband, min_iter: 3}: with three values
# each nobody stops, with a fourth the worse of two does. Documentation: min_iter is the iteration of the first bracket, at which the
# best 1 / eta go on; eta is 3.
#
# Exits with 0 as long as it is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet sweeps==0.2.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PY'
from sweeps import RunState, SweepRun, next_run, stop_runs

metric = {"metric": {"name": "loss", "goal": "minimize"}}
file = {**metric, "method": "random", "parameters": {"x": {"distribution": "q_uniform", "min": 1, "max": 10, "q": 4}}}
drawn = sorted({int(next_run(file, []).config["x"]["value"]) for _ in range(300)})
runs = []
while (run := next_run({**file, "method": "grid"}, runs)) is not None:
    run.state = RunState.finished
    runs.append(run)
grid = [int(run.config["x"]["value"]) for run in runs]
print("drawn", drawn, "grid", grid)

early = {**file, "early_terminate": {"type": "hyperband", "min_iter": 3}}
stopped = {}
for values in (3, 4):
    runs = [SweepRun(name=name, state=RunState.running, sampledHistory=[{"loss": loss}] * values, config={"x": {"value": 4}})
            for name, loss in (("better", 1.0), ("worse", 2.0))]
    stopped[values] = [run.name for run in stop_runs(early, runs)]
print("stopped of two, by their number of values:", stopped)
so = drawn == [0, 4, 8] and grid == [1, 5, 9] and stopped == {3: [], 4: ["worse"]}
raise SystemExit(0 if so else "this has changed")
PY
