"""Compact models on ten tables: what is kept, bytes, the largest difference of a probability, the time of one row.

    python benchmarks/compact.py [--tolerances 0.001 0.01] [--tables crabs pima ...]

Points and columns of the factor of the variance are those of all members together. Bytes are those of the arrays that
a prediction needs: points, coefficients and factors, or W, as far as the model itself had not replaced it; and of the
model file, which for a model with an exact matrix holds its rows and makes the rest again when it is loaded.
Differences are at new rows, which neither the fit nor ``compact`` has seen, next to the bound that ``compact`` gives
for the share of them beyond the tolerance. Times are medians in milliseconds. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine, make_moons

from marginwise import TunedSVC, compact, load_benchmark, save_model
from marginwise.fitting.compaction import n_numbers

Split = tuple[Any, np.ndarray, Any]


def benchmark(name: str) -> Split:
    """Return training rows, labels and new rows of one of the paper's tables."""
    data = load_benchmark(name)
    return data.X_train, data.y_train, data.X_test


def split(X: Any, y: np.ndarray, n: int) -> Split:
    """Return the same with n random rows to train on."""
    order = np.random.default_rng(0).permutation(len(y))
    rows = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
    return rows[:n], y[order][:n], rows[n : n + 5000]


def mixed() -> Split:
    """Return a table with two categories and gaps."""
    rng = np.random.default_rng(0)
    n = 3500
    table = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(4)})
    table["colour"], table["shape"] = rng.choice(list("rgb"), size=n), rng.choice(list("abcde"), size=n)
    odds = 2.0 * table["x0"] + table["x1"] ** 2 - 1.0 + 1.5 * (table["colour"] == "r") * table["x2"]
    y = (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-odds))).to_numpy()
    table["x1"] = table["x1"].mask(rng.uniform(size=n) < 0.1)
    return split(table, y, 500)


TABLES: dict[str, Callable[[], Split]] = {
    **{name: (lambda name=name: benchmark(name)) for name in ("crabs", "pima", "wdbc", "twonorm", "ringnorm")},
    "wine": lambda: split(*load_wine(return_X_y=True), 120),
    "digits": lambda: split(*load_digits(return_X_y=True), 1000),
    "moons": lambda: split(*make_moons(4000, noise=0.3, random_state=0), 400),
    "moons, 6,000 rows": lambda: split(*make_moons(11_000, noise=0.3, random_state=0), 6000),
    "categories and gaps": mixed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-3, 1e-2])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    arguments = parser.parse_args()
    print(
        "| table | tolerance | points | columns | kB of arrays | kB of file | largest difference at new rows "
        "| beyond | bound | ms one row | s compact |\n" + "|---" * 11 + "|"
    )
    for name in arguments.tables:
        X, y, new = TABLES[name]()
        model = TunedSVC(random_state=0).fit(X, y)
        before = model.predict_proba(new)
        for tolerance in arguments.tolerances:
            show(name, tolerance, model, new, before)


def show(name: str, tolerance: float, model: TunedSVC, new: Any, before: np.ndarray) -> None:
    """Print a line of the table: each number after that of the model before."""
    start = time.process_time()
    small = compact(model, tolerance=tolerance)
    seconds = time.process_time() - start
    found = small.compaction_
    if not found.is_smaller:
        print(
            f"| {name} | {tolerance:g} | stays as it was: {sum(found.points)} | | | | | | | | {seconds:.1f} |",
            flush=True,
        )
        return
    moved = np.abs(small.predict_proba(new) - before).max(axis=1)
    arrays, files = ((measure(model), measure(small)) for measure in (array_bytes, file_bytes))
    times = one_row(model, new[:1]), one_row(small, new[:1])
    cells = [
        name,
        f"{tolerance:g}",
        f"{sum(found.points_before)} → {sum(found.points)}",
        f"{sum(found.points_before)} → {sum(found.columns)}",
        *(f"{one / 1e3:.0f} → {other / 1e3:.0f}" for one, other in (arrays, files)),
        f"{moved.max():.1e}",
        f"{100 * (moved > tolerance).mean():.2f} %",
        f"{100 * found.share_bound:.2f} %",
        f"{times[0]:.2f} → {times[1]:.2f}",
        f"{seconds:.1f}",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def array_bytes(model: TunedSVC) -> int:
    """Return the bytes of the arrays that a prediction needs."""
    return 8 * n_numbers(model.ensemble_)


def file_bytes(model: TunedSVC) -> int:
    """Return the size of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        save_model(model, path)
        return path.stat().st_size


def one_row(model: TunedSVC, row: Any, repeats: int = 200) -> float:
    """Return the median time of one row, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.predict_proba(row)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
