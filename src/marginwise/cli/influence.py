"""How much each column of a table moves the prediction: shuffled, by how much do the probabilities change?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise.datasets import Table

#: Rows predicted for all columns together, and at least and at most for each.
_ROWS, _FEWEST, _MOST = 2000, 20, 200

#: Numbers in the rows that are predicted at a time: with d columns there are d changed tables of d inputs.
_NUMBERS = 2**20


def influences(model: Any, table: Table, seed: int) -> dict[str, float]:
    """Return for each column the mean change of the probabilities when its cells are those of other rows.

    The change is ½ Σ_k |Δp_k|, for two classes that of either. Unlike relevances this is in terms of the prediction:
    0.2 is twenty percent points.
    """
    rng = np.random.default_rng(seed)
    n, names = len(table.X), table.feature_names
    size = min(n, max(_FEWEST, min(_MOST, _ROWS // len(names))))
    rows = rng.choice(n, size, replace=False)
    before = model.predict_proba(table.X[rows])

    def shuffled(j: int) -> npt.NDArray[Any]:
        others = (rows + rng.integers(1, n, size)) % n  # any row but its own
        variant = table.X[rows].copy()
        variant[:, j] = table.X[others, j]
        return variant

    found: dict[str, float] = {}
    step = max(1, _NUMBERS // (size * len(names)))
    for first in range(0, len(names), step):
        some = names[first : first + step]
        after = model.predict_proba(np.vstack([shuffled(first + j) for j in range(len(some))]))
        changes = 0.5 * np.abs(after.reshape(len(some), size, -1) - before).sum(axis=2).mean(axis=1)
        found |= zip(some, changes.tolist(), strict=True)
    return found
