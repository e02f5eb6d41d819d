"""How much each column of a table moves the prediction: shuffled, by how much do the probabilities change?"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise.datasets import Table

#: Rows predicted for all columns together, and at least and at most for each.
_ROWS, _FEWEST, _MOST = 2000, 20, 200


def influences(model: Any, table: Table, seed: int) -> dict[str, float]:
    """Return for each column the mean change of the probabilities when its cells are those of other rows.

    The change is ½ Σ_k |Δp_k|, for two classes that of either. Unlike relevances this is in terms of the prediction:
    0.2 is twenty percent points.
    """
    rng = np.random.default_rng(seed)
    n, names = len(table.X), table.feature_names
    size = min(n, max(_FEWEST, min(_MOST, _ROWS // len(names))))
    rows = rng.choice(n, size, replace=False)
    variants = [table.X[rows]]
    for j in range(len(names)):
        others = (rows + rng.integers(1, n, size)) % n  # any row but its own
        variant = table.X[rows].copy()
        variant[:, j] = table.X[others, j]
        variants.append(variant)
    probability = model.predict_proba(np.vstack(variants)).reshape(len(variants), size, -1)
    changes = 0.5 * np.abs(probability[1:] - probability[0]).sum(axis=2).mean(axis=1)
    return dict(zip(names, changes.tolist(), strict=True))
