"""The three moves of expectation propagation: all sites at once, by Newton's method, one site at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import SiteGaussian, Sites
from marginwise.errors import Finding, InvalidInputError
from marginwise.inference.ep.jacobian import SiteJacobian
from marginwise.inference.ep.mixing import Mixer
from marginwise.inference.ep.sequential import sweep_sites
from marginwise.likelihoods.base import Moments, WeightedLikelihood

_EPSILON = float(np.finfo(float).eps)

#: Rounds in which the means are relaxed before all sites are updated.
_ROUNDS = 8

#: Smallest part of a step that is tried.
_SHORTEST = 0.05

#: Rounding can't hide a larger residual than this.
_MOST_ROUNDING = 1e-2


@dataclass(frozen=True, eq=False)
class SitePoint:
    """Sites, the moments they give, and the sites that match the tilted moments.

    Attributes
    ----------
    residual, rms_residual : float
        Largest and root mean square difference of tilted and Gaussian moments: of the means in units of the
        Gaussian's standard deviations, of the variances in units of its variances.
    rounding : float
        A residual that can't be told from zero.
    """

    gaussian: SiteGaussian
    tilted: Moments
    matched: Sites
    residual: float
    rms_residual: float
    rounding: float


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves for one covariance, labels and likelihood."""

    covariance: SiteCovariance
    y: Array
    likelihood: WeightedLikelihood

    def point(self, tau: Array, nu: Array) -> SitePoint | None:
        """Return the point of these sites, or None if their Gaussian can't be computed."""
        gaussian = self.covariance.gaussian(tau, nu)
        if gaussian is None:
            return None
        v, variance = gaussian.cavity_variance, gaussian.variance
        tilted, matched = self._match(gaussian.cavity_mean, v)
        scale = np.sqrt(variance)
        shift = v * (tilted.slope - gaussian.dual_mean) / scale
        spread = tilted.keep / gaussian.free - 1.0
        rms_residual = _root_mean_square(np.concatenate([shift, spread]))
        if not np.isfinite(rms_residual):
            return None
        residual = max(float(np.abs(shift).max()), float(np.abs(spread).max()))
        # Σ is known to a relative error of about ε K_ii/Σ_ii, and with it the mean Σν.
        lost = float((self.covariance.diagonal / variance).max() * (1.0 + scale.max() * np.linalg.norm(nu)))
        return SitePoint(gaussian, tilted, matched, residual, rms_residual, min(10.0 * _EPSILON * lost, _MOST_ROUNDING))

    def prior(self) -> SitePoint:
        """Return the point without sites."""
        zero = np.zeros(len(self.y))
        point = self.point(zero, zero)
        if point is None:
            raise InvalidInputError(
                "kernel", Finding("has no positive K(x, x) at some row"), "a covariance; add a Constant"
            )
        return point

    def all_at_once(self, point: SitePoint, mixer: Mixer) -> SitePoint | None:
        """Return the point after an update of all sites from the same cavities, mixed with earlier ones.

        Each site corrects the mean as if it were the only one, and n corrections at once can lead far beyond. So the
        means are relaxed first, at fixed cavity variances v: b = K⁻¹μ solves b = ∂ln Z/∂m at m = (K - v)b, and
        Newton's method for this equation is the update of the sites itself, shortened where it does not help.
        """
        v, b, matched = point.gaussian.cavity_variance, point.gaussian.dual_mean, point.matched
        scale = np.sqrt(v)
        error = _root_mean_square(scale * (point.tilted.slope - b))
        if error < mixer.relaxed:
            sites = Sites(point.gaussian.tau, point.gaussian.nu)
            return self.point(*mixer.mix(sites, matched, point.gaussian.variance, point.rms_residual))
        mixer.interrupt()
        for _ in range(_ROUNDS):
            if error < mixer.relaxed:
                break
            step = self.covariance.dual_mean(*matched) - b
            part, previous = 2.0, error
            while part > _SHORTEST and not error < (1.0 - 0.3 * part) * previous:
                part *= 0.5
                new = b + part * step
                tilted, matched = self._match(self.covariance.times(new) - v * new, v)
                error = _root_mean_square(scale * (tilted.slope - new))
            b = new
        return self.point(*matched)

    def newton(self, point: SitePoint, tolerance: float) -> SitePoint | None:
        """Return the point after a step of Newton's method, or None if that is no better."""
        gaussian = point.gaussian
        jacobian = SiteJacobian(gaussian, point.tilted, cavities=True)
        accuracy = min(0.01, 0.1 * point.residual)
        start = Sites(gaussian.tau, gaussian.nu)
        sites = jacobian.step(start, point.matched, gaussian.mean, accuracy)
        if point.residual**2 > tolerance:
            # One step won't do. A second one with the same matrix, from moments of second order, is cheap.
            mean, variance = jacobian.moments_after(gaussian, sites)
            free = 1.0 - sites.tau * variance
            if variance.min() > 0.0 and (free > 0.1 * gaussian.free).all():
                v = variance / free
                _, matched = self._match(mean - v * (sites.nu - sites.tau * mean), v)
                sites = jacobian.step(sites, matched, mean, accuracy)
        moved = self.point(*sites)
        return moved if moved is not None and moved.rms_residual < 0.7 * point.rms_residual else None

    def one_at_a_time(self, point: SitePoint, part: float) -> SitePoint | None:
        """Return the point after this part of an update of each site in turn.

        Where there is no covariance in memory that could follow, all move at once, each by a third of that part.
        """
        gaussian = point.gaussian
        if not self.covariance.is_dense:
            short = part / 3.0
            tau = gaussian.tau + short * (point.matched.tau - gaussian.tau)
            return self.point(tau, gaussian.nu + short * (point.matched.nu - gaussian.nu))
        tau, nu = gaussian.tau.copy(), gaussian.nu.copy()
        sweep_sites(gaussian.full_covariance(), gaussian.mean.copy(), tau, nu, self.y, self.likelihood, part)
        return self.point(tau, nu)

    def _match(self, m: Array, v: Array) -> tuple[Moments, Sites]:
        """Return the tilted moments of cavities N(m_i, v_i), and the sites that give them."""
        tilted = self.likelihood.tilted(m, v, self.y)
        tau = tilted.shrink / (v * tilted.keep)
        return tilted, Sites(tau, tau * m + tilted.slope / tilted.keep)


def _root_mean_square(x: Array) -> float:
    return float(np.sqrt(x @ x / len(x)))
