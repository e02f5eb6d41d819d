"""How much each column of a table moves the prediction: shuffled, by how much do the probabilities change?"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise._arrays import Indices
from marginwise.datasets import Table

#: Rows predicted for all columns together, and at least and at most for each.
_ROWS, _FEWEST, _MOST = 2000, 20, 200


def influences(model: Any, table: Table, seed: int) -> dict[str, float]:
    """Return for each column the mean change of the probabilities when its cells are those of other rows.

    The change is ½ Σ_k |Δp_k|, for two classes that of either. Unlike relevances this takes the categories of a column
    together, and is in terms of the prediction: 0.2 is twenty percent points.
    """
    rng = np.random.default_rng(seed)
    n, columns = len(table.X), _inputs_by_column(table)
    size = min(n, max(_FEWEST, min(_MOST, _ROWS // len(columns))))
    rows = rng.choice(n, size, replace=False)
    variants = [table.X[rows]]
    for inputs in columns.values():
        others = (rows + rng.integers(1, n, size)) % n  # any row but its own
        variant = table.X[rows].copy()
        variant[:, inputs] = table.X[np.ix_(others, inputs)]
        variants.append(variant)
    probability = model.predict_proba(np.vstack(variants)).reshape(len(variants), size, -1)
    changes = 0.5 * np.abs(probability[1:] - probability[0]).sum(axis=2).mean(axis=1)
    return dict(zip(columns, changes.tolist(), strict=True))


def _inputs_by_column(table: Table) -> dict[str, Indices]:
    """Return which inputs each column of the table became."""
    found: dict[str, Indices] = {}
    first = 0
    for name in table.columns:
        width = len(table.categories.get(name, ("",)))
        found[name] = np.arange(first, first + width)
        first += width
    return found
