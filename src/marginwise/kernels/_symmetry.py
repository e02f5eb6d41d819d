"""Symmetric matrices of which half was computed."""

from __future__ import annotations

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled

#: Rows and columns that are copied at a time, so that both places stay in the cache.
_TILE = 32


@compiled
def mirror_lower(K: Array) -> None:
    """Copy the lower triangle of a matrix to the upper one."""
    n = len(K)
    for top in range(0, n, _TILE):
        for start in range(0, top + 1, _TILE):
            for i in range(top, min(n, top + _TILE)):
                for j in range(start, min(i, start + _TILE)):
                    K[j, i] = K[i, j]
