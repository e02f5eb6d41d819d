"""Expectation propagation for one latent value per point (Minka 2001; Rasmussen & Williams 2006, section 3.6).

Three ways of moving the sites towards their fixed point are used where each is best: all sites at once while far
away, Newton's method on the fixed-point equations once near, and one site at a time where the first two fail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError
from marginwise.posterior.ep_jacobian import EPJacobian
from marginwise.posterior.ep_sequential import sweep_sites
from marginwise.posterior.gaussian import SiteGaussian, site_gaussian
from marginwise.posterior.likelihoods import Likelihood, Tilted
from marginwise.status import CONVERGED, Status

Array = npt.NDArray[np.float64]

_EPSILON = float(np.finfo(float).eps)

#: Largest residual at which Newton's method is tried, and at which updates of all sites at once count as failed.
_NEAR, _FAR = 0.5, 5.0

#: Updates of all sites at once that are allowed before they must have come near.
_PATIENCE = 10

#: Newton's step for a precision is kept within this factor of the tilted moments' own value.
_FACTOR = 3.0

#: One site at a time, this part of each update is taken, because whole ones can run in circles; every
#: ``_CIRCLE`` sweeps it is made smaller.
_STEP, _CIRCLE = 0.9, 25

#: Rounding can't hide a larger residual than this; above it the result is reported as not converged.
_MOST_ROUNDING = 1e-2


@dataclass(frozen=True, eq=False)
class EPResult:
    """The Gaussian approximation N(mean, (K⁻¹ + diag τ)⁻¹), mean = Σν, of the posterior of the latent values.

    Attributes
    ----------
    gaussian : SiteGaussian
        The approximation, with all its moments.
    tilted : Tilted
        Moments of the exact likelihood under the cavities.
    log_evidence : float
        ln Q(Y|X), ln κ(C) included.
    status : Status
        Whether the sites reached their fixed point.
    residual : float
        Largest difference of tilted and Gaussian moments, in units of the Gaussian's.
    sweeps : int
        Updates of all sites.
    """

    gaussian: SiteGaussian
    tilted: Tilted
    log_evidence: float
    status: Status
    residual: float
    sweeps: int

    @property
    def tau(self) -> Array:
        """Precisions of the sites exp(-½τ_iθ_i² + ν_iθ_i)."""
        return self.gaussian.tau

    @property
    def nu(self) -> Array:
        """Linear parameters of the sites."""
        return self.gaussian.nu

    @property
    def mean(self) -> Array:
        """Mean of the latent values."""
        return self.gaussian.mean

    @property
    def variance(self) -> Array:
        """Variance of the latent values."""
        return self.gaussian.variance

    @property
    def dual_mean(self) -> Array:
        """b = K⁻¹ mean."""
        return self.gaussian.dual_mean

    @property
    def cavity_mean(self) -> Array:
        """Mean of the leave-one-out latent distributions."""
        return self.gaussian.cavity_mean

    @property
    def cavity_variance(self) -> Array:
        """Variance of the leave-one-out latent distributions."""
        return self.gaussian.cavity_variance


def run_ep(
    gram: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    start: EPResult | None = None,
    tolerance: float = 1e-8,
    max_sweeps: int = 500,
) -> EPResult:
    """Return the fixed point of expectation propagation, started from the sites of ``start`` if given."""
    model = _Model(gram, y, likelihood)
    point = None if start is None else model.point(start.tau, start.nu)
    if point is None or point.residual > _FAR:
        point = model.prior()
    sweeps = together = alone = 0  # all updates, those of all sites at once, those of one site at a time
    goal = _NEAR  # Newton's method is tried below it
    while point.residual > tolerance and sweeps < max_sweeps:
        sweeps += 1
        if point.residual < goal:
            moved = model.newton(point)
            if moved is None:
                if point.residual <= point.rounding:
                    break
                together, goal = _PATIENCE, 0.1 * point.residual
        elif together < _PATIENCE:
            together += 1
            moved = model.all_at_once(point)
            if moved is None:
                together = _PATIENCE
        else:
            moved = model.one_at_a_time(point, _STEP * 0.8 ** (alone // _CIRCLE))
            alone += 1
            if moved is None:
                break
        point = moved or point
    return model.result(point, tolerance, sweeps)


@dataclass(frozen=True, eq=False)
class _Point:
    """Sites, the moments they give, and the sites that match the tilted moments."""

    gaussian: SiteGaussian
    tilted: Tilted
    new_tau: Array
    new_nu: Array
    residual: float  # largest difference of tilted and Gaussian moments
    merit: float  # their root mean square
    rounding: float  # what can't be told from zero


@dataclass(frozen=True, eq=False)
class _Model:
    gram: Array
    y: Array
    likelihood: Likelihood

    def point(self, tau: Array, nu: Array) -> _Point | None:
        """Return the point of these sites, or None if their Gaussian can't be had."""
        gaussian = site_gaussian(self.gram, tau, nu)
        if gaussian is None:
            return None
        m, v, variance = gaussian.cavity_mean, gaussian.cavity_variance, gaussian.variance
        tilted = self.likelihood.tilted(m, v, self.y)
        new_tau = tilted.shrink / (v * tilted.keep)
        new_nu = new_tau * m + tilted.slope / tilted.keep
        scale = np.sqrt(variance)
        shift = v * (tilted.slope - gaussian.dual_mean) / scale
        spread = tilted.keep / gaussian.free - 1.0
        merit = float(np.sqrt((shift @ shift + spread @ spread) / len(m)))
        if not np.isfinite(merit):
            return None
        residual = max(float(np.abs(shift).max()), float(np.abs(spread).max()))
        # Σ is known to a relative error of about ε K_ii/Σ_ii, and with it the mean Σν.
        lost = float((self.gram.diagonal() / variance).max() * (1.0 + scale.max() * np.linalg.norm(nu)))
        rounding = min(10.0 * _EPSILON * lost, _MOST_ROUNDING)
        return _Point(gaussian, tilted, new_tau, new_nu, residual, merit, rounding)

    def prior(self) -> _Point:
        """Return the point without sites."""
        zero = np.zeros(len(self.y))
        point = self.point(zero, zero)
        if point is None:
            raise InvalidInputError("gram", "not positive", "a matrix with a positive diagonal")
        return point

    def all_at_once(self, point: _Point) -> _Point | None:
        """Return the point after an update of all sites from the same Gaussian, or None if it leads away."""
        moved = self.point(point.new_tau, point.new_nu)
        return moved if moved is not None and moved.residual < _FAR else None

    def newton(self, point: _Point) -> _Point | None:
        """Return the point after a step of Newton's method, or None if that is no better."""
        gaussian = point.gaussian
        tau, nu, mean = gaussian.tau, gaussian.nu, gaussian.mean
        wanted = point.new_tau - tau
        jacobian = EPJacobian(gaussian, point.tilted)
        change, e = jacobian.solve(wanted, point.new_nu - nu - mean * wanted, min(0.01, 0.1 * point.residual))
        bounds = np.sort([point.new_tau / _FACTOR, point.new_tau * _FACTOR], axis=0)
        new_tau = np.clip(tau + change, bounds[0], bounds[1])
        moved = self.point(new_tau, nu + e + mean * (new_tau - tau))
        return moved if moved is not None and moved.merit < 0.7 * point.merit else None

    def one_at_a_time(self, point: _Point, step: float) -> _Point | None:
        """Return the point after an update of each site in turn."""
        gaussian = point.gaussian
        sites = sweep_sites(
            gaussian.full_covariance(), gaussian.mean.copy(), gaussian.tau, gaussian.nu, self.y, self.likelihood, step
        )
        return self.point(*sites)

    def result(self, point: _Point, tolerance: float, sweeps: int) -> EPResult:
        gaussian, tilted = point.gaussian, point.tilted
        b, v = gaussian.dual_mean, gaussian.cavity_variance
        # Rasmussen & Williams (2006), eq. 3.65, with the quadratic terms collected in b = K⁻¹μ.
        log_evidence = (
            float(tilted.log_z.sum() - 0.5 * np.log(gaussian.free).sum() + 0.5 * (v * b * b).sum())
            - 0.5 * float(gaussian.mean @ b)
            - 0.5 * gaussian.log_det
            + self.likelihood.log_kappa * float(self.likelihood.weights.sum())
        )
        status = CONVERGED
        if point.residual > max(tolerance, point.rounding):
            status = Status(
                False,
                f"expectation propagation stopped after {sweeps} sweeps with moments that differ by "
                f"{point.residual:.1e} standard deviations; a smaller C·k0 or shorter length scales help",
            )
        return EPResult(gaussian, tilted, log_evidence, status, point.residual, sweeps)
