"""What the ends of searches from random starts are worth together: best, mean and vote side by side.

    python benchmarks/combine.py run [--splits 3] [--restarts 9] [--sets SET ...] [--candidates NAME ...]
    python benchmarks/combine.py report

On the paper's five sets, drawn anew as in ``default.py``. Mean and vote are of the same searches. "members" is the
number of different ends, "alone" the mean error of these in %. Results are appended to results/combine.csv; a run that
is stopped goes on where it was. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from classify import FIVE
from default import FIRST_SPLIT, drawn_anew
from marginwise import TunedSVC
from marginwise.fitting.stacking import Vote
from results import Results

RESULTS = Results(
    Path("results/combine.csv"), {"error": 2, "log_loss": 4, "alone": 2, "members": 1, "converged": 1, "seconds": 2}
)
WAYS = ("best", "mean", "vote")


def candidate(ard, criterion, slack=None, **options):
    return lambda: {"ard": ard, "criterion": criterion, "slack": slack, "kernel": "rbf", **options}


CANDIDATES = {
    f"{criterion}, s = {ard:g}": candidate(ard, criterion, slack, max_evaluations=budget)
    for ard in (1.0, np.inf)
    for criterion, slack, budget in (
        ("laplace-evidence", "quadratic", 100),
        ("span", "quadratic", 100),
        ("gacv", None, 1000),  # it has jumps, and a simplex takes long
        ("ep-evidence", None, 100),
        ("ep-loo", None, 100),
    )
} | {"default": candidate("auto", "auto", kernel="auto")}


def measure(options, Z, z, X, y):
    """Return the measures of each way, by its name."""
    found = {}
    for combine in ("best", "mean"):
        start = time.process_time()
        model = TunedSVC(combine=combine, **options).fit(X, y)
        seconds = time.process_time() - start
        found[combine] = _judged(model, Z, z, seconds)
    model.ensemble_ = replace(model.ensemble_, vote=Vote(np.ones(2)))
    found["vote"] = _judged(model, Z, z, seconds)
    return found


def _judged(model, Z, z, seconds):
    stack = model.ensemble_
    probability = model.predict_proba(Z)[:, 1]
    own = np.clip(np.where(z > 0, probability, 1 - probability), 1e-15, 1)
    inputs = model._encoding(Z)
    alone = [model.classes_[one.log_proba(inputs).argmax(axis=1)] for one in stack.predictors]
    return {
        "error": 100 * np.mean(model.predict(Z) != z),
        "log_loss": -np.mean(np.log(own)),
        "alone": 100 * stack.weights @ [np.mean(labels != z) for labels in alone],
        "members": len(stack.members),
        "converged": sum(run.status.ok for run in model.restarts_),
        "seconds": seconds,
    }


def run(options):
    warnings.simplefilter("ignore")
    for split in range(FIRST_SPLIT, FIRST_SPLIT + options.splits):
        for name in options.sets:
            X, y, Z, z = drawn_anew(name, split, options.data)
            for method in options.candidates:
                keys = [f"{method}, {way}" for way in WAYS]
                done = {row["method"] for row in RESULTS.rows() if (row["set"], row["split"]) == (name, str(split))}
                if not done.issuperset(keys):
                    settings = CANDIDATES[method]() | {"restarts": options.restarts, "random_state": split}
                    found = measure(settings, Z, z, X, y)
                    for way in WAYS:
                        RESULTS.once(name, split, f"{method}, {way}", lambda: found[way])  # noqa: B023


def report():
    """Print a table with a row for each criterion and set, means over the splits, and their means over the sets."""
    table = {name: RESULTS.table()[name] for name in RESULTS.measures}
    print("| | data | splits | members | alone | best | mean | vote | log-loss best | mean | seconds best | together |")
    print("|---" * 12 + "|")
    for method in CANDIDATES:
        sets = [name for name in FIVE if f"{method}, vote" in table["error"][name]]
        rows = [_row(table, name, method) for name in sets]
        for name, row in zip(sets, rows, strict=True):
            _print(method, name, len(table["error"][name][f"{method}, vote"]), row)
        if rows:
            _print(f"**{method}**", f"mean of {len(sets)}", "", np.mean(rows, axis=0))


def _row(table, name, method):
    def mean(measure, way):
        return np.mean(list(table[measure][name][f"{method}, {way}"].values()))

    return [
        mean("members", "mean"),
        mean("alone", "mean"),
        *(mean("error", way) for way in WAYS),
        *(mean("log_loss", way) for way in ("best", "mean")),
        *(mean("seconds", way) for way in ("best", "mean")),
    ]


def _print(method, name, splits, row):
    digits = (1, 1, 1, 1, 1, 3, 3, 1, 1)
    cells = [f"{value:.{places}f}" for value, places in zip(row, digits, strict=True)]
    print(f"| {method} | {name} | {splits} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--data", help="folder with original files of the paper's sets")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--restarts", type=int, default=9)
    parser.add_argument("--candidates", nargs="+", default=list(CANDIDATES), choices=list(CANDIDATES))
    parser.add_argument("--sets", nargs="+", default=list(FIVE), choices=list(FIVE))
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
