"""Derivatives at the fixed point of expectation propagation: of its evidence, and of its leave-one-out probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise import kernel
from marginwise._jit import compiled_vector
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.gaussian import SiteGaussian
from marginwise.inference.jacobian import SiteJacobian
from marginwise.inference.likelihoods import Likelihood, Moments
from marginwise.inference.sites import SiteApproximation
from marginwise.problem import Problem

Array = npt.NDArray[np.float64]

#: Relative accuracy of the adjoint system.
_ACCURACY = 1e-10


def evidence_gradient(
    result: SiteApproximation,
    likelihood: Likelihood,
    gram: Array,
    problem: Problem,
    hyperparameters: Hyperparameters,
) -> Array:
    """Return the derivatives of ln Q(Y|X) in the logarithms of the hyperparameters.

    At the fixed point the evidence of expectation propagation, and the bound of the variational approximation, are
    stationary in the sites, so that only explicit dependences count: ∂/∂K = ½(bbᵀ - W) (Rasmussen & Williams 2006,
    eq. 5.27), ∂/∂C = Σ ∂L_i/∂C + n ∂ln κ/∂C, with L_i the likelihood's ln Z or E[ln t].
    """
    gaussian = result.gaussian
    G = _evidence_cotangent(gaussian.covariance, gaussian.dual_mean, gaussian.tau, gaussian.free)
    gradient = kernel.contract(G, gram, problem.X, hyperparameters)
    by_c = result.moments.value_c.sum() + likelihood.log_kappa_c * likelihood.weights.sum()
    gradient[0] = hyperparameters.C * by_c
    return gradient


class LeaveOneOut(NamedTuple):
    """Log-probability of each label under its cavity, normalised over the two labels; derivatives at fixed cavity."""

    log_probability: Array
    by_mean: Array
    by_variance: Array
    by_c: Array


def leave_one_out(gaussian: SiteGaussian, likelihood: Likelihood, y: Array) -> LeaveOneOut:
    """Return ln[Z_i(+)/(Z_i(+) + Z_i(-))]: the log-probability of each label given all other examples."""
    m, v = gaussian.cavity_mean, gaussian.cavity_variance
    one = likelihood.unweighted(len(y))
    right, wrong = one.tilted(m, v, y), one.tilted(m, v, -y)
    log_probability = -np.logaddexp(0.0, wrong.value - right.value)
    p_wrong = -np.expm1(log_probability)

    def by_variance(moments: Moments) -> Array:  # ∂ln Z/∂v = ½(∂²ln Z/∂m² + (∂ln Z/∂m)²)
        return 0.5 * (moments.slope**2 - moments.shrink / v)

    return LeaveOneOut(
        log_probability,
        p_wrong * (right.slope - wrong.slope),
        p_wrong * (by_variance(right) - by_variance(wrong)),
        p_wrong * (right.value_c - wrong.value_c),
    )


def mean_leave_one_out(result: SiteApproximation, likelihood: Likelihood, problem: Problem) -> float:
    """Return the weighted mean log-probability of the left-out labels."""
    loo = leave_one_out(result.gaussian, likelihood, problem.y)
    return float(problem.weights / problem.weights.sum() @ loo.log_probability)


def leave_one_out_with_gradient(
    result: SiteApproximation,
    likelihood: Likelihood,
    gram: Array,
    problem: Problem,
    hyperparameters: Hyperparameters,
) -> tuple[float, Array]:
    """Return the weighted mean log-probability of the left-out labels, and its derivatives.

    The fixed point moves with the hyperparameters; its movement is taken into account by the adjoint of the
    linearised map (``jacobian``). For x = dm + b dv and dv, the movements of the cavities, with cotangents x̄, v̄:

        x̄ = L_m - β⁻²l₃ τ̄,   v̄ = L_v - bL_m - ½β⁻²l₄ τ̄ + ½β⁻¹l₃ ē,   τ̄ = -(Σ°∘Σ°)β⁻²v̄,   ē = Σ°β⁻¹x̄.
    """
    gaussian, tilted = result.gaussian, result.moments
    shares = problem.weights / problem.weights.sum()
    loo = leave_one_out(gaussian, likelihood, problem.y)
    free, b = gaussian.free, gaussian.dual_mean
    jacobian = SiteJacobian(gaussian, tilted, cavities=True)
    scale, third, fourth = jacobian.scale, jacobian.third, jacobian.fourth  # σ, σ³l₃/β³, σ⁴l₄/β⁴
    by_mean = shares * loo.by_mean * scale / free  # in units of the posterior's standard deviations from here on
    by_variance = (shares * loo.by_variance - b * shares * loo.by_mean) * (scale / free) ** 2
    right = by_variance + 0.5 * third * jacobian.correlate(by_mean)
    tau_bar = jacobian.solve_transposed(-jacobian.correlate_squared(right), _ACCURACY)
    x_bar = by_mean - third * tau_bar
    e_bar = jacobian.correlate(x_bar)
    v_bar = by_variance - 0.5 * fourth * tau_bar + 0.5 * third * e_bar

    gradient = kernel.contract(
        _gram_cotangent(gaussian, x_bar / scale, v_bar / scale**2), gram, problem.X, hyperparameters
    )
    # At fixed cavities dτ/dC = -β⁻² ∂³ln Z/∂m²∂C and e = dν - μ dτ is β⁻¹ ∂²ln Z/∂m∂C.
    moved = -(tau_bar * scale**2) @ (tilted.curvature_c / tilted.keep**2) + (e_bar * scale) @ (
        tilted.slope_c / tilted.keep
    )
    gradient[0] = hyperparameters.C * (shares @ loo.by_c + moved)
    return float(shares @ loo.log_probability), gradient


def _gram_cotangent(gaussian: SiteGaussian, mean_bar: Array, variance_bar: Array) -> Array:
    """Return ∂/∂K at fixed sites of a function with cotangents μ̄, σ̄² of the marginals.

    With P = I - TΣ = (I + TK)⁻¹: dμ = Pᵀ dK b and dΣ = Pᵀ dK P, so that it is sym[(Pμ̄)bᵀ] + P diag(σ̄²) Pᵀ.
    """
    tau, sigma = gaussian.tau, gaussian.full_covariance()
    u = mean_bar - tau * gaussian.times_covariance(mean_bar)
    scaled = sigma * variance_bar  # Σ diag(σ̄²)
    G = scaled @ sigma
    G *= np.outer(tau, tau)
    cross = tau[:, None] * scaled
    cross += 0.5 * np.outer(u, -gaussian.dual_mean)
    G -= cross
    G -= cross.T
    G[np.diag_indices_from(G)] += variance_bar
    return G


@compiled_vector
def _evidence_cotangent(covariance: Array, b: Array, tau: Array, free: Array) -> Array:
    """Return ½(bbᵀ - W), W = T - TΣT, from the lower triangle of Σ."""
    n = len(b)
    G = np.empty((n, n)).T
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
