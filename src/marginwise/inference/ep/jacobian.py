"""The linearised fixed-point maps of expectation propagation and of the variational approximation.

Both maps take the sites to moments of their Gaussian, and those to new sites. Expectation propagation does so by way
of the cavities N(m_i, v_i). The derivative of its map at a fixed point, for changes dτ and e = dν - μ dτ, with Σ° the
covariance without its diagonal, ∘ the product by entries and l₃, l₄ the third and fourth derivatives of ln Z with
respect to m, is

    dv = -β⁻² (Σ°∘Σ°) dτ,   dm + b dv = β⁻¹ Σ° e,
    dτ' = -β⁻² [l₃ (dm + b dv) + ½ l₄ dv],   e' = ½ β⁻¹ l₃ dv,

because a cavity does not depend on its own site. The variational map is the same with the marginals in the place of
the cavities, Σ in that of Σ°, E[ln t] in that of ln Z, and β = 1. So e can be eliminated: systems are of size n, not
2n, and products with their matrix cost two products with Σ. Everything is in units of the posterior's standard
deviations.
"""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import SiteGaussian, Sites
from marginwise.likelihoods.base import Moments

#: Newton's step for a precision is kept within this factor of the one that the map leads to.
_FACTOR = 3.0


class SiteJacobian:
    """I - J for the sites of ``gaussian`` and the likelihood's moments under its cavities or marginals."""

    def __init__(self, gaussian: SiteGaussian, moments: Moments, *, cavities: bool) -> None:
        self.scale = np.sqrt(gaussian.variance)
        self._own = 0.0 if cavities else 1.0
        self._correlations = gaussian.correlations(self._own)
        self.correlate = self._correlations.times
        self.correlate_squared = self._correlations.times_squared
        ratio = self.scale / moments.keep
        self.third = moments.third * ratio**3
        self.fourth = moments.fourth * ratio**4

    def moments_after(self, gaussian: SiteGaussian, sites: Sites) -> tuple[Array, Array]:
        """Return mean and variance after a change of the sites by (dτ, e), to second order.

        dμ = (Σ⁻¹ + dT)⁻¹e exactly; the second order of the variances, diag(ΣdTΣdTΣ), is kept for equal indices of
        dT, its largest part, because all of it would cost a matrix product.
        """
        change = sites.tau - gaussian.tau
        moved = gaussian.times_covariance(sites.nu - gaussian.nu - gaussian.mean * change)
        mean = gaussian.mean + moved - gaussian.times_covariance(change * moved)
        first = gaussian.variance * (change - change**2 * gaussian.variance)
        diagonal = (1.0 - self._own) * first
        return mean, gaussian.variance * (1.0 - self.correlate_squared(first) - diagonal)

    def step(self, start: Sites, wanted: Sites, mean: Array, accuracy: float) -> Sites:
        """Return the sites after a step of Newton's method from ``start``, whose map leads to ``wanted``.

        Far from the fixed point the step can be wild; each precision is kept near the one that is wanted.
        """
        change = wanted.tau - start.tau
        change, e = self.solve(change, wanted.nu - start.nu - mean * change, accuracy)
        bounds = np.sort([wanted.tau / _FACTOR, wanted.tau * _FACTOR], axis=0)
        tau = np.clip(start.tau + change, bounds[0], bounds[1])
        return Sites(tau, start.nu + e + mean * (tau - start.tau))

    def solve(self, tau: Array, e: Array, accuracy: float) -> tuple[Array, Array]:
        """Return the changes (dτ, e) with (I - J)(dτ, e) = the arguments."""
        scale, third = self.scale, self.third
        right = scale**2 * tau - third * self.correlate(scale * e)
        x = self._correlations.solve(third, self.fourth, right, accuracy, transposed=False)
        return x / scale**2, e - 0.5 * third * self.correlate_squared(x) / scale

    def solve_transposed(self, x: Array, accuracy: float) -> Array:
        """Return λ with (I - M)ᵀλ = x, M the matrix of dτ after elimination, in units of the variances."""
        return self._correlations.solve(self.third, self.fourth, x, accuracy, transposed=True)
