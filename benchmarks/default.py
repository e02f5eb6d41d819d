"""How TunedSVC's default was chosen: criteria, slacks, spreads of the length scales and candidates side by side.

    python benchmarks/default.py run [--raetsch DIR] [--large DIR] [--splits 3] [--sets SET ...] [--candidates NAME ...]
    python benchmarks/default.py report

The sets are those of ``classify.py`` but not its splits: the paper's five are drawn anew from all their rows, and of
the Rätsch sets splits from number 50 on are taken (10 on for image and splice, which have 20), so that what is chosen
here is judged there on data that had no part in the choice. So are 1,000 and 1,500 rows of larger tables
(``--large``). Results are appended to results/default.csv; a run that is stopped goes on where it was. Set
OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from classify import FIVE, RAETSCH, raetsch
from marginwise import TunedSVC, load_benchmark
from marginwise.fitting.schedule import SCHEDULE
from marginwise.kernels import Blend
from results import Results, measure
from scale import from_folder

RESULTS = Results(Path("results/default.csv"))
FIRST_SPLIT, FEW_SPLITS = 50, {"image": 10, "splice": 10}


class Whole(Blend):
    """The kernel of the default, without its terms alone as other candidates."""

    def single_terms(self):
        return ()


class Never(TunedSVC):
    """The default with a threshold of the schedule that no table reaches."""

    def __init__(self, threshold=None, random_state=None):
        super().__init__(random_state=random_state)
        self.threshold = threshold

    def fit(self, X, y):
        usual = getattr(SCHEDULE, self.threshold)
        vars(SCHEDULE)[self.threshold] = np.inf
        try:
            return super().fit(X, y)
        finally:
            vars(SCHEDULE)[self.threshold] = usual


def candidate(**options):
    # The paper's kernel: criteria and spreads were chosen with it.
    return lambda d, seed: TunedSVC(kernel="rbf", random_state=seed, **options)


CANDIDATES = {
    "ep-loo, one length scale": candidate(ard=0),
    "ep-loo, s = 0.3": candidate(ard=0.3),
    "ep-loo, s = 1": candidate(ard=1.0),
    "ep-loo, spreads": candidate(),
    "ep-loo, quadratic, one": candidate(ard=0, slack="quadratic"),
    "ep-loo, quadratic, spreads": candidate(slack="quadratic"),
    "ep-evidence, one": candidate(ard=0, criterion="ep-evidence"),
    "ep-evidence, s = 1": candidate(ard=1.0, criterion="ep-evidence"),
    "laplace-evidence, quadratic, one": candidate(ard=0, criterion="laplace-evidence", slack="quadratic"),
    "span, quadratic, one": candidate(ard=0, criterion="span", slack="quadratic"),
    "gacv, one": candidate(ard=0, criterion="gacv"),
    "default": lambda d, seed: TunedSVC(random_state=seed),
    "default without terms alone": lambda d, seed: TunedSVC(kernel=Whole(), random_state=seed),
    "default without normal scores": lambda d, seed: Never("scored_from", random_state=seed),
    "default without curves of columns": lambda d, seed: Never("additive_from", random_state=seed),
}
#: Compared with each other, split by split.
PAIRS = [
    ("default", "default without terms alone"),
    ("default", "default without normal scores"),
    ("default", "default without curves of columns"),
    ("default", "ep-loo, spreads"),
    ("default without terms alone", "ep-loo, spreads"),
]


def drawn_anew(name, split, data_dir):
    """Return a random split of all rows of one of the five, in the paper's sizes."""
    data = load_benchmark(name, data_dir, random_state=split)
    if name == "crabs":
        return data.X_train, data.y_train, data.X_test, data.y_test
    X, y = np.vstack([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    rows = np.random.default_rng(split).permutation(len(y))
    train, test = np.split(rows, [len(data.y_train)])
    return X[train], y[train], X[test], y[test]


def of_large(n, name, split, folder):
    """Return n rows of a larger table, and others to test on."""
    return from_folder(folder, name, n, split)


def run(options):
    warnings.simplefilter("ignore")
    jobs = [(f"five/{name}", drawn_anew, name, options.data) for name in FIVE]
    if options.raetsch:
        jobs += [(f"raetsch/{name}", raetsch, name, options.raetsch) for name in RAETSCH.split()]
    if options.large:
        for name, n in product(("adult", "magic", "sleep_bin"), (1000, 1500)):
            jobs.append((f"large/{name} {n:,}", partial(of_large, n), name, options.large))
    for label, load, name, folder in jobs:
        if options.sets and label not in options.sets:
            continue
        first = FEW_SPLITS.get(name, FIRST_SPLIT)
        for split in range(first, first + (1 if name in FEW_SPLITS else options.splits)):
            X, y, Z, z = load(name, split, folder)
            for method in options.candidates:
                RESULTS.once(label, split, method, lambda: measure(CANDIDATES[method], X, y, Z, z, split))  # noqa: B023


def report():
    RESULTS.report(CANDIDATES)
    for ours, other in PAIRS:
        RESULTS.paired(ours, other)
        RESULTS.paired(ours, other, "log_loss")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--data", help="folder with original files of the paper's sets")
    parser.add_argument("--raetsch", help="folder with the Rätsch sets as NAME.npz")
    parser.add_argument("--large", help="folder with larger tables as NAME.csv.gz, the last column the label")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--candidates", nargs="+", default=list(CANDIDATES), choices=list(CANDIDATES))
    parser.add_argument("--sets", nargs="*", default=[])
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
