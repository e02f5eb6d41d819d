"""Correlation matrices of a posterior: products with them, and the linear systems of Newton's method and of adjoints.

R is the correlation matrix with ``own`` on its diagonal, 0 or 1, and R∘R the matrix of its squares. The systems are
(I - M)x = y or (I - Mᵀ)x = y with

    M = ½ (diag(c₄) + diag(c₃) R diag(c₃)) (R∘R).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, gmres

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled, compiled_vector

#: Krylov vectors before a system is solved by elimination instead, or not at all.
_MAX_KRYLOV = 60


class Correlations(ABC):
    """R and R∘R, however they are kept."""

    @abstractmethod
    def times(self, x: Array) -> Array:
        """Return Rx."""

    @abstractmethod
    def times_squared(self, x: Array) -> Array:
        """Return (R∘R)x."""

    @abstractmethod
    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        """Return x of the system with these c₃ and c₄; NaN where there is none."""


@dataclass(frozen=True, eq=False)
class DenseCorrelations(Correlations):
    """Both matrices in memory."""

    R: Array
    R2: Array

    @classmethod
    def of(cls, covariance: Array, scale: Array, own: float) -> DenseCorrelations:
        """Return those of a covariance of which the lower triangle is filled."""
        return cls(*_correlations(covariance, 1.0 / scale, own))

    def times(self, x: Array) -> Array:
        return self.R @ x

    def times_squared(self, x: Array) -> Array:
        return self.R2 @ x

    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        x, solved = _gmres(self.R, self.R2, third, fourth, right, accuracy, transposed, _MAX_KRYLOV)
        if not solved:
            middle = third[:, None] * self.R * third + np.diag(fourth)
            matrix = np.eye(len(right)) - 0.5 * middle @ self.R2
            _, _, x, singular = lapack.dgesv(matrix.T if transposed else matrix, right)
            x = np.full(len(right), np.nan) if singular else x
        return x


@dataclass(frozen=True, eq=False)
class ImplicitCorrelations(Correlations):
    """Known by products with the covariance Σ and with Σ∘Σ, each of which costs far more than a call."""

    times_covariance: Callable[[Array], Array]
    times_covariance_squared: Callable[[Array], Array]
    scale: Array
    own: float

    def times(self, x: Array) -> Array:
        return self.times_covariance(x / self.scale) / self.scale - (1.0 - self.own) * x

    def times_squared(self, x: Array) -> Array:
        variance = self.scale**2
        return self.times_covariance_squared(x / variance) / variance - (1.0 - self.own) * x

    def solve(self, third: Array, fourth: Array, right: Array, accuracy: float, *, transposed: bool) -> Array:
        def middle(x: Array) -> Array:
            return 0.5 * (fourth * x + third * self.times(third * x))

        def product(x: Array) -> Array:
            return x - (self.times_squared(middle(x)) if transposed else middle(self.times_squared(x)))

        n = len(right)
        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        x, failed = gmres(operator, right, rtol=accuracy, atol=0.0, restart=min(n, _MAX_KRYLOV), maxiter=1)
        return np.full(n, np.nan) if failed else x


@compiled_vector
def _correlations(covariance: Array, inverse_scale: Array, own: float) -> tuple[Array, Array]:
    """Return R and R∘R with ``own`` on the diagonals, from the lower triangle of the covariance."""
    n = len(inverse_scale)
    R, R2 = np.empty((n, n)), np.empty((n, n))
    block = 32  # the mirrored entries of a block stay in the cache
    for start in range(0, n, block):
        stop = min(start + block, n)
        for low in range(start, n, block):
            for j in range(start, stop):
                for i in range(max(low, j + 1), min(low + block, n)):
                    value = covariance[i, j] * inverse_scale[i] * inverse_scale[j]
                    R[i, j] = R[j, i] = value
                    R2[i, j] = R2[j, i] = value * value
        for j in range(start, stop):
            R[j, j] = R2[j, j] = own
    return R, R2


@compiled
def _product(R: Array, R2: Array, third: Array, fourth: Array, x: Array, transposed: bool) -> Array:
    """Return (I - M)x or (I - M)ᵀx, M = ½(diag(fourth) + diag(third)R diag(third))(R∘R)."""
    y = x if transposed else R2 @ x
    y = fourth * y + third * (R @ (third * y))
    return x - 0.5 * (R2 @ y if transposed else y)


@compiled
def _gmres(
    R: Array,
    R2: Array,
    third: Array,
    fourth: Array,
    right: Array,
    accuracy: float,
    transposed: bool,
    most: int,
) -> tuple[Array, bool]:
    """Solve (I - M)x = right or its transpose by GMRES (Saad & Schultz 1986), and say whether that succeeded.

    A few steps on small vectors: compiled as a whole, because a library's solver that calls back for each product
    takes ten times as long as the products themselves.
    """
    n = len(right)
    most = min(most, n)
    norm = np.sqrt(right @ right)
    if not norm > 0.0:
        return np.zeros(n), norm == 0.0
    V = np.empty((most + 1, n))
    H = np.zeros((most, most))  # upper triangle, after the rotations
    cosine, sine, rest = np.zeros(most), np.zeros(most), np.zeros(most + 1)
    V[0] = right / norm
    rest[0] = norm
    for k in range(most):
        w = _product(R, R2, third, fourth, V[k], transposed)
        column = np.zeros(k + 1)
        for _ in range(2):  # twice, so that the vectors stay orthogonal to rounding
            h = V[: k + 1] @ w
            w = w - h @ V[: k + 1]
            column += h
        below = np.sqrt(w @ w)
        if not np.isfinite(below):
            return right, False
        for i in range(k):
            column[i], column[i + 1] = (
                cosine[i] * column[i] + sine[i] * column[i + 1],
                cosine[i] * column[i + 1] - sine[i] * column[i],
            )
        length = np.hypot(column[k], below)
        if length == 0.0:
            return right, False
        cosine[k], sine[k] = column[k] / length, below / length
        column[k] = length
        H[: k + 1, k] = column
        rest[k + 1] = -sine[k] * rest[k]
        rest[k] *= cosine[k]
        if abs(rest[k + 1]) <= accuracy * norm:
            z = np.zeros(k + 1)
            for i in range(k, -1, -1):
                z[i] = (rest[i] - H[i, i + 1 : k + 1] @ z[i + 1 :]) / H[i, i]
            return z @ V[: k + 1], True
        if below == 0.0:
            return right, False
        V[k + 1] = w / below
    return right, False
