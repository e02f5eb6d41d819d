"""A Gaussian approximation of the posterior: moments and label probabilities at new points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marginwise import kernel
from marginwise.errors import NotConvergedError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.contract import Posterior
from marginwise.inference.covariance import as_covariance
from marginwise.inference.gaussian import SiteGaussian
from marginwise.inference.likelihoods import Likelihood
from marginwise.inference.sites import Sites
from marginwise.problem import Problem, check_inputs

Array = npt.NDArray[np.float64]

#: Smallest share of the prior variance that is reported; differences below it are rounding.
_LEAST_SHARE = 1e-14


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianPosterior(Posterior):
    """The posterior as the Gaussian process whose moments at the points X are those of ``gaussian``.

    Attributes
    ----------
    X : array of shape (m, d)
        Points of the sites: the training inputs, the distinct ones among them, or the inducing inputs.
    gaussian : SiteGaussian
        The approximation at these points.
    likelihood : Likelihood
        The likelihood of a label, with its κ(C).
    """

    X: Array
    gaussian: SiteGaussian
    likelihood: Likelihood

    @classmethod
    def from_sites(
        cls, problem: Problem, hyperparameters: Hyperparameters, likelihood: Likelihood, sites: Sites
    ) -> GaussianPosterior:
        """Return the posterior of sites found before: one factorisation, and no search for a fixed point."""
        gaussian = as_covariance(problem.covariance(hyperparameters)).gaussian(*sites)
        if gaussian is None:
            raise NotConvergedError("these sites and this kernel do not belong together: no Gaussian has them")
        mean, variance = gaussian.latent_moments()
        return cls(
            problem=problem,
            hyperparameters=hyperparameters,
            latent_mean=mean,
            latent_variance=variance,
            X=problem.X if problem.inducing is None else problem.inducing,
            gaussian=gaussian,
            likelihood=likelihood,
        )

    @cached_property
    def _predictor(self) -> tuple[Array, Array]:
        return self.gaussian.predictor()

    @property
    def sites(self) -> Sites:
        """What a run near by can be started from."""
        return Sites(self.gaussian.tau, self.gaussian.nu)

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return k(x)ᵀb and K(x, x) - k(x)ᵀWk(x) (Rasmussen & Williams 2006, eqs. 3.60, 3.61)."""
        points = check_inputs(X_new, "X_new")
        k = kernel.cross_gram(points, self.X, self.hyperparameters)
        prior = kernel.diagonal(len(points), self.hyperparameters)
        weights, gain = self._predictor
        explained = np.einsum("ij,ij->i", k @ gain, k)
        return k @ weights, np.maximum(prior - explained, _LEAST_SHARE * prior)

    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1: the latent value is normal, so that its average is a ln Z."""
        mean, variance = self.latent_mean_and_variance(X_new)
        one = self.likelihood.unweighted(len(mean))
        columns = [one.tilted(mean, variance, np.full(len(mean), y)).value for y in (-1.0, 1.0)]
        return np.column_stack(columns) + self.likelihood.log_kappa
