"""Where the rows of the Gram matrix come from: memory, or the kernel itself when the matrix does not fit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import numpy as np
import numpy.typing as npt

from marginwise import kernel
from marginwise.hyperparameters import Hyperparameters
from marginwise.svm.coordinate import add_rows_and_sizes, principal_block

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

#: Kernel rows computed at a time by :class:`KernelRows`.
_CHUNK = 128


class Source(Protocol):
    """What a solver asks of a Gram matrix."""

    diagonal: Array

    def block(self, indices: Indices) -> Array:
        """Return the rows and columns ``indices`` of K, as a matrix that is not written to."""

    def combine(self, indices: Indices, coefficients: Array) -> tuple[Array, Array]:
        """Return Σ_k c_k K[i_k], and the sum Σ_k |c_k K[i_k]| that its rounding errors are proportional to."""


class DenseGram:
    """A Gram matrix in memory."""

    def __init__(self, gram: Array) -> None:
        self.gram = gram
        self.diagonal = gram.diagonal().copy()

    def block(self, indices: Indices) -> Array:
        if len(indices) == len(self.gram):
            return self.gram
        return principal_block(self.gram, indices, self.diagonal)

    def combine(self, indices: Indices, coefficients: Array) -> tuple[Array, Array]:
        total, size = np.zeros(len(self.gram)), np.zeros(len(self.gram))
        add_rows_and_sizes(self.gram, indices, coefficients, total, size)
        return total, size


class KernelRows:
    """Rows computed when they are asked for; the last used ones are kept, in at most ``cache_bytes`` of memory."""

    def __init__(self, X: Array, hyperparameters: Hyperparameters, cache_bytes: int) -> None:
        self.X, self.hyperparameters = X, hyperparameters
        self.diagonal = kernel.diagonal(len(X), hyperparameters)
        self.capacity = max(1, cache_bytes // (8 * len(X)))
        self.computed = 0  # rows made so far, for tests and curiosity
        self._rows: OrderedDict[int, Array] = OrderedDict()

    def block(self, indices: Indices) -> Array:
        return kernel.gram(self.X[indices], self.hyperparameters)

    def combine(self, indices: Indices, coefficients: Array) -> tuple[Array, Array]:
        total, size = np.zeros(len(self.X)), np.zeros(len(self.X))
        for start in range(0, len(indices), _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = self._fetch(indices[part])
            add_rows_and_sizes(rows, np.arange(len(rows)), coefficients[part], total, size)
        return total, size

    def _fetch(self, indices: Indices) -> Array:
        missing = [int(i) for i in indices if int(i) not in self._rows]
        fresh: dict[int, Array] = {}
        if missing:
            self.computed += len(missing)
            made = kernel.cross_gram(self.X[missing], self.X, self.hyperparameters)
            fresh = dict(zip(missing, made, strict=True))
        rows = np.empty((len(indices), len(self.X)))
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
