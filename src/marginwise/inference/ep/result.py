"""The result of finding Gaussian sites that stand for the likelihood."""

from __future__ import annotations

from dataclasses import dataclass

from marginwise._arrays import Array
from marginwise.covariance.gaussian import SiteGaussian, Sites
from marginwise.likelihoods.base import Moments
from marginwise.status import Status


@dataclass(frozen=True, eq=False)
class SiteApproximation:
    """The Gaussian N(μ, (K⁻¹ + diag τ)⁻¹), μ = Σν, in the place of the posterior of the latent values.

    Attributes
    ----------
    gaussian : SiteGaussian
        The approximation, with all its moments.
    moments : Moments
        The likelihood's moments that its sites come from: tilted ones under the cavities (expectation propagation),
        expected ones under the marginals (variational).
    log_evidence : float
        ln Q(Y|X) or a lower bound on it, ln κ(C) included.
    status : Status
        Whether the sites are those that were looked for.
    residual : float
        By how much they are not, in units of the Gaussian's standard deviations.
    sweeps : int
        Updates of all sites.
    """

    gaussian: SiteGaussian
    moments: Moments
    log_evidence: float
    status: Status
    residual: float
    sweeps: int

    @property
    def sites(self) -> Sites:
        """What the next run can be started from."""
        return Sites(self.gaussian.tau, self.gaussian.nu)

    @property
    def tau(self) -> Array:
        """Precisions of the sites."""
        return self.gaussian.tau

    @property
    def nu(self) -> Array:
        """Linear parameters of the sites."""
        return self.gaussian.nu

    @property
    def mean(self) -> Array:
        """Mean of the latent values."""
        return self.gaussian.mean

    @property
    def variance(self) -> Array:
        """Variance of the latent values."""
        return self.gaussian.variance
