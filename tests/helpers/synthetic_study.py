"""Rows whose means and standard deviations are exactly the paper's, and a store of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from marginwise.study import Effort, Store, TrialRow, open_store
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.settings import PAPER_TRIALS, nearest

#: So small that criteria between optima are quick to evaluate.
EFFORT = Effort(train_rows=20, test_rows=40)

_PREVIOUS = {column.method: place for place, column in enumerate(paper.PREVIOUS_COLUMNS)}


def printed(mean: float, sd: float, best: float, n: int) -> np.ndarray:
    """Return n numbers with the mean, standard deviation and least that the paper prints: best, low and high ones.

    Where no numbers have all three, the standard deviation is the largest that there is.
    """
    rest = (n * mean - best) / (n - 1)
    squares = (n - 1) * sd**2 - (best - mean) ** 2 - (n - 1) * (rest - mean) ** 2
    spread = np.sqrt(max(squares, 0.0) / (n - 1))
    for high in range(n // 2, 0, -1):
        share = high / (n - 1)
        low = rest - spread * np.sqrt(share / (1 - share))
        if low >= best or high == 1:
            if low < best:
                low, spread = best, (rest - best) * np.sqrt((1 - share) / share)
            top = rest + spread * np.sqrt((1 - share) / share)
            return np.array([best, *[low] * (n - 1 - high), *[top] * high])
    raise AssertionError


def exactly(mean: float, sd: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n numbers with this mean and standard deviation."""
    noise = rng.normal(size=n)
    return mean + sd * (noise - noise.mean()) / noise.std(ddof=1)


def paper_rows(*, shift: dict[tuple[str, str], float] | None = None, most: int = 25) -> list[TrialRow]:
    """Return trials of all methods; the paper's have its means and standard deviations, moved by ``shift`` (in %).

    There are as many trials as in the paper, but at most ``most``.
    """
    rng = np.random.default_rng(7)
    columns = {column.method: place for place, column in enumerate(paper.COLUMNS[:5])}
    columns |= {nearest(method): place for method, place in columns.items()}
    rows = []
    for dataset in paper.DATASETS:
        for method in PAPER_TRIALS:
            mean, sd, n = 5.0, 1.0, 3
            if method in columns:
                mean, sd = paper.ERRORS[dataset][columns[method]]
                n = paper.trials(dataset, paper.COLUMNS[columns[method]].method)
            elif method in _PREVIOUS:
                mean = paper.PREVIOUS[dataset][_PREVIOUS[method]] or 3.0
            n = min(n, most)
            errors = exactly(mean, sd, n, rng) + (shift or {}).get((dataset, method), 0.0)
            early = exactly(*paper.ERRORS[dataset][5], n, rng)
            for number in range(n):
                rows.append(_row(dataset, method, number, errors[number] / 100, early[number] / 100, rng))
    return rows


def _row(dataset: str, method: str, number: int, error: float, early: float, rng: np.random.Generator) -> TrialRow:
    settings = np.exp(rng.normal(scale=0.6, size=3 + paper.SIZES[dataset][0]))
    ascent = "ascent" in method
    extra = {"step_seconds": 0.5 if ascent else 0.01, "svm_seconds": 0.002}
    return TrialRow(
        dataset,
        method,
        number,
        seed=number,
        status="done",
        versions={"python": "3.12"},
        seconds=2.0,
        evaluations=60 if ascent else 400,
        hyperparameters=tuple(settings.tolist()),
        criterion_value=None if ascent else float(rng.normal()),
        test_error=error,
        posterior_error=error,
        log_loss=0.3,
        oracle_error=early if ascent else error,
        early_error=(early + error) / 2 if ascent else None,
        extra={**extra, "ep_log_evidence": float(rng.normal())},
        fingerprint="small",
    )


def trace_of(row: TrialRow, n: int = 12) -> dict[str, list[float]]:
    """Return a path: every hyperparameter goes from 1 to its final value, the test error falls and rises a little."""
    assert row.hyperparameters is not None
    way = np.linspace(0, 1, n)
    names = ["C", "k0", "koff", *(f"l{place + 1}" for place in range(len(row.hyperparameters) - 3))]
    columns = {name: np.exp(way * np.log(value)) for name, value in zip(names, row.hyperparameters, strict=True)}
    gradients = {f"g_{name}": way * (1 - way) for name in names}
    errors = 0.3 * (1 - way) ** 2 + 0.04 + 0.01 * way
    found = {"evaluation": np.arange(1, n + 1), "score": way, "value": -way, "test_error": errors, "gacv": 2 * errors}
    return {name: values.tolist() for name, values in (found | columns | gradients).items()}


def paper_store(path: Path, rows: list[TrialRow] | None = None, effort: Effort = EFFORT) -> Store:
    """Return a store of rows, with traces of the walks and ascents on Twonorm."""
    store = open_store(f"sqlite:///{path}")
    store.describe({"small": {"effort": ["Effort", asdict(effort)]}})
    for row in paper_rows(most=2) if rows is None else rows:
        shown = row.dataset == "twonorm" and row.method in ("le1-walk", "evidence-ascent")
        store.record(replace(row, trace=trace_of(row)) if shown else row)
    return store
