"""Derivatives at the fixed point of expectation propagation: of its evidence, and of its leave-one-out probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import SiteGaussian
from marginwise.covariance.groups import BlockDiagonal, GroupCavities
from marginwise.inference.ep.jacobian import SiteJacobian
from marginwise.inference.ep.repetitions import without_one
from marginwise.inference.ep.result import SiteApproximation
from marginwise.likelihoods.base import Moments, WeightedLikelihood
from marginwise.problem import Problem

#: Relative accuracy of the adjoint system, or that of the fixed point if it is worse.
_ACCURACY = 1e-10


def evidence_gradient(result: SiteApproximation, likelihood: WeightedLikelihood) -> Array:
    """Return the derivatives of ln Q(Y|X) in the logarithms of C and the kernel's hyperparameters.

    At the fixed point the evidence of expectation propagation, and the bound of the variational approximation, are
    stationary in the sites, so that only explicit dependences count: ∂/∂K = ½(bbᵀ - W) (Rasmussen & Williams 2006,
    eq. 5.27), ∂/∂C = Σ ∂L_i/∂C + n ∂ln κ/∂C, with L_i the likelihood's ln Z or E[ln t].
    """
    gaussian = result.gaussian
    blur_bar = _by_variance(result.moments, gaussian.cavity_variance)
    by_c = result.moments.value_c.sum() + likelihood.log_kappa_c * likelihood.weights.sum()
    return np.concatenate([[likelihood.C * by_c], gaussian.contract_evidence(blur_bar)])


class LeftOutProbability(NamedTuple):
    """Log-probability of each label under its cavity, normalised over the two labels; derivatives at fixed cavity."""

    log_probability: Array
    by_mean: Array
    by_variance: Array
    by_blur: Array
    by_c: Array


def leave_one_out(
    gaussian: SiteGaussian,
    likelihood: WeightedLikelihood,
    problem: Problem,
    cavities: GroupCavities | None = None,
) -> LeftOutProbability:
    """Return ln[Z_i(+)/(Z_i(+) + Z_i(-))]: the log-probability of each label given all other examples, or groups.

    ``cavities`` are those of the problem's groups, if they are at hand.

    Several examples in a row have one site, and one of them is left out: what the others say of the latent value, the
    cavity tilted by t to the power of their weight, is a Gaussian of the same moments again.
    """
    y, remainder = problem.y, problem.weights - problem.left_out
    cavity = gaussian.cavity_mean, gaussian.cavity_variance
    if problem.groups is not None:
        cavities = cavities or GroupCavities.of(gaussian, problem.groups)
        cavity = cavities.mean(gaussian.mean, gaussian.dual_mean), cavities.variance
    rest = without_one(*cavity, y, likelihood, remainder)
    m, v = rest.mean, rest.variance
    one = likelihood.with_weight_one()
    right, wrong = one.tilted(m, v, y), one.tilted(m, v, -y)
    log_probability = -np.logaddexp(0.0, wrong.value - right.value)
    p_wrong = -np.expm1(log_probability)
    to_mean = p_wrong * (right.slope - wrong.slope)
    to_variance = p_wrong * (_by_variance(right, v) - _by_variance(wrong, v))
    to_c = p_wrong * (right.value_c - wrong.value_c)
    return LeftOutProbability(
        log_probability,
        to_mean * rest.mean_m + to_variance * rest.variance_m,
        to_mean * rest.mean_v + to_variance * rest.variance_v,
        to_variance + to_mean * rest.mean_blur + to_variance * rest.variance_blur,
        to_c + to_mean * rest.mean_c + to_variance * rest.variance_c,
    )


def mean_leave_one_out(result: SiteApproximation, likelihood: WeightedLikelihood, problem: Problem) -> float:
    """Return the weighted mean log-probability of the left-out labels."""
    loo = leave_one_out(result.gaussian, likelihood, problem)
    return float(problem.weights / problem.weights.sum() @ loo.log_probability)


def leave_one_out_with_gradient(
    result: SiteApproximation, likelihood: WeightedLikelihood, problem: Problem
) -> tuple[float, Array]:
    """Return the weighted mean log-probability of the left-out labels, and its derivatives.

    The fixed point moves with the hyperparameters; its movement is taken into account by the adjoint of the
    linearised map (``jacobian``). For x = dm + b dv and dv, the movements of the cavities, with cotangents x̄, v̄:

        x̄ = L_m - β⁻²l₃ τ̄,   v̄ = L_v - bL_m - ½β⁻²l₄ τ̄ + ½β⁻¹l₃ ē,   τ̄ = -(Σ°∘Σ°)β⁻²v̄,   ē = Σ°β⁻¹x̄.

    Where groups are left out, L has other cavities than the fixed point. They depend on the marginals and on the sites
    themselves (``GroupCavities``), and their cotangents are added to those of τ and e, and of μ and Σ at fixed sites.
    """
    gaussian, tilted = result.gaussian, result.moments
    shares = problem.weights / problem.weights.sum()
    cavities = None if problem.groups is None else GroupCavities.of(gaussian, problem.groups)
    loo = leave_one_out(gaussian, likelihood, problem, cavities)
    jacobian = SiteJacobian(gaussian, tilted, cavities=True)
    scale, third, fourth = jacobian.scale, jacobian.third, jacobian.fourth  # σ, σ³l₃/β³, σ⁴l₄/β⁴
    start = _direct(gaussian, jacobian, shares * loo.by_mean, shares * loo.by_variance, cavities)
    accuracy = max(_ACCURACY, result.residual)
    # in units of the posterior's standard deviations
    tau_bar = jacobian.solve_transposed(start.tau - jacobian.correlate_squared(0.5 * third * start.e), accuracy)
    x_bar = -third * tau_bar
    e_bar = start.e + jacobian.correlate(x_bar)
    v_bar = -0.5 * fourth * tau_bar + 0.5 * third * e_bar

    # At fixed cavities dτ/dC = -β⁻² ∂³ln Z/∂m²∂C and e = dν - μ dτ is β⁻¹ ∂²ln Z/∂m∂C, and the same for the blur.
    by_curvature, by_slope = -tau_bar * (scale / tilted.keep) ** 2, e_bar * scale / tilted.keep
    blur_bar = shares * loo.by_blur + _moved_by_blur(gaussian, tilted, by_curvature, by_slope)
    mean_bar, variance_bar = start.mean + x_bar / scale, v_bar / scale**2
    direct = start.covariance
    covariance_bar = direct.plus(variance_bar) if isinstance(direct, BlockDiagonal) else direct + variance_bar
    by_kernel = gaussian.contract_marginals(mean_bar, covariance_bar, blur_bar)
    moved = by_curvature @ tilted.curvature_c + by_slope @ tilted.slope_c
    by_log_c = likelihood.C * (shares @ loo.by_c + moved)
    return float(shares @ loo.log_probability), np.concatenate([[by_log_c], by_kernel])


class _Direct(NamedTuple):
    """Cotangents of a function of cavities: of μ and Σ at fixed sites, and of τ and e in the posterior's units."""

    mean: Array
    covariance: Array | BlockDiagonal
    tau: Array
    e: Array


def _direct(
    gaussian: SiteGaussian, jacobian: SiteJacobian, m_bar: Array, v_bar: Array, cavities: GroupCavities | None
) -> _Direct:
    """Return those of a function with these cotangents of the moments of each row's cavity, or of its group's."""
    free, b, scale = gaussian.free, gaussian.dual_mean, jacobian.scale
    if cavities is None:  # a cavity does not depend on its own site: Σ° in the place of Σ
        mean, variance = m_bar / free, (v_bar - b * m_bar) / free**2
        return _Direct(
            mean, variance, -jacobian.correlate_squared(variance * scale**2), jacobian.correlate(mean * scale)
        )
    mean, covariance = cavities.cotangents(m_bar, v_bar, b)
    by_tau, by_e = cavities.to_sites(m_bar, v_bar, b)
    by_tau -= gaussian.times_squared(covariance)
    return _Direct(mean, covariance, by_tau / scale**2, (by_e + gaussian.times_covariance(mean)) / scale)


def _by_variance(moments: Moments, v: Array) -> Array:
    """Return ∂ln Z/∂v = ½(∂²ln Z/∂m² + (∂ln Z/∂m)²)."""
    return 0.5 * (moments.slope**2 - moments.shrink / v)


def _moved_by_blur(gaussian: SiteGaussian, tilted: Moments, by_curvature: Array, by_slope: Array) -> Array:
    """Return the part of the blur's cotangent that comes through the sites: derivatives of ∂ln Z/∂v in m."""
    b, curvature = tilted.slope, -tilted.shrink / gaussian.cavity_variance
    by_slope_part = by_slope * (0.5 * tilted.third + b * curvature)
    return by_slope_part + by_curvature * (0.5 * tilted.fourth + b * tilted.third + curvature**2)
