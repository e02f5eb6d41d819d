"""The Gaussian of sites over a prior of low rank: a Gaussian of the m weights of the features.

With K = VVᵀ the values are a = Vu, u ~ N(0, I). Sites (τ, ν) on the values leave u normal with precision
A = I + Vᵀdiag(τ)V and mean A⁻¹Vᵀν, so that Σ = VA⁻¹Vᵀ: O(nm²) time for all moments, and sums over rows throughout.
What the features leave open of each latent value is the likelihood's blur, not part of K: the same fixed point as with
the whole covariance VVᵀ + D and sites on the latent values, τ' = τ/(1 - Dτ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array
from marginwise.covariance.correlations import Correlations, ImplicitCorrelations
from marginwise.covariance.gaussian import ExpandingGaussian, marginals
from marginwise.covariance.groups import BlockDiagonal, Members

if TYPE_CHECKING:
    from marginwise.covariance.low_rank import LowRankCovariance


@dataclass(frozen=True, eq=False)
class LowRankGaussian(ExpandingGaussian):
    """The Gaussian of the values Vu.

    Attributes
    ----------
    prior : LowRankCovariance
    weight_mean : array of shape (m,)
        The mean of u.
    weight_covariance : array of shape (m, m)
        A⁻¹, the covariance of u.
    """

    prior: LowRankCovariance
    weight_mean: Array
    weight_covariance: Array

    def latent_moments(self) -> tuple[Array, Array]:
        """Return m + vb and v(1 - vW_ii), v the cavity's variance and the residual: moments with VVᵀ + D."""
        v = self.cavity_variance + self.prior.residual
        return self.cavity_mean + v * self.dual_mean, v * (1.0 - v * self.tau * self.free)

    def times_covariance(self, x: Array) -> Array:
        return self.prior.expand(self.weight_covariance @ self.prior.project(x))

    def times_squared(self, x: Array | BlockDiagonal) -> Array:
        """diag(ΣXΣ), X = diag(x), which needs m×m matrices only."""
        H = self.prior.project(x.times(self._features)) if isinstance(x, BlockDiagonal) else self.prior.weighted(x)
        return self.prior.quadratic(self.weight_covariance @ H @ self.weight_covariance)

    @property
    def _features(self) -> Array:
        """V, all of it."""
        return self.prior.expand(np.eye(self.prior.rank))

    def coefficients(self, nu: Array) -> Array:
        return self.prior.dual(self._weight_mean(nu))

    def _weight_mean(self, nu: Array) -> Array:
        """Return the mean of u for other ν, or for columns of them."""
        return self.weight_covariance @ self.prior.project(nu)

    def correlations(self, own: float) -> Correlations:
        return ImplicitCorrelations(self.times_covariance, self.times_squared, np.sqrt(self.variance), own)

    def full_covariance(self) -> Array:
        V = self._features
        return V @ self.weight_covariance @ V.T

    def group_covariances(self, members: Members) -> list[Array]:
        V = self._features
        return [V[rows] @ self.weight_covariance @ V[rows].transpose(0, 2, 1) for rows in members]

    @property
    def points(self) -> Array:
        return self.prior.inducing

    def predictor(self) -> tuple[Array, Array]:
        """Return b = L⁻ᵀu and W = L⁻ᵀ(I - A⁻¹)L⁻¹, for covariances with the inducing inputs."""
        half = self.prior.dual(np.eye(self.prior.rank) - self.weight_covariance)
        return self.prior.dual(self.weight_mean), self.prior.dual(half.T)

    def contract_evidence(self, residual_bar: Array) -> Array:
        """The cotangent of V is (bbᵀ - W)V = buᵀ - TVA⁻¹."""
        return self.prior.contract(
            self.dual_mean[:, None],
            self.weight_mean[None],
            self.tau[:, None],
            -self.weight_covariance[None],
            residual_bar,
        )

    def contract_marginals(
        self, mean_bar: Array, variance_bar: Array | BlockDiagonal, residual_bar: Array, nu: Array | None = None
    ) -> Array:
        """The cotangent of V is puᵀ + bqᵀ + 2(S̄V - TVA⁻¹H)A⁻¹, q = A⁻¹Vᵀμ̄, p = μ̄ - τ∘Vq, H = VᵀS̄V, S̄ = diag(σ̄²).

        Columns of u, b, μ̄ add up. With blocks of groups in the place of S̄, S̄V is a matrix of its own.
        """
        n, tau, A_inverse = len(self.tau), self.tau[:, None], self.weight_covariance
        mean_bar = mean_bar.reshape(n, -1)
        if nu is None:
            u, b = self.weight_mean[:, None], self.dual_mean[:, None]
        else:
            u = self._weight_mean(nu)
            b = nu - tau * self.prior.expand(u)
        q = A_inverse @ self.prior.project(mean_bar)
        p = mean_bar - tau * self.prior.expand(q)
        left, right = np.column_stack([p, b]), np.vstack([u.T, q.T])
        if isinstance(variance_bar, BlockDiagonal):
            product = variance_bar.times(self._features)
            H = self.prior.project(product)
            left, right = np.column_stack([left, 2.0 * product]), np.vstack([right, A_inverse])
            variance_bar = np.zeros(n)
        else:
            H = self.prior.weighted(variance_bar)
        return self.prior.contract(
            left,
            right,
            2.0 * np.column_stack([variance_bar, -self.tau]),
            np.array([A_inverse, A_inverse @ H @ A_inverse]),
            residual_bar,
        )


def low_rank_gaussian(prior: LowRankCovariance, tau: Array, nu: Array) -> LowRankGaussian | None:
    """Return the Gaussian of these sites, or None if its precision is not positive definite."""
    if not (np.isfinite(tau).all() and np.isfinite(nu).all()):
        return None
    factor, projected = posterior_factor(prior, tau, nu)
    if factor is None:
        return None
    half = lapack.dtrtri(factor, lower=1)[0]
    A_inverse = half.T @ half
    u = A_inverse @ projected
    mean, variance = prior.moments(u, half)
    free = 1.0 - tau * variance
    if not (variance.min() > 0.0 and free.min() > 0.0):
        return None
    return LowRankGaussian(
        **marginals(tau, nu, mean, variance, free),
        log_det=2.0 * float(np.log(factor.diagonal()).sum()),
        prior=prior,
        weight_mean=u,
        weight_covariance=A_inverse,
    )


def posterior_factor(prior: LowRankCovariance, tau: Array, nu: Array) -> tuple[Array | None, Array]:
    """Return the lower Cholesky factor of A, None if it is not positive definite, and Vᵀν."""
    A, projected = prior.normal_equations(tau, nu)
    A[np.diag_indices_from(A)] += 1.0
    factor, failed = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1, overwrite_a=1)
    return None if failed else factor, projected
