"""Sums over rows of a matrix, and blocks of it, in one pass over memory."""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import compiled_vector


@compiled_vector
def add_rows_and_sizes(Q: Array, indices: Indices, coefficients: Array, total: Array, size: Array) -> None:
    """Add Σ_k c_k Q[i_k] to ``total`` and Σ_k |c_k Q[i_k]| to ``size``, in one pass over memory."""
    for k in range(len(indices)):
        row = Q[indices[k]]
        factor = coefficients[k]
        for j in range(len(total)):
            term = factor * row[j]
            total[j] += term
            size[j] += abs(term)


@compiled_vector
def principal_block(Q: Array, indices: Indices, diagonal: Array) -> Array:
    """Return Q restricted to the given rows and columns, with the given diagonal."""
    m = len(indices)
    block = np.empty((m, m))
    for a in range(m):
        row = Q[indices[a]]
        for b in range(m):
            block[a, b] = row[indices[b]]
        block[a, a] = diagonal[indices[a]]
    return block
