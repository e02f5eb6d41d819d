"""The table that a model was fitted to, as reports need it: from a file, or from the model itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explaining import feature_names

#: What the column to predict is called where it has no name.
_NAMELESS = "the class"

#: What a model file keeps of the rows of its table.
_OF_ROWS = ("row_names", "row_numbers")


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows, labels and names.

    Attributes
    ----------
    X : array of shape (m, d)
        Cells as the user knows them. Of many rows, only some may be kept.
    y : array of shape (n,)
        The label of each row that ``fit`` was given.
    names : sequence of str
        The names of the columns.
    target : str
        The name of the labels.
    row_names : sequence of str
        Names of the rows; empty if they have none.
    row_numbers : sequence of int
        Numbers of the rows in the file, from 1; empty if no row was left out.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    names: Sequence[str]
    target: str = _NAMELESS
    row_names: Sequence[str] = ()
    row_numbers: Sequence[int] | npt.NDArray[np.intp] = ()

    @classmethod
    def of_model(cls, model: Any) -> TrainingTable:
        """Return the table from what a fitted TunedSVC holds of it: its distinct training rows, and all labels."""
        if not model._holds_training_rows:
            found = Finding("does not hold the rows it was fitted to")
            raise InvalidInputError("model", found, "one that is not compact")
        codes = model._codes
        described = getattr(model, "table_", None) or {}
        schema = described.get("schema", model._schema)
        names = schema.names if described else feature_names(model)
        rows = model._schema.table(model._encoding.cells(model.ensemble_.X))
        y = model.classes_[codes[model.row_groups_]]  # rows of weight 0 count nowhere
        return cls(rows, y, names, schema.target or _NAMELESS, *(described.get(key, ()) for key in _OF_ROWS))

    def name_of(self, row: int) -> str:
        """Return what a row is called, nothing if it has no name."""
        return str(self.row_names[row]) if len(self.row_names) else ""

    def number_of(self, row: int) -> int:
        """Return where a row stands in the file, the first being 1."""
        return int(self.row_numbers[row]) if len(self.row_numbers) else row + 1


def class_counts(model: Any, y: Array) -> dict[str, int]:
    """Return how many rows each class has, without those of weight 0."""
    counted = np.asarray(y)[np.asarray(model.row_groups_) >= 0]
    labels, counts = np.unique(counted, return_counts=True)
    return dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))


@contextmanager
def no_feature_names() -> Iterator[None]:
    """Ignore scikit-learn's warning about missing names: the cells are in the model's order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield
