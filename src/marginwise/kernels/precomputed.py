"""A given matrix as a kernel: the inputs are row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.errors import Finding, InvalidInputError
from marginwise.kernels.base import Hyperparameter, Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """K(i, j) = matrix[i, j], for inputs of one column that hold row numbers. It has no hyperparameters.

    Parameters
    ----------
    matrix : array of shape (N, N)
        Symmetric and positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[1.0, 0.2], [0.2, 1.0]]))
    >>> kernel.cross(np.array([[0.0]]), np.array([[1.0]]))
    array([[0.2]])
    """

    matrix: Array

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return ()

    def with_values(self, values: Array) -> Self:
        return self

    def cross(self, A: Array, B: Array) -> Array:
        return self.matrix[np.ix_(self._rows(A), self._rows(B))]

    def diagonal(self, X: Array) -> Array:
        return self.matrix.diagonal()[self._rows(X)]

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        return np.empty(0)

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return 1 for each row: row numbers have no slopes, and all relevance belongs to this one input."""
        return np.ones_like(X)

    def _rows(self, X: Array) -> Indices:
        """Return the row numbers that the inputs are."""
        rows = np.where(np.isfinite(X[:, 0]), X[:, 0], -1.0).astype(np.intp)
        wrong = (rows != X[:, 0]) | (rows < 0) | (rows >= len(self.matrix))
        if X.shape[1] != 1 or wrong.any():
            found = f"has {X.shape[1]} columns" if X.shape[1] != 1 else f"holds {X[np.argmax(wrong), 0]:g}"
            raise InvalidInputError(
                "X",
                Finding(found),
                f"row numbers of the matrix, 0 … {len(self.matrix) - 1}, in one column, for a Precomputed kernel",
            )
        return rows
