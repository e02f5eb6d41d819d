"""Rows of a table to predict that are far outside of what a model was trained on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from marginwise._wording import numbered, some
from marginwise.tables.reading import NUMBER

#: A number is far outside if it is this many standard deviations of its column from the nearest in training.
_FAR = 3.0

#: The share of rows like those of training that pass for strange.
_SHARE = 0.01


class FarCell(NamedTuple):
    """A number far outside the range that its column had in training; the first row is 1."""

    row: int
    column: str
    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """For people to read."""
        return f"{self.column} = {self.value:g} in row {self.row} (training: {self.low:g} to {self.high:g})"


def far_cells(model: Any, cells: Any, names: list[str]) -> list[FarCell]:
    """Return the numbers of rows that are far outside of the training rows, the farthest first."""
    encoding = getattr(model, "_encoding", None)
    if encoding is None or not hasattr(model, "ensemble_"):
        return []
    trained = encoding.cells(model.ensemble_.X)
    far: list[tuple[float, FarCell]] = []
    for j, name in enumerate(names):
        known = trained[np.isfinite(trained[:, j]), j]
        if model._schema.columns[j].kind != NUMBER or not len(known):
            continue
        low, high, spread = float(known.min()), float(known.max()), float(known.std())
        beyond = np.maximum(cells[:, j] - high, low - cells[:, j])
        for i in np.flatnonzero(beyond > _FAR * spread) if spread > 0.0 else ():
            far.append((-float(beyond[i]) / spread, FarCell(int(i) + 1, name, float(cells[i, j]), low, high)))
    return [cell for _, cell in sorted(far)]


def strange_rows(model: Any, X: Any) -> list[int]:
    """Return the rows, from 1, that are unlike all training rows, if they are more than chance would have it."""
    if not hasattr(model, "novelty"):
        return []
    strange = np.flatnonzero(model.novelty(X, _SHARE).strange) + 1
    expected = _SHARE * len(X)
    return strange.tolist() if len(strange) > expected + 3.0 * math.sqrt(expected) else []


def warnings_of(far: list[FarCell], strange: list[int], n: int) -> list[str]:
    """Return what to beware of, in sentences."""
    found = []
    if far:
        found.append(
            f"{numbered(len(far), 'value')} far outside the training range: {some(cell.words for cell in far)}"
        )
    if strange:
        rows = f"{'row' if len(strange) == 1 else 'rows'} {some(map(str, strange))}"
        found.append(
            f"{len(strange)} of {numbered(n, 'row')} unlike the training rows, the prediction is a guess: {rows}"
        )
    return found
