"""Expectation propagation one site at a time: slower than all at once, but it converges where that does not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled, compiled_vector
from marginwise.posterior.likelihoods import Likelihood, tilt

Array = npt.NDArray[np.float64]


def sweep_sites(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, likelihood: Likelihood, step: float
) -> tuple[Array, Array]:
    """Return the sites after each was updated once, in order, with the Gaussian kept up to date in between.

    ``covariance`` (both triangles) and ``mean`` are those of the sites given, and are overwritten.
    """
    tau, nu = tau.copy(), nu.copy()
    _sweep(covariance, mean, tau, nu, y, likelihood.kind, likelihood.C, likelihood.weights, step)
    return tau, nu


@compiled
def _sweep(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, kind: int, C: float, weights: Array, step: float
) -> None:
    for i in range(len(y)):
        variance = covariance[i, i]
        free = 1.0 - tau[i] * variance
        if not (variance > 0.0 and free > 0.0):
            continue  # rounding has eaten this marginal; the next sweep starts from a fresh factorisation
        v = variance / free
        m = mean[i] - v * (nu[i] - tau[i] * mean[i])
        _, slope, shrink, keep, _, _, _, _, _ = tilt(kind, y[i] * m, v, C, weights[i])
        new_tau = shrink / (v * keep)
        new_nu = new_tau * m + y[i] * slope / keep
        new_tau = tau[i] + step * (new_tau - tau[i])
        new_nu = nu[i] + step * (new_nu - nu[i])
        change = new_tau - tau[i]
        grown = 1.0 + change * variance
        if not grown > 0.0:
            continue
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
