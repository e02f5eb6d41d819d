"""Trials in numbers: means, spreads, and where searches ended."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marginwise.study.record import TrialRow


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
    """The rows of a study, by data set and method.

    Parameters
    ----------
    rows : sequence of TrialRow
        Those of a store.

    Examples
    --------
    >>> from marginwise.study import TrialRow
    >>> rows = [TrialRow(dataset="crabs", method="mine", number=k, seed=k, status="done") for k in range(2)]
    >>> Trials(rows).datasets, Trials(rows).methods
    (('crabs',), ('mine',))
    """

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
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, in the order of the rows."""
        return tuple(dict.fromkeys(row.dataset for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of the rows."""
        return tuple(dict.fromkeys(row.method for row in self.rows))

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

    def hyperparameters(self, dataset: str, method: str) -> np.ndarray:
        """Return what the trials of a method ended at, one row C, k0, koff, l_1 … l_d each."""
        found = [row.hyperparameters for row in self.done(dataset, method) if row.hyperparameters is not None]
        return np.array(found) if found else np.empty((0, 0))

    def seconds_per_step(self, dataset: str, method: str) -> float | None:
        """Return the seconds of the search for each evaluation of the criterion, the mean over trials."""
        return self.sample(dataset, method, "step_seconds").mean

    def svm_seconds(self, dataset: str) -> float | None:
        """Return the seconds of one training of the SVM, the median over the finished trials."""
        found = [row.extra["svm_seconds"] for row in self.rows if row.dataset == dataset and "svm_seconds" in row.extra]
        return float(np.median(found)) if found else None

    def test_size(self, dataset: str) -> int | None:
        """Return the number of test points as recorded with the trials; the least if there are several."""
        sizes = {
            int(row.extra["test_rows"]) for row in self.rows if row.dataset == dataset and "test_rows" in row.extra
        }
        return min(sizes, default=None)


def counted_error(error: float, n_test: int) -> float:
    """Return the standard error of an error in % that was counted on ``n_test`` points: √(ε(1-ε)/n)."""
    fraction = min(max(error / 100.0, 0.0), 1.0)
    return 100.0 * math.sqrt(fraction * (1.0 - fraction) / n_test)
