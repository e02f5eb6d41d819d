"""From a model to class probabilities: the slack likelihood by expectation propagation, least squares, or softmax.

Each of them is trained on a problem with a model, and gives a predictor, and what it says of each row without it. The
kernel's shape is found by one search for all of them; what differs is how large the latent functions are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize

from marginwise._arrays import Array
from marginwise.covariance import LowRankCovariance, Sites, as_blocks
from marginwise.criteria.contract import attempt
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.fitting.schedule import SCHEDULE
from marginwise.inference.api import site_posterior
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.ep.run import TOLERANCE
from marginwise.inference.prediction import GaussianPosterior, LatentPredictor
from marginwise.likelihoods import Slack
from marginwise.many import (
    ClassPosterior,
    SoftmaxLink,
    best_softmax_C,
    class_posterior_from,
    least_squares,
    softmax_map,
)
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status

#: Root mean square residual of expectation propagation with very many rows, in standard deviations of the posterior.
_MANY_TOLERANCE = 1e-3

#: Bounds of the logarithms of C and of the kernel's factor around what least squares found.
_SCALE_BOUNDS = ((-4.0, 4.0), (-5.0, 6.0))


class Trained(NamedTuple):
    """What is kept of training: no n×n or n×m matrix but those of the predictor outlives it.

    Attributes
    ----------
    predictor : LatentPredictor
        Class probabilities of new rows.
    log_left_out : array of shape (n, n_classes)
        Log-probabilities of all classes for each row, without one of its examples.
    stored : tuple of arrays
        From which :meth:`LabelModel.restored` makes the predictor again.
    log_evidence : float
        ln Q(Y|X) by expectation propagation, or NaN.
    status : Status
    sites : Sites or None
        What training near by can be started from.
    """

    predictor: LatentPredictor
    log_left_out: Array
    stored: tuple[Array, ...]
    log_evidence: float = np.nan
    status: Status = CONVERGED
    sites: Sites | None = None


class Scale(NamedTuple):
    """C, and the factor of the kernel that goes with it; None leaves C as it is."""

    C: float | None = None
    factor: float = 1.0

    def __call__(self, model: Model) -> Model:
        """Return the model at this scale."""
        if self.C is None:
            return model
        kernel = model.kernel if self.factor == 1.0 else model.kernel.scaled(self.factor)
        assert kernel is not None
        return model.with_values(np.array([self.C, *kernel.values]))


@dataclass(frozen=True)
class LabelModel(ABC):
    """How labels come from latent functions."""

    name: ClassVar[str]

    def scale(self, problem: Problem, model: Model, prior: Prior | None) -> Scale | None:
        """Return the scale of a model that a search by other labels found; None if there is none."""
        return Scale()

    @abstractmethod
    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        """Return the predictor trained on a problem, and more; ``start`` are sites near by."""

    @abstractmethod
    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> LatentPredictor:
        """Return the predictor again, for a covariance that is exact."""


@dataclass(frozen=True)
class SlackLabels(LabelModel):
    """The slack likelihood of the SVM, for two classes, by expectation propagation.

    ``rescaled`` says that models come from a search by least squares, and have no scale of C and K yet.
    """

    name: ClassVar[str] = "slack"
    slack: Slack
    rescaled: bool = False

    def scale(self, problem: Problem, model: Model, prior: Prior | None) -> Scale | None:
        """Return the C and the factor of K that maximise the leave-one-out probability and their prior."""
        return _slack_scale(problem, model, self.slack, prior) if self.rescaled else Scale()

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        if problem.inducing is None:
            posterior = site_posterior(problem, model, self.slack, start=start, with_gradient=False)
            stored: tuple[Array, ...] = (posterior.sites.tau, posterior.sites.nu)
        else:
            posterior = _many_rows(problem, model, self.slack, start)
            stored = ()
        loo = leave_one_out(posterior.gaussian, posterior.likelihood, posterior.problem).log_probability
        other = np.log(-np.expm1(np.minimum(loo, -np.finfo(float).tiny)))
        own = problem.labels == 1
        left_out = np.column_stack([np.where(own, other, loo), np.where(own, loo, other)])
        evidence = np.nan if posterior.log_evidence is None else posterior.log_evidence
        return Trained(posterior.predictor, left_out, stored, evidence, posterior.status, posterior.sites)

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> LatentPredictor:
        likelihood = self.slack.weighted(model.C, problem.weights)
        return GaussianPosterior.from_sites(problem, model, likelihood, Sites(*stored)).predictor


@dataclass(frozen=True)
class LeastSquaresLabels(LabelModel):
    """Targets ±1 with Gaussian noise, one latent function for each class, and a softmax link."""

    name: ClassVar[str] = "least-squares"

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        return _trained_classes(least_squares(problem, model))

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> LatentPredictor:
        return _restored_classes(least_squares(problem, model), stored)


@dataclass(frozen=True)
class SoftmaxLabels(LabelModel):
    """The multinomial likelihood around its mode, one latent function for each class."""

    name: ClassVar[str] = "softmax"

    def scale(self, problem: Problem, model: Model, prior: Prior | None) -> Scale | None:
        """Return the C under which examples left out are most probable, where classes are not too many."""
        if problem.classes > SCHEDULE.softmax_classes:
            return None
        C = best_softmax_C(problem, model)
        return None if C is None else Scale(C)

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        posterior = softmax_map(problem, model)
        trained = _trained_classes(posterior)
        return trained._replace(stored=(*trained.stored, posterior.precision, posterior.eta))

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> LatentPredictor:
        *_, precision, eta = stored
        return _restored_classes(class_posterior_from(problem, model, precision, eta), stored)


def _trained_classes(posterior: ClassPosterior) -> Trained:
    link = posterior.fitted_link()
    predictor = replace(posterior.predictor, link=link)
    logs = link.log_proba(*posterior.left_out)
    return Trained(predictor, logs, (np.exp(link.logs),))


def _restored_classes(posterior: ClassPosterior, stored: tuple[Array, ...]) -> LatentPredictor:
    return replace(posterior.predictor, link=SoftmaxLink(*map(float, stored[0])))


def _many_rows(problem: Problem, model: Model, slack: Slack, start: Sites | None) -> GaussianPosterior:
    """Return the posterior with inducing inputs, whose features are of single precision."""
    assert problem.inducing is not None
    covariance = LowRankCovariance(model.kernel, as_blocks(problem.X), problem.inducing, single=True)
    return site_posterior(
        problem,
        model,
        slack,
        start=start,
        tolerance=_MANY_TOLERANCE,
        with_gradient=False,
        typical=True,
        covariance=covariance,
    )


def _slack_scale(problem: Problem, model: Model, slack: Slack, prior: Prior | None) -> Scale | None:
    """Return the C and the factor s of K at which the mean leave-one-out log-probability and the prior are largest.

    Least squares have found the shape of K; these two say how sure the slack likelihood is of it. ∂/∂ln s is the sum of
    the derivatives in the kernel's amplitudes.
    """
    doubled = model.kernel.scaled(2.0)
    if doubled is None:
        return None
    amplitudes = np.log2(doubled.values / model.kernel.values)  # 1 for an amplitude, 0 for all else
    criterion, n, d = EPLeaveOneOut(slack, tolerance=TOLERANCE), float(problem.weights.sum()), problem.X.shape[1]
    problem = problem.distinct
    state: Any = None
    best, chosen = -np.inf, Scale()

    def loss(logs: Array) -> tuple[float, Array]:
        nonlocal state, best, chosen
        scale = Scale(float(np.exp(logs[0])), float(np.exp(logs[1])))
        scaled = scale(model)
        found = attempt(criterion, problem, scaled, state)
        if not found.status.ok or found.gradient is None:
            return 1e3, np.zeros(2)
        log_prior, by_prior = (0.0, np.zeros(len(found.gradient))) if prior is None else prior.log_density(scaled, d)
        value, gradient = found.value + log_prior / n, found.gradient + by_prior / n
        state = found.state
        if value > best:
            best, chosen = value, scale
        return -value, -np.array([gradient[0], amplitudes @ gradient[1:]])

    minimize(
        loss,
        np.zeros(2),
        jac=True,
        method="L-BFGS-B",
        bounds=_SCALE_BOUNDS,
        options={"maxfun": SCHEDULE.scale_evaluations, "ftol": SCHEDULE.no_gain / n},
    )
    return chosen if np.isfinite(best) else None
