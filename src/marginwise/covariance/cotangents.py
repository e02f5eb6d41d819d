"""Derivatives of functions of a Gaussian of sites with respect to the Gram matrix, as n×n matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.covariance.triangles import mirrored


def marginals_cotangent(square: Array, sigma: Array, tau: Array, b: Array, pulled: Array, variance_bar: Array) -> Array:
    """Return ∂/∂K at fixed sites of a function with cotangents μ̄, σ̄² of the marginals.

    With P = I - TΣ = (I + TK)⁻¹: dμ = Pᵀ dK b and dΣ = Pᵀ dK P, so that it is sym[(Pμ̄)bᵀ] + P diag(σ̄²) Pᵀ.
    b and Pμ̄, which is ``pulled``, may have columns: several means of one covariance. ``square`` and ``sigma`` are the
    lower triangles of Σ diag(σ̄²) Σ, which is overwritten, and of Σ.
    """
    n = len(tau)
    b, u = np.asfortranarray(b.reshape(n, -1)), np.asfortranarray(pulled.reshape(n, -1))
    _project(square, sigma, tau, variance_bar)
    syr2k = get_blas_funcs("syr2k", (square,))
    return mirrored(syr2k(0.5, u, b, beta=1.0, c=square, lower=1, overwrite_c=1))


def groups_cotangent(product: Array, b: Array, pulled: Array) -> Array:
    """Return the same for a function of the joint marginals of groups, from PS̄Pᵀ, S̄ the cotangent of Σ."""
    n = len(b)
    total = product + pulled.reshape(n, -1) @ b.reshape(n, -1).T
    return 0.5 * (total + total.T)


@compiled_vector
def _project(square: Array, sigma: Array, tau: Array, variance_bar: Array) -> None:
    """Turn ΣS̄Σ into PS̄Pᵀ = S̄ - TΣS̄ - S̄ΣT + T(ΣS̄Σ)T, in the lower triangle."""
    n = len(tau)
    for j in range(n):
        for i in range(j, n):
            crossed = tau[i] * variance_bar[j] + tau[j] * variance_bar[i]
            square[i, j] = tau[i] * tau[j] * square[i, j] - crossed * sigma[i, j]
        square[j, j] += variance_bar[j]


@compiled_vector
def evidence_cotangent(covariance: Array, b: Array, tau: Array, free: Array) -> Array:
    """Return ½(bbᵀ - W), W = T - TΣT, from the lower triangle of Σ."""
    n = len(b)
    G = np.empty((n, n), covariance.dtype).T
    block = 32  # the mirrored entries of a block stay in the cache
    for start in range(0, n, block):
        stop = min(start + block, n)
        for low in range(start, n, block):
            high = min(low + block, n)
            for j in range(start, stop):
                for i in range(max(low, j + 1), high):
                    value = 0.5 * (b[i] * b[j] + tau[i] * tau[j] * covariance[i, j])
                    G[i, j] = value
                    G[j, i] = value
        for j in range(start, stop):
            G[j, j] = 0.5 * (b[j] * b[j] - tau[j] * free[j])
    return G
