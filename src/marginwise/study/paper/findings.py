"""From a store to what claims and tables are made of: the rows, what their paths tell, and lines between their ends."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from marginwise._arrays import Array
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.paper.optima import Scan, scan_optima
from marginwise.study.record import Trace
from marginwise.study.report.data import StudyData
from marginwise.study.report.summary import Sample, Trials
from marginwise.study.store import Store

#: Percent of a path's evaluations after which its test error is reported: long before it ends.
EARLY = (2, 5, 10)

#: Columns of a path that facts are taken from.
_COLUMNS = {"score", "test_error", "evaluation"}


class NoTrialsError(LookupError):
    """A claim needs trials that are not there yet."""


@dataclass(frozen=True)
class Findings:
    """What the claims are judged by: the trials, and the criteria along lines between their ends."""

    trials: Trials
    scans: Sequence[Scan] = ()
    sizes: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)  # inputs, training, test of other data sets

    def sample(self, dataset: str, column: PaperColumn) -> Sample:
        """Return errors in %; at least one."""
        return self.field(dataset, column.method, column.field)

    def field(self, dataset: str, method: str, field: str = "test_error") -> Sample:
        """Return a number of each trial; at least one."""
        found = self.trials.sample(dataset, method, field)
        if not found.n:
            raise NoTrialsError(f"no {method} on {paper.label(dataset)}")
        return found

    def mean(self, dataset: str, column: PaperColumn) -> float:
        """Return the mean error in %."""
        mean = self.sample(dataset, column).mean
        assert mean is not None
        return mean

    def sd(self, dataset: str, column: PaperColumn) -> float:
        """Return the standard deviation of the errors in %."""
        sd = self.sample(dataset, column).sd
        if sd is None:
            raise NoTrialsError(f"fewer than two of {column.method} on {paper.label(dataset)}")
        return sd


def gather(store: Store, *, pairs: int = 3, n_points: int = 21) -> Findings:
    """Return the trials of a study, and scans between the ends of some of them."""
    data = StudyData(store)
    rows = []
    for row in store.rows():
        if row.status == "done":
            more = path_facts(store.trace(row))
            if (size := data.sizes(row)) is not None:
                more["test_rows"] = float(size[2])
            row = replace(row, extra={**row.extra, **more})
        rows.append(row)
    trials = Trials(rows)
    scans = scan_optima(trials, data.load, pairs=pairs, n_points=n_points)
    own = {row.dataset: size for row in rows if row.dataset not in paper.DATASETS and (size := data.sizes(row))}
    return Findings(trials, scans, own)


def path_facts(trace: Trace | None) -> dict[str, float]:
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


def _ranks(values: Array) -> Array:
    """Return the ranks of values, equal ones sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def write_scans(path: Path, scans: Iterable[Scan]) -> Path:
    """Write scans as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["dataset", "method", "start", "end", "barrier", "scores"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**scan.record(), "barrier": f"{scan.barrier:.6g}"} for scan in scans)
    return path


def read_scans(path: Path) -> list[Scan]:
    """Read what :func:`write_scans` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Scan.from_record(record) for record in csv.DictReader(file)]
