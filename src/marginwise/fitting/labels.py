"""From a model to class probabilities: slacks by expectation propagation, least squares, softmax, or thresholds.

Each of them is trained on a problem with a model, and gives a predictor, and what it says of each row without it. Least
squares and softmax share a search: what differs is how large the latent functions are. So do the two models of classes
with an order, which have one latent function and thresholds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.criteria.base import Criterion
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.criteria.ordered import OrderedLeaveOneOut
from marginwise.fitting.schedule import SCHEDULE
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.inference.prediction import LatentPredictor, Predictor
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.multiclass.linear import LinearPosterior, linear_least_squares, linear_softmax
from marginwise.multiclass.link import Link, SoftmaxLink
from marginwise.multiclass.mode import TOLERANCE
from marginwise.multiclass.ordered import (
    best_threshold_C,
    fitted_ordered_link,
    ordered_least_squares,
    threshold_map,
)
from marginwise.multiclass.ordered_link import OrderedLink
from marginwise.multiclass.posterior import (
    ClassPosterior,
    best_softmax_C,
    class_posterior_from,
    least_squares,
    softmax_map,
)
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status

#: Root mean square residual of expectation propagation with very many rows, in standard deviations of the posterior.
_MANY_TOLERANCE = 1e-3

#: Residual of expectation propagation, and largest change of a probability in the last step towards the mode of the
#: softmax likelihood, in double precision: where both end does then not depend on where they begin.
_EXACT_TOLERANCE = 1e-10


class Trained(NamedTuple):
    """What is kept of training: no n×n or n×m matrix but those of the predictor outlives it.

    Attributes
    ----------
    predictor : Predictor
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

    predictor: Predictor
    log_left_out: Array
    stored: tuple[Array, ...]
    log_evidence: float = np.nan
    status: Status = CONVERGED
    sites: Sites | None = None


@dataclass(frozen=True)
class Scale:
    """The C of a label model, in the place of that which the search found; None leaves it as it is."""

    C: float | None = None

    def __call__(self, model: Model) -> Model:
        """Return the model at this scale."""
        return model if self.C is None else model.with_C(self.C)


@dataclass(frozen=True)
class LabelModel(ABC):
    """How labels come from latent functions."""

    name: ClassVar[str]
    #: Whether training is a sum over rows, where latent functions are linear in few features.
    sums_rows: ClassVar[bool] = False

    @property
    def criterion(self) -> Criterion:
        """What finds the shape of the kernel for these labels, in closed form."""
        return LeastSquaresLeaveOneOut()

    def suits(self, n_classes: int) -> bool:
        """Say whether it is for so many classes."""
        return True

    def scale(self, problem: Problem, model: Model) -> tuple[Scale, float | None] | None:
        """Return the scale of a model that a search by other labels found; None if there is none.

        With it comes the log-probability of the labels, left out, at this scale, where it is at hand.
        """
        return Scale(), None

    @abstractmethod
    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        """Return the predictor trained on a problem, and more; ``start`` are sites near by."""

    @abstractmethod
    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        """Return the predictor again, for a covariance that is exact."""

    def near(self, model: Model, stored: tuple[Array, ...], predictor: Predictor) -> Sites | None:
        """Return the sites that training near by gains from, if there are any, of one with an exact covariance."""
        return None


@dataclass(frozen=True)
class SlackLabels(LabelModel):
    """The slack likelihood of the SVM, for two classes, by expectation propagation."""

    name: ClassVar[str] = "slack"
    slack: Slack

    def suits(self, n_classes: int) -> bool:
        return n_classes <= 2

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        if problem.inducing is None:
            posterior = site_posterior(
                problem, model, self.slack, start=start, tolerance=_EXACT_TOLERANCE, with_gradient=False
            )
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

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        likelihood = self.slack.weighted(model.C, problem.weights)
        return GaussianPosterior.from_sites(problem, model, likelihood, Sites(*stored)).predictor

    def near(self, model: Model, stored: tuple[Array, ...], predictor: Predictor) -> Sites | None:
        return Sites(*stored)


@dataclass(frozen=True)
class LeastSquaresLabels(LabelModel):
    """Targets ±1 with Gaussian noise, one latent function for each class, and a softmax link."""

    name: ClassVar[str] = "least-squares"
    sums_rows: ClassVar[bool] = True

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        if _is_linear(problem):
            return _trained_linear(linear_least_squares(problem, model))
        posterior = least_squares(problem, model)
        link = posterior.fitted_link()
        return _trained_classes(posterior, link, np.exp(link.logs))

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        return _restored_classes(least_squares(problem, model), SoftmaxLink(*map(float, stored[0])))


@dataclass(frozen=True)
class SoftmaxLabels(LabelModel):
    """The multinomial likelihood around its mode, one latent function for each class."""

    name: ClassVar[str] = "softmax"
    sums_rows: ClassVar[bool] = True

    def suits(self, n_classes: int) -> bool:
        """Say whether classes are not too many: the mode of many is far."""
        return n_classes <= SCHEDULE.softmax_classes

    def scale(self, problem: Problem, model: Model) -> tuple[Scale, float | None] | None:
        """Return the C under which examples left out are most probable."""
        found = best_softmax_C(problem, model)
        return None if found is None else (Scale(found[0]), found[1])

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        tolerance = TOLERANCE if problem.single else _EXACT_TOLERANCE
        if _is_linear(problem):
            return _trained_linear(linear_softmax(problem, model, start, tolerance))
        posterior = softmax_map(problem, model, start, tolerance)
        link = posterior.fitted_link()
        trained = _trained_classes(posterior, link, np.exp(link.logs), posterior.precision, posterior.eta)
        return trained._replace(sites=posterior.sites)

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        link, precision, eta = stored
        return _restored_classes(class_posterior_from(problem, model, precision, eta), SoftmaxLink(*map(float, link)))

    def near(self, model: Model, stored: tuple[Array, ...], predictor: Predictor) -> Sites | None:
        """Return the slope of the likelihood at the mode, sites without a precision: there K⁻¹θ is the same."""
        assert isinstance(predictor, LatentPredictor)
        dual = predictor.coefficients / model.C
        return Sites(np.zeros(len(dual)), dual)


@dataclass(frozen=True)
class OrderedLabels(LabelModel):
    """One latent function for classes with an order, and a link with thresholds.

    Attributes
    ----------
    order : tuple of int
        The numbers of the classes from the lowest to the highest.
    """

    order: tuple[int, ...]

    def suits(self, n_classes: int) -> bool:
        """Say whether there is an order to speak of: two classes always have one."""
        return n_classes >= 3

    @property
    def criterion(self) -> Criterion:
        return OrderedLeaveOneOut(self.order)

    def _link(self, parameters: Array) -> OrderedLink:
        return OrderedLink.of(parameters, self.order)


@dataclass(frozen=True)
class OrderedLeastSquaresLabels(OrderedLabels):
    """Normal scores as targets with Gaussian noise."""

    name: ClassVar[str] = "ordered-least-squares"

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        posterior = ordered_least_squares(problem, model, self.order)
        link = fitted_ordered_link(posterior, self.order).link
        return _trained_classes(posterior, link, link.parameters)

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        return _restored_classes(ordered_least_squares(problem, model, self.order), self._link(stored[0]))


@dataclass(frozen=True)
class ThresholdLabels(OrderedLabels):
    """The likelihood with thresholds around its mode."""

    name: ClassVar[str] = "thresholds"

    def scale(self, problem: Problem, model: Model) -> tuple[Scale, float | None] | None:
        """Return the C under which examples left out are most probable."""
        C = best_threshold_C(problem, model, self.order)
        return None if C is None else (Scale(C), None)

    def train(self, problem: Problem, model: Model, start: Sites | None = None) -> Trained:
        posterior, (link, *_) = threshold_map(problem, model, self.order)
        return _trained_classes(posterior, link, link.parameters, posterior.precision, posterior.eta)

    def restored(self, problem: Problem, model: Model, stored: tuple[Array, ...]) -> Predictor:
        link, precision, eta = stored
        return _restored_classes(class_posterior_from(problem, model, precision, eta), self._link(link))


def _trained_classes(posterior: ClassPosterior, link: Link, *stored: Array) -> Trained:
    return Trained(replace(posterior.predictor, link=link), link.log_proba(*posterior.left_out), stored)


def _trained_linear(posterior: LinearPosterior) -> Trained:
    """Return what is kept; the sites of rows in memory, too: where rows are elsewhere, nothing starts from them."""
    link = posterior.fitted_link()
    sites = posterior.row_sites if isinstance(posterior.problem.X, np.ndarray) else None
    return Trained(replace(posterior.predictor, link=link), posterior.log_left_out(link), (), sites=sites)


def _is_linear(problem: Problem) -> bool:
    """Say whether latent functions are linear in few features, and rows are left out one by one."""
    return problem.inducing is not None and problem.partition is None and problem.groups is None


def _restored_classes(posterior: ClassPosterior, link: Link) -> Predictor:
    return replace(posterior.predictor, link=link)


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
        norm="rms",
        covariance=covariance,
    )
