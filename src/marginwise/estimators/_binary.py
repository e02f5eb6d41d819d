"""The two-class model behind TunedSVC: a stack of tuned models, their posteriors and their SVMs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from marginwise import kernel
from marginwise.criteria import Criterion
from marginwise.hyperparameters import Hyperparameters, log_bounds
from marginwise.inference.api import site_posterior
from marginwise.inference.ep_gradient import leave_one_out
from marginwise.inference.prediction import GaussianPosterior
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.slack import Slack
from marginwise.stacking import Component, Stack, climb
from marginwise.svm import Solution, solve_problem
from marginwise.tuning import tune

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinaryModel:
    """A stack of tuned models on one two-class problem.

    Attributes
    ----------
    problem : Problem
        The training examples as the model sees them.
    slack : Slack
    components : tuple of Component
        Tuned models with their weights.
    posteriors, solutions : tuples
        Posterior and SVM of each component.
    held_out : array of shape (n,)
        Probability of label +1 for each training example, from models without it.
    warnings : tuple of str
        What a user should know of the searches and approximations.
    """

    problem: Problem
    slack: Slack
    components: tuple[Component, ...]
    posteriors: tuple[GaussianPosterior, ...]
    solutions: tuple[Solution, ...]
    held_out: Array
    warnings: tuple[str, ...]

    @property
    def main(self) -> Component:
        """The component with the largest weight."""
        return max(self.components, key=lambda component: component.weight)

    @property
    def main_posterior(self) -> GaussianPosterior:
        """The posterior of that component."""
        return self.posteriors[self.components.index(self.main)]

    @property
    def relevance(self) -> Array:
        """1/l_a² of each input, with sum 1 in each component, averaged over the components."""
        d = self.problem.X.shape[1]
        total = np.zeros(d)
        for component in self.components:
            inverse = component.hyperparameters.scales_for(d) ** -2.0
            total += component.weight * inverse / inverse.sum()
        return total

    def probability(self, X: Array, predictor: str) -> Array:
        """Return the probability of label +1."""
        if predictor == "svm":
            return expit(self._svm_log_odds(X))
        return self._mix(lambda posterior: posterior.predict_proba(X)[:, 1])

    def decision(self, X: Array, predictor: str) -> Array:
        """Return the log-odds of label +1, or the latent function of the main component's SVM."""
        return self._svm_latent(X) if predictor == "svm" else logit(self.probability(X, predictor))

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent function under the mixture of the posteriors."""
        moments = [posterior.latent_mean_and_variance(X) for posterior in self.posteriors]
        means, variances = (np.array(values) for values in zip(*moments, strict=True))
        weights = np.array([component.weight for component in self.components])
        mean = weights @ means
        return mean, weights @ (variances + (means - mean) ** 2)

    def _mix(self, function: Any) -> Array:
        parts = [
            component.weight * function(posterior)
            for component, posterior in zip(self.components, self.posteriors, strict=True)
        ]
        return np.sum(parts, axis=0)

    def _svm_latent(self, X: Array) -> Array:
        solution = self.solutions[self.components.index(self.main)]
        support = solution.support
        signed = self.problem.y[support] * solution.alpha[support]
        return kernel.cross_gram(X, self.problem.X[support], self.main.hyperparameters) @ signed

    def _svm_log_odds(self, X: Array) -> Array:
        """Return C[l_p(-θ) - l_p(θ)]: eq. (lh) at the SVM's latent value, normalised over the two labels."""
        latent = self._svm_latent(X)
        return self.main.hyperparameters.C * (self.slack.loss(-latent) - self.slack.loss(latent))


def fit_binary(
    problem: Problem,
    criterion: Criterion,
    *,
    freedom: str | float,
    prior: Prior,
    seed: int,
    n_jobs: int | None,
    **options: Any,
) -> BinaryModel:
    """Tune on the problem with the given freedom of the length scales, and keep all that predictions need."""
    if freedom == "auto":
        stack = climb(problem, criterion, prior=prior, seed=seed, n_jobs=n_jobs, **options)
    else:
        stack = _single(problem, criterion, float(freedom), prior, seed, n_jobs, options)
    posteriors = tuple(site_posterior(problem, c.hyperparameters, criterion.slack) for c in stack.components)
    solutions = tuple(solve_problem(problem, c.hyperparameters, criterion.slack) for c in stack.components)
    if stack.held_out is not None:
        held_out = np.where(problem.y > 0, stack.held_out, 1.0 - stack.held_out)
    else:
        own = np.exp(leave_one_out(posteriors[0].gaussian, posteriors[0].likelihood, problem.y).log_probability)
        held_out = np.where(problem.y > 0, own, 1.0 - own)
    return BinaryModel(
        problem,
        criterion.slack,
        stack.components,
        posteriors,
        solutions,
        held_out,
        tuple(_warnings(stack, posteriors)),
    )


def _single(
    problem: Problem,
    criterion: Criterion,
    freedom: float,
    prior: Prior,
    seed: int,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Stack:
    """Return a stack of one model: one length scale, then as much freedom as was asked for."""
    common = {"sample_weight": problem.weights, "n_jobs": n_jobs, "random_state": seed, **options}
    tuning = tune(problem.X, problem.y, criterion, prior=prior, isotropic=True, **common)
    if freedom > 0 and problem.X.shape[1] > 1:
        under = replace(prior, spread=freedom)
        common |= {"start": tuning.hyperparameters, "isotropic": False, "restarts": 0}
        tuning = tune(problem.X, problem.y, criterion, prior=under, **common)
    return Stack((Component(1.0, freedom, tuning),), None)


def _warnings(stack: Stack, posteriors: tuple[GaussianPosterior, ...]) -> list[str]:
    messages = [posterior.status.message for posterior in posteriors if not posterior.status.ok]
    for component in stack.components:
        messages += _on_bounds(component.hyperparameters)
    return messages


def _on_bounds(hyperparameters: Hyperparameters) -> list[str]:
    """Say which of C, k0 and koff ended on a bound; a length scale on its bound only says that an input is useless."""
    vector = hyperparameters.to_vector()
    low, high = log_bounds(len(hyperparameters.length_scales))
    return [
        f"{name} = {np.exp(vector[i]):.3g} ended on its bound; the data do not determine it, "
        "a prior with a smaller standard deviation will"
        for i, name in enumerate(hyperparameters.names[:3])
        if min(vector[i] - low[i], high[i] - vector[i]) < 1e-6
    ]
