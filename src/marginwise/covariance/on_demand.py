"""A Gram matrix that does not fit into memory: its rows are made when they are asked for."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.covariance.base import ExpandingCovariance, RowCovariance
from marginwise.covariance.rows import add_rows_and_sizes
from marginwise.kernels.base import Kernel

#: Rows computed at a time.
_CHUNK = 128


class OnDemandCovariance(RowCovariance, ExpandingCovariance):
    """Rows computed when they are asked for; the last used ones are kept, in at most ``cache_bytes`` of memory."""

    def __init__(self, kernel: Kernel, X: Array, cache_bytes: int) -> None:
        self.kernel, self.X = kernel, X
        self.diagonal = kernel.diagonal(X)
        self.capacity = max(1, cache_bytes // (8 * len(X)))
        self.computed = 0  # rows made so far, for tests and curiosity
        self._rows: OrderedDict[int, Array] = OrderedDict()

    def times(self, x: Array) -> Array:
        chosen = np.flatnonzero(x)
        return self.combine(chosen, x[chosen])[0]

    def block(self, rows: Indices) -> Array:
        return self.kernel.gram(self.X[rows])

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        support = np.flatnonzero(coefficients)
        return self.X[support], coefficients[support]

    def combine(self, rows: Indices, coefficients: Array) -> tuple[Array, Array]:
        total, size = np.zeros(self.n), np.zeros(self.n)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            made = self._fetch(rows[part])
            add_rows_and_sizes(made, np.arange(len(made)), coefficients[part], total, size)
        return total, size

    def _fetch(self, indices: Indices) -> Array:
        missing = [int(i) for i in indices if int(i) not in self._rows]
        fresh: dict[int, Array] = {}
        if missing:
            self.computed += len(missing)
            made = self.kernel.cross(self.X[missing], self.X)
            fresh = dict(zip(missing, made, strict=True))
        rows = np.empty((len(indices), self.n))
        for k, i in enumerate(map(int, indices)):
            if i in fresh:
                rows[k] = fresh[i]
                self._rows[i] = fresh[i].copy()  # a copy, so that the cache does not hold the whole chunk
            else:
                self._rows.move_to_end(i)
                rows[k] = self._rows[i]
        while len(self._rows) > self.capacity:
            self._rows.popitem(last=False)
        return rows
