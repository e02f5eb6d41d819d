"""What the values of a category become."""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array
from marginwise.estimators._encoding import Encoding


def category_table(encoding: Encoding, column: int) -> Array:
    """Return the inputs of a category: a row for each of its values, then for one never seen, and for a missing one."""
    n = encoding.n_values[column]
    probes = np.zeros((n + 2, len(encoding.n_values)))
    probes[:, column] = [*range(n + 1), np.nan]
    return encoding(probes)[:, np.array(encoding.columns) == column]
