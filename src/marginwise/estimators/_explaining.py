"""What a fitted model says of the rows that it predicts, next to their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.threads import threads_for
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._classes import n_decisions
from marginwise.estimators._dask import is_dask
from marginwise.estimators._encoding import averaged, donor_places
from marginwise.estimators._explanation import Explanation
from marginwise.row_hash import hash_rows
from marginwise.shapley import Contributions, contributions
from marginwise.shapley.expansion import Background

#: Training rows that stand for all of them as background.
BACKGROUND = 100


def require_posterior(model: Any) -> None:
    """Raise unless a model predicts by its posterior, which is what can be explained."""
    if model.predictor != "posterior":
        found = Finding(f"predicts by its {model.predictor}")
        raise InvalidInputError("model", found, 'one with predictor="posterior", whose latent function is explained')


def explanation(model: Any, X: Any, background: Any, interactions: bool) -> Explanation:
    """Return what each column contributes to the latent function at each row, for a fitted TunedSVC."""
    require_posterior(model)
    if is_dask(X) or is_dask(background):
        found = Finding("is a Dask collection")
        raise InvalidInputError("X" if is_dask(X) else "background", found, "rows in memory, as X.compute() has them")
    with hold_interrupts(), threads_for(model.ensemble_.n_points):
        cells = model._cells(X)
        inputs, owners = encoded_rows(model, cells)
        made = _contributions(model, inputs, background_rows(model, background), interactions)
    names = feature_names(model)
    values, base = _of_rows(made.values, owners), _of_rows(made.base, owners)
    pairs = None if made.interactions is None else _of_rows(made.interactions, owners)
    if values.shape[-1] == 1:
        values, base = values[..., 0], base[..., 0]
        pairs = None if pairs is None else pairs[..., 0]
    return Explanation(values, base, _data(X, cells, model), names, model.classes_, pairs)


def _contributions(model: Any, inputs: Array, background: Background, pairs: bool) -> Contributions:
    """Return the sums over the parts of the latent function; the base is each row's, shape (n, K)."""
    columns = input_columns(model)
    n, P, K = len(inputs), int(columns.max()) + 1, n_decisions(len(model.classes_))
    values, base = np.zeros((n, P, K)), np.zeros((n, K))
    between = np.zeros((n, P, P, K)) if pairs else None
    for rows, function in model.ensemble_.description.latent_expansions(inputs):
        part = contributions(function, inputs[rows], background, columns, pairs=pairs)
        values[rows] += part.values
        base[rows] += part.base
        if between is not None:
            between[rows] += part.interactions
    return Contributions(values, base, between)


def encoded_rows(model: Any, cells: Array) -> tuple[Array, Indices | None]:
    """Return cells as inputs, and the row that each is a copy of; None if all are their own."""
    filled, owners = model._encoding.filled(cells)
    return model._encoding(filled), owners


def input_columns(model: Any) -> Indices:
    """Return the number of the column that each input belongs to."""
    columns = model._encoding.columns
    return np.arange(len(model._encoding.shares)) if columns is None else np.array(columns)


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns, x1, x2, … where the table had none."""
    numbered = [f"x{a}" for a in range(1, model.n_features_in_ + 1)]
    return [str(name) for name in getattr(model, "feature_names_in_", numbered)]


def column_place(names: Sequence[str], column: str | int) -> int:
    """Return the place of a column that is given by its name or its place."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    if isinstance(column, int | np.integer) and -len(names) <= column < len(names):
        return int(column) % len(names)
    wanted = f"one of the columns {', '.join(names[:20])}, or a place from 0 to {len(names) - 1}"
    raise InvalidInputError("column", column, wanted)


def background_rows(model: Any, table: Any) -> Background:
    """Return background rows as inputs: those given, or training rows at even steps of their weights."""
    if table is None:
        X, weights = model.ensemble_.rows, model.ensemble_.sample_weight
        places = donor_places(hash_rows(X, 0), weights, BACKGROUND)
        return Background(X[places], np.full(len(places), 1.0 / len(places)))
    inputs, owners = encoded_rows(model, model._cells(table))
    if owners is None:
        return Background(inputs, np.full(len(inputs), 1.0 / len(inputs)))
    copies = np.bincount(owners)
    return Background(inputs, 1.0 / (len(copies) * copies[owners]))


def _of_rows(values: Array, owners: Indices | None) -> Array:
    """Return values of rows from those of their copies: their mean."""
    if owners is None:
        return values
    return averaged(values.reshape(len(values), -1), owners).reshape(-1, *values.shape[1:])


def _data(X: Any, cells: Array, model: Any) -> Any:
    """Return the cells as the user knows them: numbers if all are, objects otherwise."""
    if model._schema.is_numeric:
        return cells
    table = X.to_numpy() if hasattr(X, "to_numpy") else X
    return np.asarray(table, dtype=object)
