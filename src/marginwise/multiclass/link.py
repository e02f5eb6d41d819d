"""From the moments of the latent functions of all classes to class probabilities.

    p_k = (1 - ε) softmax_k[β m/√(1 + cv)] + ε/K,

m the latent means, v their common variance. β is the steepness, c says how much an uncertain latent value counts for
less (MacKay 1992 has c = π/8 for the logistic function), ε is the share of rows like no other. All three are found from
the examples left out, with weak priors on their logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices, Mask

#: Means of the normal priors on ln β and ln c; ε is one example among all. Standard deviations are 1.
_LOG_STEEPNESS, _LOG_WIDENING = np.log(5.0), np.log(0.3)

#: Bounds of ln β, ln c, ln ε.
_BOUNDS = ((-4.0, 6.0), (-8.0, 5.0), (np.log(1e-7), np.log(0.5)))


@dataclass(frozen=True)
class SoftmaxLink:
    """β, c and ε."""

    steepness: float
    widening: float
    floor: float

    def log_proba(self, mean: Array, variance: Array) -> Array:
        """Return the logarithms of the class probabilities, shape (n, K)."""
        scale = self.steepness / np.sqrt(1.0 + self.widening * variance)
        logs = log_softmax(scale[:, None] * mean, axis=1)
        return np.logaddexp(np.log1p(-self.floor) + logs, np.log(self.floor / mean.shape[1]))

    @property
    def logs(self) -> Array:
        """ln β, ln c, ln ε."""
        return np.log([self.steepness, self.widening, self.floor])


class LinkFit(NamedTuple):
    """A link, the penalised log-probability of the labels that it reaches, and the derivatives in the moments."""

    link: SoftmaxLink
    value: float
    mean_bar: Array
    variance_bar: Array


def fit_link(
    mean: Array, variance: Array, labels: Indices, weights: Array, start: SoftmaxLink | None = None
) -> LinkFit:
    """Return the link under which labels, left out, are most probable; the prior's logarithm is part of the value.

    The link is at its optimum, so that derivatives in the moments are those at fixed link.
    """
    centre = np.array([_LOG_STEEPNESS, _LOG_WIDENING, -np.log1p(weights.sum())])
    begin = np.clip(centre if start is None else start.logs, *np.transpose(_BOUNDS))

    def objective(logs: Array) -> tuple[float, _Terms]:
        part = _terms(logs, mean, variance, labels, weights)
        return part.value - 0.5 * float((logs - centre) @ (logs - centre)), part

    # The share of rows like no other could explain all at first; it is moved when the others are where they belong.
    logs = _climbed(objective, begin, centre, np.array([True, True, False]), 1e-3)
    logs = _climbed(objective, logs, centre, np.ones(3, dtype=bool), _TOLERANCE)
    value, part = objective(logs)
    return LinkFit(SoftmaxLink(*np.exp(logs).tolist()), value, part.mean_bar, part.variance_bar)


def _climbed(
    objective: Callable[[Array], tuple[float, _Terms]], logs: Array, centre: Array, moving: Mask, tolerance: float
) -> Array:
    """Return where Newton's method with the prior's curvature ends, moving some of the logarithms within bounds."""
    lower, upper = np.transpose(_BOUNDS)
    value, part = objective(logs)
    for _ in range(_MAX_STEPS):
        step, gain = _newton_step(logs, part, centre, moving)
        if gain < tolerance * (1.0 + abs(value)):  # below rounding soon: a last step is taken on trust
            return np.clip(logs + step, lower, upper)
        for _ in range(_MAX_CUTS):
            trial = np.clip(logs + step, lower, upper)
            reached, there = objective(trial)
            if reached >= value:
                break
            step *= 0.25
        else:
            return logs
        logs, part, value = trial, there, reached
    return logs


#: Relative gain of a step at which Newton's method has arrived: the criterion's derivatives rely on the optimum.
_TOLERANCE = 1e-11

#: Steps of Newton's method, and times that one of them is made a quarter as long; the longest change of a logarithm.
_MAX_STEPS, _MAX_CUTS, _LONGEST = 50, 12, 2.0


def _newton_step(logs: Array, part: _Terms, centre: Array, moving: Mask) -> tuple[Array, float]:
    """Return where Newton's method goes next, without what bounds hold back, and what it gains by that."""
    lower, upper = np.transpose(_BOUNDS)
    slope = part.by_logs - (logs - centre)
    free = moving & ~(((logs <= lower) & (slope < 0.0)) | ((logs >= upper) & (slope > 0.0)))
    step = np.zeros(3)
    if free.any():
        values, vectors = np.linalg.eigh((np.eye(3) - part.curvature)[np.ix_(free, free)])
        # Where the function is not concave the curvature's size is what tells how far a step may go.
        size = np.maximum(np.abs(values), 1e-3)
        step[free] = vectors @ ((vectors.T @ slope[free]) / size)
    step *= min(1.0, _LONGEST / max(np.abs(step).max(), _LONGEST))
    return step, 0.5 * float(slope @ step)


class _Terms(NamedTuple):
    value: float
    by_logs: Array
    curvature: Array
    mean_bar: Array
    variance_bar: Array


def _terms(logs: Array, mean: Array, variance: Array, labels: Indices, weights: Array) -> _Terms:
    """Return Σ w ln p, its first and second derivatives in the logarithms, and the first in means and variances.

    With z = scale·m, g = z_y - Σqz and V the variance of z under q: dq_y/d ln scale = q_y g, and dg/d ln scale = g - V.
    """
    steepness, widening, floor = np.exp(logs)
    n, K = mean.shape
    rows = np.arange(n)
    shrunk = 1.0 + widening * variance
    scale = steepness / np.sqrt(shrunk)
    z = scale[:, None] * mean
    q = _softmax(z)
    own = q[rows, labels]
    p = (1.0 - floor) * own + floor / K
    ratio = (1.0 - floor) * own / p
    centre = np.einsum("ij,ij->i", q, z)
    g = z[rows, labels] - centre
    spread = np.einsum("ij,ij,ij->i", q, z, z) - centre**2
    by_scale = ratio * g  # of ln p in ln scale; the second derivative and those in ln ε follow
    by_scale2 = ratio * (g * g + g - spread) - by_scale**2
    by_floor = floor * (1.0 / K - own) / p
    mixed = -floor * own * g / p - by_scale * by_floor
    turn = -0.5 * widening * variance / shrunk  # d ln scale/d ln c
    jacobian = np.array([np.ones(n), turn])
    curvature = np.empty((3, 3))
    curvature[:2, :2] = (jacobian * (weights * by_scale2)) @ jacobian.T
    curvature[1, 1] += float(weights @ (by_scale * turn / shrunk))
    curvature[2, :2] = curvature[:2, 2] = jacobian @ (weights * mixed)
    curvature[2, 2] = float(weights @ (by_floor - by_floor**2))
    by_logs = np.array([*(jacobian @ (weights * by_scale)), float(weights @ by_floor)])
    inner = weights * ratio
    by_logit = -inner[:, None] * q
    by_logit[rows, labels] += inner
    by_widened = -0.5 * weights * by_scale / shrunk  # ∂/∂(cv)
    value = float(weights @ np.log(p))
    return _Terms(value, by_logs, curvature, scale[:, None] * by_logit, widening * by_widened)


def _softmax(z: Array) -> Array:
    """Return softmax of the rows; plainer than SciPy's, and a third of its time for few columns."""
    q = np.exp(z - z.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return q
