"""The solver's ways to the same solution: warm starts, working sets, blocks of them, kernel rows."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

from marginwise.covariance import DenseCovariance
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack
from marginwise.problem import Problem, as_problem
from marginwise.svm import Solution, solve, solve_gram, solve_problem, solve_svm, working_set
from optimality import assert_solved
from zoo import blobs, hard_problems, random_hyperparameters, twonorm

both_slacks = pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)


def check(problem: Problem, h: Hyperparameters, slack: Slack, **options: object) -> Solution:
    """Solve and certify."""
    solution = solve_problem(problem, h, slack, **options)  # type: ignore[arg-type]
    assert_solved(solution, h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack)
    return solution


@both_slacks
@pytest.mark.parametrize("n", [60, 450])
def test_a_warm_start_leads_to_the_same_solution(n: int, slack: Slack, rng: np.random.Generator) -> None:
    problem = blobs(n, 3, shift=0.5)
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 1.2, 1.0])
    cold = check(problem, h, slack)
    starts = [random_hyperparameters(rng, 3, spread) for spread in (0.0, 0.01, 0.1, 1.0, 3.0)]
    for near, other in itertools.product([h, *starts], (LINEAR, QUADRATIC)):
        start = solve_problem(problem, near, other)
        before = start.alpha.copy()
        warm = check(problem, h, slack, start=start)
        np.testing.assert_allclose(warm.alpha, cold.alpha, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(warm.bound, cold.bound)
        np.testing.assert_array_equal(start.alpha, before)


@both_slacks
def test_from_the_solution_itself_one_look_is_enough(slack: Slack) -> None:
    problem, h = blobs(450, 3, shift=0.5), Hyperparameters(2.0, 1.5, 0.2, 1.0)
    cold = check(problem, h, slack)
    again = check(problem, h, slack, start=cold)
    assert again.iterations == 1 < cold.iterations
    np.testing.assert_allclose(again.alpha, cold.alpha, rtol=1e-12)


def test_what_was_at_its_bound_starts_at_the_present_one() -> None:
    """So that C can grow without setting all bound examples free."""
    problem, h = blobs(60, 2), Hyperparameters(2.0, 1.0, 0.1, [1.0, 1.0])
    start = solve_problem(problem, h, LINEAR)
    for reach in (np.full(60, 3.0), np.full(60, 0.1)):
        beta = working_set._signed_start(start, problem.y, reach)
        assert (problem.y[start.bound] * beta[start.bound] == reach[0]).all()
        np.testing.assert_array_equal(np.abs(beta)[start.marginal], np.minimum(start.alpha[start.marginal], reach[0]))


@both_slacks
@pytest.mark.parametrize("case", list(hard_problems()), ids=lambda case: case[0])
def test_warm_starts_into_hard_problems(case: tuple[str, Problem, Hyperparameters], slack: Slack) -> None:
    _, problem, h = case
    neighbour = Hyperparameters.from_vector(h.to_vector() + 0.1)
    for other in (LINEAR, QUADRATIC):
        check(problem, h, slack, start=solve_problem(problem, neighbour, other))


def contradictory(n: int, seed: int) -> tuple[Problem, Hyperparameters]:
    """Repeated rows with opposite labels and C·k0 from 1e3 to 1e12: singular, α at 1e6, margins of order 1."""
    rng = np.random.default_rng([seed, n])
    rows = rng.integers(0, rng.integers(max(1, n // 4), n + 1), size=n)
    X = rng.normal(size=(n, rng.integers(1, 4)))[rows]
    weights = 10.0 ** rng.uniform(-2, 2, size=n) if seed % 3 == 0 else None
    h = Hyperparameters(10 ** rng.uniform(2, 6), 10 ** rng.uniform(1, 6), 0.1, 10 ** rng.uniform(-2, 5))
    return as_problem(X, rng.choice([-1.0, 1.0], size=n), weights), h


@both_slacks
@pytest.mark.parametrize("small", [300, 4])
def test_contradictory_examples(slack: Slack, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_set, "_SMALL", small)
    for seed in range(200):
        check(*contradictory(2 + seed % 40, seed), slack)
        check(*contradictory(2 + seed % 40, seed), slack, max_memory=0)


@both_slacks
def test_many_contradictory_examples(slack: Slack) -> None:
    # The last two stall once in an inexact round, which is no reason to stop.
    for n, seed in [*((310 + 10 * seed, seed) for seed in range(20)), (400, 61), (500, 261)]:
        solution = check(*contradictory(n, seed), slack)
        assert solution.iterations < working_set._MAX_ROUNDS


@both_slacks
def test_margins_that_rounding_drowns(slack: Slack) -> None:
    """C w k0 n = 1e16: a margin is known to ±1 only. The solver ends at what rounding allows, and soon."""
    for seed in range(10):
        problem, _ = contradictory(400, seed)
        h = Hyperparameters(1e6, 1e6, 0.1, 0.05 * 2.0**seed)
        solution = check(as_problem(problem.X, problem.y, np.full(400, 100.0)), h, slack)
        assert solution.iterations < working_set._MAX_ROUNDS


@both_slacks
def test_the_entries_agree(slack: Slack) -> None:
    problem = as_problem(blobs(50, 2).X, blobs(50, 2).y, np.linspace(0.5, 2, 50))
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 1.2])
    K = h.kernel.gram(problem.X)
    first = check(problem, h, slack)
    others = [
        solve(problem.X.tolist(), problem.y.tolist(), h, slack.name, sample_weight=problem.weights.tolist()),
        solve_gram(K.tolist(), problem.y, h.C, slack.name, sample_weight=problem.weights),
        solve_gram(K, problem.y, sample_weight=problem.penalties(h.C), slack=slack, start=first),
        solve_problem(problem, h, slack, covariance=problem.dense_covariance(h)),
        solve_svm(DenseCovariance.of_matrix(K), problem.y, problem.penalties(h.C), slack),
        solve(problem.X, problem.y, h, slack, sample_weight=problem.weights, max_memory=1000),
    ]
    for other in others:
        assert_solved(other, K, problem.y, problem.penalties(h.C), slack)
        np.testing.assert_allclose(other.alpha, first.alpha, rtol=1e-9, atol=1e-12)


def test_the_arguments_are_not_changed() -> None:
    problem, h = blobs(30, 2), paper_start(2)
    K, y = h.kernel.gram(problem.X), problem.y.copy()
    before = K.copy()
    for slack in ("linear", "quadratic"):
        solve_gram(K, y, 1.0, slack)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_array_equal(y, problem.y)


@both_slacks
def test_a_large_problem_by_its_working_set(slack: Slack, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, h = blobs(1500, 4, shift=1.5), Hyperparameters(1.0, 2.0, 0.1, 2.0)
    sizes = []
    choose = working_set._choose

    def recorded(*arguments: np.ndarray) -> np.ndarray:
        chosen = choose(*arguments)
        sizes.append(len(chosen))
        return chosen

    monkeypatch.setattr(working_set, "_choose", recorded)
    solution = check(problem, h, slack)
    assert 1 < len(sizes) == solution.iterations
    assert max(sizes) < 1500
    monkeypatch.setattr(working_set, "_SMALL", 10**6)
    sizes.clear()
    whole = check(problem, h, slack)
    assert set(sizes) == {1500}
    np.testing.assert_allclose(solution.alpha, whole.alpha, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(solution.marginal, whole.marginal)
    np.testing.assert_array_equal(solution.bound, whole.bound)


@both_slacks
def test_more_free_coordinates_than_a_working_set_holds(slack: Slack, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, h = blobs(280, 3, shift=0.5), Hyperparameters(10.0, 1.0, 0.1, 0.4)
    whole = check(problem, h, slack)
    assert whole.marginal.size > 150
    monkeypatch.setattr(working_set, "_SMALL", 40)
    monkeypatch.setattr(working_set, "_LARGEST", 50)
    blocks = check(problem, h, slack)
    np.testing.assert_allclose(blocks.alpha, whole.alpha, rtol=1e-6, atol=1e-8)


@both_slacks
def test_without_the_matrix(slack: Slack) -> None:
    """A Gram matrix of 72 MB is never there; a cache of 20 rows and a small working set are."""
    problem, h = twonorm(3000), Hyperparameters(1.0, 4.0, 0.1, 6.0)
    dense = check(problem, h, slack)
    budget = 20 * 8 * problem.n
    solve_problem(blobs(20), paper_start(3), slack, max_memory=0)  # compiles
    tracemalloc.start()
    rows = solve_problem(problem, h, slack, max_memory=budget)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Chunks of 128 rows, and a few arrays of the size of the working set's block.
    largest = dense.support.size * 1.5 + 64
    assert peak < budget + 5 * 128 * 8 * problem.n + 5 * 8 * largest**2 + 40 * 8 * problem.n
    assert peak < 0.6 * 8 * problem.n**2
    assert_solved(rows, h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack)
    np.testing.assert_allclose(rows.alpha, dense.alpha, rtol=1e-7, atol=1e-9)
