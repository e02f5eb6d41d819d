"""The linear kernel: straight lines through the origin of d inputs.

K(x, x') = (klin/d) Σ_a x_a x'_a
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import Hyperparameter, Kernel, Normal, positive

#: (lowest, highest) value that a search may reach.
KLIN_BOUNDS = (1e-4, 1e6)


@dataclass(frozen=True)
class Linear(Kernel):
    """K(x, x') = (klin/d) Σ_a x_a x'_a, for standardised inputs klin on average on the diagonal."""

    has_amplitude: ClassVar[bool] = True

    klin: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "klin", positive("klin", self.klin))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (Hyperparameter("klin", (self.klin,), KLIN_BOUNDS, (-1.0, 1.0), _law),)

    def with_values(self, values: Array) -> Self:
        return type(self)(float(values[0]))

    def cross(self, A: Array, B: Array) -> Array:
        return (self.klin / A.shape[1]) * (A @ B.T)

    def diagonal(self, X: Array) -> Array:
        return (self.klin / X.shape[1]) * np.einsum("ia,ia->i", X, X)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        return np.array([np.vdot(G, K)])

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return np.array([g @ self.diagonal(X)])

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return (klin/d) Σ_j c_j z_ja: the same everywhere."""
        return np.broadcast_to((self.klin / X.shape[1]) * (coefficients @ points), X.shape)


def _law(n_inputs: int) -> Normal:
    """Return a wide law: where a straight line is all there is, its amplitude comes to hundreds."""
    return 0.0, 3.0
