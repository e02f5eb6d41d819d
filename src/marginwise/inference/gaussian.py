"""The posterior as a Gaussian process: moments at the training points, and what predicts new ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.covariance.gaussian import ExpandingGaussian, SiteGaussian, Sites
from marginwise.covariance.local_gaussian import LocalGaussian
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.inference.base import Posterior
from marginwise.inference.prediction import GaussianPredictor, LocalGaussianPredictor
from marginwise.likelihoods.base import WeightedLikelihood
from marginwise.model import Model
from marginwise.problem import Problem


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GaussianPosterior(Posterior):
    """The posterior as a Gaussian process.

    Attributes
    ----------
    gaussian : SiteGaussian
        The approximation at the training inputs, or at the distinct ones among them.
    likelihood : WeightedLikelihood
        The likelihood of a label, with its κ(C).
    """

    gaussian: SiteGaussian
    likelihood: WeightedLikelihood

    @classmethod
    def from_sites(
        cls, problem: Problem, hyperparameters: Model, likelihood: WeightedLikelihood, sites: Sites
    ) -> GaussianPosterior:
        """Return the posterior of sites found before: one factorisation, and no search for a fixed point."""
        shapes = tuple(np.shape(part) for part in sites)
        if shapes != ((problem.n,),) * 2:  # compiled loops would not notice
            raise InvalidInputError("shape of sites", shapes, f"({problem.n},) for each, as there are examples")
        gaussian = problem.covariance(hyperparameters).gaussian(*sites)
        if gaussian is None:
            raise NotConvergedError("these sites and this kernel do not belong together: no Gaussian has them")
        mean, variance = gaussian.latent_moments()
        return cls(
            problem=problem,
            hyperparameters=hyperparameters,
            latent_mean=mean,
            latent_variance=variance,
            gaussian=gaussian,
            likelihood=likelihood,
        )

    @cached_property
    def predictor(self) -> GaussianPredictor | LocalGaussianPredictor:
        """What predictions need."""
        gaussian, kernel = self.gaussian, self.hyperparameters.kernel
        if isinstance(gaussian, LocalGaussian):
            return LocalGaussianPredictor(gaussian.for_new_rows(), *gaussian.coefficients(gaussian.nu), self.likelihood)
        assert isinstance(gaussian, ExpandingGaussian)
        return GaussianPredictor(gaussian.points, *gaussian.predictor(), kernel, self.likelihood)

    @property
    def sites(self) -> Sites:
        """What a run near by can be started from."""
        return Sites(self.gaussian.tau, self.gaussian.nu)

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the latent function at new points."""
        return self.predictor.latent_mean_and_variance(X_new)

    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1."""
        return self.predictor.log_label_probability(X_new)
