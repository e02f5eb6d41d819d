"""Standardisation with the statistics of the training table, safe for any scale of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.problem import FAR, require_near

#: Rows that are added up at a time: their temporaries are small compared with a table.
_BLOCK = 4096


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
        rows = [slice(start, start + _BLOCK) for start in range(0, len(X), _BLOCK)]
        known = sum_of([twofold_sums(weights[part, None]) for part in rows])
        centre = sum_of([twofold_sums(weights[part, None] * (X[part] / unit)) for part in rows]) / known
        squares = sum_of([twofold_sums(weights[part, None] * (X[part] / unit - centre) ** 2) for part in rows])
        return cls.from_moments(unit, centre, np.sqrt(squares / known))

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


def twofold_sums(terms: Array) -> Array:
    """Return the sums of the columns to twice the working precision, in two rows: rounded, and what is left of them.

    So the moments of a table do not depend on the blocks in which its rows are held, and neither does anything that is
    computed from its standardised inputs: a search makes a difference in the last digit a thousand million times as
    large when it stops one step earlier for it. (Two-sums of pairs: Knuth 1969; Ogita, Rump & Oishi 2005.)
    """
    high, low = terms, np.zeros_like(terms)
    while len(high) > 1:
        if len(high) % 2:
            high, low = (np.concatenate([part, np.zeros_like(part[:1])]) for part in (high, low))
        half = len(high) // 2
        a, b = high[:half], high[half:]
        high = a + b
        back = high - a
        low = low[:half] + low[half:] + ((a - (high - back)) + (b - back))
    return np.concatenate([high, low])


def sum_of(parts: Sequence[Array]) -> Array:
    """Return the sums of columns from those of blocks of rows by :func:`twofold_sums`."""
    return twofold_sums(np.concatenate(parts)).sum(axis=0)
