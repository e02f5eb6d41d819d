"""Latent functions of many classes: against training again without an example, and against direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from marginwise.covariance.gaussian import Sites
from marginwise.kernels import Blend
from marginwise.model import Model
from marginwise.multiclass import best_softmax_C, least_squares, mode, softmax_map
from marginwise.multiclass.mode import softmax_mode
from marginwise.problem import MulticlassProblem

RNG = np.random.default_rng(5)
N, K = 30, 4
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] > 0) + 2.0 * (X[:, 1] + 0.5 * RNG.normal(size=N) > 0)
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
MODEL = Model(1.7, Blend(1.2, 0.3, 0.5, 0.8, 0.9, (1.0, 2.0)))
BOTH = pytest.mark.parametrize("method", [least_squares, softmax_map])


def _problem(weights=WEIGHTS, examples=None, inducing=None) -> MulticlassProblem:
    return MulticlassProblem(X, Y, weights, inducing, np.ones(N) if examples is None else examples, n_classes=K)


def _indicators() -> np.ndarray:
    return np.eye(K)[Y.astype(int)]


def test_least_squares_without_an_example_are_those_of_training_without_it():
    problem = _problem()
    mean, variance = least_squares(problem, MODEL).left_out
    shares = np.bincount(problem.labels, WEIGHTS, K) / WEIGHTS.sum()
    gram, targets = MODEL.kernel.gram(X), 2.0 * (_indicators() - shares)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        noisy = gram[np.ix_(rest, rest)] + np.diag(1.0 / (MODEL.C * WEIGHTS[rest]))
        k = gram[i, rest]
        np.testing.assert_allclose(mean[i], k @ np.linalg.solve(noisy, targets[rest]) + 2.0 * shares, rtol=1e-9)
        assert variance[i] == pytest.approx(MODEL.C * (gram[i, i] - k @ np.linalg.solve(noisy, k)), rel=1e-9)


def test_of_a_row_that_is_two_examples_one_is_left_out():
    examples = np.where(np.arange(N) == 3, 2.0, 1.0)
    weights = WEIGHTS * examples
    mean, variance = least_squares(_problem(weights, examples), MODEL).left_out
    halved = weights.copy()
    halved[3] = WEIGHTS[3]
    shares = np.bincount(Y.astype(int), weights, K) / weights.sum()
    targets = 2.0 * (_indicators() - shares)
    noisy = MODEL.kernel.gram(X) + np.diag(1.0 / (MODEL.C * halved))
    k = MODEL.kernel.gram(X)[3]
    np.testing.assert_allclose(mean[3], k @ np.linalg.solve(noisy, targets) + 2.0 * shares, rtol=1e-9)
    assert variance[3] == pytest.approx(MODEL.C * (k[3] - k @ np.linalg.solve(noisy, k)), rel=1e-9)


def _directly(gram, indicators) -> np.ndarray:
    """Return the probabilities at the mode, θ = Lu with LLᵀ = K, by a search over u."""
    factor = np.linalg.cholesky(gram + 1e-10 * np.eye(N))

    def loss(u):
        theta = factor @ u.reshape(indicators.shape)
        slope = WEIGHTS[:, None] * (softmax(theta, axis=1) - indicators)
        value = -np.sum(WEIGHTS[:, None] * indicators * log_softmax(theta, axis=1)) + 0.5 * u @ u
        return value, (factor.T @ slope).ravel() + u

    options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(loss, np.zeros(indicators.size), jac=True, method="L-BFGS-B", options=options)
    return softmax(factor @ found.x.reshape(indicators.shape), axis=1)


def test_the_mode_is_that_of_direct_minimisation():
    problem, kernel = _problem(), MODEL.kernel.scaled(4.0)
    assert kernel is not None
    theta, p = softmax_mode(problem, problem.covariance(Model(1.0, kernel)))
    np.testing.assert_allclose(p, softmax(theta, axis=1), rtol=1e-12)
    np.testing.assert_allclose(p, _directly(4.0 * MODEL.kernel.gram(X), _indicators()), atol=2e-3)


def test_the_mode_of_two_classes_is_found_by_few_steps_which_are_shortened_where_they_go_too_far(monkeypatch):
    labels = (X[:, 0] > 0).astype(float)
    problem = MulticlassProblem(X, labels, WEIGHTS, None, np.ones(N), n_classes=2)
    covariance, factors = problem.covariance(Model(1.0, MODEL.kernel)), []
    solver = type(covariance).dual_solver
    mode = _directly(MODEL.kernel.gram(X), np.eye(2)[labels.astype(int)])
    for too_long in (1.0, 3.0):  # three times a Newton step overshoots by twice the distance, and more each time

        def longer(own, tau, factor=too_long):
            factors.append(factor)
            solve = solver(own, tau)
            return lambda nu: factor * solve(nu)

        monkeypatch.setattr(type(covariance), "dual_solver", longer)
        np.testing.assert_allclose(softmax_mode(problem, covariance)[1], mode, atol=2e-3)
    assert factors.count(1.0) <= 6


def test_steps_of_two_classes_are_made_longer_where_the_mode_is_far(monkeypatch):
    labels = (X[:, 0] > 0).astype(float)
    problem = MulticlassProblem(X, labels, WEIGHTS, None, np.ones(N), n_classes=2)
    kernel = MODEL.kernel.scaled(64.0)
    covariance, factors = problem.covariance(Model(1.0, kernel)), []
    solver = type(covariance).dual_solver
    monkeypatch.setattr(type(covariance), "dual_solver", lambda own, tau: (factors.append(1), solver(own, tau))[1])
    longer = softmax_mode(problem, covariance)[1]
    few = len(factors)
    monkeypatch.setattr(mode, "_farther", lambda search, here, change, there: (1.0, there))
    shorter = softmax_mode(problem, covariance)[1]
    assert few < len(factors) - few
    np.testing.assert_allclose(longer, shorter, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mode_is_found_in_fewer_steps_from_the_sites_of_one_near_by(n_classes, monkeypatch):
    """Those of other length scales and another amplitude: K⁻¹θ of these would lead away first."""
    labels = np.digitize(X[:, 0], [0.0, 0.5][: n_classes - 1]).astype(float)
    problem = MulticlassProblem(X, labels, WEIGHTS, None, np.ones(N), n_classes=n_classes)
    kernel = MODEL.kernel.scaled(4.0)
    assert kernel is not None
    there = softmax_map(problem, MODEL.with_C(1.0))
    covariance, calls = problem.covariance(Model(1.0, kernel)), []
    cold, _ = softmax_mode(problem, covariance, tolerance=1e-8)
    times = type(covariance).times
    monkeypatch.setattr(type(covariance), "times", lambda own, x: (calls.append(1), times(own, x))[1])
    softmax_mode(problem, covariance)
    before, near = len(calls), Sites(there.precision, there.eta)
    softmax_mode(problem, covariance, near)
    assert len(calls) - 1 - before < before  # one product is that of the start
    np.testing.assert_allclose(softmax_mode(problem, covariance, near, 1e-8)[0], cold, atol=1e-5)


def test_softmax_without_an_example_is_near_to_training_without_it():
    posterior = softmax_map(_problem(), MODEL)
    mean, off = posterior.left_out.mean, []
    for i in range(0, N, 5):
        rest = np.delete(np.arange(N), i)
        without = softmax_map(_problem().subset(rest), MODEL).predictor.scores(X[i : i + 1])[0]
        off.append(np.abs(softmax(mean[i]) - softmax(without)).max())
    assert max(off) < 0.12
    assert np.mean(off) < 0.05


@BOTH
def test_predictions_at_the_training_points_are_the_moments_there(method):
    posterior = method(_problem(), MODEL)
    mean, variance = posterior.predictor.moments(X)
    inside = posterior.gaussian.times_covariance(posterior.nu)
    np.testing.assert_allclose(mean, inside + posterior.offset, atol=1e-8)
    np.testing.assert_allclose(variance, posterior.unit * posterior.gaussian.variance, rtol=1e-6)


@BOTH
def test_all_rows_as_inducing_inputs_are_the_exact_kernel(method):
    exact, low_rank = method(_problem(), MODEL), method(_problem(inducing=X), MODEL)
    np.testing.assert_allclose(low_rank.left_out.mean, exact.left_out.mean, atol=1e-3)
    np.testing.assert_allclose(low_rank.left_out.variance, exact.left_out.variance, rtol=1e-3)
    new = RNG.normal(size=(7, 2))
    for one, other in zip(low_rank.predictor.moments(new), exact.predictor.moments(new), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@BOTH
def test_a_class_without_rows_keeps_its_place(method):
    problem = MulticlassProblem(X, np.where(Y == 2, 0.0, Y), WEIGHTS, examples=np.ones(N), n_classes=K)
    posterior = method(problem, MODEL)
    p = np.exp(posterior.fitted_link().log_proba(*posterior.predictor.moments(X)))
    assert p.shape == (N, K)
    assert (p[:, 2] < 0.3).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_the_size_of_latent_functions_is_larger_where_labels_are_certain():
    certain = MulticlassProblem(
        X, (X[:, 0] > 0).astype(float) + (X[:, 0] > 1), np.ones(N), examples=np.ones(N), n_classes=3
    )
    noisy = MulticlassProblem(X, RNG.permutation(certain.y), np.ones(N), examples=np.ones(N), n_classes=3)
    sizes = [best_softmax_C(problem, MODEL) for problem in (certain, noisy)]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[0][0] > sizes[1][0]
    assert sizes[0][1] > sizes[1][1]
