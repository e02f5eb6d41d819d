"""The latent functions of K classes given the labels, as Gaussians that share their covariance.

Each class has a latent function with the same kernel K. Gaussian factors (sites) of the same precision for all classes
stand for the likelihood, so that one factorisation serves all:

- least squares: targets ±1, class or not, with noise of variance 1/C (the least-squares SVM, Suykens & Vandewalle 1999;
  Gaussian process regression on labels, Rasmussen & Williams 2006, section 6.5). Sites are known at once, and so are the
  moments without an example (section 5.4.2).
- softmax: the likelihood of a multinomial model with latent functions of covariance C·K, at its mode (section 3.5).
  The curvature diag(p) - ppᵀ of each row is replaced by a multiple of the identity, which changes the way to the mode
  and the variances, but not the mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from marginwise._arrays import Array
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance import SiteCovariance, SiteGaussian
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.inference.prediction import LatentPredictor
from marginwise.many.link import SoftmaxLink, fit_link
from marginwise.model import Model
from marginwise.problem import Problem

#: Share of max_k p_k(1 - p_k) that stands for the curvature on the way to the mode. The largest eigenvalue of
#: diag(p) - ppᵀ is between 1 and 2 times it; below 1 steps go too far.
_CURVATURE = 1.4

#: Largest change of a probability at which the mode is reached, and most steps towards it.
_TOLERANCE, _MAX_STEPS = 1e-5, 200

#: Least curvature of a row, in units of its weight: a row beyond doubt says nothing, but is divided by.
_LEAST_CURVATURE = 1e-10


#: Factors of C that are tried for the softmax likelihood.
_SOFTMAX_C = tuple(4.0**k for k in range(-2, 6))


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
    """

    problem: Problem
    model: Model
    gaussian: SiteGaussian
    precision: Array
    eta: Array
    offset: Array
    unit: float

    @cached_property
    def nu(self) -> Array:
        """Sites on the values that the covariance knows; what it leaves out blurs them."""
        return self.eta * (self.gaussian.tau / self.precision)[:, None]

    @cached_property
    def cavity(self) -> Moments:
        """Moments of the latent values without the rows' own sites, and without the offset."""
        g = self.gaussian
        mean = g.times_covariance(self.nu)
        v = g.cavity_variance
        residual = g.prior.residual
        return Moments(mean - v[:, None] * (self.nu - g.tau[:, None] * mean), v if residual is None else v + residual)

    @property
    def staying(self) -> Array:
        """The part of each row's site that stays when one of its examples is left out."""
        return 1.0 - self.problem.left_out / self.problem.weights

    @cached_property
    def left_out(self) -> Moments:
        """Moments of the latent values without one example: the cavity times what stays of the row's own site."""
        m, v = self.cavity
        kept = self.staying * self.precision
        shrink = 1.0 + v * kept
        mean = (m + (v * self.staying)[:, None] * self.eta) / shrink[:, None]
        return Moments(mean + self.offset, self.unit * v / shrink)

    def fitted_link(self, start: SoftmaxLink | None = None) -> SoftmaxLink:
        """Return the link that suits the examples left out."""
        problem = self.problem
        return fit_link(*self.left_out, problem.labels, problem.weights, start).link

    @property
    def predictor(self) -> ClassPredictor:
        """What predictions need."""
        points = self.problem.X if self.problem.inducing is None else self.problem.inducing
        coefficients = self.gaussian.coefficients(self.nu)
        gain = self.gaussian.predictor()[1]
        return ClassPredictor(points, coefficients, gain, self.gaussian.prior.kernel, self.offset, self.unit)


@dataclass(frozen=True, eq=False)
class ClassPredictor(LatentPredictor):
    """Latent functions of all classes at new points: coefficients (m, K), and one gain for the variance of all.

    Attributes
    ----------
    offset : array of shape (K,)
        Added to the means.
    unit : float
        Factor of the variances: they count in units of the noise.
    """

    offset: Array
    unit: float

    def scores(self, X: Array) -> Array:
        """Return the latent means alone: the largest is that of the most probable class."""
        return self.latent_mean(X) + self.offset

    def moments(self, X: Array) -> Moments:
        """Return what a link takes."""
        mean, variance = self.latent_mean_and_variance(X)
        return Moments(mean + self.offset, self.unit * variance)


def least_squares(problem: Problem, model: Model) -> ClassPosterior:
    """Return the posterior by least squares."""
    covariance = problem.covariance(model)
    targets, offset = _targets(problem)
    precision = model.C * problem.weights
    return _posterior(problem, model, covariance, precision, precision[:, None] * targets, offset, model.C)


def softmax_map(problem: Problem, model: Model) -> ClassPosterior:
    """Return the posterior around the mode of the softmax likelihood."""
    kernel = model.kernel.scaled(model.C)
    if kernel is None:
        raise InvalidInputError("kernel", model.kernel, "one with an amplitude, for the softmax likelihood")
    covariance = problem.covariance(Model(1.0, kernel))
    indicators = np.zeros((problem.n, problem.classes))
    indicators[np.arange(problem.n), problem.labels] = 1.0
    theta = np.zeros_like(indicators)
    p = np.full_like(indicators, 1.0 / problem.classes)
    for _ in range(_MAX_STEPS):
        safe_point()
        rough = problem.weights * np.maximum(_CURVATURE * (p * (1.0 - p)).max(axis=1), _LEAST_CURVATURE)
        slope = problem.weights[:, None] * (indicators - p)
        theta = covariance.times(covariance.dual_mean(rough, rough[:, None] * theta + slope))
        before, p = p, softmax(theta, axis=1)
        if np.abs(p - before).max() < _TOLERANCE:
            break
    # the mean of the K - 1 eigenvalues of diag(p) - ppᵀ that are not 0
    mean_curvature = (1.0 - np.einsum("ij,ij->i", p, p)) / (problem.classes - 1)
    precision = problem.weights * np.maximum(mean_curvature, _LEAST_CURVATURE)
    eta = precision[:, None] * theta + problem.weights[:, None] * (indicators - p)
    return _posterior(problem, model, covariance, precision, eta, np.zeros(problem.classes), 1.0)


#: Names of the ways from a model to a posterior: for two classes, and for more.
EP, LEAST_SQUARES, SOFTMAX = "ep", "least-squares", "softmax"
METHODS = {LEAST_SQUARES: least_squares, SOFTMAX: softmax_map}


def best_softmax_C(problem: Problem, model: Model) -> float | None:
    """Return the C, a power of four, under which examples left out are most probable; None if C·K is no such kernel.

    Upwards from the smallest as long as that helps: least squares have found the shape of K, and only the size of the
    latent functions is another one.
    """
    if model.kernel.scaled(1.0) is None:
        return None
    best, chosen = -np.inf, None
    for C in _SOFTMAX_C:
        posterior = softmax_map(problem, model.with_C(model.C * C))
        value = fit_link(*posterior.left_out, problem.labels, problem.weights).value
        if value < best:
            break
        best, chosen = value, model.C * C
    return chosen


def _targets(problem: Problem) -> tuple[Array, Array]:
    """Return ±1, class or not, less the classes' means, shape (n, K), and these means."""
    labels, weights = problem.labels, problem.weights
    shares = np.bincount(labels, weights, problem.classes) / weights.sum()
    targets = np.tile(-2.0 * shares, (problem.n, 1))
    targets[np.arange(problem.n), labels] += 2.0
    return targets, 2.0 * shares


def _posterior(
    problem: Problem, model: Model, covariance: SiteCovariance, precision: Array, eta: Array, offset: Array, unit: float
) -> ClassPosterior:
    residual = covariance.residual
    tau = precision if residual is None else precision / (1.0 + precision * residual)
    gaussian = covariance.gaussian(tau, eta[:, 0] * (tau / precision))
    if gaussian is None:
        raise NotConvergedError("the Gram matrix is singular to rounding; shorter length scales or a smaller C help")
    return ClassPosterior(problem, model, gaussian, precision, eta, offset, unit)
