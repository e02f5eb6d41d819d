"""A made-up table whose rows belong together."""

from __future__ import annotations

import numpy as np


def grouped_rows(
    n_groups: int, rows: int, seed: int, *, effect: float = 3.0, n_classes: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, labels and groups: rows of a group are alike, and have a part of their log-odds in common."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rows)
    X = (rng.normal(size=(n_groups, 3)) + 0.2 * rng.normal(size=(rows, n_groups, 3))).transpose(1, 0, 2).reshape(-1, 3)
    scores = (
        1.5 * X[:, :1] * np.linspace(-1.0, 1.0, n_classes) + effect * rng.normal(size=(n_groups, n_classes))[groups]
    )
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), groups
