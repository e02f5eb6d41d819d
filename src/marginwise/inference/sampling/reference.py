"""A Gaussian that stands near the posterior: the prior times one Gaussian factor for each example.

    N(m, Σ),  Σ⁻¹ = K⁻¹ + diag(τ),  m = Σν

Site parameters τ ≥ 0, ν from expectation propagation put it close to the posterior; τ = ν = 0 is the prior. The
samplers are exact for every choice, which only decides how fast they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from marginwise._arrays import Array
from marginwise.inference.sampling.pivoted import PivotedGram


@dataclass(frozen=True, eq=False)
class GaussianReference:
    """The Gaussian N(mean, Σ) of the sites ``tau``, ``nu``. Build it with :func:`gaussian_reference`.

    Attributes
    ----------
    prior : PivotedGram
        The factor of K.
    tau, nu : arrays of shape (n,)
        The sites.
    mean, dual_mean : arrays of shape (n,)
        m, and b with Kb = m.
    variance : array of shape (n,)
        The diagonal of Σ.
    factor : array of shape (n, r)
        F with FFᵀ = Σ, where r is the rank of K.
    covariance : array of shape (n, n) or None
        Σ, kept where it is the cheaper form of the product with Σ.
    log_normaliser : float
        -½ ln|I + KT| - ½ mᵀb: the prior is e^{log_normaliser} N(θ; m, Σ) exp(½ xᵀTx - bᵀx), x = θ - m.
    """

    prior: PivotedGram
    tau: Array
    nu: Array
    mean: Array
    dual_mean: Array
    variance: Array
    factor: Array
    covariance: Array | None
    log_normaliser: float

    def draw(self, rng: np.random.Generator, n_draws: int) -> Array:
        """Return draws from N(0, Σ), one in each column."""
        return self.factor @ rng.standard_normal((self.factor.shape[1], n_draws))

    def times_covariance(self, columns: Array, out: Array | None = None) -> Array:
        """Return Σ times these columns."""
        if self.covariance is not None:
            return np.matmul(self.covariance, columns, out=out)
        return np.matmul(self.factor, self.factor.T @ columns, out=out)

    def dual(self, centred: Array) -> Array:
        """Return θ̃ = b + K⁻¹x for columns x = θ - m, so that Kθ̃ = θ; where K has full rank it is unique."""
        dual = self.prior.solve(centred)
        dual += self.dual_mean[:, None]
        return dual


def gaussian_reference(prior: PivotedGram, tau: Array, nu: Array) -> GaussianReference:
    """Return the Gaussian with these sites."""
    L, rank = prior.factor, prior.rank
    # Σ = L (I + LᵀTL)⁻¹ Lᵀ, so that F = L R⁻ᵀ with RRᵀ = I + LᵀTL.
    A = np.sqrt(tau)[:, None] * L
    R = np.linalg.cholesky(np.eye(rank) + A.T @ A)
    F = np.ascontiguousarray(solve_triangular(R, L.T, lower=True, check_finite=False).T)
    mean = F @ (F.T @ nu)
    dual_mean = nu - tau * mean  # K⁻¹Σ = I - TΣ
    return GaussianReference(
        prior=prior,
        tau=tau,
        nu=nu,
        mean=mean,
        dual_mean=dual_mean,
        variance=np.einsum("ij,ij->i", F, F),
        factor=F,
        covariance=F @ F.T if 2 * rank > len(L) else None,
        log_normaliser=float(-0.5 * mean @ dual_mean - np.log(np.diag(R)).sum()),
    )
