"""Exponentials of the distances along single columns, e_c = exp[-Σ_{a∈c} |x_a - x'_a|/λ], and sums over them.

Of one input, exp(-|s - t|) = min(u_s v_t, v_s u_t) with u_t = exp(t), v_t = exp(-t): the Laplacian is the covariance of
a Markov process. So it takes 2n exponentials instead of n². The matrix of all e_c is never made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.jit import compiled_vector
from marginwise.kernels._symmetry import mirror_lower
from marginwise.kernels.values import Ties

#: Range of an input in units of λ up to which exponentials are products: none overflows, and the relative error is
#: below this times 1e-16. Beyond, which standardised inputs seldom are, each pair of rows has its exponential.
_WIDE = 300.0

#: Rows that go through a column together, so that what the column needs stays in the cache.
_TILE = 16

#: A part of the loops below.
_compiled_part = partial(compiled_vector, no_cpython_wrapper=True)


@dataclass(frozen=True, eq=False)
class ColumnDistances:
    """Distances between the rows of two tables along each column. Build it with :meth:`of`.

    Attributes
    ----------
    left, right : arrays of shape (3, n, d) and (3, d, m)
        The inputs t in units of λ, around the middle of their range unless it is wide, with exp(t) and exp(-t).
    inputs, first : arrays of int
        The inputs, those of one column together, and where each column begins among them.
    is_wide : array of shape (d,)
        The inputs for which products of exponentials would overflow.
    symmetric : bool
        Whether both tables are one.
    """

    left: Array
    right: Array
    inputs: Indices
    first: Indices
    is_wide: Mask
    symmetric: bool

    @classmethod
    def of(cls, A: Array, B: Array, scale: float, ties: Ties | None) -> ColumnDistances:
        """Return the distances between the rows of A and B in units of a length scale."""
        d, symmetric = A.shape[1], B is A
        ends = [Z.min(axis=0, initial=np.inf) for Z in (A, B)], [Z.max(axis=0, initial=-np.inf) for Z in (A, B)]
        low, high = np.minimum(*ends[0]), np.maximum(*ends[1])
        if not (len(A) and len(B)):
            low = high = np.zeros(d)
        is_wide = (high - low) / scale > _WIDE
        # One row far away must not take the digits of the others: only products of exponentials need a middle.
        middle = np.where(is_wide, 0.0, low + 0.5 * (high - low))
        columns = np.arange(d) if ties is None else np.array(ties)
        inputs = np.argsort(columns, kind="stable")
        first = np.searchsorted(columns[inputs], np.arange(columns.max() + 2))
        left = _with_exponentials((A - middle) / scale, is_wide)
        right = left if symmetric else _with_exponentials((B - middle) / scale, is_wide)
        return cls(left, np.ascontiguousarray(right.transpose(0, 2, 1)), inputs, first, is_wide, symmetric)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.left.shape[1], self.right.shape[2]

    def weighted_sum(self, weights: Array) -> Array:
        """Return Σ_c w_c e_c, shape (n, m); if both tables are one, half of it is copied."""
        K = np.empty(self._shape)
        _fill(K, weights, *self._arguments())
        if self.symmetric:
            mirror_lower(K)
        return K

    def contracted(self, G: Array) -> tuple[Array, Array]:
        """Return Σ_ij G_ij e_c and Σ_ij G_ij e_c Σ_{a∈c} |Δ_a|/λ for each column."""
        sums = np.zeros((2, len(self.first) - 1))
        _add_contracted(G, sums, *self._arguments())
        return sums[0], sums[1]

    def slopes(self, weights: Array, coefficients: Array) -> Array:
        """Return Σ_j c_j w_c e_c sign(b_ja - a_ia) for each row and input, c the column of the input."""
        slopes = np.empty(self.left.shape[1:])
        _fill_slopes(slopes, weights, coefficients, *self._arguments()[:-1])
        return slopes

    def _arguments(self) -> tuple[Array, Array, Indices, Indices, Mask, bool]:
        return self.left, self.right, self.inputs, self.first, self.is_wide, self.symmetric


def _with_exponentials(t: Array, is_wide: Mask) -> Array:
    exponents = np.where(is_wide, 0.0, t)
    return np.stack([t, np.exp(exponents), np.exp(-exponents)])


@_compiled_part
def _fill_column(
    e: Array, distance: Array, stop: int, i: int, own: Indices, left: Array, right: Array, is_wide: Mask
) -> None:
    """Fill ``e`` and ``distance`` with those between row i and the rows before ``stop`` in the inputs of one column."""
    distance[:stop] = 0.0
    e[:stop] = 1.0
    for a in own:
        here, there = left[0, i, a], right[0, a]
        for j in range(stop):
            distance[j] += abs(here - there[j])
        if is_wide[a]:
            for j in range(stop):
                e[j] *= math.exp(-abs(here - there[j]))
        else:
            up, down, u, v = left[1, i, a], left[2, i, a], right[1, a], right[2, a]
            for j in range(stop):
                e[j] *= min(up * v[j], down * u[j])


@compiled_vector
def _fill(
    K: Array,
    weights: Array,
    left: Array,
    right: Array,
    inputs: Indices,
    first: Indices,
    is_wide: Mask,
    symmetric: bool,
) -> None:
    """Fill K with Σ_c w_c e_c; if both tables are one, its lower triangle."""
    n, m = K.shape
    e, distance = np.empty(m), np.empty(m)
    for top in range(0, n, _TILE):
        rows = range(top, min(n, top + _TILE))
        for i in rows:
            K[i, : i + 1 if symmetric else m] = 0.0
        for c in range(len(weights)):
            own = inputs[first[c] : first[c + 1]]
            for i in rows:
                row, stop = K[i], i + 1 if symmetric else m
                if len(own) == 1 and not is_wide[own[0]]:
                    a = own[0]
                    up, down, u, v = left[1, i, a], left[2, i, a], right[1, a], right[2, a]
                    for j in range(stop):
                        row[j] += weights[c] * min(up * v[j], down * u[j])  # in both orders of a pair the same bits
                else:
                    _fill_column(e, distance, stop, i, own, left, right, is_wide)
                    for j in range(stop):
                        row[j] += weights[c] * e[j]


@compiled_vector
def _add_contracted(
    G: Array,
    sums: Array,
    left: Array,
    right: Array,
    inputs: Indices,
    first: Indices,
    is_wide: Mask,
    symmetric: bool,
) -> None:
    """Add Σ_ij G_ij e_c and Σ_ij G_ij e_c Σ_{a∈c} |Δ_a| to the two rows of ``sums``."""
    n, m = G.shape
    e, distance, folded = np.empty(m), np.empty(m), np.empty((_TILE, m))
    for top in range(0, n, _TILE):
        rows = range(top, min(n, top + _TILE))
        for i in rows:
            folded[i - top] = G[i]
            if symmetric:  # then half of the pairs will do
                for j in range(i):
                    folded[i - top, j] += G[j, i]
        for c in range(sums.shape[1]):
            own = inputs[first[c] : first[c + 1]]
            total, by_distance = 0.0, 0.0
            for i in rows:
                g, stop = folded[i - top], i + 1 if symmetric else m
                if len(own) == 1 and not is_wide[own[0]]:
                    a = own[0]
                    here, up, down = left[0, i, a], left[1, i, a], left[2, i, a]
                    there, u, v = right[0, a], right[1, a], right[2, a]
                    for j in range(stop):
                        weighted = g[j] * min(up * v[j], down * u[j])
                        total += weighted
                        by_distance += weighted * abs(here - there[j])
                else:
                    _fill_column(e, distance, stop, i, own, left, right, is_wide)
                    for j in range(stop):
                        weighted = g[j] * e[j]
                        total += weighted
                        by_distance += weighted * distance[j]
            sums[0, c] += total
            sums[1, c] += by_distance


@compiled_vector
def _fill_slopes(
    slopes: Array,
    weights: Array,
    coefficients: Array,
    left: Array,
    right: Array,
    inputs: Indices,
    first: Indices,
    is_wide: Mask,
) -> None:
    """Fill ``slopes`` with Σ_j c_j w_c e_c sign(b_ja - a_ia)."""
    n, m = left.shape[1], right.shape[2]
    e, distance = np.empty(m), np.empty(m)
    for i in range(n):
        for c in range(len(weights)):
            own = inputs[first[c] : first[c + 1]]
            _fill_column(e, distance, m, i, own, left, right, is_wide)
            for a in own:
                here, there, total = left[0, i, a], right[0, a], 0.0
                for j in range(m):
                    total += coefficients[j] * e[j] * np.sign(there[j] - here)
                slopes[i, a] = weights[c] * total
