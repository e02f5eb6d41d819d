"""Numbers that models do not hold themselves, but that follow from what they do."""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array
from marginwise.estimators._encoding import Encoding
from marginwise.kernels import Linear


def category_table(encoding: Encoding, column: int) -> Array:
    """Return the inputs of a category: a row for each of its values, then for one never seen, and for a missing one."""
    n = encoding.n_values[column]
    probes = np.zeros((n + 2, len(encoding.n_values)))
    probes[:, column] = [*range(n + 1), np.nan]
    return encoding(probes)[:, np.array(encoding.columns) == column]


def linear_weights(kernel: Linear, width: int) -> Array:
    """Return the weight of each input in a linear kernel: the slope of K(x, z) in x where z is 1 everywhere."""
    ones = np.ones((1, width))
    return kernel.slopes(ones, ones, np.ones(1))[0].copy()
