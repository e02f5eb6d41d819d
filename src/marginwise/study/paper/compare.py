"""The paper's cells next to ours, and to those of data sets and methods that it does not have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.names import PAPER_TRIALS
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.report.summary import Sample, Trials, counted_error


def all_datasets(trials: Trials) -> dict[str, str]:
    """Return the paper's data sets as it writes them, then the others that there are trials on."""
    return {**paper.DATASETS, **{name: name for name in trials.datasets if name not in paper.DATASETS}}


def all_methods(trials: Trials) -> tuple[str, ...]:
    """Return the methods of the paper's study, then the others that there are trials of."""
    return (*PAPER_TRIALS, *(name for name in trials.methods if name not in PAPER_TRIALS))


def with_own(columns: Sequence[PaperColumn], trials: Trials) -> tuple[PaperColumn, ...]:
    """Return columns of the paper's tables, then one for each method that its study does not have."""
    return (*columns, *(PaperColumn(name, name) for name in all_methods(trials)[len(PAPER_TRIALS) :]))


def n_test(trials: Trials, dataset: str) -> int:
    """Return the number of test points: as recorded with the trials, else that of the paper."""
    return trials.test_size(dataset) or paper.SIZES[dataset][2]


@dataclass(frozen=True)
class Comparison:
    """A cell of one of the paper's tables: what was published, and ours; errors in %.

    ``published`` is None where the paper has no number. ``standard_error`` is that of the difference of the two; None
    if there are too few trials to tell.
    """

    dataset: str
    column: PaperColumn
    published: float | None
    published_sd: float | None
    ours: Sample
    value: float | None
    standard_error: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.value is None or self.published is None else self.value - self.published

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
    """Return the 30 cells of table tab:results, and those of further data sets and methods.

    The standard error of the difference of two means is √(s²/n + s'²/n'), s and s' being the standard deviations
    over n of our trials and n' of theirs.

    Parameters
    ----------
    trials : Trials
        The rows of a store.

    Returns
    -------
    list of Comparison
        With ``dataset``, ``column``, ``published``, ``value``, ``difference`` and ``in_standard_errors``.

    Examples
    --------
    >>> from marginwise.study.report import Trials
    >>> cells = compare_means(Trials([]))
    >>> len(cells), cells[0].dataset, cells[0].published, cells[0].value
    (30, 'crabs', 10.7, None)
    """
    cells = []
    for dataset in all_datasets(trials):
        published = dict(zip(paper.COLUMNS, paper.ERRORS.get(dataset, ()), strict=False))
        for column in with_own(paper.COLUMNS, trials):
            cells.append(compared(dataset, column, published.get(column), _sample(trials, dataset, column)))
    return cells


def compared(dataset: str, column: PaperColumn, published: tuple[float, float] | None, ours: Sample) -> Comparison:
    """Return a mean over our trials next to the paper's (mean, standard deviation)."""
    mean, sd = published or (None, None)
    error = None
    if ours.sd is not None and sd is not None:
        error = math.sqrt(ours.sd**2 / ours.n + sd**2 / paper.trials(dataset, column.method))
    return Comparison(dataset, column, mean, sd, ours, ours.mean, error)


def compare_best(trials: Trials) -> list[Comparison]:
    """Return the cells of table tab:bestresults, with the standard error of two errors counted on test sets."""
    return _compare_single(trials, paper.COLUMNS, paper.BEST, lambda sample: sample.best)


def compare_previous(trials: Trials) -> list[Comparison]:
    """Return the cells of table tab:prevresults, with the standard error of two errors counted on test sets."""
    return _compare_single(trials, paper.PREVIOUS_COLUMNS, paper.PREVIOUS, lambda sample: sample.mean)


def _compare_single(
    trials: Trials,
    columns: Sequence[PaperColumn],
    errors: Mapping[str, Sequence[float | None]],
    pick: Callable[[Sample], float | None],
) -> list[Comparison]:
    """Return the cells of a table of single errors; none where the paper has a dash."""
    cells = []
    for dataset in all_datasets(trials):
        published = dict(zip(columns, errors.get(dataset, ()), strict=False))
        for column in with_own(columns, trials):
            if column not in published or published[column] is not None:
                ours = _sample(trials, dataset, column)
                cells.append(_of_single_errors(trials, dataset, column, published.get(column), ours, pick(ours)))
    return cells


def _sample(trials: Trials, dataset: str, column: PaperColumn) -> Sample:
    """Return the errors, in %, that a column is about."""
    return trials.sample(dataset, column.method, column.field)


def _of_single_errors(
    trials: Trials, dataset: str, column: PaperColumn, published: float | None, ours: Sample, value: float | None
) -> Comparison:
    error = None
    if value is not None and published is not None:
        theirs = counted_error(published, paper.SIZES[dataset][2])
        error = math.hypot(counted_error(value, n_test(trials, dataset)), theirs)
    return Comparison(dataset, column, published, None, ours, value, error)
