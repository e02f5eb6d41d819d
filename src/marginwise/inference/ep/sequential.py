"""Expectation propagation one site at a time: slower than all at once, but it converges where that does not."""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled, compiled_vector
from marginwise.likelihoods.base import WeightedLikelihood
from marginwise.likelihoods.slack import Slack
from marginwise.likelihoods.tilted import tilted_slack


def sweep_sites(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, likelihood: WeightedLikelihood, part: float
) -> None:
    """Update each site once, in order and by this part, with the Gaussian kept up to date in between; in place.

    ``covariance`` (both triangles) and ``mean`` are those of the sites; afterwards they carry the rounding errors
    of n updates and are best computed afresh.
    """
    if isinstance(likelihood.likelihood, Slack):
        power, C, weights = likelihood.likelihood.power, likelihood.C, likelihood.weights
        _sweep_slack(covariance, mean, tau, nu, y, power, C, weights, part)
    else:
        _sweep_any(covariance, mean, tau, nu, y, likelihood, part)


def _sweep_any(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, likelihood: WeightedLikelihood, part: float
) -> None:
    """Ask the likelihood for the moments of each cavity when it is its turn."""
    t, C, weights = likelihood.likelihood, likelihood.C, likelihood.weights
    for i in range(len(y)):
        m, v = _cavity(covariance, mean, tau, nu, i)
        if v > 0.0:
            tilted = t.tilted(np.array([y[i] * m]), np.array([v]), C, weights[i : i + 1])
            slope, shrink, keep = y[i] * tilted.slope[0], tilted.shrink[0], tilted.keep[0]
            _update(covariance, mean, tau, nu, i, m, v, slope, shrink, keep, part)


@compiled
def _sweep_slack(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, power: int, C: float, weights: Array, part: float
) -> None:
    """Do the same without leaving compiled code."""
    for i in range(len(y)):
        m, v = _cavity(covariance, mean, tau, nu, i)
        if v > 0.0:
            _, slope, shrink, keep, _, _, _, _, _ = tilted_slack(power, y[i] * m, v, C * weights[i])
            _update(covariance, mean, tau, nu, i, m, v, y[i] * slope, shrink, keep, part)


@compiled
def _cavity(covariance: Array, mean: Array, tau: Array, nu: Array, i: int) -> tuple[float, float]:
    """Return mean and variance of a cavity; 0 as variance where rounding has eaten this marginal.

    The next sweep starts from a fresh factorisation.
    """
    variance = covariance[i, i]
    free = 1.0 - tau[i] * variance
    if not (variance > 0.0 and free > 0.0):
        return 0.0, 0.0
    v = variance / free
    return mean[i] - v * (nu[i] - tau[i] * mean[i]), v


@compiled
def _update(
    covariance: Array,
    mean: Array,
    tau: Array,
    nu: Array,
    i: int,
    m: float,
    v: float,
    slope: float,
    shrink: float,
    keep: float,
    part: float,
) -> None:
    """Move a site towards the tilted moments of its cavity N(m, v), and the Gaussian with it."""
    matched = shrink / (v * keep)
    new_tau = tau[i] + part * (matched - tau[i])
    new_nu = nu[i] + part * (matched * m + slope / keep - nu[i])
    change = new_tau - tau[i]
    grown = 1.0 + change * covariance[i, i]
    if grown > 0.0:
        # (Σ⁻¹ + δ eᵢeᵢᵀ)⁻¹ = Σ - δ/(1 + δΣᵢᵢ) ΣᵢΣᵢᵀ
        _rank_one(covariance, mean, i, change / grown, (new_nu - nu[i] - change * mean[i]) / grown)
        tau[i], nu[i] = new_tau, new_nu


@compiled_vector
def _rank_one(covariance: Array, mean: Array, i: int, shrinkage: float, shift: float) -> None:
    column = covariance[i].copy()
    for k in range(len(mean)):
        factor = shrinkage * column[k]
        row = covariance[k]
        for j in range(len(mean)):
            row[j] -= factor * column[j]
        mean[k] += shift * column[k]
