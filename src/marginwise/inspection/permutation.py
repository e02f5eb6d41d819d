"""How much predictions depend on each column: the change of the probabilities when the column is shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import check_random_state

from marginwise._arrays import Array, Indices
from marginwise._wording import numbered
from marginwise.errors import Finding, InvalidInputError
from marginwise.tables.reading import is_frame, is_of_objects

#: Rows predicted for all columns together, and at least and at most for each.
_ROWS, _FEWEST, _MOST = 2000, 20, 200

#: Numbers in the rows that are predicted at a time: with d columns there are d changed tables of d inputs.
_NUMBERS = 2**20


def permutation_effects(model: Any, X: Any, random_state: Any = 0) -> Array:
    """Return the mean change of the probabilities when the cells of a column are taken from other rows, by column.

    The change is ``½ Σ_k |Δp_k|``; with two classes, the change of either probability. Unlike relevances it is in units
    of the prediction: 0.2 is twenty percentage points. Unlike scikit-learn's ``permutation_importance`` it needs no
    labels.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba``.
    X : array, sparse matrix, or data frame of pandas or polars, of shape (n, d)
        Rows to predict, from the training table or another; at most 200 of them, drawn at random, are used.
    random_state : int, RandomState or None, default=0
        Draws the rows that are used, and those that cells are taken from.

    Returns
    -------
    array of shape (d,)
        From 0, no effect, to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import permutation_effects
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = TunedSVC(ard=1, random_state=0).fit(X, X[:, 0] > 0)
    >>> first, second = permutation_effects(model, X)
    >>> bool(first > 0.3), bool(second < 0.1)
    (True, True)
    """
    table = _table(X)
    n, d = table.shape
    if n < 2:
        raise InvalidInputError("X", Finding(f"has {numbered(n, 'row')}"), "at least 2, so that cells can be exchanged")
    rng = _generator(random_state)
    size = min(n, max(_FEWEST, min(_MOST, _ROWS // d)))
    rows = rng.choice(n, size, replace=False)
    before = model.predict_proba(_taken(table, rows))
    effects = np.empty(d)
    step = max(1, _NUMBERS // (size * d))
    for first in range(0, d, step):
        columns = range(first, min(first + step, d))
        sources = {j: (rows + rng.integers(1, n, size)) % n for j in columns}  # any row but its own
        after = model.predict_proba(_shuffled(table, rows, sources))
        changes = np.abs(after.reshape(len(columns), size, -1) - before).sum(axis=2)
        effects[first : first + step] = 0.5 * changes.mean(axis=1)
    return effects


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _table(X: Any) -> Any:
    """Return a data frame as it is, and anything else as an array whose cells can be exchanged."""
    if is_frame(X):
        return X
    if scipy.sparse.issparse(X):
        return X.toarray()  # as the model does
    table = np.asarray(X, dtype=object if is_of_objects(X) else None)
    if table.ndim != 2:
        raise InvalidInputError("X", Finding(f"has {numbered(table.ndim, 'dimension')}"), "2, rows and columns")
    return table


def _taken(table: Any, rows: Indices) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _shuffled(table: Any, rows: Indices, sources: dict[int, Indices]) -> Any:
    """Return the rows once for each column of ``sources``, there with the cells of other rows in that column."""
    size, whole = len(rows), np.tile(rows, len(sources))
    variant = _taken(table, whole)
    for place, (j, source) in enumerate(sources.items()):
        block = slice(place * size, (place + 1) * size)
        if isinstance(table, np.ndarray):
            variant[block, j] = table[source, j]
            continue
        own = whole.copy()
        own[block] = source
        variant = _with_column(variant, j, table, own)
    return variant


def _with_column(frame: Any, j: int, table: Any, rows: Indices) -> Any:
    """Return a data frame of pandas or polars with a column of these rows of a table, types and categories kept."""
    if hasattr(table, "iloc"):
        frame = frame.copy(deep=False)
        frame.isetitem(j, table.iloc[rows, j].array)
        return frame
    return frame.with_columns(table.to_series(j)[rows])
