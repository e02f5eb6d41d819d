"""The height of the posterior's maximum and the curvature around it, as Laplace's approximation takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.criteria.training import Trained


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


def curvature(trained: Trained, a: float) -> Curvature:
    """Return √L of the marginal support vectors, those left out at which it underflows."""
    marginal = trained.solution.marginal
    rows = trained.slack.root_curvature(trained.solution.alpha[marginal], trained.penalties[marginal], a)
    curved = np.flatnonzero(rows.root)
    return Curvature(trained.marginal_in_support[curved], *(row[curved] for row in rows))
