"""Strangers: how well do the model's own novelty, an isolation forest and distances to neighbours tell them?

    python benchmarks/novelty.py [--output results/novelty.csv]

A model is fitted to some rows; test rows of the same kind stand against strangers. Those are: a class that training did
not have (iris, wine, digits, made-up groups), rows from far away, and rows each of whose cells is that of another row
(every column looks as it should, rows as a whole don't). The area under the ROC curve of each score, mean over five
splits, and how many rows of the same kind and how many strangers are above the threshold that 1 % of the training rows
are above. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from marginwise import TunedSVC, load_benchmark

Case = tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Yield name, training rows, their labels, rows of the same kind, strangers."""
    for name, load, last in (("iris", datasets.load_iris, 2), ("wine", datasets.load_wine, 2)):
        yield from without_class(name, *load(return_X_y=True), last, rng)
    X, y = datasets.load_digits(return_X_y=True)
    yield from without_class("digits", X[:900], y[:900], 8, rng)
    X, y = datasets.make_blobs(900, 6, centers=5, cluster_std=2.5, random_state=int(rng.integers(1000)))
    yield from without_class("groups", X, y, 4, rng)
    for name in ("pima", "wdbc", "twonorm"):
        data = load_benchmark(name)
        X, y = np.vstack([data.X_train, data.X_test])[:600], np.concatenate([data.y_train, data.y_test])[:600]
        order = rng.permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        known = X[test]
        far = X[test] + 3.0 * X.std(axis=0) * rng.choice([-1.0, 1.0], X[test].shape)
        mixed = np.column_stack([rng.permutation(column) for column in X[test].T])
        yield f"{name}, far", X[train], y[train], known, far
        yield f"{name}, mixed", X[train], y[train], known, mixed


def without_class(name: str, X: np.ndarray, y: np.ndarray, last: int, rng: np.random.Generator) -> Iterator[Case]:
    """Yield a case in which training never saw a class."""
    order = rng.permutation(np.flatnonzero(y != last))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    yield f"{name}, new class", X[train], y[train], X[test], X[y == last]


def areas(X: np.ndarray, y: np.ndarray, known: np.ndarray, strange: np.ndarray) -> dict[str, float]:
    """Return the areas under the curve, and the shares above the threshold."""
    both, truth = np.vstack([known, strange]), np.repeat([0, 1], [len(known), len(strange)])
    model = TunedSVC(random_state=0).fit(X, y)
    novelty = model.novelty(both)
    scaler = StandardScaler().fit(X)
    neighbours = NearestNeighbors(n_neighbors=5).fit(scaler.transform(X))
    scores = {
        "novelty": novelty.share,
        "ignorance": model.doubt(both).ignorance,
        "isolation forest": -IsolationForest(random_state=0).fit(X).score_samples(both),
        "5 neighbours": neighbours.kneighbors(scaler.transform(both))[0].mean(axis=1),
    }
    found = {name: roc_auc_score(truth, score) for name, score in scores.items()}
    flagged = novelty.strange
    return found | {"flagged known": flagged[truth == 0].mean(), "flagged strange": flagged[truth == 1].mean()}


def main() -> None:
    """Measure, and print means over splits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("results/novelty.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[dict[str, float]]] = {}
    with arguments.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for split in range(arguments.splits):
            for name, *case in cases(np.random.default_rng(split)):
                found = areas(*case)
                rows.setdefault(name, []).append(found)
                writer.writerow([name, split, *found.values()])
    means = {name: {key: np.mean([one[key] for one in found]) for key in found[0]} for name, found in rows.items()}
    columns = list(next(iter(means.values())))
    print(f"{'':20}" + "".join(f"{column:>18}" for column in columns))
    for name, found in [*means.items(), ("mean", {c: np.mean([m[c] for m in means.values()]) for c in columns})]:
        print(f"{name:20}" + "".join(f"{found[column]:18.3f}" for column in columns))


if __name__ == "__main__":
    main()
