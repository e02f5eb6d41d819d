"""Expectation propagation one site at a time: slower than all at once, but it converges where that does not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled, compiled_vector
from marginwise.inference.likelihoods import Likelihood, tilt

Array = npt.NDArray[np.float64]


def sweep_sites(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, likelihood: Likelihood, part: float
) -> None:
    """Update each site once, in order and by this part, with the Gaussian kept up to date in between; in place.

    ``covariance`` (both triangles) and ``mean`` are those of the sites; afterwards they carry the rounding errors
    of n updates and are best computed afresh.
    """
    _sweep(covariance, mean, tau, nu, y, likelihood.kind, likelihood.C, likelihood.weights, part)


@compiled
def _sweep(
    covariance: Array, mean: Array, tau: Array, nu: Array, y: Array, kind: int, C: float, weights: Array, part: float
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
        new_tau = tau[i] + part * (new_tau - tau[i])
        new_nu = nu[i] + part * (new_nu - nu[i])
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
