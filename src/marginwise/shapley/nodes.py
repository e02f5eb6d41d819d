"""How many nodes of Gauss–Legendre quadrature integrate a product of positive straight lines on [0, 1] to rounding.

⌈N/2⌉ nodes are exact for a product of N - 1 lines. Fewer may be enough, which two bounds of the relative error say:

- A product of lines that are positive on [0, 1] has positive coefficients in Bernstein's basis, whose members all have
  the same integral. So the error is nowhere larger than the largest of these members', which falls as exp(-c n²/N):
  with n = 4√N nodes it is below 1e-12.
- With q_l = c_l(1 ± ε_l s), s from -1 to 1, a product is at most Π c_l (1 + A ε_l) on the ellipse around [-1, 1] whose
  half axes are A = (ρ + 1/ρ)/2 and (ρ - 1/ρ)/2, and n nodes err by at most 64/15 of that times ρ^(-2n)/(1 - ρ⁻²)
  (Trefethen 2008, theorem 4.5). The mean ε̄ of the ε_l bounds the product by (1 + A ε̄)^N, and the integral from below:
  P(s) + P(-s) ≥ 2 Π c_l √(1 - ε_l² s²), of which s up to ½ has at least Π c_l · exp(-0.145 N ε̄).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import compiled

#: The relative error of an integral that is rounding.
_ROUNDING = 1e-13


@cache
def rules(most_players: int) -> tuple[Indices, Array, Array]:
    """Return nodes and weights of the rules with 1, 2, … nodes one after the other, and where each begins.

    That of n nodes is from ``starts[n]`` to ``starts[n + 1]``. The last is enough for any product of so many factors.
    """
    parts = [np.polynomial.legendre.leggauss(n) for n in range(1, most_nodes(most_players) + 1)]
    starts = np.cumsum([0, 0, *(len(t) for t, _ in parts)])
    return starts, np.concatenate([0.5 * (t + 1.0) for t, _ in parts]), np.concatenate([0.5 * w for _, w in parts])


@compiled
def most_nodes(n_players: int) -> int:
    """Return how many nodes are enough for products over all players but one, whatever the factors."""
    return max(1, min((n_players + 1) // 2, math.ceil(4.0 * math.sqrt(n_players))))


@compiled
def enough_nodes(n_players: int, slope: float) -> int:
    """Return how many nodes are enough where ε is at most ``slope`` on average over the players."""
    most = most_nodes(n_players)
    for n in range(1, most):
        # Any ρ gives a bound; this one is nearly the best.
        rho = min(max(4.0 * n / (slope * max(n_players - 2.0 * n, 1.0) + 1e-300), 1.1), 1e6)
        largest = n_players * (math.log1p(0.5 * (rho + 1.0 / rho) * slope) + 0.145 * slope)
        if math.log(64.0 / 15.0) + largest - 2.0 * n * math.log(rho) - math.log1p(-(rho**-2)) <= math.log(_ROUNDING):
            return n
    return most
