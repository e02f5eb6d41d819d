"""From the moments of one latent function to the probabilities of classes with an order.

    p_k = (1 - ε) {Φ[(a_k - βm)/√(1 + cv)] - Φ[(a_{k-1} - βm)/√(1 + cv)]} + ε/K,   -∞ = a_0 < a_1 < … < a_K = ∞,

m and v mean and variance of the latent value, a the thresholds in units of the noise (Chu & Ghahramani 2005, eq. 11,
whose average over a normal latent value has c = β²). ε is the share of rows like no other. All are found from the
examples left out, β, c and ε with the priors of ``marginwise.multiclass.link``, and with one more example at a latent
value of 0, a K-th part of it in each class: thresholds of a class that no example has stay where they can be told.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from marginwise._arrays import Array, Indices
from marginwise.likelihoods.interval import BEYOND, Interval, interval, log_interval
from marginwise.multiclass.climb import Height, climbed
from marginwise.multiclass.link import TOLERANCE, Link

#: Means of the normal priors on ln β and ln c; ε is one example among all. Standard deviations are 1.
_LOG_STEEPNESS, _LOG_WIDENING = np.log(1.5), 0.0

#: Bounds of ln β, ln c, ln ε.
_BOUNDS = ((-4.0, 6.0), (-8.0, 5.0), (np.log(1e-7), np.log(0.5)))

#: What thresholds are multiplied by for the prior's example, whose latent value is as uncertain as that of any row.
_PRIOR_SCALE = 1.0 / np.sqrt(1.0 + 1.5**2)


@dataclass(frozen=True)
class OrderedLink(Link):
    """Thresholds, β, c and ε; ``order`` are the numbers of the classes from the lowest to the highest."""

    thresholds: tuple[float, ...]
    steepness: float
    widening: float
    floor: float
    order: tuple[int, ...]

    def log_proba(self, mean: Array, variance: Array) -> Array:
        """Return the logarithms of the class probabilities, shape (n, K), from means of shape (n, 1)."""
        scale = 1.0 / np.sqrt(1.0 + self.widening * variance)[:, None]
        z = scale * (np.array(self.thresholds) - self.steepness * mean)
        ends = np.full((len(z), 1), np.inf)
        logs = log_interval(np.hstack([-ends, z]), np.hstack([z, ends]))[:, ranks_of(self.order)]
        return np.logaddexp(np.log1p(-self.floor) + logs, np.log(self.floor / len(self.order)))

    def scores(self, mean: Array) -> Array:
        """Return zeros: which class is the most probable one depends on the variance, too."""
        return np.zeros((len(mean), len(self.order)))

    def in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return straight lines whose differences touch the log-odds of neighbours at the threshold between them."""
        slopes, offsets = _lines(self.thresholds)
        ranks = ranks_of(self.order)
        slopes = self.steepness * slopes[ranks]
        return mean * slopes + offsets[ranks], variance[:, None] * slopes**2

    def blurring(self, variance: Array) -> Array:
        """By c: the average of Φ(a - βf) over f of variance V is Φ[(a - βm)/√(1 + β²V)]."""
        return self.widening * variance / self.steepness**2

    @classmethod
    def of(cls, parameters: Array, order: tuple[int, ...]) -> OrderedLink:
        """Return the link with these :attr:`parameters`."""
        steepness, widening, floor = np.exp(parameters[-3:]).tolist()
        return cls(tuple(parameters[:-3].tolist()), steepness, widening, floor, order)

    @property
    def parameters(self) -> Array:
        """The thresholds, ln β, ln c, ln ε."""
        return np.append(self.thresholds, np.log([self.steepness, self.widening, self.floor]))


class OrderedLinkFit(NamedTuple):
    """A link, the penalised log-probability of the labels that it reaches, and the derivatives in the moments."""

    link: OrderedLink
    value: float
    mean_bar: Array
    variance_bar: Array


def ranks_of(order: tuple[int, ...]) -> Indices:
    """Return the place of each class number in the order."""
    return np.argsort(order)


def fit_ordered_link(
    mean: Array,
    variance: Array,
    labels: Indices,
    weights: Array,
    order: tuple[int, ...],
    start: OrderedLink | None = None,
) -> OrderedLinkFit:
    """Return the link under which labels, left out, are most probable; the prior's logarithm is part of the value.

    The link is at its optimum, so that derivatives in the moments are those at fixed link.
    """
    n_thresholds = len(order) - 1
    ranks = ranks_of(order)[labels]
    centre = np.array([_LOG_STEEPNESS, _LOG_WIDENING, -np.log1p(weights.sum())])
    free = np.full(n_thresholds, np.inf)
    bounds = np.array([[*(-free), *np.transpose(_BOUNDS)[0]], [*free, *np.transpose(_BOUNDS)[1]]])
    begin = np.append(_usual(ranks, weights, n_thresholds), centre) if start is None else start.parameters
    begin = np.clip(begin, *bounds)

    def terms(parameters: Array) -> _Terms:
        return _terms(parameters, mean[:, 0], variance, ranks, weights)

    def height(parameters: Array) -> Height:
        if (np.diff(parameters[:-3]) <= 0.0).any():  # no thresholds: a step was too long
            return Height(-np.inf, np.zeros_like(parameters), np.zeros((len(parameters), len(parameters))))
        return _penalised(parameters, terms(parameters), centre)

    moving = np.ones(len(begin), dtype=bool)
    moving[-1] = False  # the share of rows like no other could explain all at first
    parameters = climbed(height, begin, bounds, moving, 1e-3)
    parameters = climbed(height, parameters, bounds, np.ones(len(begin), dtype=bool), TOLERANCE)
    part = terms(parameters)
    value = _penalised(parameters, part, centre).value
    return OrderedLinkFit(OrderedLink.of(parameters, order), value, part.mean_bar[:, None], part.variance_bar)


def _usual(ranks: Indices, weights: Array, n_thresholds: int) -> Array:
    """Return thresholds with which a latent value that nothing is known of has the classes in their shares."""
    counts = np.bincount(ranks, weights, n_thresholds + 1) + 1.0 / (n_thresholds + 1)
    return ndtri(np.cumsum(counts)[:-1] / counts.sum()) / _PRIOR_SCALE


class _Terms(NamedTuple):
    value: float
    slope: Array
    curvature: Array
    mean_bar: Array
    variance_bar: Array


def _penalised(parameters: Array, part: _Terms, centre: Array) -> Height:
    """Return the value with the logarithm of the prior, and the derivatives."""
    away = parameters[-3:] - centre
    z = _PRIOR_SCALE * _padded(parameters[:-3])
    q = interval(z[:-1], z[1:])
    n_classes, k = len(z) - 1, slice(0, len(parameters) - 3)
    share = 1.0 / n_classes
    slope, curvature = part.slope.copy(), part.curvature.copy()
    slope[-3:] -= away
    slope[k] += share * _PRIOR_SCALE * (q.upper[:-1] - q.lower[1:])
    curvature[-3:, -3:] -= np.eye(3)
    second = _second(q, z[:-1], z[1:])
    places = np.arange(n_classes - 1)
    curvature[places, places] += share * _PRIOR_SCALE**2 * (second.upper[:-1] + second.lower[1:])
    inner = share * _PRIOR_SCALE**2 * second.both[1:-1]
    curvature[places[:-1], places[1:]] += inner
    curvature[places[1:], places[:-1]] += inner
    value = part.value - 0.5 * float(away @ away) + share * float(q.log_probability.sum())
    return Height(value, slope, curvature)


class _Second(NamedTuple):
    """Second derivatives of ln[Φ(h) - Φ(l)] in l, in h, and in both."""

    lower: Array
    upper: Array
    both: Array


def _second(q: Interval, low: Array, high: Array) -> _Second:
    return _Second((low - q.lower) * q.lower, -(high + q.upper) * q.upper, q.upper * q.lower)


def _terms(parameters: Array, mean: Array, variance: Array, ranks: Indices, weights: Array) -> _Terms:
    """Return Σ w ln p, its first and second derivatives in the parameters, and the first in means and variances.

    With s = 1/√(1 + cv), the ends h = s(a_k - βm) and l = s(a_{k-1} - βm) have the derivatives s in their thresholds,
    -sβm in ln β, and, with t = d ln s/d ln c, th and tl in ln c. Of p = (1 - ε)q + ε/K and r = (1 - ε)q/p the
    logarithm has the derivatives r ∂ln q, r ∂²ln q + r(1 - r) ∂ln q ∂ln qᵀ.
    """
    thresholds, (steepness, widening, floor) = parameters[:-3], np.exp(parameters[-3:])
    n, n_thresholds, n_classes = len(mean), len(thresholds), len(thresholds) + 1
    padded = _padded(thresholds)
    shrunk = 1.0 + widening * variance
    scale = 1.0 / np.sqrt(shrunk)
    low, high = (scale * (padded[ranks + side] - steepness * mean) for side in (0, 1))
    q = interval(low, high)
    second = _second(q, low, high)
    p = (1.0 - floor) * np.exp(q.log_probability) + floor / n_classes
    r = 1.0 - (floor / n_classes) / p
    turn = -0.5 * widening * variance / shrunk

    # ∂l and ∂h in all parameters but ε, and the slope of ln q; a threshold that is beyond has no row of its own.
    rows = np.arange(n)
    by_low, by_high = np.zeros((2, n, n_thresholds + 4))
    by_low[rows, ranks] = by_high[rows, ranks + 1] = scale  # with columns for a_0 and a_K, which do not move
    for ends, by in ((low, by_low), (high, by_high)):
        by[:, -2] = -scale * steepness * mean
        by[:, -1] = turn * ends
    kept = [*range(1, n_thresholds + 1), -2, -1]
    by_low, by_high = by_low[:, kept], by_high[:, kept]
    slope_q = q.upper[:, None] * by_high - q.lower[:, None] * by_low
    by_floor = floor * (1.0 / n_classes - np.exp(q.log_probability)) / p

    inner = weights * r
    slope = np.append(inner @ slope_q, weights @ by_floor)
    curvature = np.empty((n_thresholds + 3, n_thresholds + 3))
    curved = (slope_q * (inner * (1.0 - r))[:, None]).T @ slope_q
    curved += (by_high * (inner * second.upper)[:, None]).T @ by_high
    curved += (by_low * (inner * second.lower)[:, None]).T @ by_low
    mixed = (by_high * (inner * second.both)[:, None]).T @ by_low
    curved += mixed + mixed.T
    curved += _bends(inner, q, (low, high), by_low, by_high, turn, shrunk)
    curvature[:-1, :-1] = curved
    mixed_floor = -floor * np.exp(q.log_probability) / p - r * by_floor
    curvature[-1, :-1] = curvature[:-1, -1] = (weights * mixed_floor) @ slope_q
    curvature[-1, -1] = float(weights @ (by_floor - by_floor**2))

    push = q.upper - q.lower
    stretch = q.upper * high - q.lower * low
    by_mean, by_variance = -inner * scale * steepness * push, -0.5 * inner * stretch * widening / shrunk
    return _Terms(float(weights @ np.log(p)), slope, curvature, by_mean, by_variance)


def _bends(
    inner: Array, q: Interval, ends: tuple[Array, Array], by_low: Array, by_high: Array, turn: Array, shrunk: Array
) -> Array:
    """Return the part of the curvature that comes from second derivatives of the ends themselves."""
    low, high = ends
    bends = np.zeros((by_low.shape[1], by_low.shape[1]))
    for weight, end, by in ((inner * q.upper, high, by_high), (-inner * q.lower, low, by_low)):
        bends[-2, -2] += float(weight @ by[:, -2])
        bends[-1, -1] += float(weight @ (end * (turn**2 + turn / shrunk)))
        across = (weight * turn) @ by[:, :-1]
        bends[-1, :-1] += across
        bends[:-1, -1] += across
    return bends


def _padded(thresholds: Array) -> Array:
    return np.concatenate([[-BEYOND], thresholds, [BEYOND]])


@lru_cache(maxsize=64)
def _lines(thresholds: tuple[float, ...]) -> tuple[Array, Array]:
    """Return slopes and offsets of lines in βm, one for each class, with mean 0.

    Neighbours k and k + 1 have the log-odds ln{[Φ(a_{k+1} - x) - Φ(a_k - x)]/[Φ(a_k - x) - Φ(a_{k-1} - x)]} at x = βm;
    the difference of their lines is its tangent at x = a_k.
    """
    a = _padded(np.array(thresholds))
    inner = a[1:-1]
    below, above = interval(a[:-2] - inner, np.zeros(len(inner))), interval(np.zeros(len(inner)), a[2:] - inner)
    slopes = (above.lower - above.upper) - (below.lower - below.upper)
    offsets = above.log_probability - below.log_probability - slopes * inner
    lines = np.array([np.append(0.0, np.cumsum(part)) for part in (slopes, offsets)])
    centred = lines - lines.mean(axis=1, keepdims=True)
    return centred[0], centred[1]
