"""TunedSVC as an entry of TabArena: its memory beside the estimate, and 8-fold bagging by AutoGluon on tables at hand.

    python benchmarks/tabarena.py memory
    python benchmarks/tabarena.py bag FILE ... [--rows 2000] [--models TunedSVC CatBoost RandomForest]
    python benchmarks/tabarena.py limit FILE ... [--rows 2000] [--limits 2 10 60]

``memory`` fits made-up tables, each in a process of its own, and prints its peak beside what the entry says of it.
``bag`` does what TabArena does with a default configuration: AutoGluon prepares the columns, eight models are trained
on seven eighths of the training rows each, one after the other, and their mean predicts the test rows. It prints what
TabArena judges by (1 - ROC AUC of two classes, log-loss of more) beside the log-loss, the error of classes, and seconds
by the clock. ``limit`` fits once under several time limits and prints how long that took. FILE is a CSV file with the
class in the last column, or in the one of the name ``target``; two thirds of its rows, ``--rows`` at most, are trained
on, up to 5,000 of the others tested. All take one thread, and ``pip install autogluon.tabular catboost``.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

#: Rows, columns and classes of the made-up tables.
TABLES = [
    (300, 20, 2),
    (1000, 20, 2),
    (1500, 20, 2),
    (1500, 300, 2),
    (1500, 20, 10),
    (3000, 20, 2),
    (10_000, 20, 2),
    (10_000, 300, 2),
    (10_000, 20, 10),
    (40_000, 20, 2),
    (40_000, 20, 10),
    (100_000, 20, 2),
    (150_000, 100, 2),
]
FOLDS = 8


def made_up(n, d, k):
    from sklearn.datasets import make_classification

    few = min(d, 8)
    X, y = make_classification(n, d, n_informative=few, n_redundant=0, n_classes=k, flip_y=0.1, random_state=0)
    return pd.DataFrame(X, columns=[f"x{a}" for a in range(d)]), pd.Series(y)


def peak(n, d, k):
    """Print the peak of this process in MB, and its seconds, after a fit of the made-up table."""
    import resource

    from marginwise import TunedSVC

    X, y = made_up(n, d, k)
    start = time.perf_counter()
    TunedSVC(random_state=0).fit(X, y)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.perf_counter() - start)


def memory():
    from marginwise.tabarena import peak_bytes

    print(f"{'rows':>8} {'columns':>8} {'classes':>8} {'peak MB':>8} {'estimate':>9} {'seconds':>8}")
    for n, d, k in TABLES:
        command = [sys.executable, "-W", "ignore", __file__, "peak", str(n), str(d), str(k)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        estimate = peak_bytes(n, d, k) / 2**20
        print(f"{n:8} {d:8} {k:8} {float(said[0]):8.0f} {estimate:9.0f} {float(said[1]):8.1f}", flush=True)


def split(path, rows):
    """Return training and test rows of a file, as AutoGluon prepares them, and the kind of problem."""
    from autogluon.core.data import LabelCleaner
    from autogluon.features.generators import AutoMLPipelineFeatureGenerator

    frame = pd.read_csv(path)
    target = "target" if "target" in frame else frame.columns[-1]
    order = np.random.default_rng(0).permutation(len(frame))
    cut = 2 * len(frame) // 3
    train, test = frame.iloc[order[: min(cut, rows)]], frame.iloc[order[cut:][:5000]]
    test = test[test[target].isin(train[target])]
    problem = "binary" if train[target].nunique() == 2 else "multiclass"
    labels = LabelCleaner.construct(problem_type=problem, y=train[target])
    columns = AutoMLPipelineFeatureGenerator(verbosity=0)
    X, Z = columns.fit_transform(train.drop(columns=target)), columns.transform(test.drop(columns=target))
    return X, labels.transform(train[target]), Z, labels.transform(test[target]), problem


def model_of(name):
    from autogluon.tabular.models import CatBoostModel, RFModel

    from marginwise.tabarena import TunedSVCModel

    return {"TunedSVC": TunedSVCModel, "CatBoost": CatBoostModel, "RandomForest": RFModel}[name]


def bag(paths, rows, names):
    from autogluon.core.models import BaggedEnsembleModel
    from sklearn.metrics import log_loss, roc_auc_score

    print("table,rows,columns,classes,model,metric,log_loss,error,fit_seconds,predict_seconds")
    for path in paths:
        X, y, Z, z, problem = split(path, rows)
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                judged = {"problem_type": problem, "eval_metric": "roc_auc" if problem == "binary" else "log_loss"}
                model = BaggedEnsembleModel(model_of(name)(path=folder, name=name, **judged), path=folder)
                model.params["fold_fitting_strategy"] = "sequential_local"
                start = time.perf_counter()
                model.fit(X=X, y=y, k_fold=FOLDS, num_cpus=1)
                middle = time.perf_counter()
                proba = model.predict_proba(Z)
                end = time.perf_counter()
            if problem == "binary":
                metric, told = 1 - roc_auc_score(z, proba), np.column_stack([1 - proba, proba])
            else:
                metric, told = log_loss(z, proba, labels=range(proba.shape[1])), proba
            loss, wrong = log_loss(z, told, labels=range(told.shape[1])), np.mean(told.argmax(axis=1) != z)
            sizes = f"{Path(path).name.partition('.')[0]},{len(X)},{X.shape[1]},{told.shape[1]},{name}"
            print(f"{sizes},{metric:.4f},{loss:.4f},{wrong:.4f},{middle - start:.1f},{end - middle:.2f}", flush=True)


def limit(paths, rows, limits):
    print("table,rows,columns,classes,limit,seconds,log_loss")
    for path in paths:
        X, y, Z, z, problem = split(path, rows)
        for seconds in (*limits, None):
            with tempfile.TemporaryDirectory() as folder:
                model = model_of("TunedSVC")(problem_type=problem, path=folder, name="TunedSVC", eval_metric="log_loss")
                start = time.perf_counter()
                model.fit(X=X, y=y, time_limit=seconds, num_cpus=1)
                took = time.perf_counter() - start
                sizes = f"{Path(path).name.partition('.')[0]},{len(X)},{X.shape[1]},{y.nunique()}"
                print(f"{sizes},{seconds},{took:.1f},{-model.score(Z, z):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("memory")
    sizes = commands.add_parser("peak")
    sizes.add_argument("sizes", type=int, nargs=3)
    for name in ("bag", "limit"):
        command = commands.add_parser(name)
        command.add_argument("files", nargs="+")
        command.add_argument("--rows", type=int, default=2000)
        if name == "bag":
            command.add_argument("--models", nargs="+", default=["TunedSVC", "CatBoost", "RandomForest"])
        else:
            command.add_argument("--limits", type=float, nargs="+", default=[2, 10, 60])
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    if given.command == "memory":
        memory()
    elif given.command == "peak":
        peak(*given.sizes)
    elif given.command == "bag":
        bag(given.files, given.rows, given.models)
    else:
        limit(given.files, given.rows, given.limits)


if __name__ == "__main__":
    main()
