"""The SVM of a Gram matrix of low rank: against the dense solver on the same matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.covariance import LowRankCovariance, as_blocks
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.problem import Problem
from marginwise.svm import solve_dense, solve_problem
from marginwise.tuning import tune
from zoo import blobs

SETTINGS = [
    Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5]),
    Hyperparameters(100.0, 30.0, 1.0, [3.0, 3.0, 3.0]),
    Hyperparameters(0.01, 1.0, 0.1, 1.0),
]


def problem(rank: int, n: int = 70) -> Problem:
    base = blobs(n, 3, shift=0.6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n)
    return replace(base, weights=weights, inducing=base.X[:rank] + 0.02)


def approximate_gram(at: Problem, h: Hyperparameters) -> np.ndarray:
    covariance = LowRankCovariance(h.kernel, as_blocks(at.X), at.inducing)
    V = covariance.features(at.X)
    return V @ V.T + np.diag(np.maximum(covariance.residual, 1e-8 * (h.k0 + h.koff)))


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("h", SETTINGS)
@pytest.mark.parametrize("rank", [3, 25])
def test_is_the_solution_on_the_approximate_matrix(slack: str, h: Hyperparameters, rank: int) -> None:
    at = problem(rank)
    expected = solve_dense(approximate_gram(at, h), at.y, at.penalties(h.C), as_slack(slack))
    ours = solve_problem(at, h, as_slack(slack))
    assert ours.status.ok, ours.status.message
    np.testing.assert_allclose(ours.latent, expected.latent, atol=1e-6)
    np.testing.assert_allclose(ours.alpha, expected.alpha, atol=1e-5 * h.C)
    assert abs(ours.duality_gap) < 1e-5 * (1 + abs(ours.objective))


@pytest.mark.parametrize("slack", SLACKS)
def test_all_rows_inducing_is_the_svm(slack: str) -> None:
    base, h = blobs(70, 3, shift=0.6), SETTINGS[0]
    exact = solve_problem(base, h, as_slack(slack))
    ours = solve_problem(replace(base, inducing=base.X), h, as_slack(slack))
    assert ours.status.ok, ours.status.message
    np.testing.assert_allclose(ours.latent, exact.latent, atol=1e-5)
    np.testing.assert_array_equal(ours.bound, exact.bound)
    new = np.random.default_rng(4).normal(size=(9, 3))
    latents = []
    for at, solution in ((replace(base, inducing=base.X), ours), (base, exact)):
        points, coefficients = at.covariance(h).expansion(at.y * solution.alpha)
        latents.append(h.kernel.cross(new, points) @ coefficients)
    np.testing.assert_allclose(*latents, atol=1e-5)


def test_a_start_near_by_saves_steps() -> None:
    at, h = problem(25), SETTINGS[1]
    cold = solve_problem(at, h, as_slack("linear"))
    warm = solve_problem(at, h, as_slack("linear"), start=cold)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.latent, cold.latent, atol=1e-7)


def test_a_validation_set_stops_a_search_of_low_rank() -> None:
    at, held = problem(20), blobs(50, 3, shift=0.6, seed=5)
    result = tune(at.X, at.y, "ep-loo", inducing=at.inducing, validation=(held.X, held.y), patience=1, progress=False)
    assert all(0.0 <= record.errors["validation"] <= 0.6 for record in result.trace.accepted)
