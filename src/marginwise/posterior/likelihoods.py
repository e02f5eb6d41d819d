"""Likelihoods of a label given the latent value, and their moments under a normal density.

A likelihood t(f) is a function of the margin f = yθ. All that expectation propagation and its gradients ask of it
is the logarithm of Z(m, v) = ∫ N(f; m, v) t(f) df and some derivatives: see :class:`Tilted`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled
from marginwise.posterior.tilted_slack import tilted_slack
from marginwise.slack import Slack, as_slack

Vector = npt.NDArray[np.float64]

LINEAR, QUADRATIC = 1, 2


class Tilted(NamedTuple):
    """ln Z(m, v) of the tilted density N(f; m, v) t(f)/Z and its derivatives, one entry for each point.

    Derivatives with respect to v follow from ∂Z/∂v = ½∂²Z/∂m².
    """

    log_z: Vector
    slope: Vector  # ∂ln Z/∂m; the tilted mean is m + v·slope
    shrink: Vector  # -v ∂²ln Z/∂m²
    keep: Vector  # 1 - shrink, the tilted variance in units of v, without cancellation
    third: Vector  # ∂³ln Z/∂m³, the third tilted cumulant over v³
    fourth: Vector  # ∂⁴ln Z/∂m⁴
    log_z_c: Vector  # ∂ln Z/∂C
    slope_c: Vector  # ∂²ln Z/∂m∂C
    curvature_c: Vector  # ∂³ln Z/∂m²∂C


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A likelihood t(f)^w with its weights; build one with :func:`slack_likelihood`.

    Attributes
    ----------
    kind : int
        Which function it is, in the form that compiled code asks for.
    C : float
        Slack penalty; 1 where the likelihood has none.
    weights : array of shape (n,)
        Weight 2 is the same as the point given twice.
    log_kappa, log_kappa_c : float
        ln κ(C) of eq. (lh), which the moments leave out, and its derivative; 0 for normalised likelihoods.
    """

    kind: int
    C: float
    weights: Vector
    log_kappa: float
    log_kappa_c: float

    def tilted(self, m: Vector, v: Vector, y: Vector) -> Tilted:
        """Return the moments of θ_i under N(m_i, v_i) tilted by t(y_iθ_i)."""
        out = np.empty((9, len(m)))
        tilt_all(self.kind, m, v, y, self.C, self.weights, out)
        return Tilted(*out)

    def unweighted(self, n: int) -> Likelihood:
        """Return the same likelihood for ``n`` points of weight one."""
        return replace(self, weights=np.ones(n))


def slack_likelihood(slack: Slack | str, C: float, weights: Vector) -> Likelihood:
    """Return κ(C)^w exp[-C w l_p(f)], eq. (lh)."""
    slack = as_slack(slack)
    return Likelihood(slack.power, C, weights, slack.log_kappa(C), slack.log_kappa_derivative(C))


@compiled
def tilt(
    kind: int, m: float, v: float, C: float, w: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the entries of :class:`Tilted` for one point."""
    z, g, shrink, keep, third, fourth, z_c, g_c, h_c = tilted_slack(kind, m, v, C * w)
    return z, g, shrink, keep, third, fourth, w * z_c, w * g_c, w * h_c


@compiled
def tilt_all(
    kind: int, m: Vector, v: Vector, y: Vector, C: float, weights: Vector, out: npt.NDArray[np.float64]
) -> None:
    """Fill the rows of ``out`` with the entries of :class:`Tilted`, derivatives taken with respect to θ = yf."""
    for i in range(len(m)):
        z, slope, shrink, keep, third, fourth, z_c, slope_c, curvature_c = tilt(kind, y[i] * m[i], v[i], C, weights[i])
        out[0, i], out[1, i], out[2, i], out[3, i] = z, y[i] * slope, shrink, keep
        out[4, i], out[5, i] = y[i] * third, fourth
        out[6, i], out[7, i], out[8, i] = z_c, y[i] * slope_c, curvature_c
