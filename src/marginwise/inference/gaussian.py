"""The Gaussian with precision K⁻¹ + diag(τ) and mean Σν: its marginals and what they are without one site.

With B = I + T^½KT^½ = LLᵀ (Rasmussen & Williams 2006, eq. 3.26), Σ_ij = -(B⁻¹)_ij/√(τ_iτ_j) off the diagonal and
1 - τ_iΣ_ii = (B⁻¹)_ii: the whole covariance comes from one Cholesky factor and its inverse, without cancellation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack, solve

from marginwise import kernel
from marginwise._jit import compiled, compiled_vector
from marginwise._memory import keep_freed_blocks
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.correlations import Correlations, DenseCorrelations
from marginwise.inference.cotangents import evidence_cotangent, marginals_cotangent

Array = npt.NDArray[np.float64]

keep_freed_blocks()

#: Smallest precision that enters B: its square root divides, and its effect on the rest is far below rounding.
_TAU_FLOOR = 1e-100

#: Below this share of the prior precision a site's precision is not divided by.
_WEAK = 1e-4

#: LAPACK inverts triangles of this size well; larger ones are split in two, so that matrix products do the work.
_LEAF = 80


@dataclass(frozen=True, eq=False)
class SiteGaussian(ABC):
    """The Gaussian of the sites (τ, ν) over the prior N(0, K), its covariance Σ = (K⁻¹ + T)⁻¹.

    Attributes
    ----------
    tau, nu : arrays of shape (n,)
        Site parameters: point i contributes the factor exp(-½τ_iθ_i² + ν_iθ_i).
    mean, variance : arrays of shape (n,)
        μ = Σν and the diagonal of Σ.
    dual_mean : array of shape (n,)
        b = K⁻¹μ = ν - τμ.
    free : array of shape (n,)
        β = 1 - τσ², the share of a point's precision that is not its own site's.
    cavity_mean, cavity_variance : arrays of shape (n,)
        The marginals without the point's own site: v = σ²/β, m = μ - vb.
    log_det : float
        ln |I + KT|.
    """

    tau: Array
    nu: Array
    mean: Array
    variance: Array
    dual_mean: Array
    free: Array
    cavity_mean: Array
    cavity_variance: Array
    log_det: float

    def latent_moments(self) -> tuple[Array, Array]:
        """Return mean and variance of the latent values: the values that the sites belong to, and their blur."""
        return self.mean, self.variance

    @abstractmethod
    def times_covariance(self, x: Array) -> Array:
        """Return Σx."""

    @abstractmethod
    def correlations(self, own: float) -> Correlations:
        """Return the correlation matrix, with ``own`` on its diagonal."""

    @abstractmethod
    def full_covariance(self) -> Array:
        """Return Σ with both triangles filled."""

    @abstractmethod
    def predictor(self) -> tuple[Array, Array]:
        """Return b and W: at new points the mean is k(x)ᵀb and the variance K(x, x) - k(x)ᵀWk(x).

        k(x) are the covariances with the points that the Gaussian is made of.
        """

    @abstractmethod
    def contract_evidence(self, gram: Any, X: Array, hyperparameters: Hyperparameters, blur_bar: Array) -> Array:
        """Return the derivatives of a function with the cotangent ½(bbᵀ - W) of K, and that of the likelihood's blur.

        ``gram`` is the covariance of the inputs X; derivatives are in the logarithms of the hyperparameters.
        """

    @abstractmethod
    def contract_marginals(
        self,
        gram: Any,
        X: Array,
        hyperparameters: Hyperparameters,
        mean_bar: Array,
        variance_bar: Array,
        blur_bar: Array,
    ) -> Array:
        """Return those of a function with these cotangents of the marginals at fixed sites, and of the blur."""


@dataclass(frozen=True, eq=False)
class DenseGaussian(SiteGaussian):
    """The Gaussian with ``covariance`` in memory: only the lower triangle is filled, in Fortran order."""

    covariance: Array

    def times_covariance(self, x: Array) -> Array:
        return blas.dsymv(1.0, self.covariance, x, lower=1)

    def correlations(self, own: float) -> Correlations:
        return DenseCorrelations.of(self.covariance, np.sqrt(self.variance), own)

    def full_covariance(self) -> Array:
        return mirrored(self.covariance)

    def predictor(self) -> tuple[Array, Array]:
        """Return b = K⁻¹μ and W (Rasmussen & Williams 2006, eqs. 3.60, 3.61)."""
        return self.dual_mean, self.precision_gain()

    def precision_gain(self) -> Array:
        """Return W = (K + T⁻¹)⁻¹ = T - TΣT."""
        W = self.full_covariance()
        W *= self.tau
        W *= -self.tau[:, None]
        np.fill_diagonal(W, self.tau * self.free)
        return W

    def contract_evidence(self, gram: Array, X: Array, hyperparameters: Hyperparameters, blur_bar: Array) -> Array:
        G = evidence_cotangent(self.covariance, self.dual_mean, self.tau, self.free)
        return kernel.contract(G, gram, X, hyperparameters)

    def contract_marginals(
        self,
        gram: Array,
        X: Array,
        hyperparameters: Hyperparameters,
        mean_bar: Array,
        variance_bar: Array,
        blur_bar: Array,
    ) -> Array:
        G = marginals_cotangent(self.full_covariance(), self.tau, self.dual_mean, mean_bar, variance_bar)
        return kernel.contract(G, gram, X, hyperparameters)


def site_gaussian(gram: Array, tau: Array, nu: Array) -> DenseGaussian | None:
    """Return the Gaussian of these sites, or None if its precision is not positive definite."""
    if not (np.isfinite(tau).all() and np.isfinite(nu).all()):
        return None
    if tau.min() >= 0.0:
        root = np.sqrt(np.maximum(tau, _TAU_FLOOR))
        factor, failed = lapack.dpotrf(_inner(gram, root), lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        log_det = 2.0 * float(np.log(factor.diagonal()).sum())
        covariance, _ = lapack.dlauum(inverse_triangle(factor), lower=1, overwrite_c=1)
        free = covariance.diagonal().copy()
        variance = _to_covariance(covariance, gram, root)
    else:  # some likelihoods are not log-concave: no square root, Σ = K(I + TK)⁻¹
        mixed = tau[:, None] * gram
        mixed[np.diag_indices_from(mixed)] += 1.0
        sign, log_det = np.linalg.slogdet(mixed)
        inverse = np.linalg.inv(mixed) if sign > 0 else mixed
        free = inverse.diagonal().copy()
        covariance = np.asfortranarray(gram @ inverse)
        variance = covariance.diagonal().copy()
        if sign <= 0 or np.linalg.eigvalsh(covariance)[0] < -1e-9 * variance.max():
            return None
    if not (variance.min() > 0.0 and free.min() > 0.0):
        return None
    mean = blas.dsymv(1.0, covariance, nu, lower=1)
    return DenseGaussian(**marginals(tau, nu, mean, variance, free), log_det=float(log_det), covariance=covariance)


def marginals(tau: Array, nu: Array, mean: Array, variance: Array, free: Array) -> dict[str, Array]:
    """Return the fields of a :class:`SiteGaussian` for one point at a time: b = ν - τμ, and the cavities."""
    dual_mean = nu - tau * mean
    cavity_variance = variance / free
    return {
        "tau": tau,
        "nu": nu,
        "mean": mean,
        "variance": variance,
        "dual_mean": dual_mean,
        "free": free,
        "cavity_mean": mean - cavity_variance * dual_mean,
        "cavity_variance": cavity_variance,
    }


def dual_mean(gram: Array, tau: Array, nu: Array) -> Array:
    """Return b = K⁻¹μ = (I + TK)⁻¹ν alone, at a third of the cost of all moments."""
    if tau.min() < 0.0:
        return solve(np.eye(len(nu)) + tau[:, None] * gram, nu, check_finite=False)
    root = np.sqrt(np.maximum(tau, _TAU_FLOOR))
    factor, _ = lapack.dpotrf(_inner(gram, root), lower=1, clean=0, overwrite_a=1)
    # b = T^½B⁻¹T^-½ν, or ν - T^½B⁻¹T^½Kν where τ is too small to be divided by
    weak = np.where(tau * gram.diagonal() < _WEAK, nu, 0.0)
    right = (nu - weak) / root - root * (gram @ weak)
    solution, _ = lapack.dpotrs(factor, right, lower=1, overwrite_b=1)
    return weak + root * solution


def mirrored(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle."""
    full = np.empty_like(lower, order="F")
    _mirror(lower, full)
    return full


def inverse_triangle(L: Array) -> Array:
    """Return the inverse of a lower triangle; what stands above the diagonal is neither read nor cleared."""
    n = len(L)
    if n <= _LEAF:
        inverse, _ = lapack.dtrtri(L, lower=1)
        return inverse
    half = n // 2
    inverse = np.empty((n, n), order="F")
    inverse[:half, :half] = upper = inverse_triangle(L[:half, :half])
    inverse[half:, half:] = lower = inverse_triangle(L[half:, half:])
    corner = blas.dtrmm(-1.0, upper, L[half:, :half], side=1, lower=1)
    inverse[half:, :half] = blas.dtrmm(1.0, lower, corner, lower=1, overwrite_b=1)
    return inverse


@compiled_vector
def _inner(gram: Array, root: Array) -> Array:
    """Return the lower triangle of I + T^½KT^½, in Fortran order."""
    n = len(root)
    B = np.empty((n, n)).T
    for j in range(n):
        for i in range(j, n):
            B[i, j] = root[i] * root[j] * gram[j, i]
        B[j, j] += 1.0
    return B


@compiled_vector
def _to_covariance(inverse: Array, gram: Array, root: Array) -> Array:
    """Turn the lower triangle of B⁻¹ into that of Σ; return its diagonal.

    (1 - β)/τ cancels where τ is small, and there Σ = T^-½B⁻¹T^½K serves.
    """
    n = len(root)
    inverse_root = 1.0 / root
    variance = np.zeros(n)
    for j in range(n):
        scale = -inverse_root[j]
        down = 0.0
        for i in range(j + 1, n):
            product = inverse[i, j] * gram[j, i]
            down += product * root[i]
            variance[i] += product * root[j]
            inverse[i, j] *= scale * inverse_root[i]
        variance[j] += down
    for i in range(n):
        tau, free = root[i] * root[i], inverse[i, i]
        exact = tau * gram[i, i] > 1.0
        variance[i] = (1.0 - free) / tau if exact else variance[i] * inverse_root[i] + free * gram[i, i]
        inverse[i, i] = variance[i]
    return variance


@compiled
def _mirror(lower: Array, full: Array) -> None:
    n = len(lower)
    block = 32
    for start in range(0, n, block):
        for j in range(start, min(start + block, n)):
            full[j, j] = lower[j, j]
        for low in range(start, n, block):
            for j in range(start, min(start + block, n)):
                for i in range(max(low, j + 1), min(low + block, n)):
                    full[i, j] = lower[i, j]
                    full[j, i] = lower[i, j]
