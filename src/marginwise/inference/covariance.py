"""The prior covariance of the latent values as expectation propagation sees it: dense, or of low rank."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from marginwise.inference.gaussian import SiteGaussian, dual_mean, site_gaussian
from marginwise.inference.low_rank import LowRankGaussian, low_rank_gaussian, posterior_factor
from marginwise.lowrank import LowRankGram

Array = npt.NDArray[np.float64]


class Covariance(ABC):
    """The covariance K of the values that the sites belong to.

    Attributes
    ----------
    diagonal : array of shape (n,)
        Their prior variances.
    near : float
        Residual below which a step of Newton's method costs less than the updates of all sites that it saves.
    accuracy : float
        Residual below which going on would be pointless.
    """

    diagonal: Array
    near: float
    accuracy: float

    @abstractmethod
    def gaussian(self, tau: Array, nu: Array) -> SiteGaussian | None:
        """Return the Gaussian of these sites, or None if its precision is not positive definite."""

    @abstractmethod
    def dual_mean(self, tau: Array, nu: Array) -> Array:
        """Return b = K⁻¹μ = (I + TK)⁻¹ν alone."""

    @abstractmethod
    def times(self, x: Array) -> Array:
        """Return Kx."""


class DenseCovariance(Covariance):
    """A Gram matrix in memory: next to its factorisation, the products that Newton's method needs cost nothing."""

    near = 0.2
    accuracy = 0.0

    def __init__(self, gram: Array) -> None:
        self.gram, self.diagonal = gram, gram.diagonal()

    def gaussian(self, tau: Array, nu: Array) -> SiteGaussian | None:
        return site_gaussian(self.gram, tau, nu)

    def dual_mean(self, tau: Array, nu: Array) -> Array:
        return dual_mean(self.gram, tau, nu)

    def times(self, x: Array) -> Array:
        return self.gram @ x


class LowRankCovariance(Covariance):
    """VVᵀ of a Gram matrix of low rank; its residual is the blur of the likelihood.

    A product for Newton's method costs as much as an update of all sites, which brings the residual down by a factor
    of about four where rows are many. What low rank itself changes is larger than ``accuracy`` by far.
    """

    near = 0.0
    accuracy = 1e-6

    def __init__(self, gram: LowRankGram) -> None:
        self.gram, self.diagonal = gram, gram.diagonal

    def gaussian(self, tau: Array, nu: Array) -> LowRankGaussian | None:
        return low_rank_gaussian(self.gram, tau, nu)

    def dual_mean(self, tau: Array, nu: Array) -> Array:
        """Return ν - τ∘Vu, u the posterior mean of the weights of the features."""
        factor, projected = posterior_factor(self.gram, tau, nu)
        if factor is None:
            return np.full(len(nu), np.nan)
        return nu - tau * self.gram.expand(lapack.dpotrs(factor, projected, lower=1)[0])

    def times(self, x: Array) -> Array:
        return self.gram.expand(self.gram.project(x))


def blur(gram: Array | LowRankGram) -> Array | None:
    """Return what the likelihood is to be blurred by: the residual of a Gram matrix of low rank."""
    return gram.residual if isinstance(gram, LowRankGram) else None


def as_covariance(gram: Array | LowRankGram) -> Covariance:
    """Return the covariance of a Gram matrix of either kind."""
    return LowRankCovariance(gram) if isinstance(gram, LowRankGram) else DenseCovariance(gram)
