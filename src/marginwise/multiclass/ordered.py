"""One latent function for classes with an order, given the labels.

- least squares: the target of a class is its normal score, the mean of the standard normal distribution between the
  quantiles that bound the share of the class among all. It is a guess of where the class lies on the scale of the
  latent function; the thresholds of the link correct it.
- thresholds: the likelihood Φ(a_k - θ) - Φ(a_{k-1} - θ) of Chu & Ghahramani (2005) with a latent function of covariance
  C·K, around the mode of its posterior (Laplace's method; their section 3.1). The mode is unique, because likelihood
  and prior are log-concave. Thresholds are those of the link that suits the examples left out, found from each other
  by turns.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import SiteCovariance
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.interval import BEYOND, interval
from marginwise.model import Model
from marginwise.multiclass.ordered_link import OrderedLink, OrderedLinkFit, fit_ordered_link, ranks_of
from marginwise.multiclass.posterior import ClassPosterior, best_C, posterior_of_sites
from marginwise.problem import Problem

#: Times that thresholds and posterior are found from each other: the first ones are near already.
_TURNS = 2

#: Gain of a step of Newton's method, per example, at which the mode is reached; most steps, and times one is halved.
_TOLERANCE, _MAX_STEPS, _MAX_CUTS = 1e-8, 50, 20

#: Least curvature of a row, in units of its weight.
_LEAST_CURVATURE = 1e-10


def ordered_least_squares(problem: Problem, model: Model, order: tuple[int, ...]) -> ClassPosterior:
    """Return the posterior by least squares, the targets being normal scores of variance 1."""
    targets = normal_scores(problem.labels, problem.weights, order)
    precision = model.C * problem.weights
    covariance = problem.covariance(model)
    eta = (precision * targets)[:, None]
    return posterior_of_sites(problem, model, covariance, precision, eta, np.zeros(1), (model.C, 1.0))


def normal_scores(labels: Indices, weights: Array, order: tuple[int, ...]) -> Array:
    """Return the score of each row's class: mean 0 and variance 1 over the rows."""
    ranks = ranks_of(order)[labels]
    shares = np.bincount(ranks, weights, len(order)) / weights.sum()
    ends = np.append(-np.inf, ndtri(np.minimum(np.cumsum(shares), 1.0)))
    density = np.exp(-0.5 * ends**2)
    scores = -np.diff(density) / np.maximum(shares, np.finfo(float).tiny)  # of classes without rows: not looked at
    return np.asarray((scores / np.sqrt(shares @ scores**2))[ranks])


def fitted_ordered_link(
    posterior: ClassPosterior, order: tuple[int, ...], start: OrderedLink | None = None
) -> OrderedLinkFit:
    """Return the link that suits the examples left out."""
    problem = posterior.problem
    return fit_ordered_link(*posterior.left_out, problem.labels, problem.weights, order, start)


def threshold_map(problem: Problem, model: Model, order: tuple[int, ...]) -> tuple[ClassPosterior, OrderedLinkFit]:
    """Return the posterior around the mode of the likelihood with thresholds, and the link that suits it."""
    kernel = model.kernel.scaled(model.C)
    if kernel is None:
        raise InvalidInputError("kernel", model.kernel, "one with an amplitude, for the likelihood with thresholds")
    covariance = problem.covariance(Model(1.0, kernel))
    fit = fitted_ordered_link(ordered_least_squares(problem, model, order), order)
    theta = None
    for _ in range(_TURNS):
        theta, precision, eta = _mode(problem, covariance, fit.link, theta)
        posterior = posterior_of_sites(problem, model, covariance, precision, eta, np.zeros(1), (1.0, model.C))
        fit = fitted_ordered_link(posterior, order, fit.link)
    return posterior, fit


def best_threshold_C(problem: Problem, model: Model, order: tuple[int, ...]) -> float | None:
    """Return the C, a power of four, under which examples left out are most probable; None if C·K is no such kernel."""
    return best_C(model, lambda C: threshold_map(problem, model.with_C(C), order)[1].value, 0)


def _mode(
    problem: Problem, covariance: SiteCovariance, link: OrderedLink, start: tuple[Array, Array] | None
) -> tuple[tuple[Array, Array], Array, Array]:
    """Return θ = Kb and b at the mode, and the sites there: precision (n,) and η (n, 1).

    Newton's method, halved where it goes too far, maximises Σ w ln q(θ) - ½ θᵀK⁻¹θ (Rasmussen & Williams 2006,
    section 3.4): b is (I + WK)⁻¹(Wθ + ∇) with W the curvature.
    """
    theta, b = (np.zeros(problem.n), np.zeros(problem.n)) if start is None else start
    ranks, total = ranks_of(link.order)[problem.labels], float(problem.weights.sum())
    ends = np.concatenate([[-BEYOND], link.thresholds, [BEYOND]])
    low, high = ends[ranks], ends[ranks + 1]

    def height(theta: Array, b: Array) -> float:
        own = interval(low - theta, high - theta).log_probability
        return float(problem.weights @ own) - 0.5 * float(theta @ b)

    reached = height(theta, b)
    for _ in range(_MAX_STEPS):
        safe_point()
        precision, slope = _curvature(problem.weights, theta, low, high)
        change = covariance.dual_solver(precision)(slope - b)
        moved = covariance.times(change)
        for _ in range(_MAX_CUTS):
            there = height(theta + moved, b + change)
            if there >= reached:
                break
            change, moved = 0.5 * change, 0.5 * moved
        else:
            break
        theta, b, gain, reached = theta + moved, b + change, there - reached, there
        if gain < _TOLERANCE * total:
            break
    precision, slope = _curvature(problem.weights, theta, low, high)
    return (theta, b), precision, (precision * theta + slope)[:, None]


def _curvature(weights: Array, theta: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return minus the second derivative of Σ w ln q in each latent value, and the first."""
    low, high = low - theta, high - theta
    q = interval(low, high)
    push = q.lower - q.upper
    curvature = push**2 + q.upper * high - q.lower * low  # the density of an end that is beyond is 0
    return weights * np.maximum(curvature, _LEAST_CURVATURE), weights * push
