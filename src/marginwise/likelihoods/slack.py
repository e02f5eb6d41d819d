"""Slack penalties: all that the SVM, its posterior and the criteria ask of the loss l_p.

Equations are those of Gold & Sollich (2003): (hinge) for l_p, (lh) for the likelihood κ(C) exp[-C l_p(yθ)]. No other
module knows one slack from another: a third one is written here, and its moments in ``tilted``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.optimize import brentq

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.errors import InvalidInputError, choose
from marginwise.likelihoods.base import Likelihood, Moments
from marginwise.likelihoods.tilted import fill_expected, fill_tilted

#: Relative accuracy of a root that is exact to rounding, the smallest that ``brentq`` takes.
_EXACT = 4.0 * float(np.finfo(float).eps)


class Slopes(NamedTuple):
    """α = -φ'(z) and φ''(z) of a penalty φ at the margins z."""

    alpha: Array
    curvature: Array


class RootCurvature(NamedTuple):
    """√L with its derivatives in α and log C; 0 for a point without curvature."""

    root: Array
    by_alpha: Array
    by_log_C: Array


@dataclass(frozen=True)
class Slack(Likelihood):
    """The penalty C l_p(z), l_p(z) = (1-z)^p/p for z < 1 and 0 beyond; eq. (hinge).

    ``power`` is p, and stands for the slack in compiled code.

    Parameters
    ----------
    name : str
        "linear" or "quadratic".
    power : int
        p.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.likelihoods import LINEAR, QUADRATIC
    >>> LINEAR.loss(np.array([-1.0, 0.0, 2.0])), QUADRATIC.loss(np.array([-1.0, 0.0, 2.0]))
    (array([2., 1., 0.]), array([2. , 0.5, 0. ]))
    """

    name: str
    power: int

    @property
    def smooth(self) -> bool:
        """Whether the loss has no kink."""
        return self.power > 1

    def loss(self, margin: Array) -> Array:
        """Return l_p at the margins z = yθ."""
        violation = np.maximum(1.0 - margin, 0.0)
        return violation if self.power == 1 else 0.5 * violation**2

    def derivative(self, margin: Array) -> Array:
        """Return l_p'(z); at the kink of l_1 the value of the violated side, as H(0) = 1 in eq. (hinge)."""
        violation = 1.0 - margin
        if self.power == 1:
            return -(violation >= 0.0).astype(float)
        return -np.maximum(violation, 0.0)

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

    def tilted(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return ln ∫ N(z; f_i, v_i) exp[-C w_i l_p(z)] dz and its derivatives, in closed form."""
        out = np.empty((9, len(f)))
        fill_tilted(self.power, f, v, C, weights, out)
        return Moments(*out)

    def expected(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return -∫ N(z; f_i, v_i) C w_i l_p(z) dz and its derivatives, in closed form."""
        out = np.empty((9, len(f)))
        fill_expected(self.power, f, v, C, weights, out)
        return Moments(*out)

    def ridge(self, penalties: Array) -> Array:
        """Return what the dual adds to the diagonal of K; it falls as 1/C."""
        return np.zeros_like(penalties) if self.power == 1 else 1.0 / penalties

    def reach(self, penalties: Array) -> Array:
        """Return the largest α that the dual allows; where it is finite it grows as C."""
        return penalties if self.power == 1 else np.full_like(penalties, np.inf)

    def rounded_slopes(self, margin: Array, penalties: Array, width: Array) -> Slopes:
        """Return those of φ(z) = min_e C l_p(z + e) + e²/2D: the penalty with its corner rounded off over D."""
        if self.power == 1:
            alpha = np.clip((1.0 - margin) / width, 0.0, penalties)
            return Slopes(alpha, np.where((alpha > 0.0) & (alpha < penalties), 1.0 / width, 0.0))
        stiffness = 1.0 / (width + 1.0 / penalties)  # φ = ½(1 - z)²/(D + 1/C) below the margin
        return Slopes(stiffness * np.maximum(1.0 - margin, 0.0), np.where(margin < 1.0, stiffness, 0.0))

    def root_curvature(self, alpha: Array, penalties: Array, a: float, exponent: float = 1.0) -> RootCurvature:
        """Return √L of Laplace's approximation at marginal support vectors, smoothed so that it has derivatives.

        Linear slack, eq. (lapnv): √L = √(2π) α(C - α)/C, what integrating over the kink of l_1 leaves of it. Quadratic
        slack, eq. (laplace_qu): l_2'' smoothed by ``a``, √L = √C exp(-t), t = a/(2(1-z)ᵖ) = a(C/α)ᵖ/2 with the
        ``exponent`` p, which is 1 in the paper; 0 where it underflows.
        """
        C = penalties
        if self.power == 1:
            unit = math.sqrt(2.0 * math.pi)
            return RootCurvature(unit * alpha * (C - alpha) / C, unit * (1.0 - 2.0 * alpha / C), unit * alpha**2 / C)
        t = 0.5 * a * (C / alpha) ** exponent
        root = np.where(t < 700.0, np.sqrt(C) * np.exp(-t), 0.0)
        return RootCurvature(root, root * exponent * t / alpha, root * (0.5 - exponent * t))


LINEAR = Slack("linear", 1)
QUADRATIC = Slack("quadratic", 2)
SLACKS = {slack.name: slack for slack in (LINEAR, QUADRATIC)}


def as_slack(slack: Likelihood | str) -> Slack:
    """Return the slack of this name, or the slack itself; other likelihoods make no SVM.

    Parameters
    ----------
    slack : Slack or str
        The slack, or its name: "linear" or "quadratic".

    Returns
    -------
    Slack

    Examples
    --------
    >>> as_slack("quadratic").power
    2
    """
    if isinstance(slack, Likelihood) and not isinstance(slack, Slack):
        names = " or ".join(map(repr, SLACKS))
        raise InvalidInputError("slack", slack.name, f"{names}, because an SVM is to be trained")
    return slack if isinstance(slack, Slack) else SLACKS[choose("slack", slack, SLACKS)]


@compiled_vector
def slack_loss(power: int, gap: float) -> float:
    """Return l_p for samplers, at a gap 1 - z."""
    gap = max(gap, 0.0)
    return gap if power == 1 else 0.5 * gap * gap


@compiled_vector
def slack_force(power: int, gap: float) -> float:
    """Return -l_p' at a gap 1 - z."""
    if power == 1:
        return 1.0 if gap >= 0.0 else 0.0
    return max(gap, 0.0)


@compiled_vector
def rounded_force(power: int, gap: float, sharpness: float) -> float:
    """Return -l_p' at a gap 1 - z, a kink being rounded off within 1/``sharpness`` of it."""
    if power == 1:
        # The step averaged over (9 - 15t²)/8, -1 ≤ t ≤ 1. This kernel has no second moment, so that the potential
        # of the force stays nearer to the hinge than with a positive one that is as smooth.
        t = min(max(gap * sharpness, -1.0), 1.0)
        return 0.5 + 0.125 * t * (9.0 - 5.0 * t * t)
    return max(gap, 0.0)


@compiled_vector
def gap_of_loss(power: int, loss: float) -> float:
    """Return the gap 1 - z > 0 at which l_p has this value."""
    return loss if power == 1 else math.sqrt(2.0 * loss)


def _distance_from_one(C: float) -> float:
    """Return u = 1 - z for the positive solution of z = tanh(Cz), C > 1."""
    if C < 1.02:
        return 1.0 - math.sqrt(_small_root_squared((C - 1.0) / C)) / C

    # In u the equation reads u = 2/(1 + exp(2C(1-u))): no cancellation for large C, where u → 2 exp(-2C).
    # tanh(x) ≥ x - x³/3 gives z² ≥ 3(C-1)/C³ at the root: a search from half that z can't end at z = 0.
    def right_side(u: float) -> float:
        decay = math.exp(-2.0 * C * (1.0 - u))
        return 2.0 * decay / (1.0 + decay)

    high = 1.0 - 0.5 * math.sqrt(3.0 * (C - 1.0) / C**3)
    return float(brentq(lambda u: u - right_side(u), right_side(0.0), high, xtol=5e-324, rtol=_EXACT))


def _small_root_squared(delta: float) -> float:
    """Return s = x² with 1 - tanh(x)/x = delta, by the series s/3 - 2s²/15 + 17s³/315 - … (delta ≤ 0.02)."""
    series = (0.0, 1 / 3, -2 / 15, 17 / 315, -62 / 2835, 1382 / 155925, -21844 / 6081075, 929569 / 638512875)
    return float(brentq(lambda s: polyval(s, series) - delta, 2.0 * delta, 4.0 * delta, xtol=5e-324, rtol=_EXACT))
