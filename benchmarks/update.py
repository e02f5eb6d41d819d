"""Rows that come later: what an update costs beside a new fit, whether it is exact, and whether drift is noticed.

    python benchmarks/update.py time [--rows 1000] [--added 100] [--updates 10] [--classes 2 3]
    python benchmarks/update.py drift [--seeds 10] [--output results/update.csv]
    python benchmarks/update.py choose

``time`` fits a model to made-up rows of two and of three classes, 10 columns, and updates it with more of them. Beside
the seconds of each update stand those of fitting anew on all rows, and the largest difference of a probability of 1,000
further rows from the same members, trained from nothing on all rows in another order.

``drift`` fits models to 500 made-up rows and updates them ten times with 50 each. Without drift all are alike; with it
they change from the first or the sixth update on, in one of the ways of ``CHANGES``. Counted are alarms. ``choose``
compares bets for ``fitting/drift.py``, on seeds that ``drift`` does not use.
Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
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
from results import Results

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
    """One label in four is drawn at random."""
    return X, np.where(rng.random(len(y)) < 0.25, rng.integers(0, 2, len(y)), y)


def broken(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """Two of the columns that matter hold what belongs to other rows."""
    X = X.copy()
    X[:, :2] = rng.permutation(X[:, :2])
    return X, y


def moved(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """The columns have another origin: one standard deviation further, as after a new calibration of instruments."""
    return X + 1.0, y


def other_unit(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """Two of the columns that matter are in another unit."""
    X = X.copy()
    X[:, :2] *= 2.54
    return X, y


def reversed_there(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Rows:
    """The labels mean the opposite for one row in five, where the last column is large."""
    return X, np.where(X[:, 9] > 0.84, 1 - y, y)


CHANGES: dict[str, Callable[..., Rows]] = {
    one.__name__.replace("_", " "): one for one in (noisier, broken, moved, other_unit, reversed_there)
}


#: Each change from the first update on, and from the sixth.
CASES = [(name, change, first) for name, change in CHANGES.items() for first in (0, 5)]


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
        print("| rows | s to update | s to fit anew | ratio | difference |\n|---:|---:|---:|---:|---:|")
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


def updated_model(change: Callable[..., Rows], first: int, seed: int) -> TunedSVC:
    """Return a model after ten updates, the rows of which have changed from the first one on."""
    rng, truth = _generators(seed)
    X, y = made_up(1000, 2, rng, truth)
    model = TunedSVC(ard=0, random_state=0).fit(X[:500], y[:500])
    for number in range(10):
        rows = slice(500 + 50 * number, 550 + 50 * number)
        model.update(*(change(X[rows], y[rows], rng) if number >= first else (X[rows], y[rows])))
    return model


def first_alarm(losses: np.ndarray) -> int:
    """Return at which of ten updates with 50 rows there is an alarm, -1 for none."""
    test = drift.DriftTest()
    for number, row in enumerate(range(500, 1000, 50)):
        test = test.after(losses[:row], losses[row : row + 50], row)
        if test.alarm:
            return number
    return -1


def own_losses(model: TunedSVC) -> np.ndarray:
    """Return the log-loss of each row given, by models without it."""
    return -model._held_out_log_proba()[model.row_groups_, model._codes[model.row_groups_]]


def alarm_of(change: Callable[..., Rows], first: int, seed: int) -> dict[str, int]:
    return {"alarm": first_alarm(own_losses(updated_model(change, first, seed)))}


def measure_drift(arguments: argparse.Namespace) -> None:
    """Write for each case at which update there was an alarm, -1 for none; then print how many there were."""
    warnings.simplefilter("ignore")
    results = Results(arguments.output, {"alarm": 0})
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        for number in range(len(CASES)):  # as many without drift as with it
            case = 100 * number + seed
            results.once("none", case, "from 1", lambda case=case: alarm_of(kept_the_same, 0, case))
        for name, change, first in CASES:
            case = (change, first, seed)
            results.once(name, seed, f"from {first + 1}", lambda case=case: alarm_of(*case))
    found = results.table()["alarm"]
    print("\n| change | from update | noticed | median rows until | alarms before |\n|---|---:|---:|---:|---:|")
    quiet = np.array(list(found["none"]["from 1"].values()))
    print(f"| none | | {np.count_nonzero(quiet >= 0)} of {len(quiet)} | | |")
    total = np.zeros(3, dtype=int)
    for name, _, first in CASES:
        alarms = np.array(list(found[name][f"from {first + 1}"].values()))
        right = alarms[alarms >= first]
        counts = np.array([len(right), len(alarms), np.count_nonzero((alarms >= 0) & (alarms < first))])
        total += counts
        rows = f"{50 * (np.median(right) - first + 1):.0f}" if len(right) else ""
        print(f"| {name} | {first + 1} | {counts[0]} of {counts[1]} | {rows} | {counts[2]} |")
    print(f"| all | | {total[0]} of {total[1]} | | {total[2]} |")


def measure_bets(arguments: argparse.Namespace) -> None:
    """Print how often bets raise an alarm, from the same held-out losses, on seeds of their own."""
    warnings.simplefilter("ignore")
    seeds = range(1000, 1000 + arguments.seeds)
    quiet = [own_losses(updated_model(kept_the_same, 0, seed)) for seed in seeds]
    changed = [own_losses(updated_model(change, first, seed)) for _, change, first in CASES for seed in seeds]
    for bets in ((0.5,), (0.7,), (0.8,), (0.9,), (0.95,), (0.8, 0.9), (0.6, 0.8, 0.95), (0.9, 0.95)):
        drift._BETS = np.array(bets)
        alarms = [np.mean([first_alarm(losses) >= 0 for losses in group]) for group in (quiet, changed)]
        print(f"bets {bets}: without drift {alarms[0]:.2f}, with it {alarms[1]:.2f}", flush=True)


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
    drifting.add_argument("--first", type=int, default=0, help="seed of the first cases")
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
