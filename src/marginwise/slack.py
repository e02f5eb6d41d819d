"""Slack penalties: the loss l_p, its derivatives, and the normaliser κ(C) of its likelihood.

Equations are those of Gold & Sollich (2003): (hinge) for l_p, (lh) for the likelihood κ(C) exp[-C l_p(yθ)].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.errors import choose

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Slack:
    """The penalty C l_p(z), l_p(z) = (1-z)^p/p for z < 1 and 0 beyond; eq. (hinge)."""

    name: str
    power: int

    def loss(self, margin: Vector) -> Vector:
        """Return l_p at the margins z = yθ."""
        violation = np.maximum(1.0 - margin, 0.0)
        return violation if self.power == 1 else 0.5 * violation**2

    def derivative(self, margin: Vector) -> Vector:
        """Return l_p'(z); at the kink of l_1 the value of the violated side, as H(0) = 1 in eq. (hinge)."""
        violation = 1.0 - margin
        if self.power == 1:
            return -(violation >= 0.0).astype(float)
        return -np.maximum(violation, 0.0)

    def second_derivative(self, margin: Vector) -> Vector:
        """Return l_p''(z), without the point mass that l_1'' has at z = 1."""
        if self.power == 1:
            return np.zeros_like(margin)
        return (margin <= 1.0).astype(float)

    def ridge(self, penalties: Vector) -> Vector:
        """Return what the dual adds to the diagonal of K: 1/C_i for quadratic slack, nothing for linear slack."""
        return np.zeros_like(penalties) if self.power == 1 else 1.0 / penalties

    def log_kappa(self, C: float) -> float:
        """Return ln κ(C), κ(C)⁻¹ = max_z [exp(-C l_p(z)) + exp(-C l_p(-z))]."""
        if self.power == 1:  # κ = 1/(1 + e^{-2C})
            return -math.log1p(math.exp(-2.0 * C))
        if C <= 1.0:  # the maximum is at z = 0
            return 0.5 * C - math.log(2.0)
        u = _distance_from_one(C)
        return 0.5 * C * u**2 - math.log1p(math.exp(-2.0 * C * (1.0 - u)))

    def log_kappa_derivative(self, C: float) -> float:
        """Return d ln κ / dC."""
        if self.power == 1:  # 2/(1 + e^{2C}), without overflow
            return 2.0 * math.exp(-2.0 * C) / (1.0 + math.exp(-2.0 * C))
        if C <= 1.0:
            return 0.5
        u = _distance_from_one(C)  # (1 - z²)/2 at z = 1 - u: the maximum moves, but to no first-order effect
        return u * (1.0 - 0.5 * u)


LINEAR = Slack("linear", 1)
QUADRATIC = Slack("quadratic", 2)
SLACKS = {slack.name: slack for slack in (LINEAR, QUADRATIC)}


def as_slack(slack: Slack | str) -> Slack:
    """Return the slack of this name, or the slack itself."""
    return slack if isinstance(slack, Slack) else SLACKS[choose("slack", slack, SLACKS)]


def _distance_from_one(C: float) -> float:
    """Return u = 1 - z for the positive solution of z = tanh(Cz), C > 1."""
    if C < 1.02:
        return 1.0 - math.sqrt(_small_root_squared((C - 1.0) / C)) / C

    # In u the equation reads u = 2/(1 + exp(2C(1-u))): no cancellation for large C, where u → 2 exp(-2C).
    # tanh(x) ≥ x - x³/3 gives z² ≥ 3(C-1)/C³ at the root: bisection from half that z can't end at z = 0.
    def right_side(u: float) -> float:
        decay = math.exp(-2.0 * C * (1.0 - u))
        return 2.0 * decay / (1.0 + decay)

    low, high = 0.0, 1.0 - 0.5 * math.sqrt(3.0 * (C - 1.0) / C**3)
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if middle > right_side(middle) else (middle, high)
    u = 0.5 * (low + high)
    for _ in range(4):  # Newton, for the last digits
        value = right_side(u)
        u -= (u - value) / (1.0 - C * value * (2.0 - value))
    return u


def _small_root_squared(delta: float) -> float:
    """Return s = x² with 1 - tanh(x)/x = delta, by the series s/3 - 2s²/15 + 17s³/315 - … (delta ≤ 0.02)."""
    coefficients = (1 / 3, -2 / 15, 17 / 315, -62 / 2835, 1382 / 155925, -21844 / 6081075, 929569 / 638512875)
    s = 3.0 * delta
    for _ in range(5):
        value = sum(c * s ** (k + 1) for k, c in enumerate(coefficients))
        slope = sum((k + 1) * c * s**k for k, c in enumerate(coefficients))
        s -= (value - delta) / slope
    return s
