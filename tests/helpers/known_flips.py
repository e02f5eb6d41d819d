"""Tables with labels that are known to be wrong."""

from __future__ import annotations

import numpy as np

FLIPPED = [3, 17, 58, 91]


def flipped(n_classes: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Clouds far from each other, with a few labels turned into those of the next class."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    X = (
        rng.normal(size=(n, 2))
        + 5 * np.c_[np.cos(2 * np.pi * codes / n_classes), np.sin(2 * np.pi * codes / n_classes)]
    )
    codes[FLIPPED] = (codes[FLIPPED] + 1) % n_classes
    return X, codes
