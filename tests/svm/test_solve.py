"""The SVM solver against enumeration, certificates of optimality, the reference, and the problem's symmetries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack, as_slack
from marginwise.problem import Problem, as_problem
from marginwise.svm import Solution, solve, solve_gram, solve_problem
from optimality import assert_solved, certify
from reference.svm import solve_reference
from zoo import blobs, random_hyperparameters

both_slacks = pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)


def check(problem: Problem, h: Hyperparameters, slack: Slack, **options: object) -> Solution:
    """Solve and certify."""
    solution = solve_problem(problem, h, slack, **options)  # type: ignore[arg-type]
    assert_solved(solution, h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack)
    return solution


@both_slacks
@pytest.mark.parametrize("C", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("K", [0.4, 1.0, 10.0])
def test_one_example(slack: Slack, C: float, K: float) -> None:
    """α = min(C, 1/K), or 1/(K + 1/C)."""
    solution = solve_gram([[K]], [-1], C, slack)
    expected = min(C, 1 / K) if slack is LINEAR else 1 / (K + 1 / C)
    assert solution.alpha[0] == pytest.approx(expected, rel=1e-15)
    assert solution.latent[0] == pytest.approx(-K * expected, rel=1e-15)
    assert (solution.bound.size == 1) == (slack is LINEAR and C <= 1 / K)


def best_of_all_active_sets(
    Q: np.ndarray, penalties: np.ndarray, slack: Slack
) -> tuple[float, np.ndarray, tuple[int, ...]]:
    """Return the largest dual value, its α and its states (0: off, 1: inside, 2: at the bound), by trying every one.

    The solution is the stationary point of its own active set, and no feasible point is better: the best feasible
    stationary point is the solution. Q is positive definite.
    """
    n, best = len(Q), (-np.inf, np.zeros(len(Q)), (0,) * len(Q))
    for states in itertools.product((0, 1) if slack.power == 2 else (0, 1, 2), repeat=n):
        state = np.array(states)
        inside = np.flatnonzero(state == 1)
        alpha = np.where(state == 2, penalties, 0.0)
        alpha[inside] = np.linalg.solve(Q[np.ix_(inside, inside)], 1 - Q[inside] @ alpha)
        if (alpha[inside] <= 0).any() or (slack.power == 1 and (alpha[inside] >= penalties[inside]).any()):
            continue
        value = alpha.sum() - 0.5 * alpha @ Q @ alpha
        if value > best[0]:
            best = value, alpha, states
    return best


@both_slacks
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_every_active_set_of_tiny_problems(n: int, slack: Slack) -> None:
    seen: set[int] = set()
    for seed in range(12 if n > 4 else 25):
        rng = np.random.default_rng([seed, n])
        problem = as_problem(
            rng.normal(size=(n, 2)), rng.choice([-1.0, 1.0], size=n), np.exp(rng.uniform(-1, 1, size=n))
        )
        h = Hyperparameters(np.exp(rng.uniform(-3, 3)), np.exp(rng.uniform(-1, 2)), 0.3, rng.uniform(0.4, 5))
        K, penalties = h.kernel.gram(problem.X), problem.penalties(h.C)
        Q = K * np.outer(problem.y, problem.y) + (np.diag(1 / penalties) if slack.power == 2 else 0)
        value, alpha, states = best_of_all_active_sets(Q, penalties, slack)
        solution = check(problem, h, slack)
        np.testing.assert_allclose(solution.alpha, alpha, rtol=1e-9, atol=1e-12)
        assert solution.objective == pytest.approx(value, rel=1e-12)
        found = np.zeros(n, dtype=int)
        found[solution.marginal], found[solution.bound] = 1, 2
        assert tuple(found.tolist()) == states
        seen.update(states)
    assert seen >= ({1, 2} if slack.power == 1 else {1})
    assert n < 4 or 0 in seen


@both_slacks
def test_the_same_point_with_both_labels(slack: Slack) -> None:
    """The latent value can please neither: both at the bound, 0 between them."""
    solution = solve([[1.0], [1.0]], [1, -1], Hyperparameters(2.0, 3.0, 0.1, 1.0), slack)
    np.testing.assert_allclose(solution.alpha, [2, 2], rtol=1e-12)
    np.testing.assert_allclose(solution.latent, [0, 0], atol=1e-12)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Problem, Hyperparameters]:
    """Draw a problem from the whole range: repeated rows, opposite labels, one class, extreme hyperparameters."""
    n = draw(st.integers(1, 40))
    distinct = draw(st.integers(1, n))
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(distinct, d))
    rows = np.r_[np.arange(distinct), rng.integers(0, distinct, size=n - distinct)]
    labels = draw(st.sampled_from(["random", "by row", "one class", "separable"]))
    y = {
        "random": rng.choice([-1.0, 1.0], size=n),  # equal rows with opposite labels
        "by row": rng.choice([-1.0, 1.0], size=distinct)[rows],  # equal rows with equal labels
        "one class": np.full(n, -1.0),
        "separable": np.where(X[rows, 0] > 0, 1.0, -1.0),
    }[labels]
    weights = 10.0 ** rng.uniform(-2, 2, size=n) if draw(st.booleans()) else None
    scale = draw(st.floats(-3, 6))
    ard = draw(st.booleans())
    scales = 10.0 ** (scale + rng.uniform(-1, 1, size=d)) if ard else 10.0**scale
    h = Hyperparameters(
        10.0 ** draw(st.floats(-6, 6)), 10.0 ** draw(st.floats(-6, 6)), 10.0 ** draw(st.floats(-4, 3)), scales
    )
    return as_problem(X[rows], y, weights), h


@both_slacks
@settings(max_examples=6 * settings().max_examples)
@given(case=problems())
def test_any_problem_is_solved(slack: Slack, case: tuple[Problem, Hyperparameters]) -> None:
    """Certified by the optimality conditions and the duality gap, whatever the condition of the matrix."""
    check(*case, slack)


@both_slacks
@given(case=problems())
def test_no_worse_than_the_reference(slack: Slack, case: tuple[Problem, Hyperparameters]) -> None:
    problem, h = case
    K, penalties = h.kernel.gram(problem.X), problem.penalties(h.C)
    ours = certify(K, problem.y, penalties, slack, solve_problem(problem, h, slack).alpha)
    slow = solve_reference(K, problem.y, penalties, slack, max_sweeps=60)
    theirs = certify(K, problem.y, penalties, slack, slow.alpha)
    rounding = 1e-13 * ours.value_scale + 1e-11 * penalties.sum()
    assert ours.dual >= theirs.dual - rounding
    assert ours.dual <= theirs.dual + theirs.gap + rounding


@both_slacks
def test_the_reference_agrees(slack: Slack, rng: np.random.Generator) -> None:
    for seed in range(15):
        problem = blobs(30, 2, seed=seed)
        problem = as_problem(problem.X, problem.y, rng.uniform(0.2, 3, size=30))
        h = random_hyperparameters(rng, 2)
        solution = check(problem, h, slack)
        slow = solve_reference(h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack)
        assert slow.status.ok
        assert solution.objective == pytest.approx(slow.objective, rel=1e-9)
        np.testing.assert_allclose(solution.latent, slow.latent, atol=1e-6)
        np.testing.assert_array_equal(solution.bound, slow.bound)
        np.testing.assert_array_equal(solution.marginal, slow.marginal)


@both_slacks
@given(case=problems(), seed=st.integers(0, 2**32 - 1))
def test_order_does_not_matter(slack: Slack, case: tuple[Problem, Hyperparameters], seed: int) -> None:
    """The latent values are unique; so are the α where the Gram matrix is well conditioned, tested below."""
    problem, h = case
    order = np.random.default_rng(seed).permutation(problem.n)
    solution = solve_problem(problem, h, slack)
    shuffled = solve_problem(problem.subset(order), h, slack)
    scale = certify(h.kernel.gram(problem.X), problem.y, problem.penalties(h.C), slack, solution.alpha)
    assert shuffled.objective == pytest.approx(
        solution.objective, rel=1e-9, abs=1e-13 * scale.value_scale + 1e-10 * problem.penalties(h.C).sum()
    )


@both_slacks
@pytest.mark.parametrize("repeat", [1, 3])
def test_order_does_not_matter_for_alpha(slack: Slack, repeat: int, rng: np.random.Generator) -> None:
    base = blobs(40, 3, shift=0.3)
    problem = as_problem(np.repeat(base.X, repeat, axis=0), np.repeat(base.y, repeat))
    h = Hyperparameters(3.0, 2.0, 0.3, [0.8, 1.0, 1.5])
    solution = check(problem, h, slack)
    for _ in range(5):
        order = rng.permutation(problem.n)
        np.testing.assert_allclose(
            check(problem.subset(order), h, slack).alpha, solution.alpha[order], rtol=1e-9, atol=1e-11
        )


@both_slacks
def test_labels_turned_around(slack: Slack) -> None:
    problem, h = blobs(50, 2, shift=0.5), Hyperparameters(2.0, 1.5, 0.2, [0.7, 1.2])
    solution = check(problem, h, slack)
    turned = check(as_problem(problem.X, -problem.y), h, slack)
    np.testing.assert_allclose(turned.alpha, solution.alpha, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(turned.latent, -solution.latent, rtol=1e-10, atol=1e-12)


@both_slacks
def test_a_weight_is_a_number_of_copies(slack: Slack) -> None:
    base, times = blobs(40, 2, shift=0.4), 1 + np.arange(40) % 3
    rows = np.repeat(np.arange(40), times)
    h = Hyperparameters(1.5, 2.0, 0.2, [0.7, 1.2])
    weighted = check(as_problem(base.X, base.y, times), h, slack)
    copies = check(base.subset(rows), h, slack)
    np.testing.assert_allclose(np.bincount(rows, copies.alpha), weighted.alpha, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(copies.latent, weighted.latent[rows], rtol=1e-9, atol=1e-11)
    assert copies.objective == pytest.approx(weighted.objective, rel=1e-11)
    # The copies share alike, so that the sets are the same as well.
    np.testing.assert_array_equal(np.unique(rows[copies.marginal]), weighted.marginal)
    np.testing.assert_array_equal(np.unique(rows[copies.bound]), weighted.bound)


@both_slacks
def test_repeated_rows_share_in_proportion_to_their_penalties(slack: Slack, rng: np.random.Generator) -> None:
    base = blobs(12, 2, shift=0.2)
    rows = rng.integers(0, 12, size=60)
    problem = as_problem(base.X[rows], base.y[rows], rng.uniform(0.1, 5, size=60))
    h = Hyperparameters(0.4, 2.0, 0.2, [0.7, 1.2])
    solution = check(problem, h, slack)
    fraction = solution.alpha / problem.penalties(h.C)
    assert solution.marginal.size
    for row in np.unique(rows):
        same = fraction[rows == row]
        np.testing.assert_allclose(same, same[0], rtol=1e-12)
        assert len({(value <= 0, value >= 1) for value in same.tolist()}) == 1


@both_slacks
def test_scaling_the_kernel_against_the_penalty(slack: Slack) -> None:
    """With K → cK, C → C/c the latent function is the same."""
    problem = blobs(50, 2, shift=0.5)
    first = check(problem, Hyperparameters(2.0, 1.5, 0.2, 0.7), slack)
    second = check(problem, Hyperparameters(2.0e-4, 1.5e4, 0.2e4, 0.7), slack)
    np.testing.assert_allclose(second.latent, first.latent, rtol=1e-9)
    np.testing.assert_allclose(second.alpha, 1e-4 * first.alpha, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, r"^X\[0, 0\] is nan; expected a finite number"),
        ({"X": [[0.0], [np.inf]]}, r"^X\[1, 0\] is inf; expected a finite number"),
        ({"X": [0.0, 1.0]}, r"^X has shape \(2,\)"),
        ({"y": [1, -1, 1]}, r"^y has shape \(3,\); expected shape \(2,\)"),
        ({"y": [0, 1]}, r"^y\[0\] is 0.0; expected -1 or \+1"),
        ({"y": ["a", "b"]}, r"^y is 'list'; expected numbers only"),
        ({"slack": "cubic"}, r"^slack is 'cubic'; expected one of 'linear', 'quadratic'"),
        ({"sample_weight": [1, np.nan]}, r"^sample_weight\[1\] is nan"),
        ({"sample_weight": [1, -1]}, r"^sample_weight\[1\] is -1.0; expected a positive number"),
        ({"hyperparameters": Hyperparameters(length_scales=[1, 2])}, "^length_scales has 2 values; expected 1 or 1"),
    ],
)
def test_solve_refuses(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"X": [[0.0], [1.0]], "y": [1, -1], "hyperparameters": paper_start(1)}
    solve(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        solve(**{**arguments, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gram": [[1.0, np.nan], [np.nan, 1.0]]}, r"^gram\[0, 1\] is nan"),
        ({"gram": [[1.0, 0.0]]}, r"^gram has shape \(1, 2\)"),
        ({"gram": [[1.0, 0.5], [0.4, 1.0]]}, "^gram is not symmetric"),
        ({"gram": [[1.0, 0.0], [0.0, 0.0]]}, r"^gram\[1, 1\] is 0.0; expected a positive number"),
        ({"y": [1]}, r"^y has shape \(1,\)"),
        ({"C": 0.0}, "^C is 0.0; expected a positive finite number"),
        ({"C": np.nan}, "^C is nan"),
        ({"C": "1"}, "^C is '1'"),
        ({"sample_weight": [1.0]}, r"^sample_weight has shape \(1,\)"),
    ],
)
def test_solve_gram_refuses(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"gram": [[1.0, 0.5], [0.5, 1.0]], "y": [1, -1]}
    solve_gram(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        solve_gram(**{**arguments, **change})  # type: ignore[arg-type]


def test_a_start_of_another_size_is_refused() -> None:
    problem, h = blobs(30, 2), paper_start(2)
    start = solve_problem(blobs(31, 2), h, as_slack("linear"))
    message = "^start is a solution of 31 examples; expected one of these 30 examples"
    with pytest.raises(InvalidInputError, match=message):
        solve_problem(problem, h, LINEAR, start=start)
    with pytest.raises(InvalidInputError, match=message):
        solve_gram(h.kernel.gram(problem.X), problem.y, start=start)


def test_an_indefinite_gram_matrix_is_refused() -> None:
    """Free coordinates along a direction of negative curvature: there is no maximum to find."""
    K = np.array([[1.0, 3.0, 0.1], [3.0, 1.0, 0.2], [0.1, 0.2, 1.0]])
    with pytest.raises(NotConvergedError, match="positive semidefinite"):
        solve_gram(K, [1, -1, 1], 1e6, "quadratic")
