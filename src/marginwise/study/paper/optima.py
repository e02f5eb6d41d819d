"""Local optima: whether the ends of repeated searches are separate."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.names import as_in_paper
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from marginwise.tuning import scan_line

#: The method that maximises the evidence of expectation propagation.
MAXIMISED = "ep-evidence-newton"

#: The criterion and slack that a method optimises. The sampled evidence gives gradients alone, so that along a line its
#: value is that of expectation propagation; ends of quasi-Newton on that stand next to those of the ascents.
_OPTIMISED = {
    "le1-walk": ("laplace-evidence", "linear"),
    "le2-walk": ("laplace-evidence", "quadratic"),
    "gacv-walk": ("gacv", "linear"),
    "span-walk": ("span", "quadratic"),
    "evidence-ascent": ("ep-evidence", "linear"),
}
CRITERIA = {
    **_OPTIMISED,
    **{as_in_paper(method): criterion for method, criterion in _OPTIMISED.items()},
    MAXIMISED: ("ep-evidence", "linear"),
}

#: Two ends are separate optima if the criterion is worse between them by more than this: the gain at which the study's
#: walks end is a tenth of it.
LEAST_BARRIER = 1e-4

#: The five methods of the paper whose ends are looked at.
SCANNED = paper.COLUMNS[:5]


@dataclass(frozen=True)
class Scan:
    """A criterion along the straight line, in the logarithms, between the ends of two trials.

    ``scores`` are the criterion's values, with the sign that makes larger ones better.
    """

    dataset: str
    method: str
    start: int
    end: int
    scores: tuple[float, ...]

    @property
    def barrier(self) -> float:
        """By how much the criterion is worse in between than at the worse end; NaN if it has no value at an end."""
        known = [score for score in self.scores if np.isfinite(score)]
        return float(np.min([self.scores[0], self.scores[-1]]) - min(known, default=np.nan))

    @property
    def separate(self) -> bool:
        """Whether the two ends are separate optima."""
        return self.barrier > LEAST_BARRIER

    def record(self) -> dict[str, object]:
        """Return it as a record of a table."""
        ends = {"start": self.start, "end": self.end, "barrier": self.barrier}
        return {
            "dataset": self.dataset,
            "method": self.method,
            **ends,
            "scores": " ".join(f"{s:.6g}" for s in self.scores),
        }

    @classmethod
    def from_record(cls, record: dict[str, str]) -> Scan:
        """Return what :meth:`record` was made from."""
        scores = tuple(float(score) for score in record["scores"].split())
        return cls(record["dataset"], record["method"], int(record["start"]), int(record["end"]), scores)


def scan_optima(
    trials: Trials, load: Callable[[TrialRow], Benchmark | None], *, pairs: int = 3, n_points: int = 21
) -> list[Scan]:
    """Scan between the ends of pairs of trials of each method and data set, drawn at random.

    ``load`` returns the data that a trial was run on, None if they are gone; only trials on the same data are compared.
    """
    scans = []
    for dataset in all_datasets(trials):
        for method, (name, slack) in CRITERIA.items():
            for first, other in _pairs(trials.done(dataset, method), load, pairs):
                data = load(first)
                assert data is not None
                start, end = (Hyperparameters.from_values(row.hyperparameters or ()) for row in (first, other))
                line = scan_line(name, data.X_train, data.y_train, start, end, slack, n_points=n_points)
                scores = tuple((line.signs[name] * line.values[name]).tolist())
                scans.append(Scan(dataset, method, first.number, other.number, scores))
    return scans


def _pairs(
    rows: Sequence[TrialRow], load: Callable[[TrialRow], Benchmark | None], most: int
) -> list[tuple[TrialRow, TrialRow]]:
    """Return different pairs of trials on the same data, drawn at random, the same each time."""
    ended = [row for row in rows if row.hyperparameters]
    if not ended or (data := load(ended[0])) is None:
        return []
    same = [row for row in ended if (own := load(row)) and np.array_equal(own.X_train, data.X_train)]
    all_pairs = list(combinations(same, 2))
    chosen = np.random.default_rng(0).permutation(len(all_pairs))[:most]
    return [all_pairs[place] for place in chosen]


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
