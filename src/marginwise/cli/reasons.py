"""Why each row of a table is predicted as it is, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise.errors import Finding, InvalidInputError
from marginwise.inspection import Explanation, explain
from marginwise.plots._cells import cell_text
from marginwise.reporting.training import no_feature_names


class Reason(NamedTuple):
    """What a cell contributes to the class that is predicted, in log-odds."""

    column: str
    cell: str
    value: float

    @property
    def text(self) -> str:
        """In a cell of a table."""
        return f"{self.column} = {self.cell} ({self.value:+.2f})"

    @property
    def words(self) -> str:
        """For people to read."""
        side = "for" if self.value >= 0 else "against"
        return f"{self.column} = {self.cell} speaks {side} it ({self.value:+.1f})"


def explained(model: Any, X: Any, names: Sequence[str]) -> Explanation:
    """Return the explanation of rows with the names that the columns have in the file."""
    if not hasattr(model, "explain"):
        found = Finding(f"holds a {type(model).__name__}")
        raise InvalidInputError("MODEL", found, "a model of 'marginwise fit', which can be explained")
    with no_feature_names():
        return replace(explain(model, X), feature_names=list(names), data=np.asarray(X))


def for_predicted(explanation: Explanation, codes: Indices) -> Array:
    """Return the contributions to the latent function of each row's predicted class, shape (n, d)."""
    if explanation.values.ndim == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None] * explanation.values
    return explanation.values[np.arange(len(codes)), :, codes]


def strongest(explanation: Explanation, values: Array, most: int) -> list[list[Reason]]:
    """Return the cells of each row that contribute most, the strongest first; those that contribute nothing are not."""
    found = []
    for row, cells in zip(values, explanation.data, strict=True):
        order = np.argsort(-np.abs(row), kind="stable")[:most]
        found.append(
            [Reason(explanation.feature_names[j], cell_text(cells[j]), float(row[j])) for j in order if row[j] != 0.0]
        )
    return found


def label_sets(model: Any, X: Any, coverage: float) -> Mask | None:
    """Return the labels that cannot be ruled out; None for a model that has nothing to calibrate sets by."""
    if not getattr(model, "_conformity", ()):
        return None
    sets: Mask = model.predict_set(X, coverage)
    return sets


def reason_columns(reasons: list[list[Reason]], most: int) -> dict[str, list[str]]:
    """Return the reasons as columns of a table, the strongest first."""
    return {f"reason_{k + 1}": [row[k].text if k < len(row) else "" for row in reasons] for k in range(most)}
