"""How much each column of a table moves the prediction: shuffled, by how much do the probabilities change?"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.datasets import Table

#: Rows predicted for all columns together, and at least and at most for each.
_ROWS, _FEWEST, _MOST = 2000, 20, 200

#: Numbers in the rows that are predicted at a time: with d columns there are d changed tables of d inputs.
_NUMBERS = 2**20


def influences(model: Any, table: Table, seed: int) -> dict[str, float]:
    """Return for each column the mean change of the probabilities when its cells are those of other rows.

    The change is ½ Σ_k |Δp_k|, for two classes that of either. Unlike relevances this takes the categories of a column
    together, and is in terms of the prediction: 0.2 is twenty percent points.
    """
    rng = np.random.default_rng(seed)
    n, columns = len(table.X), _inputs_by_column(table)
    size = min(n, max(_FEWEST, min(_MOST, _ROWS // len(columns))))
    rows = rng.choice(n, size, replace=False)
    before = model.predict_proba(table.X[rows])

    def shuffled(inputs: Indices) -> Array:
        others = (rows + rng.integers(1, n, size)) % n  # any row but its own
        variant = table.X[rows]
        variant[:, inputs] = table.X[np.ix_(others, inputs)]
        return variant

    found: dict[str, float] = {}
    order, step = list(columns), max(1, _NUMBERS // (size * table.X.shape[1]))
    for first in range(0, len(order), step):
        names = order[first : first + step]
        after = model.predict_proba(np.vstack([shuffled(columns[name]) for name in names]))
        changes = 0.5 * np.abs(after.reshape(len(names), size, -1) - before).sum(axis=2).mean(axis=1)
        found |= zip(names, changes.tolist(), strict=True)
    return found


def _inputs_by_column(table: Table) -> dict[str, Indices]:
    """Return which inputs each column of the table became."""
    found: dict[str, Indices] = {}
    first = 0
    for name in table.columns:
        width = len(table.categories.get(name, ("",)))
        found[name] = np.arange(first, first + width)
        first += width
    return found
