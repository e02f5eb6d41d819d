"""The height of the posterior's maximum and the curvature around it, as Laplace's approximation takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.criteria.training import Trained

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def log_maximum(trained: Trained) -> float:
    """Return ln Q*(Y|X), eq. (p*yx) times n."""
    loss = trained.penalties @ trained.slack.loss(trained.margin)
    kappa = trained.slack.log_kappa(trained.model.C)
    return float(-0.5 * trained.solution.alpha @ trained.margin - loss + trained.total_weight * kappa)


def log_maximum_slope(trained: Trained) -> float:
    """Return ∂ln Q*/∂log C: the maximum moves, but to no first-order effect."""
    C = trained.model.C
    loss = trained.penalties @ trained.slack.loss(trained.margin)
    return float(trained.total_weight * C * trained.slack.log_kappa_derivative(C) - loss)


@dataclass(frozen=True, eq=False)
class Curvature:
    """√L of the points with curvature (their places among the support vectors), and its derivatives."""

    inside: Indices
    root: Array
    by_alpha: Array
    by_log_C: Array


def kinks(trained: Trained) -> Curvature:
    """Return √L = √(2π) α(C - α)/C, what integrating over the kink of l_1 leaves of it, smoothed."""
    marginal = trained.solution.marginal
    alpha, C = trained.solution.alpha[marginal], trained.penalties[marginal]
    unit = math.sqrt(2.0 * math.pi)
    return Curvature(
        trained.marginal_in_support,
        unit * alpha * (C - alpha) / C,
        unit * (1.0 - 2.0 * alpha / C),
        unit * alpha**2 / C,
    )


def smoothed_curvature(trained: Trained, a: float) -> Curvature:
    """Return √L = √C exp(-t), t = a/(2(1-z)) = aC/(2α); points where it underflows have no curvature."""
    support = trained.solution.support
    alpha, C = trained.solution.alpha[support], trained.penalties[support]
    t = 0.5 * a * C / alpha
    inside = np.flatnonzero(t < 700.0)
    alpha, C, t = alpha[inside], C[inside], t[inside]
    root = np.sqrt(C) * np.exp(-t)
    return Curvature(inside, root, root * t / alpha, root * (0.5 - t))
