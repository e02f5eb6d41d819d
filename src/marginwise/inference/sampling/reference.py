"""A Gaussian that stands near the posterior: the prior times one Gaussian factor for each example.

    N(m, Σ),  Σ⁻¹ = K⁻¹ + diag(τ),  m = Σν

Site parameters τ ≥ 0, ν from expectation propagation put it close to the posterior; τ = ν = 0 is the prior. The
samplers are exact for every choice, which only decides how fast they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites
from marginwise.inference.sampling.prior import SampledPrior


@dataclass(frozen=True, eq=False)
class GaussianReference:
    """The Gaussian N(mean, Σ) of the sites ``tau``, ``nu``. Build it with :func:`gaussian_reference`.

    Attributes
    ----------
    prior : SampledPrior
        K.
    tau, nu : arrays of shape (n,)
        The sites.
    mean, dual_mean : arrays of shape (n,)
        m, and b with Kb = m.
    variance : array of shape (n,)
        The diagonal of Σ.
    factor, own : arrays of shape (n, r) and (n,), or None
        F and s with Σ = FFᵀ + diag(s); without s, FFᵀ = Σ and r is the rank of K.
    covariance : array of shape (n, n) or None
        Σ, kept where it is the cheaper form of the product with Σ.
    log_normaliser : float
        -½ ln|I + KT| - ½ mᵀb: the prior is e^{log_normaliser} N(θ; m, Σ) exp(½ xᵀTx - bᵀx), x = θ - m.
    """

    prior: SampledPrior
    tau: Array
    nu: Array
    mean: Array
    dual_mean: Array
    variance: Array
    factor: Array
    own: Array | None
    covariance: Array | None
    log_normaliser: float

    def draw(self, rng: np.random.Generator, n_draws: int) -> Array:
        """Return draws from N(0, Σ), one in each column."""
        draws = self.factor @ rng.standard_normal((self.factor.shape[1], n_draws))
        if self.own is not None:
            draws += np.sqrt(self.own)[:, None] * rng.standard_normal(draws.shape)
        return draws

    def times_covariance(self, columns: Array, out: Array | None = None) -> Array:
        """Return Σ times these columns."""
        if self.covariance is not None:
            return np.matmul(self.covariance, columns, out=out)
        product = np.matmul(self.factor, self.factor.T @ columns, out=out)
        if self.own is not None:
            product += self.own[:, None] * columns
        return product

    def dual(self, centred: Array) -> Array:
        """Return θ̃ = b + K⁻¹x for columns x = θ - m, so that Kθ̃ = θ; where K has full rank it is unique."""
        dual = self.prior.solve(centred)
        dual += self.dual_mean[:, None]
        return dual


def gaussian_reference(prior: SampledPrior, sites: Sites) -> GaussianReference:
    """Return the Gaussian with these sites."""
    tau, nu = sites
    F, own, half_log_det = prior.with_sites(tau)
    mean, variance = F @ (F.T @ nu), np.einsum("ij,ij->i", F, F)
    if own is not None:
        mean += own * nu
        variance += own
    dual_mean = nu - tau * mean  # K⁻¹Σ = I - TΣ
    return GaussianReference(
        prior=prior,
        tau=tau,
        nu=nu,
        mean=mean,
        dual_mean=dual_mean,
        variance=variance,
        factor=F,
        own=own,
        covariance=F @ F.T if own is None and 2 * F.shape[1] > len(F) else None,
        log_normaliser=float(-0.5 * mean @ dual_mean) - half_log_det,
    )
