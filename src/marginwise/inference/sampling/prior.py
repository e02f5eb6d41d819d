"""What samplers ask of the prior N(0, K) of the latent values, however K is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites


class PosteriorFactor(NamedTuple):
    """Σ = (K⁻¹ + T)⁻¹ = FFᵀ + diag(own), with F of shape (n, r); ``own`` is None where it is nothing.

    ``half_log_det`` is ½ ln|I + KT|.
    """

    factor: Array
    own: Array | None
    half_log_det: float


class SampledPrior(ABC):
    """The prior of the latent values at the rows of a table."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Numerical rank of K: the number of dimensions that the latent values really have."""

    @abstractmethod
    def with_sites(self, tau: Array) -> PosteriorFactor:
        """Return the covariance of the Gaussian with sites of these precisions, none of which is negative."""

    @abstractmethod
    def solve(self, columns: Array) -> Array:
        """Return X̃ with KX̃ = X for columns in the range of K."""

    @abstractmethod
    def sites_of_latent(self, sites: Sites) -> Sites:
        """Return sites of the latent values from those that expectation propagation found, with precisions ≥ 0."""

    @abstractmethod
    def coefficients(self, dual: Array) -> Array:
        """Return c with the latent mean Σ_j c_j K(x, z_j) at a new point for dual latent values, or columns of them.

        The z_j are the rows themselves, or the inducing inputs.
        """

    @abstractmethod
    def conditional_variance(self, cross: Array, prior_variance: Array) -> Array:
        """Return the prior variance that is left at new points when the latent values at the rows are known.

        ``cross`` are the covariances of the z_j, in rows, and the new points.
        """
