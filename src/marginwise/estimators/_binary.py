"""The two-class model behind TunedSVC: a stack of tuned models, their posteriors and their SVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.covariance import Sites
from marginwise.ensemble import TunedModel, Vote
from marginwise.estimators._calibration import Calibration
from marginwise.estimators._stack import Stack
from marginwise.inference.prediction import GaussianPosterior, GaussianPredictor
from marginwise.inference.reduction import reduced
from marginwise.likelihoods import Slack
from marginwise.problem import Problem
from marginwise.svm import solve_problem

#: Latent mean below which only probabilities decide: they are equal to rounding.
_TIE = 1e-9


def _probability(predictor: GaussianPredictor, mean: Array, variance: Array) -> Array:
    log_q = predictor.log_label_probability_of(mean, variance)
    return expit(log_q[:, 1] - log_q[:, 0])


class Expansion(NamedTuple):
    """A function Σ_j c_j K(x, z_j): its points z and coefficients c."""

    points: Array
    coefficients: Array


@dataclass(frozen=True, eq=False)
class BinaryModel(Stack):
    """A stack of tuned models on one two-class problem.

    Attributes
    ----------
    X, y, sample_weight : arrays
        The training examples as the model sees them; where rows are many, those that it was tuned on.
    slack : Slack
    members : tuple of TunedModel
        Tuned models with their weights.
    support : array of int or None
        Support vectors of the SVM with the main member's hyperparameters, among all training examples; None if it is
        trained when :attr:`svm` is asked for.
    dual_coef : array or None
        y_i α_i for these, or the coefficients of ``svm_points``.
    held_out : array of shape (n,)
        Probability of label +1 for each training example, from models without it.
    warnings : tuple of str
        What a user should know of the searches and approximations.
    svm_points : array of shape (m, d) or None
        The points that the SVM's latent function is a sum over, where these are not its support vectors.
    calibration : Calibration or None
        What recalibrates the log-odds of the posterior, where examples are many. ``held_out`` is recalibrated already.
    svm_weights : array of shape (n,) or None
        Weights of the training examples in the SVM, where these are not ``sample_weight``.
    vote : Vote or None
        How members vote; None if their probabilities are averaged.
    """

    X: Array
    y: Array
    sample_weight: Array
    slack: Slack
    members: tuple[TunedModel, ...]
    support: Indices | None
    dual_coef: Array | None
    held_out: Array
    warnings: tuple[str, ...]
    svm_points: Array | None = None
    calibration: Calibration | None = None
    svm_weights: Array | None = None
    vote: Vote | None = None

    def __repr__(self) -> str:
        return summary(self, "X", "slack", "members")

    @property
    def problem(self) -> Problem:
        """The training examples."""
        return Problem(self.X, self.y, self.sample_weight)

    @cached_property
    def svm(self) -> Expansion:
        """The latent function of the SVM.

        Predictions are the posterior's unless the SVM's are asked for, so that a fit can do without it.
        """
        if self.support is not None and self.dual_coef is not None:
            return Expansion(self.X[self.support] if self.svm_points is None else self.svm_points, self.dual_coef)
        problem = self.problem if self.svm_weights is None else replace(self.problem, weights=self.svm_weights)
        solution = solve_problem(problem, self.main.hyperparameters, self.slack)
        solution.status.warn()
        return Expansion(problem.X[solution.support], (problem.y * solution.alpha)[solution.support])

    @cached_property
    def predictors(self) -> tuple[GaussianPredictor, ...]:
        """The posterior of each member, as far as predictions need it."""
        return tuple(reduced(one, partial(_probability, one)) for one in map(self._predictor, self.members))

    def log_odds(self, X: Array, predictor: str) -> Array:
        """Return the log-odds of label +1: from them probabilities keep their digits, however small they are."""
        if predictor == "svm":
            latent = self._svm_latent(X)
            # eq. (lh) at the SVM's latent value, normalised over the two labels
            return self.main.hyperparameters.C * (self.slack.loss(-latent) - self.slack.loss(latent))
        log_q = self._each(lambda predictor: predictor.log_label_probability(X))
        odds = log_q[:, :, 1] - log_q[:, :, 0]
        mixed = odds[0]
        if self.vote is not None:
            shares = self.vote.log_shares(np.stack([log_expit(-odds), log_expit(odds)], axis=2), self.weights)
            mixed = shares[:, 1] - shares[:, 0]
        elif len(odds) > 1:
            weights = self.weights[:, None]
            mixed = logsumexp(log_expit(odds), axis=0, b=weights) - logsumexp(log_expit(-odds), axis=0, b=weights)
        return mixed if self.calibration is None else self.calibration(mixed)

    def best(self, X: Array) -> Indices:
        """Return 0 or 1 for the more probable label; -1 where latent means alone do not tell.

        A label is more probable than the other if its latent mean is positive, and in the average if all members agree.
        """
        if self.calibration is not None:
            return np.full(len(X), -1)
        means = self._each(lambda predictor: predictor.latent_mean(X))
        clear = (np.abs(means) > _TIE).all(axis=0)
        return np.where(clear & (means > 0.0).all(axis=0), 1, np.where(clear & (means < 0.0).all(axis=0), 0, -1))

    def decision(self, X: Array, predictor: str) -> Array:
        """Return the log-odds of label +1, or the latent function of the main member's SVM."""
        return self._svm_latent(X) if predictor == "svm" else self.log_odds(X, predictor)

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent function under the mixture of the posteriors."""
        moments = self._each(lambda predictor: predictor.latent_mean_and_variance(X))
        means, variances = moments[:, 0], moments[:, 1]
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def _each(self, function: Callable[[GaussianPredictor], Any]) -> Array:
        return np.array([function(predictor) for predictor in self.predictors])

    def _predictor(self, member: TunedModel) -> GaussianPredictor:
        h = member.hyperparameters
        likelihood = self.slack.weighted(h.C, self.sample_weight)
        if member.inducing is not None and member.coefficients is not None and member.gain is not None:
            return GaussianPredictor(member.inducing, member.coefficients, member.gain, h.kernel, likelihood)
        predictor = GaussianPosterior.from_sites(self.problem, h, likelihood, Sites(member.tau, member.nu)).predictor
        assert isinstance(predictor, GaussianPredictor)
        return predictor

    def _svm_latent(self, X: Array) -> Array:
        return self.main.hyperparameters.kernel.cross(X, self.svm.points) @ self.svm.coefficients
