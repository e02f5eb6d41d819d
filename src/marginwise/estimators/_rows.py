"""The rows that a model was given, as they were given: what a fit on other rows, too, has to know of them."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_X_y

from marginwise._arrays import Array, Indices
from marginwise._wording import some
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._classes import ClassificationTable, classified, of_one_kind, weights_of
from marginwise.estimators._encoding import Encoding
from marginwise.estimators._groups import group_numbers, labels_of_groups

_REFIT = "to learn new ones, refit on all rows"


class GivenRows(NamedTuple):
    """Rows in the order in which they were given; those of weight 0 were left out or are forgotten.

    Attributes
    ----------
    inputs : array of shape (n, d)
        Cells as the model sees them.
    codes : array of int, shape (n,)
        Class numbers.
    weights : array of shape (n,)
        Sample weights, without those of classes.
    groups : array of int, shape (n,), or None
        Keys of the groups.
    """

    inputs: Array
    codes: Indices
    weights: Array
    groups: Indices | None

    def none(self) -> GivenRows:
        """Return no rows of the kind."""
        groups = None if self.groups is None else self.groups[:0]
        return GivenRows(self.inputs[:0], self.codes[:0], self.weights[:0], groups)

    def followed_by(self, others: GivenRows) -> GivenRows:
        """Return these rows and then others."""
        groups = None
        if self.groups is not None and others.groups is not None:
            groups = np.concatenate([self.groups, others.groups])
        inputs, codes = np.concatenate([self.inputs, others.inputs]), np.concatenate([self.codes, others.codes])
        return GivenRows(inputs, codes, np.concatenate([self.weights, others.weights]), groups)

    def forgetting(self, rows: Indices) -> GivenRows:
        """Return the rows, some of them forgotten."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return self._replace(weights=weights)

    def require_classes(self, classes: npt.NDArray[Any]) -> None:
        """Raise unless each class has a row."""
        counts = np.bincount(self.codes, self.weights > 0.0, len(classes))
        gone = [repr(label) for label in classes[counts == 0].tolist()]
        if gone:
            found = Finding(f"would leave no row of {some(gone)}")
            raise InvalidInputError("forget", found, "rows of each class that stay; to drop a class, refit without it")

    def table(
        self, encoding: Encoding, classes: npt.NDArray[Any], class_weight: Any
    ) -> tuple[ClassificationTable, Array]:
        """Return the table of distinct rows that a fit would make of them, and their inputs.

        It is merged and put in order by cells, as there; inputs are those that were given, to the last bit.
        """
        cells, labels = encoding.cells(self.inputs), classes[self.codes]
        table = classified(cells, labels, self.weights, class_weight, self.groups).merged().counted()
        inputs = np.empty((len(table.codes), self.inputs.shape[1]))
        there = table.places >= 0
        inputs[table.places[there]] = self.inputs[there]
        return table, inputs


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[GivenRows, Array]:
    """Return rows for a fitted model, and their cells; raise if they hold what it can't learn without a new fit."""
    if X is None or y is None:
        wanted = "rows and their labels; none of the arguments but forget goes without them"
        raise InvalidInputError("X" if X is None else "y", None, wanted)
    cells = model._cells(X)
    _require_known(model, cells)
    labels = check_X_y(np.zeros((len(cells), 1)), of_one_kind(y), estimator=model)[1]
    numbers = {label: code for code, label in enumerate(model.classes_.tolist())}
    strange = [repr(label) for label in dict.fromkeys(labels.tolist()) if label not in numbers]
    if strange:
        known = some([repr(label) for label in numbers])
        raise InvalidInputError(
            "y", Finding(f"has classes that the model does not know, {some(strange)}"), f"{known}; {_REFIT}"
        )
    if (groups is None) != (model._given_groups is None):
        wanted = (
            "None, because fit was given none"
            if groups is not None
            else "the groups of the rows, as fit was given some"
        )
        raise InvalidInputError("groups", groups if groups is None else Finding("is given"), wanted)
    if groups is not None:
        group_numbers(groups, len(cells))  # says what is wrong with them
    codes = np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)
    keys = None if groups is None else group_keys(groups, len(cells))
    return GivenRows(model._encoding(cells), codes, weights_of(sample_weight, len(cells)), keys), cells


def _require_known(model: Any, cells: Array) -> None:
    """Raise if a column has a category, or a gap, and had none like it when it was encoded."""
    for j, column in enumerate(model._schema.columns):
        own = cells[:, j]
        strange = own >= model._encoding.n_values[j] if model._encoding.n_values[j] else np.zeros(len(own), dtype=bool)
        if strange.any():
            found = Finding(f"has a category that the model does not know, in row {int(np.argmax(strange))}")
            raise InvalidInputError(f"X, {column.where}", found, f"{some(map(repr, column.categories))}; {_REFIT}")
        if np.isnan(own).any() and not model._encoding.takes_gaps(j):
            found = Finding(f"has no cell in row {int(np.argmax(np.isnan(own)))}, and had no gaps before")
            raise InvalidInputError(
                f"X, {column.where}", found, "a column without gaps; to learn from them, refit on all rows"
            )


def row_numbers(forget: Any, n: int) -> Indices:
    """Return checked numbers of rows, of which n were given."""
    if forget is None:
        return np.empty(0, dtype=np.intp)
    rows = np.asarray(forget)
    wanted = f"numbers of rows from 0 to {n - 1}, in the order in which they were given"
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError("forget", Finding(f"is of shape {rows.shape} and type {rows.dtype}"), wanted)
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise InvalidInputError("forget", Finding(f"has {outside[0].item()}"), wanted)
    return np.unique(rows).astype(np.intp)


def stored_weights(sample_weight: Any, n: int) -> Array | None:
    """Return the sample weights of n rows; None if all are 1."""
    weights = weights_of(sample_weight, n)
    return None if (weights == 1.0).all() else weights


def group_keys(groups: Any, n: int) -> Indices:
    """Return a number for the group of each of n rows that depends on its label alone, so that others can join it."""
    keys: dict[Any, int] = {}
    return np.array([keys.setdefault(label, _key(label)) for label in labels_of_groups(groups, n)], dtype=np.int64)


def _key(label: Any) -> int:
    """Return 63 bits of a label: numbers that are equal have the same, and all have them in every process."""
    if isinstance(label, tuple):
        text = f"tuple {[_key(part) for part in label]}"
    elif isinstance(label, Real) and math.isfinite(label):
        text = f"number {Fraction(label if isinstance(label, Rational) else float(label))}"
    else:
        text = repr(label)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
