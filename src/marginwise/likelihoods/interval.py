"""The probability that a normal variable is between two thresholds, ln[Φ(h) - Φ(l)], with all its digits in the tails.

It is the likelihood of an ordered label (McKelvey & Zavoina 1975; Chu & Ghahramani 2005): with normal noise on the
latent value, the label is k where value and noise together lie between the thresholds of grades k - 1 and k. It is
log-concave in the latent value and the thresholds together (Pratt 1981).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from marginwise._arrays import Array

#: A threshold that nothing is beyond, in standard deviations: its density is 0, and so are products with it.
BEYOND = 1e10

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


class Interval(NamedTuple):
    """ln q for q = Φ(h) - Φ(l), and the densities at both ends over q: ∂ln q/∂h = ``upper``, ∂ln q/∂l = -``lower``.

    The second derivatives are ∂²/∂h² = -h·upper - upper², ∂²/∂l² = l·lower - lower², ∂²/∂h∂l = upper·lower.
    """

    log_probability: Array
    lower: Array
    upper: Array


def interval(low: Array, high: Array) -> Interval:
    """Return the probability of intervals; -inf where the end is not above the beginning."""
    logs = log_interval(low, high)
    return Interval(logs, np.exp(_log_density(low) - logs), np.exp(_log_density(high) - logs))


def log_interval(low: Array, high: Array) -> Array:
    """Return ln[Φ(h) - Φ(l)] alone; intervals above 0 are turned to below, where tails keep their digits."""
    turned = low > 0.0
    below, above = np.where(turned, -high, low), np.where(turned, -low, high)
    whole = log_ndtr(above)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.log(-np.expm1(np.minimum(log_ndtr(below) - whole, 0.0)))
        return np.where(above > below, whole + part, -np.inf)


def _log_density(x: Array) -> Array:
    return -0.5 * x * x - _LOG_SQRT_2PI
