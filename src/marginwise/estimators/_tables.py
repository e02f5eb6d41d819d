"""Tables of every kind as cells: checked as scikit-learn does, and read by a schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError, TableWarning
from marginwise.tables import Schema
from marginwise.tables.column import FROM_DTYPE
from marginwise.tables.reading import is_frame, is_lazy, is_of_objects

#: Bytes that the zeros of a sparse table may take when they are written out: kernels need them.
MOST_BYTES = 2**31


class TableMixin:
    """An estimator that takes tables as they are: its parameter ``categorical_features`` says which are categories."""

    categorical_features: Any
    n_features_in_: int
    _schema: Schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _learn(self, X: Any) -> Array:
        """Return the cells of a training table, and keep its schema."""
        table = _validated(self, X, reset=True)
        if _is_of_numbers(table) and _goes_by_kind(self.categorical_features) and not np.isnan(table).all(axis=0).any():
            self._schema = Schema.numeric(range(table.shape[1]))
            return table
        self._schema, cells = Schema.learnt(table, self.categorical_features)
        return cells

    def _cells(self, X: Any) -> Array:
        """Return the cells of another table, NaN where they are missing."""
        table = _validated(self, X, reset=False)
        if _is_of_numbers(table) and self._schema.is_numeric:
            return table
        cells, remarks = self._schema.cells(table)
        warn_of_table(remarks)
        return cells


def warn_of_table(remarks: Iterable[str]) -> None:
    """Warn of how a table was taken."""
    for remark in remarks:
        warnings.warn(remark, TableWarning, stacklevel=4)


def _goes_by_kind(categorical_features: Any) -> bool:
    """Say whether numbers are never categories."""
    return categorical_features is None or (
        isinstance(categorical_features, str) and categorical_features == FROM_DTYPE
    )


def _is_of_numbers(table: Any) -> bool:
    return isinstance(table, np.ndarray) and table.dtype.kind == "f"


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return numbers as a float64 matrix, any other table as it is, after a look at the names of its columns."""
    if is_lazy(X):
        raise InvalidInputError("X", Finding("is a polars LazyFrame"), "a table with its rows: X.collect()")
    if is_frame(X) or is_of_objects(X):
        table = X if is_frame(X) else np.asarray(X, dtype=object)
        if 0 in table.shape:
            check_array(np.empty(table.shape), estimator=estimator)  # says what is missing
        validate_data(estimator, table, reset=reset, skip_check_array=True)
        return table
    if scipy.sparse.issparse(X):
        _check_size(X)
    numbers = validate_data(
        estimator, X, reset=reset, dtype=np.float64, accept_sparse="csr", ensure_all_finite="allow-nan"
    )
    return numbers.toarray() if scipy.sparse.issparse(numbers) else numbers


def _check_size(X: Any) -> None:
    n_bytes = 8 * X.shape[0] * X.shape[1]
    if n_bytes > MOST_BYTES:
        raise InvalidInputError(
            "X",
            Finding(f"has {X.shape[0]} × {X.shape[1]} cells, {n_bytes} bytes with the zeros written out"),
            f"at most {MOST_BYTES} bytes; take fewer columns (SelectKBest, TruncatedSVD) or rows",
        )
