"""From the moments of the latent functions of all classes to class probabilities.

    p_k = (1 - ε) softmax_k[β m/√(1 + cv)] + ε/K,

m the latent means, v their common variance. β is the steepness, c says how much an uncertain latent value counts for
less (MacKay 1992 has c = π/8 for the logistic function), ε is the share of rows like no other. All three are found from
the examples left out, with weak priors on their logarithms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise.multiclass.climb import Height, climbed

#: Means of the normal priors on ln β and ln c; ε is one example among all. Standard deviations are 1.
_LOG_STEEPNESS, _LOG_WIDENING = np.log(5.0), np.log(0.3)

#: Rows that terms are computed of at a time.
_AT_ONCE = 2**17

#: Bounds of ln β, ln c, ln ε.
_BOUNDS = ((-4.0, 6.0), (-8.0, 5.0), (np.log(1e-7), np.log(0.5)))


class Link(ABC):
    """What makes class probabilities of the means and variances of latent values."""

    @abstractmethod
    def log_proba(self, mean: Array, variance: Array) -> Array:
        """Return the logarithms of the class probabilities, shape (n, K)."""

    @abstractmethod
    def scores(self, mean: Array) -> Array:
        """Return numbers, shape (n, K), of which the largest is that of the most probable class.

        They are equal where the means alone do not tell.
        """

    @abstractmethod
    def in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return moments of straight lines of the latent values that are log-odds near where these are 0."""

    @abstractmethod
    def blurring(self, variance: Array) -> Array:
        """Return the variance of latent values whose average over labels is what :meth:`log_proba` says."""


@dataclass(frozen=True)
class SoftmaxLink(Link):
    """β, c and ε."""

    steepness: float
    widening: float
    floor: float

    def scores(self, mean: Array) -> Array:
        return mean

    def in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """By β; the latent values of two classes are opposite, and their difference counts twice."""
        latent, spread = self.steepness * mean, self.steepness**2 * variance
        if latent.shape[1] == 2:
            return latent[:, 1] - latent[:, 0], 4.0 * spread
        return latent, np.repeat(spread[:, None], latent.shape[1], axis=1)

    def blurring(self, variance: Array) -> Array:
        """By c: 1/√(1 + cv) is what a variance of 8cv/π does to log-odds, here β times the value (MacKay 1992)."""
        return 8.0 / np.pi * self.widening * variance / self.steepness**2

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
    """Return the link of :func:`found_link`, the penalised log-probability, and its derivatives in the moments.

    The link is at its optimum, so that derivatives in the moments are those at fixed link.
    """
    link = found_link(mean, variance, labels, weights, start)
    part, away = _terms(link.logs, mean, variance, labels, weights), link.logs - _centre(weights)
    return LinkFit(link, part.value - 0.5 * float(away @ away), part.mean_bar, part.variance_bar)


def found_link(
    mean: Array, variance: Array, labels: Indices, weights: Array, start: SoftmaxLink | None = None
) -> SoftmaxLink:
    """Return the link under which labels, left out, are most probable, its prior included; some rows at a time."""
    centre = _centre(weights)
    begin = np.clip(centre if start is None else start.logs, *np.transpose(_BOUNDS))

    def height(logs: Array) -> Height:
        away = logs - centre
        value, slope, curvature = -0.5 * float(away @ away), -away, -np.eye(3)
        for rows in in_parts(len(mean)):
            m, v = (moment[rows].astype(float, copy=False) for moment in (mean, variance))
            part = _terms(logs, m, v, labels[rows], weights[rows])
            value, slope, curvature = value + part.value, slope + part.by_logs, curvature + part.curvature
        return Height(value, slope, curvature)

    # The share of rows like no other could explain all at first; it is moved when the others are where they belong.
    bounds = np.transpose(_BOUNDS)
    logs = climbed(height, begin, bounds, np.array([True, True, False]), 1e-3)
    logs = climbed(height, logs, bounds, np.ones(3, dtype=bool), TOLERANCE)
    return SoftmaxLink(*np.exp(logs).tolist())


def in_parts(n: int) -> Iterator[slice]:
    """Yield parts of n rows: what is computed of each need not be in memory for all of them at once."""
    return (slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE))


def _centre(weights: Array) -> Array:
    """Return the means of the priors on the logarithms."""
    return np.array([_LOG_STEEPNESS, _LOG_WIDENING, -np.log1p(weights.sum())])


#: Relative gain of a step at which Newton's method has arrived: the criterion's derivatives rely on the optimum.
TOLERANCE = 1e-11


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
