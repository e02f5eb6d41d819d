"""The Laplacian in product form: functions with steps along the axes.

K(x, x') = k1 exp[-Σ_a |x_a - x'_a|/λ_a]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.kernels.base import Hyperparameter, Normal
from marginwise.kernels.stationary import Stationary, exponentials, exponentials_with
from marginwise.kernels.values import Ties, positive

#: (lowest, highest) value that a search may reach.
K1_BOUNDS = (1e-3, 1e5)
SCALE_BOUNDS = (1e-2, 1e5)


@dataclass(frozen=True, repr=False)
class Laplacian(Stationary):
    """The kernel ``k1 exp[-Σ_a |x_a - x'_a|/λ_a]``.

    Parameters
    ----------
    k1 : float
        Amplitude, positive.
    length_scales : float or sequence of float
        λ, for all inputs or one for each, positive.
    columns : sequence of int, optional
        The number of each input's column, where columns have several inputs; these share a length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import Laplacian
    >>> Laplacian(k1=2.0, length_scales=4.0).cross(np.zeros((1, 1)), np.array([[0.0], [4.0]])).round(3)
    array([[2.   , 0.736]])
    """

    shape: ClassVar[str] = "stepwise"
    exponent: ClassVar[int] = 1

    k1: float = 1.0
    length_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k1", positive("k1", self.k1))
        super().__post_init__()

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (
            Hyperparameter("k1", (self.k1,), K1_BOUNDS, (-1.0, 1.0), (math.log(0.3), 2.0)),
            Hyperparameter("lam", self.length_scales, SCALE_BOUNDS, (0.0, 3.0), _scale_prior, per_input=True),
        )

    @property
    def amplitude(self) -> float:
        return self.k1

    def cross(self, A: Array, B: Array) -> Array:
        if B is not A:
            return self.with_points(B)(A)
        scaled = A / self.lengths(A.shape[1])
        return exponentials(scaled, scaled, 1, self.k1)

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        scales = self.lengths(points.shape[1])
        columns = np.ascontiguousarray((points / scales).T)
        return lambda A: exponentials_with(A / scales, columns, 1, self.k1)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """With W = G∘K the derivative for log λ_a is ``Σ_ij W_ij |a_ia - b_ja|/λ_a``: no product of matrices."""
        scales = self.lengths(A.shape[1])
        W = G * K
        by_input = np.zeros(len(scales))
        _add_weighted_distances(W, A / scales, np.ascontiguousarray((B / scales).T), by_input)
        return self._by_hyperparameter(W, by_input)

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return Σ_j c_j K(x, z_j) sign(z_ja - x_a)/λ_a; where x_a = z_ja, the mean of both sides."""
        G = self.cross(X, points) * coefficients
        return _signed_sums(G, X, np.ascontiguousarray(points.T)) / self.lengths(X.shape[1])


def _scale_prior(n_inputs: int) -> Normal:
    """Return the prior of ln λ: at λ ≈ d two standardised rows of d inputs have an average scaled distance of one."""
    return math.log(n_inputs) + 0.12, 1.0


@compiled_vector
def _add_weighted_distances(W: Array, A: Array, columns: Array, sums: Array) -> None:
    """Add Σ_ij W_ij |a_ia - b_ja| to ``sums`` for each input a."""
    for i in range(len(A)):
        weights = W[i]
        for a in range(len(columns)):
            here, there, total = A[i, a], columns[a], 0.0
            for j in range(len(weights)):
                total += weights[j] * abs(here - there[j])
            sums[a] += total


@compiled_vector
def _signed_sums(G: Array, X: Array, columns: Array) -> Array:
    """Return Σ_j G_ij sign(z_ja - x_ia) for each row and input; row a of ``columns`` is z_·a."""
    sums = np.empty(X.shape)
    for i in range(len(X)):
        weights = G[i]
        for a in range(len(columns)):
            here, there, total = X[i, a], columns[a], 0.0
            for j in range(len(weights)):
                total += weights[j] if there[j] > here else (-weights[j] if there[j] < here else 0.0)
            sums[i, a] = total
    return sums
