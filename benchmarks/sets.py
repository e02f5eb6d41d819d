"""Sets of labels: do they cover as often as promised, how large are they, and what do they take?

    python benchmarks/sets.py [--splits 3] [--mapie] [--output results/sets.csv]

20 tables, two and more classes, 200 training rows of each (100 of iris, wine and crabs), at most 2,000 test rows.
``predict_set`` is calibrated by the folds of the one fit that there is. With ``--mapie`` also MAPIE's cross-conformal
classifier around the same model, which fits it six times, with the scores "lac" and, for more than two classes, "aps".
Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

from marginwise import TunedSVC, load_benchmark

LEVELS = (0.8, 0.9, 0.95)


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and labels of each table."""
    for name in ("crabs", "pima", "wdbc", "twonorm", "ringnorm"):
        data = load_benchmark(name)
        yield name, np.vstack([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test]).astype(int)
    for load in (datasets.load_iris, datasets.load_wine, datasets.load_digits):
        yield load.__name__[5:], *load(return_X_y=True)
    yield "moons", *datasets.make_moons(2200, noise=0.35, random_state=0)
    yield "circles", *datasets.make_circles(2200, noise=0.2, factor=0.5, random_state=0)
    yield "blobs 4", *datasets.make_blobs(2200, centers=4, cluster_std=3.0, random_state=3)
    yield "blobs 8", *datasets.make_blobs(2200, 6, centers=8, cluster_std=5.0, random_state=1)
    yield "gauss 3", *datasets.make_gaussian_quantiles(n_samples=2200, n_features=5, n_classes=3, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2200, 4))
    yield "noise", X, rng.integers(0, 2, 2200)
    yield "noise 3", X, rng.integers(0, 3, 2200)
    for seed, (d, K, flip) in enumerate(((10, 2, 0.1), (30, 2, 0.2), (20, 3, 0.1), (12, 5, 0.05), (40, 4, 0.3))):
        yield (
            f"made {d}×{K}",
            *datasets.make_classification(
                2200, d, n_informative=min(d, 8), n_classes=K, flip_y=flip, class_sep=0.8, random_state=seed
            ),
        )


def measured(sets: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return coverage and mean size."""
    return float(sets[np.arange(len(codes)), codes].mean()), float(sets.sum(axis=1).mean())


def by_mapie(X: np.ndarray, y: np.ndarray, Z: np.ndarray, score: str) -> tuple[list[np.ndarray], float]:
    """Return the sets of MAPIE's cross-conformal classifier at all levels, and CPU seconds."""
    from mapie.classification import CrossConformalClassifier

    start = time.process_time()
    model = CrossConformalClassifier(
        TunedSVC(random_state=0), confidence_level=list(LEVELS), conformity_score=score, cv=5, random_state=0
    )
    sets = model.fit_conformalize(X, y).predict_set(Z)[1]
    return [sets[:, :, k] for k in range(len(LEVELS))], time.process_time() - start


def runs(name: str, X: np.ndarray, y: np.ndarray, split: int, mapie: bool) -> Iterator[list[object]]:
    """Yield a line for each method and level."""
    size = 100 if len(y) < 200 else min(200, len(y) // 2)
    order = np.random.default_rng(split).permutation(len(y))
    train, test = order[:size], order[size : size + 2000]
    codes = np.searchsorted(np.unique(y), y)
    start = time.process_time()
    model = TunedSVC(random_state=0).fit(X[train], codes[train])
    found = [model.predict_set(X[test], level) for level in LEVELS]
    methods = {"predict_set": (found, time.process_time() - start)}
    if mapie:
        scores = ("lac", "aps") if codes.max() > 1 else ("lac",)  # it has the other for more than two classes only
        methods |= {f"mapie {score}": by_mapie(X[train], codes[train], X[test], score) for score in scores}
    for method, (sets, seconds) in methods.items():
        for level, part in zip(LEVELS, sets, strict=True):
            yield [name, split, method, level, *measured(part, codes[test]), seconds, model.n_features_in_]


def report(path: Path) -> None:
    """Print means over splits for each table, and over tables."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    methods = list(dict.fromkeys(row[2] for row in rows))
    print("coverage / mean size, promised 90 %; " + ", ".join(methods))
    for name in dict.fromkeys(row[0] for row in rows):
        cells = []
        for method in methods:
            mine = np.array([[float(v) for v in r[4:7]] for r in rows if (r[0], r[2], r[3]) == (name, method, "0.9")])
            cells.append(f"{100 * mine[:, 0].mean():5.1f} / {mine[:, 1].mean():4.2f}" if len(mine) else "")
        print(f"{name:12} " + "   ".join(cells))
    for level in LEVELS:
        for method in methods:
            mine = np.array([[float(v) for v in r[4:7]] for r in rows if (r[2], r[3]) == (method, str(level))])
            low = np.mean(mine[:, 0] < level - 0.03)
            print(
                f"promised {level}: {method:12} coverage {100 * mine[:, 0].mean():.1f} %, least "
                f"{100 * mine[:, 0].min():.1f}, below by more than 3 points {100 * low:.0f} %, size "
                f"{mine[:, 1].mean():.2f}, {mine[:, 2].mean():.1f} s"
            )


def main() -> None:
    """Measure, and print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--mapie", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("results/sets.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "split", "method", "level", "coverage", "size", "seconds", "inputs"])
        for name, X, y in tables():
            for split in range(arguments.splits):
                writer.writerows(runs(name, X, y, split, arguments.mapie))
                file.flush()
    report(arguments.output)


if __name__ == "__main__":
    main()
