"""The linear kernel: straight lines through the origin of d inputs.

K(x, x') = (klin/d) Σ_a r_a x_a x'_a,   r_a = (m̄/m_a)², m̄ the geometric mean of the m_a
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import Hyperparameter, Normal
from marginwise.kernels.relative import ColumnSum
from marginwise.kernels.values import Ties, by_column, by_input, positive

#: (lowest, highest) value that a search may reach.
KLIN_BOUNDS = (1e-4, 1e6)
SCALE_BOUNDS = (1e-2, 1e3)

#: Priors of ln klin, a wide one (if the function is a straight line, its amplitude reaches hundreds), and of ln m.
_KLIN_PRIOR: Normal = (0.0, 3.0)
RELATIVE_SCALE_PRIOR: Normal = (0.0, 1.0)


@dataclass(frozen=True, repr=False)
class Linear(ColumnSum):
    """K(x, x') = (klin/d) Σ_a r_a x_a x'_a: for standardised inputs klin on average on the diagonal.

    Parameters
    ----------
    klin : float
        Amplitude, positive.
    relative_scales : float or sequence of float
        m: an input has the weight 1/m_a², in units of the geometric mean. A common factor changes nothing.
    columns : sequence of int, optional
        The number of each input's column, where columns have several inputs; these share m_a, and d counts columns.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import Linear
    >>> Linear(klin=2.0).gram(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[1., 1.],
           [1., 2.]])
    """

    shape: ClassVar[str] = "straight"
    needs_values: ClassVar[bool] = False

    klin: float = 1.0
    relative_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "klin", positive("klin", self.klin))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (
            Hyperparameter("klin", (self.klin,), KLIN_BOUNDS, (-1.0, 1.0), _KLIN_PRIOR),
            Hyperparameter("m", self.relative_scales, SCALE_BOUNDS, (-1.0, 1.0), RELATIVE_SCALE_PRIOR, per_input=True),
        )

    def with_values(self, values: Array) -> Self:
        scales = np.asarray(values[1:], dtype=float)
        return type(self)(float(values[0]), scales, self.columns)  # type: ignore[arg-type]

    def cross(self, A: Array, B: Array) -> Array:
        if B is not A:
            return self.with_points(B)(A)
        scaled = A * np.sqrt(self._input_weights(A.shape[1]))
        return scaled @ scaled.T  # of one matrix with itself: exactly symmetric

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        root = np.sqrt(self._input_weights(points.shape[1]))
        columns = (points * root).T
        return lambda A: (A * root) @ columns

    def of_column(self, column: int, A: Array, B: Array) -> Array:
        inputs = self.inputs_of(column)
        return (self._input_weights(A.shape[1])[inputs] * A[:, inputs]) @ B[:, inputs].T

    def diagonal(self, X: Array) -> Array:
        return np.einsum("ia,ia->i", X * self._input_weights(X.shape[1]), X)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """With q_a = (klin/d) r_a a_aᵀGb_a the derivative is Σq for log klin and 2(mean q - q_a) for log m_a."""
        return self._derivatives(np.einsum("ia,ia->a", A, G @ B))

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return self._derivatives(g @ X**2)

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return (klin/d) r_a Σ_j c_j z_ja: the same everywhere."""
        return np.broadcast_to(self._input_weights(X.shape[1]) * (coefficients @ points), X.shape)

    def _input_weights(self, n_inputs: int) -> Array:
        """Return (klin/d) r_a."""
        return by_input(self._weights(self.klin, n_inputs), n_inputs, self.columns)

    def _derivatives(self, products: Array) -> Array:
        q = self._weights(self.klin, len(products)) * by_column(products, self.columns)
        return np.concatenate([[q.sum()], self._by_scale(q)])
