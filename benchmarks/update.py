"""Rows that come later: what an update costs beside a new fit, whether it is exact, and whether drift is noticed.

    python benchmarks/update.py time [--rows 1000] [--added 100] [--updates 10] [--classes 2 3]
    python benchmarks/update.py drift [--seeds 10] [--output results/update.csv]
    python benchmarks/update.py choose

``time`` fits a model to made-up rows of two and of three classes, 10 columns, and updates it with more of them. Beside
the seconds of each update stand those of refitting on all rows, and the largest difference of a probability of 1,000
further rows from the same members, trained from nothing on all rows in another order.

``drift`` fits models to 500 made-up rows and updates them five times with 100 each. Without drift all are alike; with
it they change from the first or the third update on, in one of the ways of ``CHANGES``. Counted are alarms. ``choose``
compares bets for ``fitting/drift.py``, on seeds that ``drift`` does not use.
Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import copy
import csv
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import softmax

from marginwise import TunedSVC
from marginwise.errors import TuningWarning
from marginwise.fitting import drift
from marginwise.fitting.stacking import combined

Rows = tuple[np.ndarray, np.ndarray]


def made_up(n: int, n_classes: int, rng: np.random.Generator, truth: np.random.Generator) -> Rows:
    """Return rows of 10 columns, of which 5 matter, straight or curved."""
    X = rng.normal(size=(n, 10))
    straight, curved = truth.normal(size=(5, n_classes)), truth.normal(size=(5, n_classes))
    scores = 1.5 * X[:, :5] @ straight / np.sqrt(5) + (X[:, :5] ** 2 - 1.0) @ curved / np.sqrt(5)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def kept_the_same(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    return X, y


def noisier(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """One label in three is drawn at random."""
    return X, np.where(rng.random(len(y)) < 1 / 3, rng.integers(0, 2, len(y)), y)


def broken(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """Three of the five columns that matter hold what belongs to other rows."""
    X = X.copy()
    X[:, :3] = rng.permutation(X[:, :3])
    return X, y


def moved(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """The columns have another origin: one standard deviation further, as after a new calibration of instruments."""
    return X + 1.0, y


def other_unit(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """Two of the columns that matter are in another unit, so that their numbers are ten times as large."""
    X = X.copy()
    X[:, :2] *= 10.0
    return X, y


def reversed_there(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """The labels mean the opposite for one row in five, where the last column is large."""
    return X, np.where(X[:, 9] > 0.84, 1 - y, y)


CHANGES: dict[str, Callable[..., Rows]] = {
    one.__name__.replace("_", " "): one for one in (noisier, broken, moved, other_unit, reversed_there)
}


Case = tuple[str, Callable[..., Rows], int]

#: None, and each change from the first update on, and from the third.
CASES: list[Case] = [("none", kept_the_same, 0)]
CASES += [(name, change, first) for name, change in CHANGES.items() for first in (0, 2)]


def trained_anew(model: TunedSVC, X: np.ndarray, seed: int) -> np.ndarray:
    """Return class probabilities of the members, trained from nothing on the model's rows in a random order."""
    ensemble, inputs = model.ensemble_, model._encoding(X)
    rows = ensemble.problem.subset(np.random.default_rng(seed).permutation(len(ensemble.X)))
    logs = []
    for member in ensemble.members:
        seen = replace(rows, X=member.inputs(rows.X))
        trained = member.candidate.labels.train(seen, member.hyperparameters)
        logs.append(trained.predictor.log_proba(member.inputs(inputs)))
    return softmax(combined(np.array(logs), ensemble.weights, None), axis=1)


def exact_difference(model: TunedSVC, X: np.ndarray) -> float:
    """Return the largest difference of a probability from training anew, before variances are made of few columns."""
    inputs, ensemble = model._encoding(X), model.ensemble_
    return float(np.abs(np.exp(ensemble.log_proba_of_few(inputs)) - trained_anew(model, X, 0)).max())


def measure_time(arguments: argparse.Namespace) -> None:
    """Print the seconds of updates and of new fits."""
    warnings.simplefilter("ignore", TuningWarning)
    for rows in (200, 1600):
        TunedSVC(ard=0, random_state=0).fit(*made_up(rows, 2, *_generators(7)))  # compiled
    for n_classes in arguments.classes:
        total = arguments.rows + arguments.added * arguments.updates
        X, y = made_up(total + 1000, n_classes, *_generators(0))
        model = TunedSVC(random_state=0).fit(X[: arguments.rows], y[: arguments.rows])
        members = ", ".join(f"{member.labels} {member.weight:.2f}" for member in model.ensemble_.members)
        print(f"\n{n_classes} classes, tuned on {arguments.rows} rows: {members}\n")
        print("| rows | s to update | s to refit | ratio | difference |\n|---:|---:|---:|---:|---:|")
        sums = np.zeros(2)
        for stop in range(arguments.rows + arguments.added, total + 1, arguments.added):
            start = time.perf_counter()
            model.update(X[stop - arguments.added : stop], y[stop - arguments.added : stop])
            updated = time.perf_counter()
            TunedSVC(random_state=0).fit(X[:stop], y[:stop])
            spent = np.array([updated - start, time.perf_counter() - updated])
            sums += spent
            difference = exact_difference(model, X[total:])
            cells = f"{spent[0]:.2f} | {spent[1]:.2f} | {spent[1] / spent[0]:.0f} | {difference:.0e}"
            print(f"| {stop} | {cells} |", flush=True)
        print(f"| all | {sums[0]:.2f} | {sums[1]:.2f} | {sums[1] / sums[0]:.0f} | |", flush=True)


def first_model(seed: int) -> tuple[TunedSVC, Rows, np.random.Generator]:
    """Return a model of 500 made-up rows, these and 500 more, and what draws changes."""
    rng, truth = _generators(seed)
    X, y = made_up(1000, 2, rng, truth)
    return TunedSVC(ard=0, random_state=0).fit(X[:500], y[:500]), (X, y), rng


def own_losses(seed: int, cases: list[Case]) -> list[np.ndarray]:
    """Return for each case the log-loss of each row, by models without it, after five updates."""
    model, (X, y), rng = first_model(seed)
    losses = []
    for _, change, first in cases:
        later = copy.copy(model)
        for number in range(5):
            rows = slice(500 + 100 * number, 600 + 100 * number)
            later.update(*(change(X[rows], y[rows], rng) if number >= first else (X[rows], y[rows])))
        losses.append(-later._held_out_log_proba()[later.row_groups_, later._codes[later.row_groups_]])
    return losses


def first_alarm(losses: np.ndarray) -> int:
    """Return at which of five updates with 100 rows there is an alarm, -1 for none."""
    test = drift.DriftTest()
    for number, row in enumerate(range(500, 1000, 100)):
        test = test.after(losses[:row], losses[row : row + 100], row)
        if test.alarm:
            return number
    return -1


def measure_drift(arguments: argparse.Namespace) -> None:
    """Write at which update there was an alarm in each case, -1 for none; then print how many there were."""
    warnings.simplefilter("ignore")
    arguments.output.parent.mkdir(exist_ok=True)
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        alarms = [first_alarm(losses) for losses in own_losses(seed, CASES)]
        with arguments.output.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow([seed, *alarms])
    with arguments.output.open(newline="", encoding="utf-8") as file:
        table = np.array(list(csv.reader(file)), dtype=int)[:, 1:]
    print("| change | from update | alarms since | median rows until | alarms before |\n|---|---:|---:|---:|---:|")
    for (name, _, first), alarms in zip(CASES, table.T, strict=True):
        since, before = alarms[alarms >= first], np.count_nonzero((alarms >= 0) & (alarms < first))
        rows = f"{100 * (np.median(since) - first + 1):.0f}" if len(since) else ""
        print(f"| {name} | {first + 1} | {len(since)} of {len(alarms)} | {rows} | {before} |")


def measure_bets(arguments: argparse.Namespace) -> None:
    """Print how often bets raise an alarm, from the same held-out losses, on seeds of their own."""
    warnings.simplefilter("ignore")
    found = [own_losses(seed, CASES) for seed in range(1000, 1000 + arguments.seeds)]
    for bets in ((0.5,), (0.7,), (0.8,), (0.9,), (0.95,), (0.8, 0.9), (0.6, 0.8, 0.95), (0.9, 0.95)):
        drift._BETS = np.array(bets)
        alarms = np.array([[first_alarm(losses) >= 0 for losses in one] for one in found])
        print(f"bets {bets}: without drift {alarms[:, 0].mean():.2f}, with it {alarms[:, 1:].mean():.2f}", flush=True)


def _generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return those of the rows and of the truth."""
    return np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    timing = commands.add_parser("time")
    timing.add_argument("--rows", type=int, default=1000)
    timing.add_argument("--added", type=int, default=100)
    timing.add_argument("--updates", type=int, default=10)
    timing.add_argument("--classes", type=int, nargs="+", default=[2, 3])
    timing.set_defaults(run=measure_time)
    drifting = commands.add_parser("drift")
    drifting.add_argument("--first", type=int, default=100, help="seed of the first cases")
    drifting.add_argument("--seeds", type=int, default=10)
    drifting.add_argument("--output", type=Path, default=Path("results/update.csv"))
    drifting.set_defaults(run=measure_drift)
    choosing = commands.add_parser("choose")
    choosing.add_argument("--seeds", type=int, default=6)
    choosing.set_defaults(run=measure_bets)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
