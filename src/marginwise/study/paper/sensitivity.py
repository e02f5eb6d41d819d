"""How far each detail that the paper does not state moves its cells, and which declared setting is nearest to them.

A cell's distance is |mean − the paper's mean| in the paper's standard deviations. The setting nearest to all cells is
found on half of them and judged on the other half, both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import Comparison, compared
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import THOROUGH, draw_names, in_setting
from marginwise.study.paper.numbers import COLUMNS, DATASETS, EARLY, EVIDENCE, SIMPLE, PaperColumn
from marginwise.study.report.summary import Sample, Trials


@dataclass(frozen=True)
class Sensitivity:
    """The cells of the paper's main table in every setting.

    ``trials`` are all of the study's, the varied ones included.
    """

    trials: Trials

    @classmethod
    def of(cls, findings: Findings) -> Sensitivity | None:
        """Return it; None if no setting was varied."""
        if not findings.varied.rows:
            return None
        return cls(Trials([*findings.trials.rows, *findings.varied.rows]))

    def cell(self, dataset: str, column: PaperColumn, setting: str) -> Comparison:
        """Return a cell in a setting next to the paper's."""
        ours = self.trials.sample(dataset, in_setting(column.method, setting), column.field)
        return compared(dataset, column, paper.ERRORS[dataset][COLUMNS.index(column)], ours)

    def over_draws(self, dataset: str, column: PaperColumn, method: str) -> Sample:
        """Return the errors on all draws of a data set: the mean over trials of the study's own, one of each other."""
        own = self.trials.sample(dataset, method, column.field).mean
        others = (self.trials.sample(name, method, column.field).mean for name in draw_names(dataset))
        return Sample(tuple(value for value in (own, *others) if value is not None))

    def complete(self, settings: Sequence[str], columns: Sequence[PaperColumn]) -> list[str]:
        """Return the settings that have trials in all cells of these columns."""
        return [
            key for key in settings if all(self.cell(d, c, key).value is not None for d in DATASETS for c in columns)
        ]


@dataclass(frozen=True)
class Nearness:
    """How near a setting is to the paper: mean distance over all cells and over each half, and counts of cells."""

    setting: str
    distance: float
    halves: tuple[float, float]
    within_1_sd: int
    within_2_se: int
    cells: int


def nearness(found: Sensitivity, settings: Sequence[str], columns: Sequence[PaperColumn]) -> list[Nearness]:
    """Return how near each complete setting is to the paper, the nearest first."""
    table = []
    for setting in found.complete(settings, columns):
        cells = [found.cell(dataset, column, setting) for dataset in DATASETS for column in columns]
        distances = np.array([abs(cell.difference or 0.0) / (cell.published_sd or np.nan) for cell in cells])
        even = _first_half(len(columns))
        table.append(
            Nearness(
                setting,
                float(distances.mean()),
                (float(distances[even].mean()), float(distances[~even].mean())),
                sum(bool(cell.within(1)) for cell in cells),
                sum(abs(z) <= 2 for cell in cells if (z := cell.in_standard_errors) is not None),
                len(cells),
            )
        )
    return sorted(table, key=lambda row: row.distance)


def _first_half(n_columns: int) -> np.ndarray:
    """Mark every other cell, as on a chess board: each data set and each column are in both halves."""
    return (np.add.outer(np.arange(len(DATASETS)), np.arange(n_columns)) % 2 == 0).ravel()


def judged_on_other_half(table: Sequence[Nearness]) -> list[tuple[Nearness, float, float]]:
    """Return for each half the setting nearest on it, its distance on the other half, and the thorough one's there."""
    plain = next((row for row in table if row.setting == THOROUGH), None)
    if plain is None:
        return []
    found = []
    for half, other in ((0, 1), (1, 0)):
        nearest = min(table, key=lambda row: row.halves[half])
        found.append((nearest, nearest.halves[other], plain.halves[other]))
    return found


#: Columns of walks and of ascents.
WALK_COLUMNS, ASCENT_COLUMNS = SIMPLE, (EVIDENCE, EARLY)
