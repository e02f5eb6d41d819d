"""Tables that are Dask collections: read, encoded and drawn from where their rows are. Labels come into memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from marginwise._arrays import Array
from marginwise.covariance import as_blocks
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._classes import ClassificationTable, classified
from marginwise.estimators._encoding import Encoding, donor_places
from marginwise.estimators._scaling import Scaling, sum_of, twofold_sums
from marginwise.row_hash import hash_rows
from marginwise.tables import Schema
from marginwise.tables.reading import NUMBER, Cells, columns_of
from marginwise.tables.schema import canonical, chosen_columns


def is_dask(X: Any) -> bool:
    """Say whether this is a Dask array or data frame; Dask itself is not imported for that."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def check_dask_table(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any, groups: Any = None
) -> ClassificationTable:
    """Return the table; its X is a Dask array of cells as numbers, and the estimator keeps the schema."""
    few = _few_rows(X)
    validate_data(estimator, few, reset=True, skip_check_array=True)
    estimator._schema = _schema(X, few, estimator.categorical_features)
    cells = dask_cells(estimator, X)
    labels = np.asarray(y.compute() if is_dask(y) else y)
    if labels.shape != (cells.shape[0],):
        raise InvalidInputError(
            "y", Finding(f"has shape {labels.shape}"), f"shape ({cells.shape[0]},), one label a row"
        )
    weights = sample_weight.compute() if is_dask(sample_weight) else sample_weight
    return classified(cells, labels, weights, class_weight, groups)


def dask_cells(estimator: Any, X: Any) -> Any:
    """Return the cells of a table as a Dask array with known chunks; names and number of columns are looked at."""
    validate_data(estimator, _few_rows(X), reset=False, skip_check_array=True)
    d = X.shape[1]
    if hasattr(X, "map_partitions"):
        cells = X.map_partitions(partial(_read, estimator._schema), meta=np.empty((0, d)))
    else:
        cells = X.rechunk({1: -1}).map_blocks(partial(_read, estimator._schema), dtype=np.float64)
    return cells.compute_chunk_sizes() if np.isnan(cells.shape[0]) else cells


def dask_encoding(table: ClassificationTable, schema: Schema, standardize: bool) -> Encoding:
    """Return what makes inputs of the cells, from sums over the blocks."""
    blocks, weights = as_blocks(table.X), table.weights_in_class
    n_values = schema.n_categories
    unit, gapped, infinite = (np.max(part, axis=0) for part in zip(*blocks.map(_extremes), strict=True))
    if infinite.any():
        where = schema.columns[int(np.argmax(infinite))].where
        raise InvalidInputError(f"X, {where}", Finding("holds infinity"), "finite numbers, or NaN for none")
    unit[unit == 0.0] = 1.0
    total, known = map(sum_of, zip(*blocks.map(_sums, unit, columns=[weights]), strict=True))
    centre = total / np.maximum(known, np.finfo(float).tiny)
    squares = sum_of(blocks.map(_squares, unit, centre, columns=[weights]))
    scaling = Scaling.from_moments(unit, centre, np.sqrt(squares / np.maximum(known, np.finfo(float).tiny)))
    moments = scaling.unit * scaling.centre, scaling.unit * scaling.spread
    if not standardize:
        scaling = Scaling.none(np.zeros((1, table.X.shape[1])))
    scaling.spread[known == 0.0] = np.inf
    shares = [np.empty(0)] * len(n_values)
    if any(n_values):
        counts = blocks.total(_counts, n_values, columns=[weights])
        for j, n in enumerate(n_values):
            own = counts[j, : n + (counts[j, n] > 0.0)] if n else np.empty(0)
            shares[j] = own / own.sum() if n else own
    places = donor_places(np.concatenate(blocks.map(hash_rows, 0)), weights)
    return Encoding.of(scaling, gapped > 0, moments, shares, n_values, standardize, table.rows(places).X)


def encoded(X: Any, encoding: Encoding) -> Any:
    """Return the inputs, to be computed where they are."""
    width = X.shape[1] if encoding.columns is None else len(encoding.columns)
    return X.rechunk({1: -1}).map_blocks(encoding, dtype=np.float64, chunks=(X.chunks[0], (width,)))


def _few_rows(X: Any) -> Any:
    return X.head(1, npartitions=-1) if hasattr(X, "map_partitions") else X[:1].compute()


def _schema(X: Any, few: Any, categorical_features: Any) -> Schema:
    """Return the schema: kinds from types where these tell, otherwise from the different values of a column."""
    if not hasattr(X, "columns"):
        chosen = chosen_columns(categorical_features, X.shape[1])
        columns = [Cells(NUMBER, np.zeros(1))] * X.shape[1]
        for place in np.flatnonzero([False] * X.shape[1] if chosen is None else chosen):
            columns[place] = Cells(NUMBER, np.unique(X[:, place].astype(np.float64).compute()))
        return Schema.of(list(enumerate(columns)), categorical_features)
    chosen = chosen_columns(categorical_features, len(X.columns), X.columns)
    table: list[tuple[str | int, Cells]] = []
    for j, name in enumerate(X.columns):
        series = few.iloc[:, j]
        told = series.dtype.kind != "O" or getattr(series.dtype, "ordered", False)
        if not told or (chosen is not None and chosen[j]):
            series = X[name].drop_duplicates().compute()
        table += columns_of(series.to_frame())
    return Schema.of(table, categorical_features, X.columns)


def _read(schema: Schema, block: Any) -> Array:
    """Return the cells of a block."""
    if isinstance(block, np.ndarray) and schema.is_numeric:
        return canonical(block.astype(np.float64))
    return schema.cells(block.astype(np.float64) if isinstance(block, np.ndarray) else block)[0]


def _extremes(X: Array) -> tuple[Array, Array, Array]:
    """Return the largest numbers, and 1 where any cells are missing, or infinite."""
    known = np.where(np.isfinite(X), np.abs(X), 0.0)
    return known.max(axis=0), (1.0 * np.isnan(X)).max(axis=0), (1.0 * np.isinf(X)).max(axis=0)


def _sums(X: Array, unit: Array, weights: Array) -> tuple[Array, Array]:
    known = ~np.isnan(X)
    own = weights[:, None] * known
    return twofold_sums(own * np.where(known, X / unit, 0.0)), twofold_sums(own)


def _squares(X: Array, unit: Array, centre: Array, weights: Array) -> Array:
    return twofold_sums(weights[:, None] * np.where(np.isnan(X), 0.0, X / unit - centre) ** 2)


def _counts(X: Array, n_values: tuple[int, ...], weights: Array) -> Array:
    """Return the weight of each category, and of gaps after them, in rows of equal length."""
    counts = np.zeros((len(n_values), max(n_values) + 1))
    for j, n in enumerate(n_values):
        if n:
            places = np.where(np.isnan(X[:, j]), n, X[:, j]).astype(np.intp)
            counts[j, : n + 1] = np.bincount(places, weights, minlength=n + 1)
    return counts
