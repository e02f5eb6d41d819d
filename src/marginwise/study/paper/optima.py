"""Local optima: whether the ends of repeated searches are separate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from marginwise.datasets import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from marginwise.tuning import scan_line

#: The criterion and slack that a method of the paper optimises. The sampled evidence gives gradients alone, so that
#: along a line its value is that of expectation propagation.
CRITERIA = {
    "le1-walk": ("laplace-evidence", "linear"),
    "le2-walk": ("laplace-evidence", "quadratic"),
    "gacv-walk": ("gacv", "linear"),
    "span-walk": ("span", "quadratic"),
    "evidence-ascent": ("ep-evidence", "linear"),
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
    """Scan from the best trial of each method and data set to some others, spread over the ranks.

    ``load`` returns the data that a trial was run on, None if they are gone; only trials on the same data are compared.
    """
    scans = []
    for dataset in all_datasets(trials):
        for column in SCANNED:
            name, slack = CRITERIA[column.method]
            for first, other in _pairs(trials.done(dataset, column.method), load, pairs):
                data = load(first)
                assert data is not None
                start, end = (Hyperparameters.from_values(row.hyperparameters or ()) for row in (first, other))
                line = scan_line(name, data.X_train, data.y_train, start, end, slack, n_points=n_points)
                scores = tuple((line.signs[name] * line.values[name]).tolist())
                scans.append(Scan(dataset, column.method, first.number, other.number, scores))
    return scans


def _pairs(
    rows: Sequence[TrialRow], load: Callable[[TrialRow], Benchmark | None], most: int
) -> Iterable[tuple[TrialRow, TrialRow]]:
    """Return the best trial with others on the same data: the next, the last and those between, evenly by rank."""
    known = [(score, row) for row in rows if row.hyperparameters and (score := _score(row)) is not None]
    if not known:
        return []
    ranked = [row for _, row in sorted(known, key=lambda pair: -pair[0])]
    first = ranked[0]
    if (data := load(first)) is None:
        return []
    others = [row for row in ranked[1:] if (own := load(row)) and np.array_equal(own.X_train, data.X_train)]
    places = np.linspace(0, len(others) - 1, min(most, len(others))).round().astype(int)
    return [(first, others[place]) for place in places]


def _score(row: TrialRow) -> float | None:
    """Return how good the trial's end is by its own criterion, larger being better."""
    if row.method == paper.EVIDENCE.method:
        return row.extra.get("ep_log_evidence")
    if row.criterion_value is None:
        return None
    return row.criterion_value if row.method in ("le1-walk", "le2-walk") else -row.criterion_value
