"""The time of one row: TunedSVC beside SVC, HistGradientBoosting and CatBoost; medians in milliseconds, one thread.

    python benchmarks/one_row.py [--rows 1000] [--columns 20] [--repeats 300]
    python benchmarks/one_row.py --local          20,000 rows of a model with local blocks, of 3,000 training rows

One row of an array and of a pandas data frame, a different one each time, after two calls that don't count: the first
call of a model makes what later ones use, and is given on its own. The models take turns, call by call, so that other
jobs on the machine slow all of them alike. CatBoost is left out where it is not installed. Set OPENBLAS_NUM_THREADS=1
and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from marginwise import TunedSVC

METHODS = ("predict_proba", "predict", "decision_function")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--local", action="store_true")
    arguments = parser.parse_args()
    if arguments.local:
        local()
    else:
        one_row(arguments.rows, arguments.columns, arguments.repeats)


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes: less than half of the columns tell them apart, 5 % of the labels are wrong."""
    return make_classification(n, d, n_informative=2 * d // 5, n_redundant=d // 5, flip_y=0.05, random_state=0)


def one_row(n: int, d: int, repeats: int) -> None:
    """Print the medians of all models."""
    X, y = table(n + repeats + 2, d)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(d)])
    print("| model | table | first call | " + " | ".join(METHODS) + " |")
    print("|---" * (3 + len(METHODS)) + "|")
    for name, T in (("array", X), ("data frame", frame)):
        models = {kind: fitted(make, T[:n], y[:n]) for kind, make in peers().items()}
        rows = [T[n + i : n + i + 1] for i in range(repeats + 2)]
        first = {kind: seconds(partial(model.predict_proba, rows[0])) for kind, model in models.items()}
        medians = {method: in_turns(models, method, rows) for method in METHODS}
        for kind in models:
            cells = [medians[method].get(kind) for method in METHODS]
            shown = " | ".join("" if cell is None else f"{1e3 * cell:.2f}" for cell in cells)
            print(f"| {kind} | {name} | {1e3 * first[kind]:.1f} | {shown} |", flush=True)


def peers() -> dict[str, Callable[[], Any]]:
    """Return what makes each model."""
    known: dict[str, Callable[[], Any]] = {
        "TunedSVC": lambda: TunedSVC(random_state=0),
        "SVC(probability=True)": lambda: make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    try:
        from catboost import CatBoostClassifier
    except ImportError:
        return known
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return {**known, "CatBoost": lambda: CatBoostClassifier(**quiet)}


def fitted(make: Callable[[], Any], X: Any, y: np.ndarray) -> Any:
    """Return a fitted model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X, y)


def in_turns(models: dict[str, Any], method: str, rows: list[Any]) -> dict[str, float]:
    """Return the median seconds of one row for each model that has the method."""
    taken: dict[str, list[float]] = {kind: [] for kind, model in models.items() if hasattr(model, method)}
    for row in rows:
        for kind, times in taken.items():
            call = getattr(models[kind], method)
            times.append(seconds(partial(call, row)))
    return {kind: float(np.median(times[2:])) for kind, times in taken.items()}


def seconds(function: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def local() -> None:
    """Print CPU seconds of many rows, and the median of one, of a model with local blocks."""
    X, y = table(23_000, 20)
    model = fitted(lambda: TunedSVC(random_state=0), X[:3000], y[:3000])
    model.predict_proba(X[:1])
    start = time.process_time()
    model.predict_proba(X[3000:])
    print(f"20,000 rows: {time.process_time() - start:.1f} s CPU")
    times = [seconds(partial(model.predict_proba, X[i : i + 1])) for i in range(3000, 3100)]
    print(f"one row: {1e3 * float(np.median(times)):.1f} ms")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)  # of SVC's parameter probability
    main()
