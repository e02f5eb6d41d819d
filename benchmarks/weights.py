"""What weights and copies of rows do to TunedSVC: balanced accuracy, error, and the error that it expects itself.

    python benchmarks/weights.py run [--raetsch FOLDER] [--seeds 10] [--first 0] [--splits 3] [--methods ...]
    python benchmarks/weights.py report

Made sets have 700 rows to train on, of which 5 or 20 % are of the rarer class: with and without class weights, and with
the rows of the rarer class given three times. The Rätsch sets (NAME.npz, as for ``classify.py``) are fitted with and
without random log-normal weights of mean 1, ln w ~ N(-s²/2, s²), and with a part of the rows: weights that say nothing
make n rows worth n exp(-s²), (Σw)²/Σw². Choices were made with ``--first 100``. Each result is a line in
results/weights.csv as soon as it is there; a second run continues.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.metrics import balanced_accuracy_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, train_test_split  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.utils.class_weight import compute_sample_weight  # noqa: E402

from classify import RAETSCH, raetsch  # noqa: E402
from marginwise import TunedSVC  # noqa: E402
from marginwise.peers import GRID as SVC_GRID  # noqa: E402
from results import Results  # noqa: E402

MEASURES = {"balanced": 1, "error": 2, "weighted": 2, "expected": 2, "test_se": 2, "train_se": 2}  # all in %
RESULTS = Results(Path("results/weights.csv"), MEASURES)
PLAIN, BALANCED, THREE, TRIPLED = "plain", 'class_weight="balanced"', "class weight 3", "rows three times"
GRID, MILD, WILD, PART = "grid SVC, balanced", "weights, s = 0.5", "weights, s = 1", "37 % of the rows"
MADE, REAL = (PLAIN, BALANCED, GRID, THREE, TRIPLED), (PLAIN, MILD, WILD, PART)
SLOW = {"image", "splice"}


def made(share, seed):
    X, y = make_classification(1000, 10, n_informative=5, weights=[1 - share], flip_y=0.02, random_state=seed)
    return train_test_split(X, y, test_size=0.3, random_state=seed)


def measured(model, Z, z, train_weights, test_weights):
    """Return the measures of a fitted model; weights are those of the population that it was fitted for."""
    wrong = model.predict(Z) != z
    weighted, expected = np.average(wrong, weights=test_weights), getattr(model, "expected_error_", np.nan)
    values = {
        "balanced": balanced_accuracy_score(z, model.predict(Z)),
        "error": wrong.mean(),
        "weighted": weighted,
        "expected": expected,
        "test_se": standard_error(weighted, test_weights),
        "train_se": standard_error(expected, train_weights),
    }
    return {name: 100 * value for name, value in values.items()}


def standard_error(share, weights):
    return np.sqrt(share * (1 - share) * (weights**2).sum()) / weights.sum()


def on_made(method, share, seed):
    """Fit one of the methods to a made set."""
    X, Z, y, z = made(share, seed)
    classes = {PLAIN: None, BALANCED: "balanced", THREE: {1: 3}, TRIPLED: {1: 3}, GRID: "balanced"}[method]
    by_class = {label: compute_sample_weight(classes, y)[y == label][0] for label in (0, 1)}
    train, test = (np.array([by_class[label] for label in labels]) for labels in (y, z))
    if method == GRID:
        grid = {f"svc__{name}": values for name, values in SVC_GRID.items()}
        model = make_pipeline(StandardScaler(), SVC(class_weight="balanced"))
        model = GridSearchCV(model, grid, scoring="balanced_accuracy", cv=5).fit(X, y)
    elif method == TRIPLED:
        rows = np.repeat(np.arange(len(y)), np.where(y == 1, 3, 1))
        model = TunedSVC(kernel="rbf", random_state=seed).fit(X[rows], y[rows])
    else:
        model = TunedSVC(kernel="rbf", random_state=seed, class_weight=classes).fit(X, y)
    return measured(model, Z, z, train, test)


def on_raetsch(method, name, split, folder):
    """Fit one of the sets, with or without weights. These are independent of all else: the population is the same."""
    X, y, Z, z = raetsch(name, split, folder)
    rng, spread = np.random.default_rng(split), {MILD: 0.5, WILD: 1.0}.get(method, 0.0)
    if method == PART:
        X, _, y, _ = train_test_split(X, y, train_size=np.exp(-1.0), stratify=y, random_state=split)
    weights = rng.lognormal(-0.5 * spread**2, spread, len(y))
    model = TunedSVC(kernel="rbf", random_state=split).fit(X, y, sample_weight=weights)
    return measured(model, Z, z, weights, np.ones(len(z)))


def run(options):
    warnings.simplefilter("ignore")
    for share in (0.05, 0.2):
        for seed in range(options.first, options.first + options.seeds):
            for method in (m for m in MADE if m in options.methods):
                RESULTS.once(f"{share:.0%} rare", seed, method, lambda: on_made(method, share, seed))  # noqa: B023
    for name in RAETSCH.split() if options.raetsch else ():
        n_splits = 1 if name in SLOW else options.splits
        first = options.first % (20 if name in SLOW else 100)
        for split in range(first, first + n_splits):
            for method in (m for m in REAL if m in options.methods):
                RESULTS.once(
                    f"raetsch/{name}",
                    split,
                    method,
                    lambda: on_raetsch(method, name, split, options.raetsch),  # noqa: B023
                )


def report():
    """Print a line for each set and method: means, and how often the expected error is within two standard errors."""
    table = RESULTS.table()
    print("| set (splits) | method | balanced accuracy | error | weighted error | expected | within 2 s.e. |")
    print("|---|---|---|---|---|---|---|")
    for name, methods in table["error"].items():
        for method in methods:
            columns = {field: np.array(list(table[field][name][method].values())) for field in MEASURES}
            off = np.abs(columns["expected"] - columns["weighted"])
            near = off <= 2 * np.hypot(columns["test_se"], columns["train_se"])
            means = " | ".join(f"{columns[field].mean():.{MEASURES[field]}f}" for field in list(MEASURES)[:4])
            print(f"| {name} ({len(off)}) | {method} | {means} | {near.sum()} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--raetsch", help="folder with the Rätsch sets as NAME.npz")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed and split")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=[*MADE, *REAL[1:]], choices=[*MADE, *REAL[1:]])
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
