"""Trials in numbers: means, spreads, and how far they are from what was published."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marginwise.hyperparameters import paper_start
from marginwise.study import paper
from marginwise.study.paper import Column
from marginwise.study.store import TrialRow

#: Percent of a path's evaluations after which its test error is reported: long before it ends.
EARLY = (2, 5, 10)

#: So near to the logarithm of a bound a hyperparameter is at it: numbers are stored with six digits.
_AT_BOUND = 1e-4


@dataclass(frozen=True)
class Sample:
    """The same number from several trials."""

    values: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many trials have it."""
        return len(self.values)

    @property
    def mean(self) -> float | None:
        """Their mean; None without trials."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def sd(self) -> float | None:
        """Their standard deviation, with n - 1; None with fewer than two trials."""
        return float(np.std(self.values, ddof=1)) if self.n > 1 else None

    @property
    def median(self) -> float | None:
        """Their median; None without trials."""
        return float(np.median(self.values)) if self.values else None

    @property
    def best(self) -> float | None:
        """The least of them; None without trials."""
        return min(self.values, default=None)

    @property
    def worst(self) -> float | None:
        """The greatest of them; None without trials."""
        return max(self.values, default=None)


class Trials:
    """The rows of a study, by data set and method."""

    def __init__(self, rows: Iterable[TrialRow]) -> None:
        self.rows = tuple(rows)

    @cached_property
    def _done(self) -> dict[tuple[str, str], list[TrialRow]]:
        cells: dict[tuple[str, str], list[TrialRow]] = {}
        for row in self.rows:
            if row.status == "done":
                cells.setdefault((row.dataset, row.method), []).append(row)
        return cells

    @property
    def failed(self) -> list[TrialRow]:
        """The trials that failed."""
        return [row for row in self.rows if row.status != "done"]

    def done(self, dataset: str, method: str) -> list[TrialRow]:
        """Return the finished trials of a method on a data set."""
        return self._done.get((dataset, method), [])

    def sample(self, dataset: str, method: str, field: str = "test_error") -> Sample:
        """Return a number of each finished trial, also one of its extras: errors in %, anything else as it is."""
        scale = 100.0 if field.endswith("_error") else 1.0
        found = (getattr(row, field, row.extra.get(field)) for row in self.done(dataset, method))
        return Sample(tuple(scale * value for value in found if value is not None and math.isfinite(value)))

    def column(self, dataset: str, column: Column) -> Sample:
        """Return the errors, in %, that a column of the paper's tables is about."""
        return self.sample(dataset, column.method, column.field)

    def hyperparameters(self, dataset: str, method: str) -> np.ndarray:
        """Return what the trials of a method ended at, one row C, k0, koff, l_1 … l_d each."""
        found = [row.hyperparameters for row in self.done(dataset, method) if row.hyperparameters is not None]
        return np.array(found) if found else np.empty((0, 0))

    def endings(self, dataset: str, method: str) -> Counter[str]:
        """Return how the searches of a method ended, and how often."""
        return Counter(ending(row) for row in self.done(dataset, method))

    def at_bounds(self, dataset: str, method: str) -> int:
        """Return how many trials ended with some hyperparameter at a bound of the search."""
        ends = self.hyperparameters(dataset, method)
        if not len(ends):
            return 0
        lower, upper = paper_start(ends.shape[1] - 3).log_bounds
        logs = np.log(ends)
        return int(np.any((logs <= lower + _AT_BOUND) | (logs >= upper - _AT_BOUND), axis=1).sum())

    def seconds_per_step(self, dataset: str, method: str) -> float | None:
        """Return the seconds of the search for each evaluation of the criterion, the mean over trials."""
        return self.sample(dataset, method, "step_seconds").mean

    def svm_seconds(self, dataset: str) -> float | None:
        """Return the seconds of one training of the SVM, the median over the finished trials."""
        found = [row.extra["svm_seconds"] for row in self.rows if row.dataset == dataset and "svm_seconds" in row.extra]
        return float(np.median(found)) if found else None

    def test_size(self, dataset: str) -> int:
        """Return the number of test points: as recorded with the trials, else that of the paper."""
        sizes = {
            int(row.extra["test_rows"]) for row in self.rows if row.dataset == dataset and "test_rows" in row.extra
        }
        return min(sizes, default=paper.SIZES[dataset][2])


def ending(row: TrialRow) -> str:
    """Return how a search ended: what its message says first."""
    return row.message.split(";")[0].strip()


@dataclass(frozen=True)
class Comparison:
    """One of the paper's cells beside ours; errors in %.

    ``standard_error`` is that of the difference of the two; None if there are too few trials to tell.
    """

    dataset: str
    column: Column
    published: float
    published_sd: float | None
    ours: Sample
    value: float | None
    standard_error: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.value is None else self.value - self.published

    @property
    def in_standard_errors(self) -> float | None:
        """The difference in its standard errors."""
        if self.difference is None or not self.standard_error:
            return None
        return self.difference / self.standard_error

    def within(self, multiple: float) -> bool | None:
        """Say whether our mean is within so many of their standard deviations; None if there is nothing to say."""
        if self.difference is None or self.published_sd is None:
            return None
        # Their numbers have one decimal: a difference is known to half of that.
        return abs(self.difference) <= multiple * self.published_sd + 0.05


def compare_means(trials: Trials) -> list[Comparison]:
    """Return the 30 cells of table tab:results.

    The standard error of the difference of two means is √(s²/n + s'²/n'), s and s' being the standard deviations
    over n of our trials and n' of theirs.
    """
    cells = []
    for dataset in paper.DATASETS:
        for column, (mean, sd) in zip(paper.COLUMNS, paper.ERRORS[dataset], strict=True):
            ours = trials.column(dataset, column)
            error = None
            if ours.sd is not None:
                error = math.sqrt(ours.sd**2 / ours.n + sd**2 / paper.trials(dataset, column.method))
            cells.append(Comparison(dataset, column, mean, sd, ours, ours.mean, error))
    return cells


def compare_best(trials: Trials) -> list[Comparison]:
    """Return the cells of table tab:bestresults, with the standard error of two errors counted on test sets."""
    cells = []
    for dataset in paper.DATASETS:
        for column, best in zip(paper.COLUMNS, paper.BEST[dataset], strict=True):
            ours = trials.column(dataset, column)
            cells.append(_of_single_errors(trials, dataset, column, best, ours, ours.best))
    return cells


def compare_previous(trials: Trials) -> list[Comparison]:
    """Return the cells of table tab:prevresults, with the standard error of two errors counted on test sets."""
    cells = []
    for dataset in paper.DATASETS:
        for column, error in zip(paper.PREVIOUS_COLUMNS, paper.PREVIOUS[dataset], strict=True):
            if error is not None:
                ours = trials.column(dataset, column)
                cells.append(_of_single_errors(trials, dataset, column, error, ours, ours.mean))
    return cells


def counted_error(error: float, n_test: int) -> float:
    """Return the standard error of an error in % that was counted on ``n_test`` points: √(ε(1-ε)/n)."""
    fraction = min(max(error / 100.0, 0.0), 1.0)
    return 100.0 * math.sqrt(fraction * (1.0 - fraction) / n_test)


def _of_single_errors(
    trials: Trials, dataset: str, column: Column, published: float, ours: Sample, value: float | None
) -> Comparison:
    error = None
    if value is not None:
        theirs = counted_error(published, paper.SIZES[dataset][2])
        error = math.hypot(counted_error(value, trials.test_size(dataset)), theirs)
    return Comparison(dataset, column, published, None, ours, value, error)
