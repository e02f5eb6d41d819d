"""From a store to what a report is made of: the rows, what their paths tell, and lines between their ends."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from marginwise.datasets import Benchmark
from marginwise.study.paper.claims.claim import Findings
from marginwise.study.plan import Effort
from marginwise.study.trial import load_data
from marginwise.study.paper.optima import Scan, scan_optima
from marginwise.study.store import Store, TrialRow
from marginwise.study.report.summary import EARLY, Trials, ending

#: Significant digits of numbers in the file of trials: more than any table shows.
_DIGITS = 6

#: Columns of a path that facts are taken from.
_COLUMNS = {"score", "test_error", "evaluation"}

_NUMBERS = ("seconds", "criterion_value", "test_error", "posterior_error", "log_loss", "oracle_error", "early_error")
_FIELDS = ("dataset", "method", "number", "seed", "status", "error_name", "message", "evaluations", *_NUMBERS)


def gather(store: Store, *, pairs: int = 3, n_points: int = 21) -> Findings:
    """Return the trials of a study, and scans between the ends of some of them."""
    efforts: dict[str, Effort] = {}

    def effort(row: TrialRow) -> Effort:
        if row.fingerprint not in efforts:
            efforts[row.fingerprint] = _effort(store, row)
        return efforts[row.fingerprint]

    def load(row: TrialRow) -> Benchmark:
        return load_data(row.dataset, effort(row))

    rows = []
    for row in store.rows():
        if row.status == "done":
            more = {"test_rows": float(len(load(row).y_test)), **path_facts(store.trace(row))}
            row = replace(row, extra={**row.extra, **more})
        rows.append(row)
    trials = Trials(rows)
    return Findings(trials, scan_optima(trials, load, pairs=pairs, n_points=n_points))


def path_facts(trace: dict[str, list[float]] | None) -> dict[str, float]:
    """Return what a path tells in a few numbers.

    They are Spearman's correlation of the criterion's score with the test error, and the test error after the first
    few percent of the evaluations.
    """
    if trace is None or not trace.keys() >= _COLUMNS:
        return {}
    score, error, evaluation = (np.array(trace[name]) for name in ("score", "test_error", "evaluation"))
    known = np.isfinite(score) & np.isfinite(error)
    if known.sum() < 3:
        return {}
    score, error, evaluation = score[known], error[known], evaluation[known]
    places = np.searchsorted(evaluation, np.array(EARLY) / 100 * evaluation[-1], side="right")
    facts = {
        f"error_after_{share}": float(error[max(place - 1, 0)]) for share, place in zip(EARLY, places, strict=True)
    }
    by_score, by_error = _ranks(score), _ranks(error)
    if np.ptp(by_score) > 0 and np.ptp(by_error) > 0:
        facts["score_error_correlation"] = float(np.corrcoef(by_score, by_error)[0, 1])
    return facts


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the ranks of values, equal ones sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def write_rows(path: Path, rows: Iterable[TrialRow]) -> Path:
    """Write trials as CSV: one line each, without their paths, and of messages what stands first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_FIELDS, "hyperparameters", "extra"])
        for row in rows:
            row = replace(row, message=ending(row))
            values = [_text(getattr(row, name)) for name in _FIELDS]
            settings = " ".join(_text(value) for value in row.hyperparameters or ())
            extra = {name: float(_text(value)) for name, value in sorted(row.extra.items())}
            writer.writerow([*values, settings, json.dumps(extra)])
    return path


def read_rows(path: Path) -> list[TrialRow]:
    """Read what :func:`write_rows` wrote."""
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        for record in csv.DictReader(file):
            numbers = {name: float(record[name]) if record[name] else None for name in _NUMBERS}
            settings = tuple(float(value) for value in record["hyperparameters"].split())
            rows.append(
                TrialRow(
                    record["dataset"],
                    record["method"],
                    int(record["number"]),
                    int(record["seed"]),
                    record["status"],
                    record["message"],
                    record["error_name"],
                    evaluations=int(record["evaluations"]) if record["evaluations"] else None,
                    hyperparameters=settings or None,
                    extra=json.loads(record["extra"]),
                    **{**numbers, "seconds": numbers["seconds"] or 0.0},  # type: ignore[arg-type]
                )
            )
    return rows


def write_scans(path: Path, scans: Iterable[Scan]) -> Path:
    """Write scans as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["dataset", "method", "start", "end", "barrier", "scores"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**scan.record(), "barrier": _text(scan.barrier)} for scan in scans)
    return path


def read_scans(path: Path) -> list[Scan]:
    """Read what :func:`write_scans` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Scan.from_record(record) for record in csv.DictReader(file)]


def _effort(store: Store, row: TrialRow) -> Effort:
    """Return how much a trial was allowed to do, as kept with the store; all of it if that is not known."""
    description = store.settings(row.fingerprint).get("effort")
    return Effort(**description[1]) if description else Effort()


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
