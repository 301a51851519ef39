#!/usr/bin/env python3
"""Our searchers beside Optuna's samplers (PyPI: optuna, scipy, torch), on the same functions, seeds and budgets.

    against_optuna.py bin/bench_search_searchers [--seeds 10] [--trials 40] [--table F.csv] [--curves F.csv]
                      [--only FUNCTION ...]

Prints, for each function and sampler, the area under the curve of the best so far, a mean over trials and seeds of
(best - least) / (typical - least): `least` is the optimum, `typical` the median of random points. Smaller is better.
Curves that are in F.csv already are not run again. The table is what `bench_search_searchers table F.csv` writes.
"""
import argparse
import csv
import math
import os
import pathlib
import random
import statistics
import subprocess

os.environ.setdefault("OMP_NUM_THREADS", "1")

HARTMANN_WEIGHTS = [1, 1.2, 3, 3.2]
HARTMANN = {
    3: ([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]],
        [[0.3689, 0.1170, 0.2673], [0.4699, 0.4387, 0.7470], [0.1091, 0.8732, 0.5547], [0.0381, 0.5743, 0.8828]]),
    6: ([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]],
        [[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
         [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]]),
}


def branin(u):
    x, y = 15 * u[0] - 5, 15 * u[1]
    bent = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return bent * bent + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann(u):
    a, p = HARTMANN[len(u)]
    return -sum(w * math.exp(-sum(f * (x - c)**2 for f, x, c in zip(row, u, centre)))
                for w, row, centre in zip(HARTMANN_WEIGHTS, a, p))


def ackley(u):
    x = [60 * share - 20 for share in u]
    return (-20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / len(x)))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / len(x)) + 20 + math.e)


def rosenbrock(u):
    x = [4 * share - 2 for share in u]
    return sum(100 * (b - a * a)**2 + (1 - a)**2 for a, b in zip(x, x[1:]))


# The function, its parameters, its least value.
FUNCTIONS = {"branin": (branin, 2, 0.397887), "hartmann3": (hartmann, 3, -3.86278), "hartmann6": (hartmann, 6, -3.32237),
             "ackley5": (ackley, 5, 0.0), "rosenbrock4": (rosenbrock, 4, 0.0)}


class Table:
    """Pruned networks: what a trial costs, as bench_search_searchers has it."""
    LEVELS = 16

    def __init__(self, path):
        self.rows = [[float(v) for v in row] for row in csv.reader(open(path))]
        whole = self.rows[0][3]
        self.losses = [row[3] / whole if row[4] >= 0.7 else 1 + 0.7 - row[4] for row in self.rows]

    def loss(self, at):
        return self.losses[(at[0] * self.LEVELS + at[1]) * self.LEVELS + at[2]]


def check_same_functions(program):
    generator = random.Random(1)
    for name, (function, count, _) in FUNCTIONS.items():
        at = [generator.random() for _ in range(count)]
        there = float(subprocess.run([program, "value", name, *map(repr, at)], check=True, capture_output=True,
                                     text=True).stdout)
        if abs(there - function(at)) > 1e-9 * max(1, abs(there)):
            raise SystemExit(f"{name} is {there} there and {function(at)} here")


def our_curves(program, arguments):
    command = [program, "run", str(arguments.seeds), str(arguments.trials)]
    lines = subprocess.run(command + ([arguments.table] if arguments.table else []), check=True, capture_output=True,
                           text=True).stdout
    return {tuple(row[:3]): [float(v) for v in row[3:]] for row in csv.reader(lines.splitlines())}


def optuna_curve(name, kind, seed, trials, table):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"optuna-gp": optuna.samplers.GPSampler, "optuna-tpe": optuna.samplers.TPESampler}
    best = math.inf
    curve = []

    def objective(trial):
        nonlocal best
        if name == "resnet56":
            value = table.loss([trial.suggest_int(layer, 0, Table.LEVELS - 1) for layer in ("layer1", "layer2", "layer3")])
        else:
            function, count, _ = FUNCTIONS[name]
            value = function([trial.suggest_float(f"x{i}", 0, 1) for i in range(count)])
        best = min(best, value)
        curve.append(best)
        return value

    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=samplers[kind](seed=seed))
        study.optimize(objective, n_trials=trials)
    return curve


def scale_of(name, table):
    if name == "resnet56":
        return min(table.losses), statistics.median(table.losses)
    function, count, least = FUNCTIONS[name]
    generator = random.Random(0)
    return least, statistics.median(function([generator.random() for _ in range(count)]) for _ in range(4001))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--table")
    parser.add_argument("--curves", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    check_same_functions(arguments.program)
    table = Table(arguments.table) if arguments.table else None
    names = arguments.only or list(FUNCTIONS) + (["resnet56"] if table else [])

    kept = {}
    if arguments.curves and arguments.curves.exists():
        for row in csv.reader(arguments.curves.open()):
            if len(row) == 3 + arguments.trials:
                kept[tuple(row[:3])] = [float(v) for v in row[3:]]
    for name in names:
        for kind in ("optuna-gp", "optuna-tpe"):
            for seed in range(1, arguments.seeds + 1):
                key = (name, kind, str(seed))
                if key in kept:
                    continue
                kept[key] = optuna_curve(name, kind, seed, arguments.trials, table)
                if arguments.curves:
                    with arguments.curves.open("a") as file:
                        csv.writer(file).writerow([*key, *map(repr, kept[key])])
    kept.update(our_curves(arguments.program, arguments))

    kinds = ["bayes", "optuna-gp", "optuna-tpe", "random", "grid", "bayes-known"]
    print(f"{'area under the best so far':28}" + "".join(f"{kind:>12}" for kind in kinds))
    for name in names:
        least, typical = scale_of(name, table)
        cells = ""
        for kind in kinds:
            if (name, kind, "1") not in kept:  # nothing is known of a function
                continue
            areas = [statistics.mean((v - least) / (typical - least) for v in kept[name, kind, str(seed)])
                     for seed in range(1, arguments.seeds + 1)]
            cells += f"{statistics.mean(areas):12.4f}"
        print(f"{name:28}{cells}")


if __name__ == "__main__":
    main()
