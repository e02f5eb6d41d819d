"""Functions that are sums over points, f(x) = offset + Σ_j c_j K(x, z_j), and what each column contributes to them.

The players of the game are the columns of the user's table. A coalition has the cells of the row in its columns and
those of a background row in the others, and its value is the mean of f over background rows (the interventional game:
Lundberg & Lee 2017; Janzing et al. 2020). f is a sum over the terms of the kernel, and so are Shapley values: a term
that is a sum over columns gives each its own function's difference to the mean, one that is a product over columns is
a sum of products of factors (:mod:`marginwise.shapley.products`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.interrupts import safe_point
from marginwise.errors import InvalidInputError
from marginwise.kernels import Kernel
from marginwise.shapley.products import LANES, LEAST, add_values, interactions

#: Most numbers in an array of factors, rows times players times points.
_NUMBERS = 2**21


@dataclass(frozen=True, eq=False)
class Expansion:
    """Functions offset + Σ_j c_j K(s(x), z_j) that share their points.

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (m, d')
        z.
    coefficients : array of shape (m, K)
        c.
    offset : array of shape (K,)
    view : function of rows, or None
        s(x), each entry of which is a function of one input; None for rows as they are.
    inputs : array of shape (d',), or None
        The input that each entry of s(x) is a function of; None if these are all, in their order.
    """

    kernel: Kernel
    points: Array
    coefficients: Array
    offset: Array
    view: Callable[[Array], Array] | None = None
    inputs: Indices | None = None

    def seen(self, X: Array) -> Array:
        """Return s(x)."""
        return X if self.view is None else self.view(X)

    def __call__(self, X: Array) -> Array:
        """Return the values at rows, shape (n, K)."""
        return self.offset + self.kernel.cross(self.seen(X), self.points) @ self.coefficients

    def joined(self, other: Expansion) -> Expansion | None:
        """Return the sum of both, None unless they have the same view, kernel and points."""
        if self.view is not other.view or self.kernel != other.kernel:
            return None
        if self.points is not other.points and not np.array_equal(self.points, other.points):
            return None
        coefficients, offset = self.coefficients + other.coefficients, self.offset + other.offset
        return replace(self, coefficients=coefficients, offset=offset)


class Contributions(NamedTuple):
    """What columns contribute.

    Attributes
    ----------
    values : array of shape (n, P, K)
        Shapley values of P columns.
    base : array of shape (K,)
        The mean of the functions over background rows, which Shapley values add up from.
    interactions : array of shape (n, P, P, K) or None
        Pair interactions, half of each on either side of the diagonal; on it what is left of the Shapley value.
    """

    values: Array
    base: Array
    interactions: Array | None


class Background(NamedTuple):
    """Rows as inputs, and their weights with sum 1."""

    rows: Array
    shares: Array


def contributions(
    function: Expansion, rows: Array, background: Background, columns: Indices, *, pairs: bool = False
) -> Contributions:
    """Return what columns contribute to the values of a function at rows; ``columns`` has that of each input."""
    game = _Game.of(function, rows, background, columns)
    n_columns, K = int(columns.max()) + 1, function.coefficients.shape[1]
    own = np.zeros((len(rows), len(game.players), K))
    between = np.zeros((len(rows), len(game.players), len(game.players), K)) if pairs else None
    for term in function.kernel.terms:
        if term.composition == "product":
            game.add_product(term, own, between)
        elif term.composition == "sum":
            game.add_sum(term, own)
        else:
            wanted = "one that is a product or a sum over columns: its composition must say so"
            raise InvalidInputError("kernel", term, wanted)
    values = np.zeros((len(rows), n_columns, K))
    values[:, game.players] = own
    base = background.shares @ function(background.rows)
    if between is None:
        return Contributions(values, base, None)
    places = np.arange(len(game.players))
    between *= 0.5
    between[:, places, places] = 0.0
    between[:, places, places] = own - between.sum(axis=2)
    whole = np.zeros((len(rows), n_columns, n_columns, K))
    whole[:, game.players[:, None], game.players] = between
    return Contributions(values, base, whole)


class _Game(NamedTuple):
    """A function, rows and background rows as it sees them, and the players that it knows.

    ``player`` is the place among ``players`` of each column of the kernel, ``of_input`` that of each input.
    """

    function: Expansion
    rows: Array
    background: Background
    players: Indices
    player: Indices
    of_input: Indices

    @classmethod
    def of(cls, function: Expansion, rows: Array, background: Background, columns: Indices) -> _Game:
        of_input = columns if function.inputs is None else columns[function.inputs]
        players, of_input = np.unique(of_input, return_inverse=True)
        ties = function.kernel.ties
        first = np.arange(len(of_input)) if ties is None else np.unique(ties, return_index=True)[1]
        seen = Background(function.seen(background.rows), background.shares)
        return cls(function, function.seen(rows), seen, players, of_input[first], of_input)

    def add_sum(self, term: Kernel, values: Array) -> None:
        """Add the Shapley values of a sum over columns: each one's function, less its mean."""
        points, c = self.function.points, self.function.coefficients
        step = max(1, _NUMBERS // len(points))
        for column, place in enumerate(self.player):
            mean = self.background.shares @ (term.of_column(column, self.background.rows, points) @ c)
            for start in range(0, len(self.rows), step):
                part = slice(start, start + step)
                values[part, place] += term.of_column(column, self.rows[part], points) @ c - mean

    def add_product(self, term: Kernel, values: Array, between: Array | None) -> None:
        """Add the Shapley values, and pair interactions, of a product over columns."""
        points = self.function.points
        amplitude = float(term.diagonal(points[:1])[0])
        c = np.zeros((_padded(len(points)), self.function.coefficients.shape[1]))
        c[: len(points)] = amplitude * self.function.coefficients
        for there, shares, background in self._background_factors(term):
            for i, here in self._row_factors(term):
                safe_point()
                total = np.zeros(here.shape)
                add_values(here, there, shares, self._same(self.rows[i], background), total)
                values[i] += total @ c
                if between is not None:
                    between[i] += interactions(here, there, shares, c).transpose(1, 2, 0)

    def _background_factors(self, term: Kernel) -> Iterator[tuple[Array, Array, Array]]:
        """Yield factors of background rows, as many as fit into memory, their weights and themselves."""
        step = self._step
        for start in range(0, len(self.background.rows), step):
            part = slice(start, start + step)
            rows = self.background.rows[part]
            yield self._factors(term, rows), self.background.shares[part], rows

    def _row_factors(self, term: Kernel) -> Iterator[tuple[int, Array]]:
        """Yield the number of each row and its factors."""
        step = self._step
        for start in range(0, len(self.rows), step):
            yield from enumerate(self._factors(term, self.rows[start : start + step]), start)

    @property
    def _step(self) -> int:
        return max(1, _NUMBERS // (len(self.players) * _padded(len(self.function.points))))

    def _factors(self, term: Kernel, rows: Array) -> Array:
        """Return the factor of each row, player and point, and 1 for points beyond the last."""
        points = self.function.points
        factors = np.ones((len(rows), len(self.players), _padded(len(points))))
        for column, place in enumerate(self.player):
            factors[:, place, : len(points)] *= term.of_column(column, rows, points)
        return np.maximum(factors, LEAST, out=factors)

    def _same(self, row: Array, background: Array) -> Mask:
        """Return where background rows have the row's own cells, shape (B, players)."""
        different = background != row
        if len(self.players) == len(self.of_input):
            return ~different[:, np.argsort(self.of_input)]
        order = np.argsort(self.of_input, kind="stable")
        firsts = np.searchsorted(self.of_input[order], np.arange(len(self.players)))
        return ~np.logical_or.reduceat(different[:, order], firsts, axis=1)


def _padded(n: int) -> int:
    return -(-n // LANES) * LANES
