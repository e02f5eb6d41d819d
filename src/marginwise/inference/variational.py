"""The Gaussian nearest to the posterior in Kullback–Leibler divergence, and the bound on the evidence that it gives.

Its covariance is (K⁻¹ + diag τ)⁻¹ (Opper & Archambeau 2009), so that it has sites like those of expectation
propagation: τ = -∂²E[ln t]/∂μ² and K⁻¹μ = ∂E[ln t]/∂μ under its own marginals. For the linear slack this is Seeger's
"SVM Var", for the logistic likelihood his "GP Var" (Seeger 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.gaussian import SiteGaussian, Sites
from marginwise.errors import Finding, InvalidInputError
from marginwise.inference.ep.jacobian import SiteJacobian
from marginwise.inference.ep.result import SiteApproximation
from marginwise.inference.ep.run import TOLERANCE
from marginwise.likelihoods.base import Moments, WeightedLikelihood
from marginwise.status import CONVERGED, Status

_EPSILON = float(np.finfo(float).eps)

#: Largest residual at which Newton's method is tried.
_NEAR = 0.5

#: Smallest part of a natural gradient step that is tried.
_SHORTEST = 1e-6


def run_variational(
    covariance: DenseCovariance,
    y: Array,
    likelihood: WeightedLikelihood,
    *,
    start: Sites | None = None,
    max_sweeps: int = 500,
    tolerance: float = TOLERANCE,
) -> SiteApproximation:
    """Maximise the bound on ln Q(Y|X), started from the sites ``start`` if given.

    Near the maximum by Newton's method; elsewhere along the natural gradient (Khan & Lin 2017), which is the change
    towards the sites of the present moments, as far as the bound rises.
    """
    bound = _Bound(covariance, y, likelihood)
    point = None if start is None else bound.point(start)
    point = point or bound.prior()
    sweeps = 0
    while point.residual > tolerance and sweeps < max_sweeps:
        sweeps += 1
        moved = bound.newton(point) if point.residual < _NEAR else None
        moved = moved or bound.natural_gradient(point)
        if moved is None:
            break
        point = moved
    status = CONVERGED
    rounding = 10.0 * _EPSILON * float((covariance.diagonal / point.gaussian.variance).max())
    if point.residual > max(tolerance, rounding):
        status = Status(
            False,
            f"the variational bound's gradient was still {point.residual:.1e} standard deviations after {sweeps} "
            "steps; try a smaller C·k0 or shorter length scales",
        )
    return SiteApproximation(point.gaussian, point.expected, point.value, status, point.residual, sweeps)


@dataclass(frozen=True, eq=False)
class _Point:
    gaussian: SiteGaussian
    expected: Moments
    stationary: Sites  # those that the present moments ask for
    value: float  # of the bound
    residual: float


@dataclass(frozen=True, eq=False)
class _Bound:
    covariance: DenseCovariance
    y: Array
    likelihood: WeightedLikelihood

    def point(self, sites: Sites) -> _Point | None:
        """Return the bound at these sites, or None if their Gaussian can't be computed."""
        gaussian = self.covariance.gaussian(*sites)
        if gaussian is None:
            return None
        expected = self.likelihood.expected(gaussian.mean, gaussian.variance, self.y)
        # ln Q ≥ Σ E[ln t] - KL(q|p), KL = ½[tr K⁻¹Σ - n + μᵀK⁻¹μ + ln|K| - ln|Σ|], tr K⁻¹Σ = n - Στσ²
        value = (
            float(expected.value.sum())
            + 0.5 * float(gaussian.tau @ gaussian.variance - gaussian.mean @ gaussian.dual_mean)
            - 0.5 * gaussian.log_det
            + self.likelihood.log_kappa * float(self.likelihood.weights.sum())
        )
        if not np.isfinite(value):
            return None
        tau = expected.shrink / gaussian.variance
        shift = np.sqrt(gaussian.variance) * (expected.slope - gaussian.dual_mean)
        spread = expected.shrink - gaussian.tau * gaussian.variance
        residual = float(max(np.abs(shift).max(), np.abs(spread).max()))
        return _Point(gaussian, expected, Sites(tau, expected.slope + tau * gaussian.mean), value, residual)

    def prior(self) -> _Point:
        """Return the bound without sites."""
        zero = np.zeros(len(self.y))
        point = self.point(Sites(zero, zero))
        if point is None:
            raise InvalidInputError(
                "kernel", Finding("has no positive K(x, x) at some row"), "a covariance; add a Constant"
            )
        return point

    def newton(self, point: _Point) -> _Point | None:
        """Return the point after a step of Newton's method, or None if that is no better."""
        gaussian = point.gaussian
        jacobian = SiteJacobian(gaussian, point.expected, cavities=False)
        start, accuracy = Sites(gaussian.tau, gaussian.nu), min(0.01, 0.1 * point.residual)
        moved = self.point(jacobian.step(start, point.stationary, gaussian.mean, accuracy))
        return moved if moved is not None and moved.residual < 0.5 * point.residual else None

    def natural_gradient(self, point: _Point) -> _Point | None:
        """Return the point after the longest step, of 1, ½, ¼ …, that raises the bound."""
        gaussian, wanted = point.gaussian, point.stationary
        part = 1.0
        while part > _SHORTEST:
            tau = gaussian.tau + part * (wanted.tau - gaussian.tau)
            moved = self.point(Sites(tau, gaussian.nu + part * (wanted.nu - gaussian.nu)))
            if moved is not None and moved.value > point.value:
                return moved
            part *= 0.5
        return None
