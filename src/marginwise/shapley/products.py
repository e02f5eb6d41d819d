"""Shapley values of products of one factor for each player.

For a row x, a background row b and a point z the game is v(S) = Π_{l∈S} r_l Π_{l∉S} ν_l with the factors
r_l = k_l(x, z) and ν_l = k_l(b, z). With q_l = (1 - t)ν_l + t r_l its Shapley value and its pair interaction (Grabisch
& Roubens 1999) are

    φ_j = (r_j - ν_j) ∫₀¹ Π_{l≠j} q_l dt,   I_jl = (r_j - ν_j)(r_l - ν_l) ∫₀¹ Π_{h≠j,l} q_h dt

(Owen 1972, the multilinear extension of a game), polynomials in t that quadrature integrates exactly. All factors are
positive, so that nothing cancels. A player whose cell is the same in both rows is in no difference, and only a factor.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.jit import compiled_vector
from marginwise.shapley.nodes import enough_nodes, rules

#: Most points at a time in the compiled loop: the numbers of 30 players for them stay in the second-level cache.
_POINTS = 512

#: Points are a multiple of this many, so that loops over them have no rest.
LANES = 32

#: Factors below this count as this: products with them are nothing, and they can be divided by.
LEAST = 1e-60


#: For loops over points that compiled functions alone call.
_row_loop = partial(compiled_vector, no_cpython_wrapper=True)


def add_values(here: Array, there: Array, shares: Array, same: Mask, total: Array) -> None:
    """Add the Shapley values of each player, the mean over background rows, to ``total``, shape (d, m).

    ``here`` (d, m) are the row's factors at the points, ``there`` (B, d, m) those of background rows, none below
    ``LEAST``; ``shares`` (B,) are the weights of these, and ``same`` (B, d) says where they have the row's own cell.
    """
    _add_values(here, there, shares, same, *rules(len(here)), total)


@compiled_vector
def _add_values(
    here: Array,
    there: Array,
    shares: Array,
    same: Mask,
    starts: Indices,
    times: Array,
    weights: Array,
    total: Array,
) -> None:
    n_players, n_points = here.shape
    width = min(_POINTS, n_points)
    absent, change, sums = np.empty((n_players, width)), np.empty((n_players, width)), np.empty((n_players, width))
    players, base, product = np.empty(n_players, dtype=np.intp), np.empty(width), np.empty(width)
    for b in range(len(there)):
        for first in range(0, n_points, width):
            here_now, there_now = here[:, first : first + width], there[b, :, first : first + width]
            size = here_now.shape[1]
            base[:] = shares[b]
            count = 0
            for l in range(n_players):  # noqa: E741
                if same[b, l]:
                    _multiply(base, there_now[l], there_now[l], 0.0)
                else:
                    players[count] = l
                    _prepare(here_now[l], there_now[l], absent[count], change[count], sums[count])
                    count += 1
            if count == 0:
                continue
            n = enough_nodes(count, _largest_slope(absent[:count, :size], change[:count, :size], product))
            for node in range(starts[n], starts[n + 1]):
                t = times[node]
                product[:size] = base[:size] * weights[node]
                for a in range(count):
                    _multiply(product[:size], absent[a], change[a], t)
                for a in range(count):
                    _add_quotients(sums[a], product[:size], absent[a], change[a], t)
            for a in range(count):
                _add_products(total[players[a], first : first + width], sums[a], change[a])


@_row_loop
def _prepare(here: Array, there: Array, absent: Array, change: Array, sums: Array) -> None:
    for i in range(len(here)):
        absent[i] = there[i]
        change[i] = here[i] - there[i]
        sums[i] = 0.0


@_row_loop
def _multiply(product: Array, absent: Array, change: Array, t: float) -> None:
    for i in range(len(product)):
        product[i] *= absent[i] + t * change[i]


@_row_loop
def _add_quotients(sums: Array, product: Array, absent: Array, change: Array, t: float) -> None:
    """The product of all factors but one is that of all divided by it, which is never 0."""
    for i in range(len(product)):
        sums[i] += product[i] / (absent[i] + t * change[i])


@_row_loop
def _add_products(total: Array, sums: Array, change: Array) -> None:
    for i in range(len(total)):
        total[i] += sums[i] * change[i]


@_row_loop
def _largest_slope(absent: Array, change: Array, mean: Array) -> float:
    """Return the largest mean of ε = |r - ν|/(r + ν) over the players."""
    n_players, n_points = absent.shape
    mean[:] = 0.0
    for a in range(n_players):
        v, c = absent[a], change[a]
        for i in range(n_points):
            mean[i] += abs(c[i]) / (2.0 * v[i] + c[i])
    return mean[:n_points].max() / n_players


def interactions(here: Array, there: Array, shares: Array, coefficients: Array) -> Array:
    """Return Σ_i α_i I_jl, shape (K, d, d), the mean over background rows; the diagonal means nothing.

    ``coefficients`` α (m, K) weigh the points. A node is one product of matrices for each background row.
    """
    change = here - there
    total = np.zeros((coefficients.shape[1], len(here), len(here)))
    starts, times, weights = rules(len(here))
    for node in range(starts[-2], starts[-1]):
        q = there + times[node] * change
        weight = (weights[node] * shares)[:, None] * q.prod(axis=1)
        np.divide(change, q, out=q)
        for k, column in enumerate(coefficients.T):
            total[k] += np.matmul(q * (weight * column)[:, None, :], q.transpose(0, 2, 1)).sum(axis=0)
    return total
