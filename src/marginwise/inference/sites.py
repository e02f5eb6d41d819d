"""What stands for the likelihood in a Gaussian approximation of the posterior, and the result of finding it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise.inference.gaussian import SiteGaussian
from marginwise.likelihoods import Moments
from marginwise.status import Status

Array = npt.NDArray[np.float64]


class Sites(NamedTuple):
    """The factors exp(-½τ_iθ_i² + ν_iθ_i) that stand for the likelihood: what a run near by can be started from."""

    tau: Array
    nu: Array


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
