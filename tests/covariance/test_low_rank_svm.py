"""The SVM of a Gram matrix of low rank: against the dense solver on the same matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.covariance import DenseCovariance, LowRankCovariance, as_blocks, choose_inducing
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.problem import Problem
from marginwise.svm import Solution, low_rank, solve_problem, solve_svm
from marginwise.svm.low_rank import solve_low_rank
from marginwise.tuning import tune
from zoo import blobs, random_hyperparameters

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
    expected = solve_svm(DenseCovariance.of_matrix(approximate_gram(at, h)), at.y, at.penalties(h.C), as_slack(slack))
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


def rounded_table(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of rounded numbers, some of them repeated, with labels that contradict each other, and weights."""
    X = rng.normal(size=(n, int(rng.integers(1, 6)))).round(int(rng.integers(0, 3)))
    X = X[rng.integers(0, n, size=n)] if rng.random() < 0.5 else X
    y = np.where(X[:, 0] + rng.choice([0.1, 0.5, 2.0]) * rng.normal(size=n) > rng.choice([0.0, 1.0]), 1.0, -1.0)
    return X, y, 10.0 ** rng.uniform(-1, 1, size=n) if rng.random() < 0.5 else np.ones(n)


def check_against_dense(seed: int, n: int, rank: int, slack: str, *, single: bool) -> Solution:
    """Solve for a random table and random hyperparameters, and compare with the dense solver on VVᵀ + D."""
    rng = np.random.default_rng([seed, n, rank])
    X, y, weights = rounded_table(rng, n)
    h = random_hyperparameters(rng, X.shape[1], 2.0)
    covariance = LowRankCovariance(h.kernel, as_blocks(X), choose_inducing(X, h.kernel, rank, seed=seed), single=single)
    V = covariance.features_of(np.arange(n)).astype(float)
    residual = low_rank.positive_residual(covariance)
    exact = solve_svm(DenseCovariance.of_matrix(V @ V.T + np.diag(residual)), y, h.C * weights, as_slack(slack))
    ours = solve_low_rank(covariance, y, h.C * weights, as_slack(slack))
    assert exact.status.ok, exact.status.message
    assert ours.status.ok, ours.status.message
    assert ours.kkt_violation <= 1e-8
    # Both values bound that of the solution, the dual from below and the primal from above.
    assert ours.objective == pytest.approx(exact.objective, rel=1e-4)
    assert ours.objective + ours.duality_gap == pytest.approx(exact.objective, rel=1e-4)
    # |u - u*|² ≤ 2 (primal - dual), and |v_iᵀ(u - u*)| ≤ |v_i||u - u*|
    error = np.abs(ours.latent - exact.latent)
    assert error.max() <= 1e-3 * (1.0 + np.abs(exact.latent).max())
    return ours


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("single", [False, True])
def test_rounded_and_repeated_rows(slack: str, single: bool, full: bool) -> None:
    for seed in range(200 if full else 12):
        check_against_dense(seed, 150 + 10 * (seed % 12), 10 + 7 * seed % 150, slack, single=single)


@pytest.mark.parametrize("slack", SLACKS)
def test_ranks_of_large_tables(slack: str, full: bool) -> None:
    for seed, (n, rank) in enumerate([(1700, 1448), (2500, 1000), (3000, 300), (1600, 10)] if full else [(600, 500)]):
        check_against_dense(seed, n, rank, slack, single=True)


@pytest.mark.parametrize("single", [False, True])
def test_corners_too_sharp_for_newton(single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly as many inducing inputs as rows: the working set ends what Newton's method would not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 1, 1.0, -1.0)
    X, h = X.round(1), Hyperparameters(1.0, 3.0, 0.5, 1.0)
    covariance = LowRankCovariance(h.kernel, as_blocks(X), choose_inducing(X, h.kernel, 280, seed=0), single=single)
    handed_over = []
    working_set = low_rank.solve_working_set

    def recorded(*arguments: object) -> Solution:
        handed_over.append(arguments[4])
        return working_set(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(low_rank, "solve_working_set", recorded)
    solution = solve_low_rank(covariance, y, np.ones(300), as_slack("linear"))
    assert len(handed_over) == 1
    assert not handed_over[0].status.ok
    assert solution.status.ok
    assert solution.duality_gap < 1e-9 * solution.objective


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
