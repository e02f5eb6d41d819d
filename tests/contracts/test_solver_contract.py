"""One contract for every way to solve the SVM: the dense path, the working set, kernel rows, and the reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack
from marginwise.problem import Problem, as_problem
from marginwise.svm import Solution, solve_problem, working_set
from optimality import assert_sets_are_exact, assert_solved, certify
from reference.svm import solve_reference
from zoo import blobs, hard_problems, random_hyperparameters

Solver = Callable[[Problem, Hyperparameters, Slack], Solution]


def _reference(problem: Problem, h: Hyperparameters, slack: Slack) -> Solution:
    return solve_reference(h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack, max_sweeps=2000)


def _kernel_rows(problem: Problem, h: Hyperparameters, slack: Slack) -> Solution:
    return solve_problem(problem, h, slack, max_memory=min(3 * 8 * problem.n, 8 * problem.n**2 - 1))


FAST: dict[str, Solver] = {"dense": solve_problem, "working set": solve_problem, "kernel rows": _kernel_rows}


@pytest.fixture(params=FAST)
def fast(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """One of the paths of the fast solver."""
    if request.param != "dense":
        monkeypatch.setattr(working_set, "_SMALL", 4)
    return FAST[request.param]


@pytest.fixture(params=[*FAST, "reference"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """One of the paths of the fast solver, or the slow one."""
    if request.param in ("working set", "kernel rows"):
        monkeypatch.setattr(working_set, "_SMALL", 4)
    return FAST.get(request.param, _reference)


@pytest.fixture(params=[LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def slack(request: pytest.FixtureRequest) -> Slack:
    return request.param


def solve_and_check(solver: Solver, problem: Problem, h: Hyperparameters, slack: Slack) -> Solution:
    solution = solver(problem, h, slack)
    rounding = 1e-9 if solver is _reference else 1e-14
    assert_solved(solution, h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack, rounding=rounding)
    return solution


def test_shapes_and_types(solver: Solver, slack: Slack) -> None:
    problem, h = blobs(25, 2), Hyperparameters(1.5, 1.0, 0.1, [0.8, 1.2])
    solution = solver(problem, h, slack)
    assert solution.alpha.shape == solution.latent.shape == (25,)
    assert solution.alpha.dtype == solution.latent.dtype == np.float64
    for indices in (solution.support, solution.marginal, solution.bound):
        assert indices.dtype == np.intp
    for number in (solution.objective, solution.duality_gap, solution.kkt_violation):
        assert type(number) is float
    assert type(solution.status.ok) is bool
    assert type(solution.iterations) is int
    assert solution.iterations >= 1


def test_ordinary_problems(solver: Solver, slack: Slack, rng: np.random.Generator) -> None:
    for seed in range(8):
        problem = blobs(5 + 7 * seed, 2, seed=seed)
        weights = rng.uniform(0.3, 3, size=problem.n) if seed % 2 else None
        h = random_hyperparameters(rng, 2, spread=0.5)
        solve_and_check(solver, as_problem(problem.X, problem.y, weights), h, slack)


def test_all_kinds_of_examples_occur(solver: Solver, slack: Slack) -> None:
    """Examples off the support, at the margin and, for linear slack, at the bound: the same for every solver."""
    problem, h = blobs(60, 2, shift=1.6), Hyperparameters(2.0, 1.0, 0.1, [1.0, 1.0])
    solution = solve_and_check(solver, problem, h, slack)
    kinds = 60 - solution.support.size, solution.marginal.size, solution.bound.size
    dense = solve_problem(problem, h, slack)
    assert kinds == (60 - dense.support.size, dense.marginal.size, dense.bound.size)
    assert kinds[0] > 5
    assert kinds[1] > 5
    assert (kinds[2] > 5) == (slack is LINEAR)
    np.testing.assert_allclose(solution.alpha, dense.alpha, rtol=1e-6, atol=1e-8)
    assert solution.objective == pytest.approx(dense.objective, rel=1e-10)


def test_all_at_the_bound(solver: Solver) -> None:
    """A small C: every α is C itself, to the last bit, and the margins are all below 1."""
    problem, h = blobs(30, 2), Hyperparameters(1e-3, 1.0, 0.1, [1.0, 1.0])
    solution = solve_and_check(solver, problem, h, LINEAR)
    assert (solution.alpha == 1e-3).all()
    np.testing.assert_array_equal(solution.bound, np.arange(30))
    assert solution.marginal.size == 0


def test_hard_margin(solver: Solver) -> None:
    """Separable and a large C: nothing at the bound, the support vectors exactly at margin 1, no slack at all."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    solution = solve_and_check(solver, as_problem(X, [-1, -1, 1, 1]), Hyperparameters(1e4, 1.0, 0.1, 2.0), LINEAR)
    assert solution.bound.size == 0
    np.testing.assert_allclose(np.sign(X[:, 0]) * solution.latent >= 1 - 1e-9, True)
    np.testing.assert_allclose(np.abs(solution.latent[solution.support]), 1, atol=1e-9)


@pytest.mark.parametrize("case", list(hard_problems()), ids=lambda case: case[0])
def test_hard_problems_are_all_solved(fast: Solver, slack: Slack, case: tuple[str, Problem, Hyperparameters]) -> None:
    _, problem, h = case
    solve_and_check(fast, problem, h, slack)


@pytest.mark.parametrize("case", list(hard_problems()), ids=lambda case: case[0])
def test_the_reference_says_when_it_has_not_converged(slack: Slack, case: tuple[str, Problem, Hyperparameters]) -> None:
    """It is slow on most of them; then its status says so, and its dual value is below the solution's."""
    _, problem, h = case
    K, penalties = h.kernel.gram(problem.X), problem.penalties(h.C)
    slow = solve_reference(K, problem.y, penalties, slack, max_sweeps=150)
    theirs = certify(K, problem.y, penalties, slack, slow.alpha)
    ours = certify(K, problem.y, penalties, slack, solve_problem(problem, h, slack).alpha)
    assert slow.status.ok == (theirs.violation <= 1e-9 * theirs.scale)
    assert slow.duality_gap == pytest.approx(
        theirs.gap, rel=1e-9, abs=1e-12 * theirs.value_scale + 1e-14 * theirs.scale * penalties.sum()
    )
    assert slow.kkt_violation == pytest.approx(theirs.violation / theirs.scale, rel=1e-9, abs=1e-14)
    if not slow.status.ok:
        assert "optimality conditions hold only to" in slow.status.message
    assert_sets_are_exact(slow, penalties, slack)
    assert theirs.dual <= ours.dual + 1e-12 * ours.value_scale


def test_the_forced_paths_are_really_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small working set leaves points out, and rows are made one after the other."""
    problem, h = blobs(60, 2), Hyperparameters(2.0, 1.0, 0.1, [1.0, 1.0])
    monkeypatch.setattr(working_set, "_SMALL", 4)
    sizes, made = [], []
    choose, rows = working_set._choose, working_set._look

    def counted_choice(*arguments: np.ndarray) -> np.ndarray:
        chosen = choose(*arguments)
        sizes.append(len(chosen))
        return chosen

    def counted_look(source: object, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = rows(source, beta)  # type: ignore[arg-type]
        made.append(getattr(source, "computed", 0))
        return result

    monkeypatch.setattr(working_set, "_choose", counted_choice)
    monkeypatch.setattr(working_set, "_look", counted_look)
    solve_problem(problem, h, LINEAR)
    assert min(sizes) < 60
    assert set(made) == {0}
    _kernel_rows(problem, h, LINEAR)
    assert made[-1] > 3
