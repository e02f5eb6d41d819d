"""The Gaussian of sites: the prior N(0, K) times one Gaussian factor for each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from marginwise._arrays import Array
from marginwise.covariance.correlations import Correlations
from marginwise.covariance.groups import BlockDiagonal, Members

if TYPE_CHECKING:
    from marginwise.covariance.base import SiteCovariance


class Sites(NamedTuple):
    """The factors exp(-½τ_iθ_i² + ν_iθ_i) that stand for the likelihood: what a run near by can be started from."""

    tau: Array
    nu: Array


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
    prior : SiteCovariance
        K.
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
    prior: SiteCovariance

    def latent_moments(self) -> tuple[Array, Array]:
        """Return mean and variance of the latent values: the values that the sites belong to, and their blur."""
        return self.mean, self.variance

    @abstractmethod
    def times_covariance(self, x: Array) -> Array:
        """Return Σx for a vector or for columns."""

    @abstractmethod
    def times_squared(self, x: Array | BlockDiagonal) -> Array:
        """Return (Σ∘Σ)x, the diagonal of ΣXΣ with X = diag(x), or with a matrix that has a block for each group."""

    @abstractmethod
    def correlations(self, own: float) -> Correlations:
        """Return the correlation matrix, with ``own`` on its diagonal."""

    @abstractmethod
    def full_covariance(self) -> Array:
        """Return Σ with both triangles filled."""

    @abstractmethod
    def group_covariances(self, members: Members) -> list[Array]:
        """Return the blocks of Σ for groups of rows, for each size a stack."""

    @abstractmethod
    def contract_evidence(self, residual_bar: Array) -> Array:
        """Return the derivatives of a function with the cotangent ½(bbᵀ - W) of K, and that of its residual.

        They are in the logarithms of the kernel's hyperparameters. Without a residual its cotangent is not looked at.
        """

    @abstractmethod
    def contract_marginals(
        self, mean_bar: Array, variance_bar: Array | BlockDiagonal, residual_bar: Array, nu: Array | None = None
    ) -> Array:
        """Return those of a function with these cotangents of the marginals at fixed sites, and of the residual.

        With columns ``nu`` in the place of ν, means and their cotangents have columns, too. A function of the joint
        marginals of groups has a matrix with blocks in the place of the cotangents of the variances.
        """


class ExpandingGaussian(SiteGaussian):
    """One whose mean and variance at new points come from the covariances with one set of points."""

    @property
    @abstractmethod
    def points(self) -> Array:
        """The points, shape (m, d)."""

    @abstractmethod
    def predictor(self) -> tuple[Array, Array]:
        """Return b and W: at new points the mean is k(x)ᵀb and the variance K(x, x) - k(x)ᵀWk(x).

        k(x) are the covariances with the points.
        """

    @abstractmethod
    def coefficients(self, nu: Array) -> Array:
        """Return what b is in :meth:`predictor` for other ν, or for columns of them, with the same τ."""


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
