"""The paper's cells next to ours, in any setting, and to those of data sets and methods that it does not have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.numbers import DATASETS, PaperColumn
from marginwise.study.paper.settings import (
    PAPER_TRIALS,
    THOROUGH,
    VARIED_DATASETS,
    VARIED_METHODS,
    colour_draws,
    draws,
    in_setting,
    nearest,
)
from marginwise.study.report.summary import Sample, Trials, counted_error


def all_datasets(trials: Trials) -> dict[str, str]:
    """Return the paper's data sets as it writes them, then those of users that there are trials on."""
    return DATASETS | {name: name for name in trials.datasets if name not in {*DATASETS, *VARIED_DATASETS}}


def all_methods(trials: Trials) -> tuple[str, ...]:
    """Return the methods of the paper's study, then those of users that there are trials of."""
    return (*PAPER_TRIALS, *(name for name in trials.methods if name not in {*PAPER_TRIALS, *VARIED_METHODS}))


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
    def name(self) -> str:
        """Data set and column."""
        return f"{paper.label(self.dataset)}, {self.column.label}"

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

    @property
    def distance(self) -> float | None:
        """The difference in their standard deviations."""
        return None if self.difference is None or not self.published_sd else self.difference / self.published_sd

    def within(self, multiple: float) -> bool | None:
        """Say whether our mean is within so many of their standard deviations; None if there is nothing to say."""
        if self.difference is None or self.published_sd is None:
            return None
        # Their numbers have one decimal: a difference is known to half of that.
        return abs(self.difference) <= multiple * self.published_sd + 0.05


def compared(trials: Trials, dataset: str, column: PaperColumn, method: str | None = None, on: str = "") -> Comparison:
    """Return a mean over our trials, of this method ``on`` a data set, next to a cell of table tab:results.

    The standard error of the difference of two means is √(s²/n + s'²/n'), s and s' being the standard deviations
    over n of our trials and n' of theirs.
    """
    return _with_theirs(dataset, column, trials.sample(on or dataset, method or column.method, column.field))


def _with_theirs(dataset: str, column: PaperColumn, ours: Sample) -> Comparison:
    mean, sd = paper.published(dataset, column) or (None, None)
    error = None
    if ours.sd is not None and sd is not None:
        error = math.sqrt(ours.sd**2 / ours.n + sd**2 / paper.trials(dataset, column.method))
    return Comparison(dataset, column, mean, sd, ours, ours.mean, error)


def compare_means(trials: Trials) -> list[Comparison]:
    """Return the 30 cells of table tab:results, and those of further data sets and methods.

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
    columns = with_own(paper.COLUMNS, trials)
    return [compared(trials, dataset, column) for dataset in all_datasets(trials) for column in columns]


def agreement(cells: Sequence[Comparison]) -> tuple[int, int, int]:
    """Return of how many cells our mean is within one of the paper's sd, and within 2 standard errors, of how many.

    Cells of the paper that contradict themselves are left out.
    """
    known = [cell for cell in cells if cell.within(1) is not None and not paper.impossible(cell.dataset, cell.column)]
    near = sum(abs(z) <= 2 for cell in known if (z := cell.in_standard_errors) is not None)
    return sum(bool(cell.within(1)) for cell in known), near, len(known)


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
        theirs = dict(zip(columns, errors.get(dataset, ()), strict=False))
        for column in with_own(columns, trials):
            if column in theirs and theirs[column] is None:
                continue
            ours, published, error = trials.sample(dataset, column.method, column.field), theirs.get(column), None
            if (value := pick(ours)) is not None and published is not None:
                counted = counted_error(published, paper.SIZES[dataset][2])
                error = math.hypot(counted_error(value, n_test(trials, dataset)), counted)
            cells.append(Comparison(dataset, column, published, None, ours, value, error))
    return cells


def over_draws(trials: Trials, dataset: str, column: PaperColumn, method: str, *, coloured: bool = False) -> Comparison:
    """Return a cell over all draws of a data set, the study's own included: the mean of each over its trials.

    ``coloured``: over draws of Crabs that are even in colour alone.
    """
    names = (dataset, *draws(dataset)) if not coloured else colour_draws() if dataset == "crabs" else ()
    found = (trials.sample(name, method, column.field).mean for name in names)
    return _with_theirs(dataset, column, Sample(tuple(value for value in found if value is not None)))


@dataclass(frozen=True)
class Nearness:
    """How near a setting is to the paper: mean distance over all cells and over each half, and counts of cells.

    The distance of a cell is |our mean − the paper's| in the paper's standard deviations.
    """

    setting: str
    distance: float
    halves: tuple[float, float]
    within_1_sd: int
    within_2_se: int
    cells: int
    trials: tuple[int, int]


def nearness(trials: Trials, settings: Iterable[str], columns: Sequence[PaperColumn]) -> list[Nearness]:
    """Return how near each setting that has trials in all cells is to the paper, the nearest first.

    A half has every other cell, as on a chess board: each data set and each column are in both.
    """
    table = []
    even = (np.add.outer(np.arange(len(DATASETS)), np.arange(len(columns))) % 2 == 0).ravel()
    for setting in settings:
        cells = [
            compared(trials, d, column, in_setting(column.method, setting)) for d in DATASETS for column in columns
        ]
        if any(cell.distance is None for cell in cells):
            continue
        kept = np.array([not paper.impossible(cell.dataset, cell.column) for cell in cells])
        distances = np.abs([cell.distance or 0.0 for cell in cells])
        halves = tuple(float(distances[half & kept].mean()) for half in (even, ~even))
        counts = [cell.ours.n for cell in cells]
        spread = (min(counts), max(counts))
        one, two, total = agreement(cells)
        table.append(Nearness(setting, float(distances[kept].mean()), halves, one, two, total, spread))  # type: ignore[arg-type]
    return sorted(table, key=lambda row: row.distance)


def judged_on_other_half(table: Sequence[Nearness]) -> list[tuple[Nearness, float, float]]:
    """Return for each half the setting nearest on it, its distance on the other half, and the thorough one's there."""
    plain = next((row for row in table if row.setting == THOROUGH), None)
    if plain is None:
        return []
    found = []
    for half, other in ((0, 1), (1, 0)):
        near = min(table, key=lambda row: row.halves[half])
        found.append((near, near.halves[other], plain.halves[other]))
    return found


@dataclass(frozen=True)
class JointPlace:
    """Where the paper's six cells of Crabs are among those of draws that are even in colour, as its own is.

    ``share`` is that of the draws, the paper counted as one more, that are at least as far from the mean of all as the
    paper, by Mahalanobis' distance in all six cells at once; ``harder`` those with a mean at least as high, by column.
    """

    draws: int
    share: float
    harder: Mapping[str, float]
    trials: tuple[int, int]


def joint_place(trials: Trials) -> JointPlace | None:
    """Return it; None with fewer than 20 draws that have trials in all six cells."""
    samples = [[trials.sample(d, nearest(c.method), c.field) for c in paper.COLUMNS] for d in colour_draws()]
    known = [row for row in samples if all(sample.n for sample in row)]
    if len(known) < 20:
        return None
    theirs = np.array([mean for mean, _ in paper.ERRORS["crabs"]])
    ours = np.array([[sample.mean for sample in row] for row in known])
    every = np.vstack([theirs, ours])
    apart = every - every.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", apart, np.linalg.inv(np.cov(every.T)), apart)
    counts = [sample.n for row in known for sample in row]
    harder = np.mean(ours >= theirs - 0.05, axis=0)
    by_column = {column.label: float(share) for column, share in zip(paper.COLUMNS, harder, strict=True)}
    return JointPlace(
        len(known), float(np.mean(distances >= distances[0] - 1e-9)), by_column, (min(counts), max(counts))
    )
