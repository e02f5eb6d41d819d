"""From the moments of the latent functions of all classes to class probabilities.

    p_k = (1 - ε) softmax_k[β m/√(1 + cv)] + ε/K,

m the latent means, v their common variance. β is the steepness, c says how much an uncertain latent value counts for
less (MacKay 1992 has c = π/8 for the logistic function), ε is the share of rows like no other. All three are found from
the examples left out, with weak priors on their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices

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

    def loss(logs: Array) -> tuple[float, Array]:
        part = _terms(logs, mean, variance, labels, weights)
        off = logs - centre
        return -part.value + 0.5 * float(off @ off), -part.by_logs + off

    begin = np.clip(centre if start is None else start.logs, *np.transpose(_BOUNDS))
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=_BOUNDS, options=_OPTIONS)
    part = _terms(found.x, mean, variance, labels, weights)
    return LinkFit(SoftmaxLink(*np.exp(found.x)), -float(found.fun), part.mean_bar, part.variance_bar)


#: Until nothing moves: derivatives of the criterion rely on the optimum.
_OPTIONS = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 100}


class _Terms(NamedTuple):
    value: float
    by_logs: Array
    mean_bar: Array
    variance_bar: Array


def _terms(logs: Array, mean: Array, variance: Array, labels: Indices, weights: Array) -> _Terms:
    """Return Σ w ln p and its derivatives in the logarithms of the link, the means and the variances."""
    steepness, widening, floor = np.exp(logs)
    n, K = mean.shape
    rows = np.arange(n)
    shrunk = 1.0 + widening * variance
    scale = steepness / np.sqrt(shrunk)
    log_q = log_softmax(scale[:, None] * mean, axis=1)
    q = np.exp(log_q)
    own = q[rows, labels]
    p = (1.0 - floor) * own + floor / K
    inner = weights * (1.0 - floor) * own / p
    by_logit = -inner[:, None] * q
    by_logit[rows, labels] += inner
    by_log_scale = scale * np.einsum("ij,ij->i", by_logit, mean)
    by_widened = -0.5 * by_log_scale / shrunk  # ∂/∂(cv)
    by_logs = np.array(
        [by_log_scale.sum(), widening * (by_widened @ variance), floor * float(weights @ ((1.0 / K - own) / p))]
    )
    return _Terms(float(weights @ np.log(p)), by_logs, scale[:, None] * by_logit, widening * by_widened)
