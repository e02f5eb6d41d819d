"""A sum of Laplacians of single columns: a function with steps for each column, and no interactions.

K(x, x') = (k2/D) Σ_c r_c exp[-Σ_{a∈c} |x_a - x'_a|/λ2],   r_c = (m̄/m_c)², m̄ the geometric mean of the m_c

D is the number of columns, and a ∈ c are the inputs of column c: one for a number, several for a category.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels._column_loops import ColumnDistances
from marginwise.kernels.base import Hyperparameter, Normal
from marginwise.kernels.linear import RELATIVE_SCALE_PRIOR
from marginwise.kernels.linear import SCALE_BOUNDS as RELATIVE_SCALE_BOUNDS
from marginwise.kernels.relative import ColumnSum
from marginwise.kernels.stationary import exponentials
from marginwise.kernels.values import Ties, by_input, check_tied, per_input, positive

#: (lowest, highest) value that a search may reach.
K2_BOUNDS = (1e-3, 1e5)
SCALE_BOUNDS = (1e-2, 1e3)

#: Prior of ln λ2: beyond the middle rows of a standardised column, its function is nearly straight.
_SCALE_PRIOR: Normal = (math.log(3.0), 1.0)


@dataclass(frozen=True, repr=False)
class AdditiveLaplacian(ColumnSum):
    """The kernel ``(k2/D) Σ_c r_c exp[-Σ_{a∈c} |x_a - x'_a|/λ2]``: k2 on average on the diagonal.

    Parameters
    ----------
    k2 : float
        Amplitude, positive.
    lam2 : float
        λ2, the distance over which the function of a column changes, positive.
    relative_scales : float or sequence of float
        m: a column has the weight 1/m_c², in units of the geometric mean. A common factor changes nothing.
    columns : sequence of int, optional
        The number of each input's column, where columns have several inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import AdditiveLaplacian
    >>> kernel = AdditiveLaplacian(k2=2.0, lam2=4.0)
    >>> kernel.cross(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 4.0]])).round(3)
    array([[2.   , 1.368, 0.736]])
    """

    shape: ClassVar[str] = "additive"
    needs_values: ClassVar[bool] = False

    k2: float = 1.0
    lam2: float = 1.0
    relative_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k2", positive("k2", self.k2))
        object.__setattr__(self, "lam2", positive("lam2", self.lam2))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        scales = self.relative_scales
        return (
            Hyperparameter("k2", (self.k2,), K2_BOUNDS, (-1.0, 1.0), (math.log(0.3), 2.0)),
            Hyperparameter("lam2", (self.lam2,), SCALE_BOUNDS, (0.0, 2.0), _SCALE_PRIOR),
            Hyperparameter("m", scales, RELATIVE_SCALE_BOUNDS, (-1.0, 1.0), RELATIVE_SCALE_PRIOR, per_input=True),
        )

    def with_values(self, values: Array) -> Self:
        scales = np.asarray(values[2:], dtype=float)
        return type(self)(float(values[0]), float(values[1]), scales, self.columns)  # type: ignore[arg-type]

    def column_weights(self, n_inputs: int) -> Array:
        """Return (k2/D) r_c: the prior variance of the function of each column."""
        return self._weights(self.k2, n_inputs)

    def cross(self, A: Array, B: Array) -> Array:
        return self._distances(A, B).weighted_sum(self.column_weights(A.shape[1]))

    def of_column(self, column: int, A: Array, B: Array) -> Array:
        inputs = self.inputs_of(column)
        weight = float(self.column_weights(A.shape[1])[column])
        return exponentials(A[:, inputs] / self.lam2, B[:, inputs] / self.lam2, 1, weight)

    def diagonal(self, X: Array) -> Array:
        return np.full(len(X), self.column_weights(X.shape[1]).sum())

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """With e_c the exponential of column c, w_c = (k2/D) r_c and q_c = w_c Σ_ij G_ij e_c the derivative is Σq for
        log k2, Σ_c w_c Σ_ij G_ij e_c Σ_{a∈c} ``|a_ia - b_ja|``/λ2 for log λ2 and 2(mean q - q_c) for log m_c.
        """
        w = self.column_weights(A.shape[1])
        S, T = self._distances(A, B).contracted(G)
        return np.concatenate([[w @ S, w @ T], self._by_scale(w * S)])

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        q = self.column_weights(X.shape[1]) * g.sum()
        return np.concatenate([[q.sum(), 0.0], self._by_scale(q)])

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return Σ_j c_j w_c e_c(x, z_j) sign(z_ja - x_a)/λ2 for a ∈ c; where x_a = z_ja, the mean of both sides."""
        weights = self.column_weights(X.shape[1]) / self.lam2
        return self._distances(X, points).slopes(weights, coefficients)

    def lengths(self, n_inputs: int) -> Array:
        """Return λ2 m_c/m̄: a column that counts little needs few inducing inputs."""
        logs = np.log(per_input("relative_scales", self.relative_scales, self.n_columns(n_inputs)))
        return by_input(self.lam2 * np.exp(logs - logs.mean()), n_inputs, self.columns)

    def _distances(self, A: Array, B: Array) -> ColumnDistances:
        check_tied(A.shape[1], self.columns)
        return ColumnDistances.of(A, B, self.lam2, self.columns)
