"""A matrix given by the user as a kernel: the inputs are the numbers of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.kernels.base import Hyperparameter, Kernel


@dataclass(frozen=True, eq=False)
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
        return self.matrix[np.ix_(_numbers(A), _numbers(B))]

    def diagonal(self, X: Array) -> Array:
        return self.matrix.diagonal()[_numbers(X)]

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        return np.empty(0)


def _numbers(X: Array) -> Indices:
    return X[:, 0].astype(np.intp)
