"""Tables that are Dask collections: checked, scaled and drawn from where their rows are. Labels come into memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from marginwise._arrays import Array
from marginwise.covariance import as_blocks
from marginwise.errors import InvalidInputError
from marginwise.estimators._classes import ClassificationTable, classified
from marginwise.estimators._encoding import Encoding
from marginwise.estimators._scaling import Scaling


def is_dask(X: Any) -> bool:
    """Say whether this is a Dask array or data frame; Dask itself is not imported for that."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def check_dask_table(estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any) -> ClassificationTable:
    """Return the table; its X is a Dask array of float64."""
    inputs = check_dask_inputs(estimator, X, reset=True)
    labels = np.asarray(y.compute() if is_dask(y) else y)
    if labels.shape != (inputs.shape[0],):
        raise InvalidInputError(
            "y", f"an array of shape {labels.shape}", f"shape ({inputs.shape[0]},), one label a row"
        )
    weights = sample_weight.compute() if is_dask(sample_weight) else sample_weight
    return classified(inputs, labels, weights, class_weight)


def check_dask_inputs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a Dask array of float64 with known chunks; names and number of inputs are checked on a few rows."""
    frame = hasattr(X, "to_dask_array")
    validate_data(estimator, X.head(1, npartitions=-1) if frame else X[:1].compute(), dtype=np.float64, reset=reset)
    array = X.to_dask_array(lengths=True) if frame else X
    if np.isnan(array.shape[0]):
        array = array.compute_chunk_sizes()
    return array.astype(np.float64)


def scaling_of(table: ClassificationTable) -> Scaling:
    """Return the scaling that gives the weighted columns mean 0 and variance 1, from sums over the blocks."""
    blocks, weights = as_blocks(table.X), table.weights_in_class
    unit = np.max(blocks.map(_largest), axis=0)
    if not np.isfinite(unit).all():
        column = int(np.argmin(np.isfinite(unit)))
        raise InvalidInputError("X", f"NaN or infinity in column {column}", "finite numbers only")
    unit[unit == 0.0] = 1.0
    centre = blocks.total(_sum, unit, columns=[weights]) / weights.sum()
    spread = np.sqrt(blocks.total(_sum_of_squares, unit, centre, columns=[weights]) / weights.sum())
    return Scaling.from_moments(unit, centre, spread)


def dask_encoding(table: ClassificationTable, standardize: bool) -> Encoding:
    """Return what makes inputs of the cells."""
    return Encoding.plain(scaling_of(table) if standardize else Scaling.none(np.zeros((1, table.X.shape[1]))))


def encoded(X: Any, encoding: Encoding) -> Any:
    """Return the inputs, to be computed where they are."""
    return X.rechunk({1: -1}).map_blocks(encoding, dtype=np.float64)


def _largest(X: Array) -> Array:
    return np.abs(X).max(axis=0)


def _sum(X: Array, unit: Array, weights: Array) -> Array:
    return weights @ (X / unit)


def _sum_of_squares(X: Array, unit: Array, centre: Array, weights: Array) -> Array:
    return weights @ (X / unit - centre) ** 2
