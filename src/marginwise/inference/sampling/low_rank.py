"""The prior of low rank for samplers: N(0, VVᵀ + D), V the features of few inducing inputs, D what they leave open.

The paper hoped for the Nyström method here (Williams & Seeger 2001), to make the space that is sampled smaller. VVᵀ
alone would be that; but it would fix the latent values of rows far from all inducing inputs to 0. With D each keeps its
prior variance, as in expectation propagation of low rank, and what a step costs falls all the same, from n² to nm
numbers for each chain: with w = 1/(1 + dτ) and A = I + Vᵀ(τw)V,

    Σ = (K⁻¹ + T)⁻¹ = diag(dw) + (wV) A⁻¹ (wV)ᵀ,      |I + KT| = |A| Π_i (1 + d_iτ_i)       (Woodbury).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.covariance.low_rank_gaussian import posterior_factor
from marginwise.inference.sampling.prior import PosteriorFactor, SampledPrior

#: D in units of K(x, x) is no less than this, so that K⁻¹ exists and products with it keep seven digits: rows that are
#: inducing inputs themselves have nothing of their own.
_OWN = 1e-6

#: Sites of the latent values may be this many times as precise as those of the features at most.
_SHARPER = 1e3


@dataclass(frozen=True, eq=False)
class LowRankPrior(SampledPrior):
    """K = VVᵀ + D. Build it with :func:`low_rank_prior`.

    Attributes
    ----------
    covariance : LowRankCovariance
        VVᵀ, with the Cholesky factor L of the inducing inputs' Gram matrix: a feature vector is L⁻¹k(x).
    features : array of shape (n, m)
        V, in one piece.
    own : array of shape (n,)
        D, all positive.
    root : array of shape (m, m)
        The lower Cholesky factor of B = I + VᵀD⁻¹V.
    """

    covariance: LowRankCovariance
    features: Array
    own: Array
    root: Array

    @property
    def rank(self) -> int:
        return len(self.own)

    def with_sites(self, tau: Array) -> PosteriorFactor:
        share = 1.0 / (1.0 + self.own * tau)
        R = _root(self.covariance, tau * share)
        factor = blas.dtrsm(1.0, R, self.features.T * share, lower=1, overwrite_b=1).T
        half_log_det = np.log(R.diagonal()).sum() - 0.5 * np.log(share).sum()
        return PosteriorFactor(np.ascontiguousarray(factor), self.own * share, float(half_log_det))

    def solve(self, columns: Array) -> Array:
        """K⁻¹ = D⁻¹ - D⁻¹VB⁻¹VᵀD⁻¹ (Woodbury)."""
        scaled = columns / self.own[:, None]
        weights, _ = lapack.dpotrs(self.root, self.features.T @ scaled, lower=1, overwrite_b=1)
        return scaled - (self.features @ weights) / self.own[:, None]

    def sites_of_latent(self, sites: Sites) -> Sites:
        """A site (τ, ν) of θ = Vu + ε is one of Vu with (τ, ν)/(1 + dτ) when ε ~ N(0, d) is integrated out: undo it."""
        tau = np.maximum(sites.tau, 0.0)
        sharper = 1.0 / np.maximum(1.0 - self.own * tau, 1.0 / _SHARPER)
        return Sites(tau * sharper, sites.nu * sharper)

    def coefficients(self, dual: Array) -> Array:
        """E[u|θ] = Vᵀ(VVᵀ + D)⁻¹θ = Vᵀθ̃, and v(x)ᵀu = k(x)ᵀL⁻ᵀu."""
        return self.covariance.dual(self.covariance.project(dual))

    def conditional_variance(self, cross: Array, prior_variance: Array) -> Array:
        """K(x, x) - |v|² + vᵀB⁻¹v: what no feature knows, and what the latent values leave open of u."""
        features = blas.dtrsm(1.0, self.covariance.factor, np.asfortranarray(cross), lower=1)
        open_ = blas.dtrsm(1.0, self.root, features, lower=1)
        known = np.einsum("ij,ij->j", features, features) - np.einsum("ij,ij->j", open_, open_)
        return np.maximum(prior_variance - known, 0.0)


def low_rank_prior(covariance: LowRankCovariance) -> LowRankPrior:
    """Return the prior with this covariance and its residual."""
    features = covariance.expand(np.eye(covariance.rank))
    own = np.maximum(covariance.residual, _OWN * covariance.prior_variance)
    return LowRankPrior(covariance, features, own, _root(covariance, 1.0 / own))


def _root(covariance: LowRankCovariance, weights: Array) -> Array:
    """Return the lower Cholesky factor of I + Vᵀdiag(weights)V, in Fortran order."""
    root, _ = posterior_factor(covariance, weights, np.zeros_like(weights))
    if root is None:
        raise np.linalg.LinAlgError("the posterior precision of the features is not positive definite")
    return root
