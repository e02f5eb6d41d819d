"""Standardisation with the statistics of the training table, safe for any scale of the numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """x → (x/unit - centre)/spread; ``unit`` keeps squares of huge and tiny numbers within range.

    Constant columns have spread 1 and become 0.
    """

    unit: Array
    centre: Array
    spread: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> Scaling:
        """Return the scaling that gives the weighted columns mean 0 and variance 1."""
        unit = np.abs(X).max(axis=0)
        unit[unit == 0.0] = 1.0
        relative = X / unit
        centre = weights @ relative / weights.sum()
        spread = np.sqrt(weights @ (relative - centre) ** 2 / weights.sum())
        # Rounding of the mean leaves a constant column with a spread near 1e-16 in these units.
        spread[spread < 1e-12] = 1.0
        return cls(unit, centre, spread)

    @classmethod
    def none(cls, n_inputs: int) -> Scaling:
        """Return the scaling that changes nothing."""
        return cls(np.ones(n_inputs), np.zeros(n_inputs), np.ones(n_inputs))

    def __call__(self, X: Array) -> Array:
        return (X / self.unit - self.centre) / self.spread
