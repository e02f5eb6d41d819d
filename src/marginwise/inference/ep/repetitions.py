"""Rows that are several examples: what is known of the latent value without one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise.likelihoods.base import WeightedLikelihood


class Rest(NamedTuple):
    """Mean and variance of the latent value without one example, and their derivatives.

    Derivatives are in the mean and the variance of the cavity, in the likelihood's blur, and in C.
    """

    mean: Array
    variance: Array
    mean_m: Array
    variance_m: Array
    mean_v: Array
    variance_v: Array
    mean_blur: Array
    variance_blur: Array
    mean_c: Array
    variance_c: Array


def without_one(m: Array, v: Array, y: Array, likelihood: WeightedLikelihood, remainder: Array) -> Rest:
    """Return the moments of the cavities N(m, v) tilted by what is left of each row, t^r with its weight r.

    m' = m + vL', v' = v + v²L'', with L = ln Z and primes for derivatives in m, so that ∂L/∂v = ½(L'' + L'²).
    """
    several = np.flatnonzero(remainder > 0.0)
    zero, one = np.zeros_like(m), np.ones_like(m)
    if several.size == 0:
        return Rest(m, v, one, zero, zero, one, zero, zero, zero, zero)
    v_, blur = v[several], likelihood.blur
    others = replace(likelihood, weights=remainder[several], blur=None if blur is None else blur[several])
    L = others.tilted(m[several], v_, y[several])
    second = -L.shrink / v_
    slope_v = 0.5 * L.third + L.slope * second  # ∂L'/∂v
    second_v = 0.5 * L.fourth + second**2 + L.slope * L.third  # ∂L''/∂v

    def filled(rest: Array, values: Array) -> Array:
        column = rest.copy()
        column[several] = values
        return column

    return Rest(
        mean=filled(m, m[several] + v_ * L.slope),
        variance=filled(v, v_ * L.keep),
        mean_m=filled(one, L.keep),
        variance_m=filled(zero, v_**2 * L.third),
        mean_v=filled(zero, L.slope + v_ * slope_v),
        variance_v=filled(one, 1.0 - 2.0 * L.shrink + v_**2 * second_v),
        mean_blur=filled(zero, v_ * slope_v),
        variance_blur=filled(zero, v_**2 * second_v),
        mean_c=filled(zero, v_ * L.slope_c),
        variance_c=filled(zero, v_**2 * L.curvature_c),
    )
