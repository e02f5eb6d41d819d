"""Likelihoods of a label given the latent value, and their moments under a normal density.

A likelihood t(f) is a function of the margin f = yθ. All that an approximation of the posterior asks of it is, under a
normal density N(m, v), the logarithm of Z = E[t] or the mean E[ln t], and derivatives: see :class:`Moments`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled
from marginwise.errors import choose
from marginwise.inference.quadrature import LOGISTIC, NORMALISED_LINEAR, NORMALISED_QUADRATIC, PROBIT, integrate
from marginwise.inference.tilted_slack import expected_slack, tilted_slack
from marginwise.inference.truncated import half_line, log_ndtr
from marginwise.slack import LINEAR, QUADRATIC, Slack, as_slack

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Entries = tuple[float, float, float, float, float, float, float, float, float]

#: In compiled code a likelihood is a number: the power of its slack, or one of ``quadrature``.
_OTHER_KINDS = {
    "probit": PROBIT,
    "logistic": LOGISTIC,
    "normalised-linear": NORMALISED_LINEAR,
    "normalised-quadratic": NORMALISED_QUADRATIC,
}

LIKELIHOODS = (LINEAR.name, QUADRATIC.name, *_OTHER_KINDS)


class Moments(NamedTuple):
    """A function L(m, v) of a likelihood and of N(m, v) with its derivatives, one entry for each point.

    L is ln Z (``tilted``) or E[w ln t] (``expected``). Derivatives with respect to v follow from those with respect
    to m: ∂Z/∂v = ½∂²Z/∂m², ∂E/∂v = ½∂²E/∂m².
    """

    value: Vector  # L
    slope: Vector  # ∂L/∂m; the mean of the tilted density is m + v·slope
    shrink: Vector  # -v ∂²L/∂m²
    keep: Vector  # variance of the density in units of v, without cancellation: tilted 1 - shrink, otherwise 1
    third: Vector  # ∂³L/∂m³
    fourth: Vector  # ∂⁴L/∂m⁴
    value_c: Vector  # ∂L/∂C
    slope_c: Vector  # ∂²L/∂m∂C
    curvature_c: Vector  # ∂³L/∂m²∂C


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A likelihood t(f)^w with its weights; build one with :func:`as_likelihood`.

    Attributes
    ----------
    kind : int
        Which function it is, in the form that compiled code asks for.
    C : float
        Slack penalty; 1 for the probit and the logistic likelihood, which have none.
    weights : array of shape (n,)
        Weight 2 is the same as the point given twice.
    log_kappa, log_kappa_c : float
        ln κ(C) of eq. (lh), which the moments leave out, and its derivative; 0 for normalised likelihoods.
    blur : array of shape (n,) or None
        Variances b_i: the likelihood of a latent value a_i is ∫ N(θ; a_i, b_i) t(y_iθ)^w_i dθ. None is no blur.
    """

    kind: int
    C: float
    weights: Vector
    log_kappa: float = 0.0
    log_kappa_c: float = 0.0
    blur: Vector | None = None

    def tilted(self, m: Vector, v: Vector, y: Vector) -> Moments:
        """Return ln ∫ N(θ; m_i, v_i) t(y_iθ)^w_i dθ and its derivatives."""
        if self.blur is None:
            return self._moments(m, v, y, True)
        whole = v + self.blur
        moments = self._moments(m, whole, y, True)
        # shrink = -v ∂²ln Z/∂m² and keep = 1 - shrink are in units of the cavity's own variance.
        own = v / whole
        return moments._replace(shrink=moments.shrink * own, keep=moments.keep + moments.shrink * (1.0 - own))

    def expected(self, m: Vector, v: Vector, y: Vector) -> Moments:
        """Return ∫ N(θ; m_i, v_i) w_i ln t(y_iθ) dθ and its derivatives."""
        return self._moments(m, v, y, False)

    def unweighted(self, n: int) -> Likelihood:
        """Return the same likelihood for ``n`` other points of weight one."""
        return replace(self, weights=np.ones(n), blur=None)

    def with_weight_one(self) -> Likelihood:
        """Return the same likelihood for the same points, each counted once."""
        return replace(self, weights=np.ones_like(self.weights))

    def blurred(self, blur: Vector | None) -> Likelihood:
        """Return the same likelihood blurred by these variances."""
        return replace(self, blur=blur)

    def _moments(self, m: Vector, v: Vector, y: Vector, tilted: bool) -> Moments:
        out = np.empty((9, len(m)))
        # Two functions, so that the first use of a slack does not wait for the compilation of the quadrature.
        fill = _fill_slack if self.kind < PROBIT else _fill_other
        fill(self.kind, y * m, v, self.C, self.weights, tilted, out)
        out[[1, 4, 7]] *= y  # odd derivatives change sign with the label
        return Moments(*out)


def as_likelihood(name: str, C: float, weights: Vector) -> Likelihood:
    """Return the likelihood of this name, one of ``LIKELIHOODS``.

    "linear" and "quadratic" are κ(C)^w exp[-C w l_p(f)], eq. (lh); "normalised-…" are these divided by their sum over
    the two labels; "probit" is Φ(f), "logistic" 1/(1 + e^{-f}): Gaussian process classifiers.
    """
    if choose("likelihood", name, LIKELIHOODS) in _OTHER_KINDS:
        return Likelihood(_OTHER_KINDS[name], C if name.startswith("normalised") else 1.0, weights)
    return slack_likelihood(name, C, weights)


def slack_likelihood(slack: Slack | str, C: float, weights: Vector) -> Likelihood:
    """Return κ(C)^w exp[-C w l_p(f)], eq. (lh)."""
    slack = as_slack(slack)
    return Likelihood(slack.power, C, weights, slack.log_kappa(C), slack.log_kappa_derivative(C))


@compiled
def tilt(kind: int, m: float, v: float, C: float, w: float) -> Entries:
    """Return the entries of :meth:`Likelihood.tilted` for one point, as a function of the margin."""
    return slack_entries(kind, m, v, C, w, True) if kind < PROBIT else _other_entries(kind, m, v, C, w, True)


@compiled
def slack_entries(power: int, m: float, v: float, C: float, w: float, tilted: bool) -> Entries:
    """Return the entries for a slack: closed forms."""
    if tilted:
        return _with_weight(w, tilted_slack(power, m, v, C * w))
    return _with_weight(w, expected_slack(power, m, v, C * w))


@compiled
def _other_entries(kind: int, m: float, v: float, C: float, w: float, tilted: bool) -> Entries:
    """Return the entries for the other likelihoods."""
    if tilted and kind == PROBIT and w == 1.0:
        return _tilted_probit(m, v)
    return integrate(kind, m, v, C, w, tilted)


@compiled
def _with_weight(w: float, entries: Entries) -> Entries:
    """Return the derivatives with respect to C from those with respect to Cw."""
    value, slope, shrink, keep, third, fourth, value_c, slope_c, curvature_c = entries
    return value, slope, shrink, keep, third, fourth, w * value_c, w * slope_c, w * curvature_c


@compiled
def _tilted_probit(m: float, v: float) -> Entries:
    """Return the entries for Φ(f): Z = Φ(u), u = m/√(1+v) (Rasmussen & Williams 2006, eq. 3.82)."""
    root = math.sqrt(1.0 + v)
    u = m / root
    log_mills, mean, variance, third, fourth = half_line(-u)
    ratio = math.exp(-log_mills)  # φ(u)/Φ(u)
    keep = (1.0 + v * variance) / (1.0 + v)
    shrink = v / (1.0 + v) * ratio * mean
    return log_ndtr(u), ratio / root, shrink, keep, third / root**3, fourth / root**4, 0.0, 0.0, 0.0


@compiled
def _fill_slack(kind: int, f: Vector, v: Vector, C: float, weights: Vector, tilted: bool, out: Matrix) -> None:
    """Fill the rows of ``out`` with the entries of :class:`Moments` for a slack, at the margins f."""
    for i in range(len(f)):
        entries = slack_entries(kind, f[i], v[i], C, weights[i], tilted)
        for k in range(9):
            out[k, i] = entries[k]


@compiled
def _fill_other(kind: int, f: Vector, v: Vector, C: float, weights: Vector, tilted: bool, out: Matrix) -> None:
    """Fill the rows of ``out`` for any other likelihood."""
    for i in range(len(f)):
        entries = _other_entries(kind, f[i], v[i], C, weights[i], tilted)
        for k in range(9):
            out[k, i] = entries[k]
