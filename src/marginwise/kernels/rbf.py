"""The radial basis function with one length scale for each input, eq. (rbf) of Gold & Sollich (2003).

K(x, x') = k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import Hyperparameter, Normal
from marginwise.kernels.stationary import Stationary, exponentials, exponentials_with
from marginwise.kernels.values import Ties, positive

#: (lowest, highest) value that a search may reach. Beyond them every criterion is flat: the classifier is constant,
#: the nearest neighbour's label, or blind to the input, and random walks "get stuck in a plateau" (section ztmc).
K0_BOUNDS = (1e-3, 1e5)
LENGTH_SCALE_BOUNDS = (1e-2, 1e3)

#: Mean and standard deviation of ln k0 under the default prior.
K0_PRIOR: Normal = (math.log(3.0), 1.5)


@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    """K(x, x') = k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²].

    Parameters
    ----------
    k0 : float
        Amplitude, positive.
    length_scales : float or sequence of float
        One positive length scale for all inputs, or one for each.
    columns : sequence of int, optional
        The number of each input's column, where columns have several inputs; these share a length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import RBF
    >>> RBF(k0=2.0, length_scales=[1.0, 3.0]).cross(np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 3.0]])).round(3)
    array([[1.213, 1.213]])
    """

    shape: ClassVar[str] = "smooth"
    exponent: ClassVar[int] = 2

    k0: float = 1.0
    length_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k0", positive("k0", self.k0))
        super().__post_init__()

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (
            Hyperparameter("k0", (self.k0,), K0_BOUNDS, (-1.0, 1.0), K0_PRIOR),
            Hyperparameter(
                "l", self.length_scales, LENGTH_SCALE_BOUNDS, (-1.0, 2.0), length_scale_prior, per_input=True
            ),
        )

    @property
    def amplitude(self) -> float:
        return self.k0

    def cross(self, A: Array, B: Array) -> Array:
        """Return k0 exp(-½|a_i - b_j|²) for scaled inputs."""
        if B is not A:
            return self.with_points(B)(A)
        scaled = self._scaled(A, centre_of(A))
        return exponentials(scaled, scaled, 2, self.k0)

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        centre, lengths = centre_of(points), self.lengths(points.shape[1])
        columns = np.ascontiguousarray(((points - centre) / lengths).T)
        return lambda A: exponentials_with((A - centre) / lengths, columns, 2, self.k0)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """With W = G∘K, row sums w and column sums u, the derivative for log l_a is
        [Σ_i w_i a_ia² + Σ_j u_j b_ja² - 2 Σ_i a_ia (WB)_ia]/l_a²: O(n²d) time in one matrix product, O(n²) memory.
        """
        W = G * K
        centre = centre_of(B)
        a, b = self._scaled(A, centre), self._scaled(B, centre)
        by_input = W.sum(axis=1) @ a**2 + W.sum(axis=0) @ b**2 - 2.0 * np.einsum("ia,ia->a", a, W @ b)
        return self._by_hyperparameter(W, by_input)

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return Σ_j c_j K(x, z_j)(z_ja - x_a)/l_a²."""
        G = self.cross(X, points) * coefficients
        return (G @ points - G.sum(axis=1)[:, None] * X) / self.lengths(X.shape[1]) ** 2

    def _scaled(self, X: Array, centre: Array) -> Array:
        """Return (x_a - centre_a)/l_a. Taking the centre off first is exact where dividing first would round."""
        return (X - centre) / self.lengths(X.shape[1])


def centre_of(X: Array) -> Array:
    """Return the mean of the rows, 0 if there are none: an origin near the points."""
    return X.sum(axis=0) / max(1, len(X))


def length_scale_prior(n_inputs: int) -> Normal:
    """Return the prior of ln l: at √(2d) two standardised rows of d inputs have an average scaled distance of one."""
    return 0.5 * math.log(2.0 * n_inputs), 1.0
