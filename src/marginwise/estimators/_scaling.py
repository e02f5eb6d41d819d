"""Standardisation with the statistics of the training table, safe for any scale of the numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.problem import FAR, require_near


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
        return cls.from_moments(unit, centre, spread)

    @classmethod
    def from_moments(cls, unit: Array, centre: Array, spread: Array) -> Scaling:
        """Return the scaling of columns with these moments in their units."""
        # Rounding of the mean leaves a constant column with a spread near 1e-16 in these units.
        return cls(unit, centre, np.where(spread < 1e-12, 1.0, spread))

    @classmethod
    def none(cls, X: Array) -> Scaling:
        """Return the scaling that changes nothing, for inputs whose squares are finite."""
        require_near(X, instead="or standardize=True")
        return cls(np.ones(X.shape[1]), np.zeros(X.shape[1]), np.ones(X.shape[1]))

    def __call__(self, X: Array) -> Array:
        """Return the scaled inputs; those too far from all training rows for squares to be finite come nearer."""
        with np.errstate(over="ignore"):
            return np.clip((X / self.unit - self.centre) / self.spread, -FAR, FAR)
