"""Expectation propagation for one latent value per point (Minka 2001; Rasmussen & Williams 2006, section 3.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from marginwise.posterior.likelihoods import Likelihood
from marginwise.status import CONVERGED, Status

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EPResult:
    """The Gaussian approximation N(mean, (K⁻¹ + diag τ)⁻¹), mean = Σν, of the posterior of the latent values.

    Attributes
    ----------
    tau, nu : arrays of shape (n,)
        Site parameters: point i contributes the factor exp(-½τ_iθ_i² + ν_iθ_i).
    mean, variance : arrays of shape (n,)
        Marginals of the latent values.
    dual_mean : array of shape (n,)
        b = K⁻¹ mean.
    cavity_mean, cavity_variance : arrays of shape (n,)
        The marginals without the point's own site: the leave-one-out latent distributions.
    log_evidence : float
        ln Q(Y|X), ln κ(C) included.
    status : Status
        Whether the sites reached their fixed point.
    sweeps : int
        Updates of all sites.
    """

    tau: Array
    nu: Array
    mean: Array
    variance: Array
    dual_mean: Array
    cavity_mean: Array
    cavity_variance: Array
    log_evidence: float
    status: Status
    sweeps: int


def run_ep(
    gram: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    start: EPResult | None = None,
    tolerance: float = 1e-8,
    max_sweeps: int = 1000,
) -> EPResult:
    """Return the fixed point of expectation propagation, started from the sites of ``start`` if given."""
    n = len(y)
    tau, nu = (np.zeros(n), np.zeros(n)) if start is None else (start.tau, start.nu)
    damping, last, good = 0.5, np.inf, 0
    for sweep in range(max_sweeps):
        root = np.sqrt(tau)
        B = gram * np.outer(root, root)
        B[np.diag_indices(n)] += 1.0
        L = lapack.dpotrf(B, lower=1, clean=1)[0]
        V = lapack.dtrtrs(L, root[:, None] * gram, lower=1)[0]
        variance = np.diag(gram) - np.einsum("ij,ij->j", V, V)
        b = nu - root * lapack.dpotrs(L, root * (gram @ nu), lower=1)[0]
        mean = gram @ b
        v = variance / (1.0 - tau * variance)
        m = mean - v * b
        t = likelihood.tilted(y * m, v)
        slope = y * t.slope
        residual = max(np.abs(v * (slope - b) / np.sqrt(variance)).max(), np.abs(t.keep * v / variance - 1).max())
        if residual <= tolerance:
            break
        good = good + 1 if residual < 1.1 * last else 0
        if residual > 1.1 * last:
            damping = max(0.05, 0.6 * damping)
        elif good > 3:
            damping = min(1.0, 1.15 * damping)
        last = residual
        tau_new = t.shrink / (v * t.keep)
        tau = tau + damping * (tau_new - tau)
        nu = nu + damping * (tau_new * m + slope / t.keep - nu)
    log_evidence = (
        float(np.sum(t.log_z) + 0.5 * np.sum(v * b * b) - 0.5 * mean @ b + 0.5 * np.sum(np.log1p(tau * v)))
        - float(np.log(np.diag(L)).sum())
        + likelihood.log_kappa * float(likelihood.weights.sum())
    )
    ok = residual <= tolerance
    status = CONVERGED if ok else Status(False, f"EP ended with residual {residual:.1e} after {sweep} sweeps")
    return EPResult(tau, nu, mean, variance, b, m, v, log_evidence, status, sweep)
