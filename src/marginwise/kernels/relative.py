"""Base of kernels that are a weighted sum over columns.

K(x, x') = (k/D) Σ_c r_c K_c(x, x'),   r_c = (m̄/m_c)², m̄ the geometric mean of the m_c, D the number of columns
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import OfColumns
from marginwise.kernels.values import per_input, positives


class ColumnSum(OfColumns):
    """A kernel with an amplitude, its first field, and relative scales m: how much a column counts, 1/m_c²."""

    has_amplitude: ClassVar[bool] = True
    composition: ClassVar[Literal["sum"]] = "sum"

    relative_scales: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "relative_scales", positives("relative_scales", self.relative_scales))

    @property
    def n_shared(self) -> int:
        return len(self.relative_scales)

    def _weights(self, amplitude: float, n_inputs: int) -> Array:
        """Return (k/D) r_c for each column."""
        n_columns = self.n_columns(n_inputs)
        logs = np.log(per_input("relative_scales", self.relative_scales, n_columns))
        return amplitude / n_columns * np.exp(2.0 * (logs.mean() - logs))

    def _by_scale(self, q: Array) -> Array:
        """Return the derivatives for log m_c, 2(mean q - q_c), from q_c = (k/D) r_c Σ_ij G_ij K_c(a_i, b_j)."""
        return np.zeros(1) if self.n_shared == 1 else 2.0 * (q.mean() - q)
