"""The latent functions of K classes given the labels, as Gaussians that share their covariance.

Each class has a latent function with the same kernel K. Gaussian factors (sites) of the same precision for all classes
stand for the likelihood, so that one factorisation serves all:

- least squares: targets ±1, class or not, with noise of variance 1/C (the least-squares SVM, Suykens & Vandewalle
  1999; Gaussian process regression on labels, Rasmussen & Williams 2006, section 6.5). Sites are known at once, and so
  are the moments without an example (section 5.4.2).
- softmax: the likelihood of a multinomial model with latent functions of covariance C·K, around its mode (section 3.5).
  The curvature diag(p) - ppᵀ of each row is replaced by a multiple of the identity with the same trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import ExpandingGaussian, SiteGaussian, Sites
from marginwise.covariance.groups import GroupCavities
from marginwise.covariance.local_gaussian import LocalGaussian
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.inference.prediction import LatentPredictor, LocalPredictor, Predictor
from marginwise.model import Model
from marginwise.multiclass.link import Link, SoftmaxLink, fit_link
from marginwise.multiclass.mode import TOLERANCE, before_gaussian, softmax_mode, softmax_sites
from marginwise.problem import Problem

#: Powers of 4 that C may be multiplied by for the softmax likelihood, and the one that is nearest to most tables.
_POWERS, _USUAL = range(-2, 6), 1


class Moments(NamedTuple):
    """Means (n, K) and variances (n,) of latent values."""

    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class ClassPosterior:
    """The latent functions of all classes given the labels.

    Attributes
    ----------
    problem, model
        What it is the posterior of.
    gaussian : SiteGaussian
        The covariance that all classes share, with the sites of the first.
    precision : array of shape (n,)
        ρ: the sites on the latent values are exp(-½ρθ² + ηθ).
    eta : array of shape (n, K)
    offset : array of shape (K,)
        Added to the latent means.
    unit : float
        Variances count in units of 1/unit.
    scale : float
        The covariance of the latent functions in units of the model's kernel.
    """

    problem: Problem
    model: Model
    gaussian: SiteGaussian
    precision: Array
    eta: Array
    offset: Array
    unit: float
    scale: float

    @property
    def sites(self) -> Sites:
        """Precision and η: what stands for the likelihood, under a kernel near by, too."""
        return Sites(self.precision, self.eta)

    @cached_property
    def nu(self) -> Array:
        """Sites on the values that the covariance knows; what it leaves out blurs them."""
        return self.eta * (self.gaussian.tau / self.precision)[:, None]

    @cached_property
    def mean(self) -> Array:
        """μ, the means of the values that the covariance knows, without the offset."""
        return self.gaussian.times_covariance(self.nu)

    @cached_property
    def dual_mean(self) -> Array:
        """b = ν - τμ."""
        return self.nu - self.gaussian.tau[:, None] * self.mean

    @cached_property
    def group_cavities(self) -> GroupCavities | None:
        """The joint distributions of groups of rows without their sites; None where rows are left out one by one."""
        groups = self.problem.groups
        return None if groups is None else GroupCavities.of(self.gaussian, groups)

    @cached_property
    def cavity(self) -> Moments:
        """Moments of the latent values without the sites of the row, or of its group, and without the offset."""
        v, residual = self.gaussian.cavity_variance, self.gaussian.prior.residual
        if self.group_cavities is None:
            mean = self.mean - v[:, None] * self.dual_mean
        else:
            v, mean = self.group_cavities.variance, self.group_cavities.mean(self.mean, self.dual_mean)
        return Moments(mean, v if residual is None else v + residual)

    @property
    def staying(self) -> Array:
        """The part of each row's site that stays when one of its examples is left out."""
        return 1.0 - self.problem.left_out / self.problem.weights

    @cached_property
    def left_out(self) -> Moments:
        """Moments of the latent values without one example: the cavity times what stays of the row's own site."""
        mean, v = without_examples(*self.cavity, self.precision, self.eta, self.staying)
        return Moments(mean + self.offset, self.unit * v)

    def fitted_link(self, start: SoftmaxLink | None = None) -> SoftmaxLink:
        """Return the link that suits the examples left out."""
        problem = self.problem
        return fit_link(*self.left_out, problem.labels, problem.weights, start).link

    @property
    def predictor(self) -> ClassPredictor | LocalClassPredictor:
        """What predictions need."""
        gaussian, kernel = self.gaussian, self.model.kernel
        if isinstance(gaussian, LocalGaussian):
            dual, weights = gaussian.coefficients(self.nu)
            return LocalClassPredictor(gaussian.for_new_rows(), dual, weights, self.offset, self.unit)
        assert isinstance(gaussian, ExpandingGaussian)
        coefficients = self.scale * gaussian.coefficients(self.nu)
        gain = self.scale * gaussian.predictor()[1]
        return ClassPredictor(gaussian.points, coefficients, gain, kernel, self.offset, self.scale * self.unit)


class ClassScores(Predictor):
    """Latent functions of all classes, with one variance for all, at new points.

    Attributes
    ----------
    offset : array of shape (K,)
        Added to the means.
    unit : float
        Factor of the variances: they count in units of the noise.
    link : Link or None
        What makes class probabilities of the moments.
    """

    offset: Array
    unit: float
    link: Link | None = None

    def scores(self, X: Array) -> Array:
        """Return the latent means alone: the largest is that of the most probable class."""
        return self.scores_of(self.latent_mean(X))

    def scores_of(self, mean: Array) -> Array:
        return mean + self.offset if self.link is None else self.link.scores(mean + self.offset)

    def log_proba_of(self, mean: Array, variance: Array) -> Array:
        """Return what the link makes of the moments."""
        assert self.link is not None
        return self.link.log_proba(mean + self.offset, self.unit * variance)

    @property
    def n_functions(self) -> int:
        return 1 if len(self.offset) == 2 else len(self.offset)

    def latent_in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        assert self.link is not None
        return self.link.in_log_odds(mean + self.offset, self.unit * variance)

    def blurring(self, variance: Array) -> Array:
        """By the link; the log-odds of two classes are those of twice a latent value, since these are opposite."""
        assert self.link is not None
        by_log_odds = self.link.blurring(self.unit * variance)
        return by_log_odds / 4.0 if len(self.offset) == 2 else by_log_odds

    def _moments(self, mean: Array, variance: Array) -> Moments:
        return Moments(mean + self.offset, self.unit * variance)


@dataclass(frozen=True, eq=False)
class ClassPredictor(LatentPredictor, ClassScores):
    """The same as sums over points: coefficients (m, K), and one gain for the variance of all."""

    offset: Array
    unit: float
    link: Link | None = None

    def moments(self, X: Array, cross: Array | None = None) -> Moments:
        """Return what a link takes; ``cross`` are the covariances of the rows with the points, if they are at hand."""
        return self._moments(*(self.latent_mean_and_variance(X) if cross is None else self.moments_of(X, cross)))


@dataclass(frozen=True, eq=False)
class LocalClassPredictor(LocalPredictor, ClassScores):
    """The same with blocks."""

    offset: Array
    unit: float
    link: Link | None = None

    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> ClassPredictor:
        return ClassPredictor(points, coefficients, gain, self.kernel, self.offset, self.unit, self.link)

    def moments(self, X: Array) -> Moments:
        """Return what a link takes."""
        return self._moments(*self.latent_mean_and_variance(X))


def without_examples(m: Array, v: Array, precision: Array, eta: Array, staying: Array) -> Moments:
    """Return the moments of cavities times what stays of the sites (ρ, η) when one example is left out."""
    shrink = 1.0 + v * staying * precision
    return Moments((m + (v * staying)[:, None] * eta) / shrink[:, None], v / shrink)


def least_squares(problem: Problem, model: Model) -> ClassPosterior:
    """Return the posterior by least squares."""
    covariance = problem.covariance(model)
    wanted, offset = _targets(problem)
    precision = model.C * problem.weights
    return posterior_of_sites(
        problem, model, covariance, precision, precision[:, None] * wanted, offset, (model.C, 1.0)
    )


def softmax_map(
    problem: Problem, model: Model, start: Sites | None = None, tolerance: float = TOLERANCE
) -> ClassPosterior:
    """Return the posterior around the mode of the softmax likelihood; ``start`` is :func:`softmax_mode`'s."""
    kernel = model.kernel.scaled(model.C)
    if kernel is None:
        raise InvalidInputError("kernel", model.kernel, "one with an amplitude, for the softmax likelihood")
    covariance = problem.covariance(Model(1.0, kernel))
    theta, p = softmax_mode(problem, covariance, start, before_gaussian(problem, tolerance))
    precision, eta = softmax_sites(theta, p, problem.labels, problem.weights)
    return posterior_of_sites(problem, model, covariance, precision, eta, np.zeros(eta.shape[1]), (1.0, model.C))


def class_posterior_from(problem: Problem, model: Model, precision: Array, eta: Array) -> ClassPosterior:
    """Return the posterior of the softmax likelihood from its sites: one factorisation, and no search for the mode."""
    kernel = model.kernel.scaled(model.C)
    assert kernel is not None
    covariance = problem.covariance(Model(1.0, kernel))
    return posterior_of_sites(problem, model, covariance, precision, eta, np.zeros(eta.shape[1]), (1.0, model.C))


def best_softmax_C(problem: Problem, model: Model) -> tuple[float, float] | None:
    """Return the C, a power of four, under which examples left out are most probable, and their log-probability there.

    None if C·K is no such kernel. Least squares have found the shape of K, and only the size of the latent functions is
    another one. Each mode is begun from the one before.
    """
    near: Sites | None = None
    found: dict[float, float] = {}

    def value(C: float) -> float:
        nonlocal near
        posterior = softmax_map(problem, model.with_C(C), near)
        near = posterior.sites
        fit = fit_link(*posterior.left_out, problem.labels, problem.weights)
        logs = fit.link.log_proba(*posterior.left_out)
        found[C] = float(problem.weights @ logs[np.arange(problem.n), problem.labels])
        return fit.value

    best = best_C(model, value, _USUAL)
    return None if best is None else (best, found[best])


def best_C(model: Model, value: Callable[[float], float], usual: int) -> float | None:
    """Return the C, the model's times a power of four, of the largest value; None if C·K is no such kernel.

    Up from the usual power as long as that helps, or else down. ln C has a normal prior, of the width that it has for
    two classes.
    """
    if model.kernel.scaled(1.0) is None:
        return None

    def penalised(power: int) -> float:
        return value(model.C * 4.0**power) - 0.5 * (power * np.log(4.0)) ** 2

    best, chosen = penalised(usual), usual
    for side in (1, -1):
        power = usual + side
        while power in _POWERS and (there := penalised(power)) > best:
            best, chosen, power = there, power, power + side
        if chosen != usual:
            break
    return float(model.C * 4.0**chosen)


def _targets(problem: Problem) -> tuple[Array, Array]:
    """Return ±1, class or not, less the classes' means, shape (n, K), and these means."""
    offset = 2.0 * np.bincount(problem.labels, problem.weights, problem.n_classes) / problem.weights.sum()
    return targets(problem.labels, offset), offset


def targets(labels: Indices, offset: Array) -> Array:
    """Return 2 for the class of each row and 0 for the others, less the offset."""
    matrix = np.tile(-offset, (len(labels), 1))
    matrix[np.arange(len(labels)), labels] += 2.0
    return matrix


def posterior_of_sites(
    problem: Problem,
    model: Model,
    covariance: SiteCovariance,
    precision: Array,
    eta: Array,
    offset: Array,
    units: tuple[float, float],
) -> ClassPosterior:
    residual = covariance.residual
    tau = precision if residual is None else precision / (1.0 + precision * residual)
    gaussian = covariance.gaussian(tau, eta[:, 0] * (tau / precision))
    if gaussian is None:
        raise NotConvergedError("the Gram matrix is singular to rounding; shorter length scales or a smaller C help")
    return ClassPosterior(problem, model, gaussian, precision, eta, offset, *units)
