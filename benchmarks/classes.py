"""TunedSVC with many classes side by side with its peers: error, log-loss, calibration, time; one thread each.

    python benchmarks/classes.py compare [--splits 0 1 2 3 4] [--methods ...] [--sets ...]    a line for each result
    python benchmarks/classes.py report                                                       tables of these lines
    python benchmarks/classes.py choose  what the default is made of, and pairs instead, on splits 100 and 101
    python benchmarks/classes.py speed   fits with 3, 10, 26 classes and predictions with 2, 10, 26, as ratios
    python benchmarks/classes.py large   20,000 rows, 20 inputs, 10 classes, two threads: time and peak of memory
    python benchmarks/classes.py hard    100 and 1,000 classes; classes with 1 to 3 rows; 1000 rows to one

Sets are the digits (1,000 rows to train on), wine, iris (two thirds), Breiman's waveform and 26 made-up classes (1,000
rows each). Splits 0 to 4 are reported; choices were made on splits from 100 on. Inputs are standardised with training
statistics. The results of ``compare`` are in results/classes.csv as soon as they are there; a second run continues.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

if "large" not in sys.argv:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from classify import METHODS as ALL
from classify import standardise
from marginwise import TunedSVC, posterior
from marginwise.comparison import calibration_error
from marginwise.inspection import held_out_report
from marginwise.peers import GRID
from marginwise.svm.pairs import couple, pairs_of
from results import Results


def logistic(d, seed):
    """By the log-loss of its folds: by their accuracy, which is the default, its probabilities are far off."""
    options = {"max_iter": 2000, "use_legacy_attributes": False, "l1_ratios": (0.0,)}
    return LogisticRegressionCV(scoring="neg_log_loss", **options)


METHODS = {name: ALL[name] for name in ("TunedSVC", "grid SVC", "forest", "boosting", "CatBoost")}
METHODS["logistic"] = logistic

#: The columns of the results, and the digits shown; "se" is a standard error, "held_out" what the fit itself expects.
MEASURES = {
    **{"error": 2, "log_loss": 4, "log_loss_se": 4, "calibration": 4},
    **{"seconds": 2, "predict": 3, "proba": 3, "held_out": 4, "held_out_se": 4},
}

RESULTS = Results(Path("results/classes.csv"), MEASURES)

#: Rows of a timed prediction.
PREDICTED = 5000


def waveform(n, seed):
    """Breiman's waveform (Breiman, Friedman, Olshen & Stone 1984): mixtures of two of three triangles, with noise."""
    rng = np.random.default_rng(seed)
    places = np.arange(1, 22)
    triangles = np.array([np.maximum(6.0 - np.abs(places - centre), 0.0) for centre in (11, 15, 7)])
    y, share = rng.integers(0, 3, n), rng.uniform(size=(n, 1))
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    return share * triangles[first] + (1.0 - share) * triangles[second] + rng.normal(size=(n, 21)), y


def made_up(n, n_classes, seed, n_inputs=16):
    """One cloud for each class in 12 of the inputs."""
    options = {"n_informative": 12, "class_sep": 2.0, "n_clusters_per_class": 1, "random_state": seed}
    return make_classification(n, n_inputs, n_classes=n_classes, **options)


def parted(X, y, n_train, seed):
    X, Z, y, z = train_test_split(X, y, train_size=n_train, stratify=y, random_state=seed)
    return X, y, Z, z


SETS = {
    "digits": lambda seed: parted(*load_digits(return_X_y=True), 1000, seed),
    "wine": lambda seed: parted(*load_wine(return_X_y=True), 2 / 3, seed),
    "iris": lambda seed: parted(*load_iris(return_X_y=True), 2 / 3, seed),
    "waveform": lambda seed: parted(*waveform(3000, seed), 1000, seed),
    "made-up": lambda seed: parted(*made_up(3000, 26, seed), 1000, seed),
}


def prepared(name, seed):
    X, y, Z, z = SETS[name](seed)
    X, Z = standardise(X, Z)
    return X, y, Z, z


def seconds_of(action):
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def losses(probability, codes):
    """Return the mean log-loss and its standard error."""
    own = -np.log(np.clip(probability[np.arange(len(codes)), codes], 1e-15, 1.0))
    return own.mean(), own.std(ddof=1) / np.sqrt(len(own))


def measure(make, X, y, Z, z, seed):
    model = make(X.shape[1], seed)
    seconds, _ = seconds_of(lambda: model.fit(X, y))
    probability = model.predict_proba(Z)
    assert np.allclose(probability.sum(axis=1), 1.0)
    loss, loss_se = losses(probability, z)
    held_out = np.nan, np.nan
    if isinstance(model, TunedSVC):
        rows = held_out_report(model, y)
        held_out = losses(rows.probability, rows.codes)
    many = np.resize(Z, (PREDICTED, Z.shape[1]))
    predicted = np.ravel(model.predict(Z)).astype(int)  # CatBoost has a column of them
    return {
        "error": 100 * np.mean(predicted != z),
        "log_loss": loss,
        "log_loss_se": loss_se,
        "calibration": calibration_error(probability.max(axis=1), probability.argmax(axis=1) == z),
        "seconds": seconds,
        "predict": seconds_of(lambda: model.predict(many))[0],
        "proba": seconds_of(lambda: model.predict_proba(many))[0],
        "held_out": held_out[0],
        "held_out_se": held_out[1],
    }


def compare(options):
    for name in options.sets:
        for split in options.splits:
            data = prepared(name, split)
            for method in options.methods:
                RESULTS.once(f"classes/{name}", split, method, lambda: measure(METHODS[method], *data, split))  # noqa: B023


def report(options):
    RESULTS.report(METHODS, ["log_loss", "error", "calibration", "seconds", "predict", "proba"])
    RESULTS.paired("TunedSVC", "grid SVC", "log_loss")
    table = RESULTS.table()
    print("\nlog-loss that the fit expects beside that on test rows, mean over splits, and the standard error of one\n")
    for name in table["held_out"]:
        expected, test, own, other = (
            np.array(list(table[field][name]["TunedSVC"].values()))
            for field in ("held_out", "log_loss", "held_out_se", "log_loss_se")
        )
        error = np.sqrt(np.mean(own**2 + other**2))
        gap = (expected - test).mean()
        print(f"{name:<18} {expected.mean():.4f}  {test.mean():.4f}  ± {error:.4f}  {gap / error:+.1f} standard errors")


def speed(options):
    sets = {3: SETS["waveform"](100), 10: SETS["digits"](100), 26: SETS["made-up"](100)}
    sets[2] = parted(*made_up(3000, 2, 100), 1000, 100)
    print(f"n = 1000, CPU seconds on one thread; predictions of {PREDICTED} rows: the first, and another one\n")
    for n_classes, (X, y, Z, _) in sorted(sets.items()):
        X, Z = standardise(X, Z)
        many = np.resize(Z, (PREDICTED, Z.shape[1]))
        grid_fit, grid = seconds_of(lambda: GridSearchCV(SVC(), GRID, cv=5).fit(X, y))  # noqa: B023
        fit, model = seconds_of(lambda: TunedSVC(random_state=0).fit(X, y))  # noqa: B023
        print(
            f"K = {n_classes:<3} fit      {fit:7.2f} s, grid {grid_fit:7.2f} s, ratio {fit / grid_fit:6.2f}", flush=True
        )
        svc = min(seconds_of(lambda: grid.predict(many))[0] for _ in range(3))  # noqa: B023
        for what in ("predict", "predict_proba"):
            for predictor in ("posterior", "svm"):
                model.set_params(predictor=predictor)
                first, *others = (seconds_of(lambda: getattr(model, what)(many))[0] for _ in range(4))  # noqa: B023
                again = min(others)
                print(
                    f"        {what + ', ' + predictor:<25} {first:7.3f} s, {again:7.3f} s, SVC.predict {svc:7.3f} s, "
                    f"ratio {first / svc:6.2f}, {again / svc:6.2f}",
                    flush=True,
                )


def large(options):
    from threadpoolctl import threadpool_limits

    X, y, Z, z = parted(*made_up(25_000, 10, 100, n_inputs=20), 20_000, 100)
    warm_up()
    with threadpool_limits(2):
        wall, (cpu, model) = time.perf_counter(), seconds_of(lambda: TunedSVC(random_state=0).fit(X, y))
    wall = time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    loss, _ = losses(model.predict_proba(Z), z)
    print(f"{wall:.0f} s, CPU {cpu:.0f} s, peak {peak:.2f} GB, error {100 * (1 - model.score(Z, z)):.2f} %, ", end="")
    print(f"log-loss {loss:.4f}, expected {model.expected_log_loss_:.4f}")


def overlapping(n, seed):
    """Six clouds that overlap, with ten labels in a hundred wrong."""
    options = {"n_informative": 5, "n_redundant": 0, "n_clusters_per_class": 2, "flip_y": 0.1, "random_state": seed}
    return make_classification(n, 8, n_classes=6, **options)


def pairs_by_ep(model, X, y, Z):
    """Return coupled probabilities of an EP posterior for each two classes, with the model's one kernel and C."""
    h, slack = model.hyperparameters_, model.ensemble_.slack
    inputs, new = model._encoding(X), model._encoding(Z)
    columns = []
    for i, j in zip(*pairs_of(len(model.classes_)), strict=True):
        rows = np.flatnonzero((y == i) | (y == j))
        two = posterior(inputs[rows], np.where(y[rows] == j, 1.0, -1.0), h.C, slack, kernel=h.kernel)
        columns.append(two.predict_proba(new)[:, 1])
    return couple(np.column_stack(columns), len(model.classes_))


def choose(options):
    """Print the log-loss of the parts of the default and of what it could be."""
    sets = SETS | {
        "waveform, 300": lambda seed: parted(*waveform(3300, seed), 300, seed),
        "overlapping": lambda seed: parted(*overlapping(3500, seed), 500, seed),
    }
    for name in sets:
        rows = {}
        for split in (100, 101):
            X, y, Z, z = sets[name](split)
            X, Z = standardise(X, Z)
            stack = TunedSVC(random_state=0).fit(X, y)
            alone = TunedSVC(ard=0, random_state=0).fit(X, y)
            part = alone.ensemble_
            for member in part.members:
                one = replace(part, members=(replace(member, weight=1.0),))
                rows.setdefault(f"{member.labels}, one length scale", []).append(
                    losses(np.exp(one.log_proba(alone._encoding(Z))), z)[0]
                )
            rows.setdefault("stacked, one length scale", []).append(losses(alone.predict_proba(Z), z)[0])
            rows.setdefault("length scales stacked, too (default)", []).append(losses(stack.predict_proba(Z), z)[0])
            paired = TunedSVC(ard=0, criterion="ep-loo", random_state=0).fit(X, y)
            rows.setdefault("ep-loo over pairs, EP, coupled", []).append(losses(pairs_by_ep(paired, X, y, Z), z)[0])
        print(name)
        for what, values in rows.items():
            print(f"    {what:<36} {np.mean(values):.4f}", flush=True)


def hard_cases(seed=100):
    """Yield names and training rows: each class has at least one."""
    for n_classes, n in ((100, 1000), (1000, 5000)):
        yield (f"{n_classes} classes, {n} rows", *made_up(n, n_classes, seed))
    X, y = made_up(1000, 6, seed)
    few = np.concatenate([np.flatnonzero(y == k)[:size] for k, size in enumerate((1, 2, 3, 200, 200, 200))])
    yield "1, 2, 3, 200, 200, 200 rows", X[few], y[few]
    X, y = made_up(6000, 3, seed)
    uneven = np.concatenate([np.flatnonzero(y == k)[:size] for k, size in enumerate((1, 1000, 1000))])
    yield "1, 1000, 1000 rows", X[uneven], y[uneven]
    point = X[uneven].copy()
    rows = np.flatnonzero(y[uneven] == 2)[:300]
    point[rows] = point[rows[0]]
    kept = np.concatenate([np.flatnonzero(y[uneven] < 2)[:300], rows])
    yield "a class that is one point repeated", point[kept], y[uneven][kept]


def hard(options):
    for name, X, y in hard_cases():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds, model = seconds_of(lambda: TunedSVC(random_state=0).fit(X, y))  # noqa: B023
            probability = model.predict_proba(X)
        found = [
            f"{seconds:.1f} s",
            f"{100 * np.mean(model.predict(X) != y):.1f} % wrong in training",
            f"{100 * model.expected_error_:.1f} % expected",
            f"largest |Σp - 1| {np.abs(probability.sum(axis=1) - 1.0).max():.0e}",
            "all classes" if np.array_equal(model.classes_, np.unique(y)) else "CLASSES ARE LOST",
            "argmax" if (model.classes_[probability.argmax(axis=1)] == model.predict(X)).all() else "NOT THE ARGMAX",
        ]
        print(f"{name}: " + ", ".join(found), flush=True)
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            print(f"    {message}", flush=True)


def warm_up():
    """Fit something, so that compiled code is loaded."""
    X, y = made_up(100, 3, 0)
    TunedSVC().fit(X, y)


TASKS = {"compare": compare, "report": report, "choose": choose, "speed": speed, "large": large, "hard": hard}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.task in ("compare", "choose", "speed", "hard"):
        warm_up()
    TASKS[arguments.task](arguments)
