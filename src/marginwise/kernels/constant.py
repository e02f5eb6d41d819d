"""The constant kernel, K(x, x') = koff: the prior variance of the bias, eq. (rbf) of Gold & Sollich (2003)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import Hyperparameter, Kernel, Normal
from marginwise.kernels.values import positive

#: (lowest, highest) value that a search may reach.
KOFF_BOUNDS = (1e-4, 1e3)

#: Mean and standard deviation of ln koff under the default prior.
KOFF_PRIOR: Normal = (math.log(0.3), 2.0)


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """K(x, x') = koff.

    Parameters
    ----------
    koff : float
        Its value, positive.

    Examples
    --------
    >>> Constant(0.5).gram(np.zeros((2, 3)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    shape: ClassVar[str] = "constant"
    needs_values: ClassVar[bool] = False
    has_amplitude: ClassVar[bool] = True
    composition: ClassVar[Literal["sum"]] = "sum"

    koff: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "koff", positive("koff", self.koff))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (Hyperparameter("koff", (self.koff,), KOFF_BOUNDS, (-2.0, -1.0), KOFF_PRIOR),)

    @property
    def offset(self) -> float:
        return self.koff

    @property
    def n_shared(self) -> int:
        return 0

    def with_values(self, values: Array) -> Self:
        return type(self)(float(values[0]))

    def cross(self, A: Array, B: Array) -> Array:
        return np.full((len(A), len(B)), self.koff)

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        return lambda A: np.broadcast_to(self.koff, (len(A), len(points)))

    def of_column(self, column: int, A: Array, B: Array) -> Array:
        return np.zeros((len(A), len(B)))

    def diagonal(self, X: Array) -> Array:
        return np.full(len(X), self.koff)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        return np.array([self.koff * G.sum()])

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return np.array([self.koff * g.sum()])

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        return np.zeros(X.shape)

    def add_to(self, K: Array, A: Array, B: Array) -> None:
        K += self.koff

    def peel(self, G: Array, K: Array, A: Array, B: Array) -> tuple[Array, Array]:
        return self.contract(G, K, A, B), K - self.koff
