"""How a kernel sees the inputs: as they are, some of them scaled, or by their normal scores.

Normal scores are what a column becomes when its ranks are those of a normal distribution (van der Waerden 1952). A
kernel measures distances, and in a column with long tails most rows are close together; their ranks keep them apart.
Which of the two suits a table, and with what weight, is decided by rows that were left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from marginwise._arrays import Array, Indices

#: Values of an input between which scores are interpolated.
_KNOTS = 200


class View(Protocol):
    """A function of rows: what a kernel gets in their place.

    Attributes
    ----------
    inputs : array of int
        The inputs that it shows.
    scales : array
        What each is multiplied by; 1 where it is not.
    """

    @property
    def inputs(self) -> Indices: ...

    @property
    def scales(self) -> Array: ...

    def __call__(self, X: Array) -> Array:
        """Return what it shows of rows."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Some inputs, each multiplied by a scale: what a kernel gets in the place of all of them.

    A kernel with one length scale l for these has l divided by the scale for each input.

    Attributes
    ----------
    inputs : array of int
        Which inputs.
    scales : array of shape (len(inputs),)
        With a mean square of 1.
    """

    inputs: Indices
    scales: Array

    def __call__(self, X: Array) -> Array:
        """Return the selected inputs of rows."""
        return np.ascontiguousarray(X[:, self.inputs] * self.scales)


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Each input by its normal scores, on straight lines between knots; beyond the last knots with slope 1.

    Inputs with no more than two values stay as they are.

    Attributes
    ----------
    knots, scores : tuples of arrays
        Ascending values of each input, and their scores, of mean 0 and variance 1 over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.exp(np.random.default_rng(0).normal(size=(500, 1)))
    >>> scores = NormalScores.of(X, np.ones(500))
    >>> bool(np.abs(np.corrcoef(scores(X)[:, 0], np.log(X[:, 0]))[0, 1]) > 0.99)
    True
    """

    knots: tuple[Array, ...]
    scores: tuple[Array, ...]

    @classmethod
    def of(cls, X: Array, weights: Array) -> NormalScores:
        """Return the normal scores of the inputs of rows."""
        pairs = [_scores_of(column, weights) for column in X.T]
        return cls(tuple(knots for knots, _ in pairs), tuple(scores for _, scores in pairs))

    def distance(self, X: Array, weights: Array) -> float:
        """Return how far scores are from straight lines in the inputs: the root mean square of 1 - correlation²."""
        shares, scores = weights / weights.sum(), self(X)
        inputs, scores = X - shares @ X, scores - shares @ scores
        squares = (shares @ inputs**2) * (shares @ scores**2)
        explained = (shares @ (inputs * scores)) ** 2 / np.where(squares > 0.0, squares, 1.0)
        return float(np.sqrt(np.mean(np.where(squares > 0.0, 1.0 - explained, 0.0) ** 2)))

    @property
    def inputs(self) -> Indices:
        return np.arange(len(self.knots))

    @property
    def scales(self) -> Array:
        return np.ones(len(self.knots))

    def __call__(self, X: Array) -> Array:
        """Return the scores of rows."""
        shown = np.empty_like(X)
        for a, (knots, scores) in enumerate(zip(self.knots, self.scores, strict=True)):
            inside = np.clip(X[:, a], knots[0], knots[-1])
            shown[:, a] = np.interp(inside, knots, scores) + (X[:, a] - inside)
        return shown


def _scores_of(column: Array, weights: Array) -> tuple[Array, Array]:
    values, places = np.unique(column, return_inverse=True)
    if len(values) <= 2:
        return values, values
    mass = np.bincount(places, weights)
    scores = ndtri((np.cumsum(mass) - 0.5 * mass) / mass.sum())
    mean = mass @ scores / mass.sum()
    scores = (scores - mean) / np.sqrt(mass @ (scores - mean) ** 2 / mass.sum())
    chosen = np.unique(np.linspace(0, len(values) - 1, min(len(values), _KNOTS)).round().astype(np.intp))
    return values[chosen], scores[chosen]
