"""One latent function for classes with an order, against slow and obvious computations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from differences import gradient_error
from marginwise.covariance.partition import Partition
from marginwise.criteria.ordered import OrderedLeaveOneOut
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Blend, Linear
from marginwise.likelihoods.interval import BEYOND, log_interval
from marginwise.model import Model
from marginwise.multiclass.ordered import (
    _mode,
    best_threshold_C,
    fitted_ordered_link,
    normal_scores,
    ordered_least_squares,
    threshold_map,
)
from marginwise.problem import MulticlassProblem

RNG = np.random.default_rng(2)
N = 50
X = RNG.normal(size=(N, 2))
ORDER = (1, 2, 0)
GRADES = np.digitize(X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) + 0.4 * RNG.normal(size=N), [-0.5, 0.6])
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
PROBLEM = MulticlassProblem(X, np.array(ORDER, dtype=float)[GRADES], WEIGHTS, n_classes=3)
MODEL = Hyperparameters(2.0, 1.2, 0.3, [1.0])


def test_normal_scores_are_means_between_quantiles():
    scores = normal_scores(PROBLEM.labels, WEIGHTS, ORDER)
    assert WEIGHTS @ scores == pytest.approx(0.0, abs=1e-9)
    assert WEIGHTS @ scores**2 == pytest.approx(WEIGHTS.sum())
    ends = norm.ppf(np.append(0.0, np.cumsum(np.bincount(GRADES, WEIGHTS)) / WEIGHTS.sum()).clip(0.0, 1.0))
    draws = norm.ppf((np.arange(200000) + 0.5) / 200000)
    means = np.array([draws[(draws > low) & (draws <= high)].mean() for low, high in itertools.pairwise(ends)])
    expected = (means / np.sqrt(WEIGHTS @ means[GRADES] ** 2 / WEIGHTS.sum()))[GRADES]
    np.testing.assert_allclose(scores, expected, atol=1e-3)


def test_least_squares_without_a_row_are_those_of_a_fit_without_it():
    """With the targets of all rows, and a link that is not looked at."""
    posterior = ordered_least_squares(PROBLEM, MODEL, ORDER)
    targets, noise = normal_scores(PROBLEM.labels, WEIGHTS, ORDER), 1.0 / (MODEL.C * WEIGHTS)
    gram = MODEL.kernel.gram(X)
    mean, variance = posterior.left_out
    for i in (0, 7, 31):
        rest = np.delete(np.arange(N), i)
        inverse = np.linalg.inv(gram[np.ix_(rest, rest)] + np.diag(noise[rest]))
        assert mean[i, 0] == pytest.approx(gram[i, rest] @ inverse @ targets[rest], rel=1e-8)
        spread = gram[i, i] - gram[i, rest] @ inverse @ gram[rest, i]
        assert variance[i] == pytest.approx(MODEL.C * spread, rel=1e-7)


def test_the_mode_is_that_of_a_search_by_scipy():
    link = fitted_ordered_link(ordered_least_squares(PROBLEM, MODEL, ORDER), ORDER).link
    covariance = PROBLEM.covariance(MODEL)
    (theta, b), precision, eta = _mode(PROBLEM, covariance, link, None)
    ends = np.concatenate([[-BEYOND], link.thresholds, [BEYOND]])
    gram = MODEL.kernel.gram(X)

    def likelihood(theta):
        return log_interval(ends[GRADES] - theta, ends[GRADES + 1] - theta)

    root = np.linalg.cholesky(gram + 1e-10 * np.eye(N))

    def loss(z):
        return -WEIGHTS @ likelihood(root @ z) + 0.5 * z @ z

    found = minimize(loss, np.zeros(N), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(theta, root @ found.x, atol=1e-4)
    h = 1e-4
    slope = (likelihood(theta + h) - likelihood(theta - h)) / (2 * h)
    bend = (likelihood(theta + h) - 2 * likelihood(theta) + likelihood(theta - h)) / h**2
    np.testing.assert_allclose(b, WEIGHTS * slope, atol=1e-5)
    np.testing.assert_allclose(precision, -WEIGHTS * bend, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(eta[:, 0], precision * theta + WEIGHTS * slope, atol=1e-5)


def test_laplace_is_near_the_posterior_of_a_few_rows():
    """Against importance sampling from the prior, which needs no approximation where rows are few."""
    rows = np.arange(6)
    few = MulticlassProblem(X[rows], PROBLEM.y[rows], np.ones(6), n_classes=3)
    posterior, _ = threshold_map(few, MODEL, ORDER)
    link = fitted_ordered_link(posterior, ORDER).link
    (theta, _), precision, eta = _mode(few, few.covariance(Model(1.0, MODEL.kernel.scaled(MODEL.C))), link, None)
    gram = MODEL.kernel.scaled(MODEL.C).gram(X[rows])
    draws = np.linalg.cholesky(gram + 1e-9 * np.eye(6)) @ np.random.default_rng(0).normal(size=(6, 400_000))
    ends = np.concatenate([[-BEYOND], link.thresholds, [BEYOND]])[:, None]
    logs = log_interval(ends[GRADES[rows]] - draws, ends[GRADES[rows] + 1] - draws).sum(axis=0)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    covariance = np.linalg.inv(np.linalg.inv(gram + 1e-9 * np.eye(6)) + np.diag(precision))
    mean = draws @ shares
    deviation = np.sqrt(draws**2 @ shares - mean**2)
    np.testing.assert_allclose(covariance @ eta[:, 0], theta, atol=1e-4)
    assert (np.abs(theta - mean) / deviation).max() < 0.25  # a mode is no mean
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), deviation, rtol=0.1)


@pytest.mark.parametrize("kind", ["dense", "low rank", "local", "groups"])
def test_the_gradient_of_the_criterion_is_that_of_differences(kind):
    options = {
        "dense": {},
        "low rank": {"inducing": X[::4]},
        "local": {"inducing": X[::6], "partition": Partition.of(X, np.ones(2), 12)},
        "groups": {"groups": np.arange(N) // 3},
    }[kind]
    problem = MulticlassProblem(X, PROBLEM.y, WEIGHTS, n_classes=3, **options)
    assert gradient_error(OrderedLeaveOneOut(ORDER), problem, Model(1.5, Blend())) < 1e-6


def test_the_criterion_is_the_mean_log_probability_of_the_labels():
    found = OrderedLeaveOneOut(ORDER).evaluate(PROBLEM, MODEL)
    posterior = ordered_least_squares(PROBLEM, MODEL, ORDER)
    fit = fitted_ordered_link(posterior, ORDER)
    own = fit.link.log_proba(*posterior.left_out)[np.arange(N), PROBLEM.labels]
    assert found.value == pytest.approx(fit.value / WEIGHTS.sum(), rel=1e-12)
    assert abs(WEIGHTS @ own / WEIGHTS.sum() - found.value) < 0.2  # the prior of the link


def test_weight_two_is_the_row_twice():
    double = MulticlassProblem(X, PROBLEM.y, np.full(N, 2.0), n_classes=3)
    twice = MulticlassProblem(np.vstack([X, X]), np.tile(PROBLEM.y, 2), np.ones(2 * N), n_classes=3)
    one, other = (OrderedLeaveOneOut(ORDER).evaluate(problem, MODEL) for problem in (double, twice))
    assert one.value == pytest.approx(other.value, rel=1e-9)


def test_the_scale_is_the_best_of_some():
    C = best_threshold_C(PROBLEM, MODEL, ORDER)
    power = np.log(C / MODEL.C) / np.log(4.0)
    assert power == pytest.approx(round(power), abs=1e-12)

    def value(power):
        return (
            threshold_map(PROBLEM, MODEL.with_C(MODEL.C * 4.0**power), ORDER)[1].value
            - 0.5 * (power * np.log(4.0)) ** 2
        )

    assert value(power) >= max(value(power - 1.0), value(power + 1.0))
    assert best_threshold_C(PROBLEM, Model(1.0, Linear()), ORDER) is not None
