"""Cross-validation against a plain loop over folds."""

from __future__ import annotations

import numpy as np
import pytest

from differences import differences, repeated
from marginwise._arrays import Array, Indices
from marginwise.criteria import as_criterion
from marginwise.criteria.cross_validation import (
    CrossValidationError,
    CrossValidationLogLoss,
    fold_counts,
)
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.problem import Problem, as_problem
from marginwise.svm import solve_problem
from peak_memory import peak_memory
from zoo import blobs, random_hyperparameters

SLACKS = ["linear", "quadratic"]


def held_out_latent(problem: Problem, h: Hyperparameters, slack: str, fold: np.ndarray) -> np.ndarray:
    """Return the latent value of every row when its fold is left out."""
    latent = np.empty(problem.n)
    for f in range(fold.max() + 1):
        rest = problem.subset(np.flatnonzero(fold != f))
        alpha = solve_problem(rest, h, as_slack(slack)).alpha
        latent[fold == f] = h.kernel.cross(problem.X[fold == f], rest.X) @ (rest.y * alpha)
    return latent


def stratified_folds(y: Array, folds: int, seed: int) -> Indices:
    """Return the fold of each row where all are one example."""
    return fold_counts(Problem(np.arange(float(len(y)))[:, None], y, np.ones(len(y))), folds, seed).argmax(axis=1)


@pytest.mark.parametrize("slack", SLACKS)
def test_against_a_loop(slack: str, rng: np.random.Generator) -> None:
    base = blobs(43, 2, shift=0.6)
    problem = Problem(base.X, base.y, rng.uniform(0.5, 2, size=43))
    for _ in range(3):
        h = random_hyperparameters(rng, 2)
        fold = stratified_folds(problem.y, 5, seed=4)
        margin = problem.y * held_out_latent(problem, h, slack, fold)
        error = CrossValidationError(slack, folds=5, seed=4).evaluate(problem, h)
        assert error.value == pytest.approx(np.average(margin <= 0, weights=problem.weights))
        assert error.gradient is None
        right, wrong = (np.exp(-h.C * as_slack(slack).loss(z)) for z in (margin, -margin))
        loss = np.average(-np.log(right / (right + wrong)), weights=problem.weights)
        log_loss = CrossValidationLogLoss(slack, folds=5, seed=4).evaluate(problem, h)
        assert log_loss.value == pytest.approx(loss, rel=1e-8)


@pytest.mark.parametrize("slack", SLACKS)
def test_copies_are_in_one_fold(slack: str) -> None:
    base, times, h = blobs(30, 2, shift=0.5), 1 + np.arange(30) % 3, Hyperparameters(1.5, 1.0, 0.1, [0.8, 0.8])
    rows = np.repeat(np.arange(30), times)
    weighted, copied = as_problem(base.X, base.y, times), as_problem(base.X[rows], base.y[rows])
    margin = base.y * held_out_latent(weighted, h, slack, stratified_folds(base.y, 5, seed=0))
    for problem in (weighted, copied):
        value = CrossValidationError(slack, folds=5).evaluate(problem, h).value
        assert value == pytest.approx(np.average(margin <= 0, weights=times))


@pytest.mark.parametrize("slack", SLACKS)
def test_repetitions_are_spread_over_the_folds(slack: str) -> None:
    """They are where inputs carry both labels."""
    X, y, times = [[0.0], [0.0], [1.0], [1.0]], [1, -1, 1, -1], np.array([7.0, 3.0, 2.0, 5.0])
    problem, h = as_problem(X, y, times), Hyperparameters(1.5, 1.0, 0.1, [0.8])
    counts = fold_counts(problem, 3, seed=0)
    np.testing.assert_array_equal(counts.sum(axis=1), times)
    assert (counts[0] > 0).all()  # seven of three folds
    rows, fold = np.nonzero(counts)
    spread = Problem(problem.X[rows], problem.y[rows], counts[rows, fold])
    margin = spread.y * held_out_latent(spread, h, slack, fold)
    criterion = CrossValidationError(slack, folds=3)
    expected = pytest.approx(np.average(margin <= 1e-10, weights=spread.weights))
    assert criterion.evaluate(problem, h).value == expected
    error = CrossValidationLogLoss(slack, folds=3)
    at = h.to_vector()
    slopes = differences(lambda v: error.evaluate(problem, Hyperparameters.from_vector(v)).value, at, 1e-6)
    np.testing.assert_allclose(error.evaluate(problem, h).gradient, slopes, atol=1e-6)


@pytest.mark.parametrize("slack", SLACKS)
def test_as_many_folds_as_rows_is_leave_one_out(slack: str) -> None:
    problem, h = blobs(30, 2, shift=0.5), Hyperparameters(1.5, 1.0, 0.1, [0.8, 0.8])
    value = CrossValidationError(slack, folds=30).evaluate(problem, h).value
    assert value == pytest.approx(as_criterion("loo", slack).evaluate(problem, h).value)


def test_folds_are_even_in_size_and_class_and_follow_the_seed() -> None:
    y = np.where(np.arange(103) % 4 == 0, 1.0, -1.0)
    fold = stratified_folds(y, 10, seed=0)
    sizes = np.bincount(fold)
    positive = np.bincount(fold[y > 0], minlength=10)
    assert sizes.max() - sizes.min() <= 1
    assert positive.max() - positive.min() <= 1
    np.testing.assert_array_equal(fold, stratified_folds(y, 10, seed=0))
    assert (fold != stratified_folds(y, 10, seed=1)).any()
    assert np.bincount(stratified_folds(y[:4], 10, seed=0)).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", [CrossValidationError, CrossValidationLogLoss])
def test_warm_start_changes_nothing_but_the_work(kind: type[CrossValidationError]) -> None:
    problem = blobs(60, 2)
    first = kind().evaluate(problem, Hyperparameters(1.0, 1.0, 0.1, [1.0, 1.0]))
    h = Hyperparameters(1.1, 1.1, 0.1, [1.0, 0.9])
    cold, warm = kind().evaluate(problem, h), kind().evaluate(problem, h, first.state)
    assert warm.value == pytest.approx(cold.value, rel=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
def test_repeated_rows_in_a_training_set_have_a_gradient(slack: str) -> None:
    """α of copies is not unique with linear slack; their sum, and the value, is."""
    copies, _ = repeated(blobs(16, 2, shift=0.4), np.full(16, 3))
    evaluation = CrossValidationLogLoss(slack).evaluate(copies, Hyperparameters(2.0, 1.0, 0.1, [1.0, 1.0]))
    assert evaluation.status.ok
    assert evaluation.gradient is not None


@pytest.mark.parametrize("slack", SLACKS)
def test_one_row(slack: str) -> None:
    """Nothing to train on: a tie, an even chance."""
    problem = as_problem([[0.3]], [1])
    assert CrossValidationError(slack).evaluate(problem, Hyperparameters()).value == 1.0
    log_loss = CrossValidationLogLoss(slack).evaluate(problem, Hyperparameters())
    assert log_loss.value == pytest.approx(np.log(2))
    assert log_loss.gradient is not None
    assert not log_loss.gradient.any()


@pytest.mark.parametrize("folds", [1, 2.5])
def test_folds_are_checked(folds: float) -> None:
    with pytest.raises(InvalidInputError, match="folds"):
        CrossValidationError(folds=folds)  # type: ignore[arg-type]


def test_a_foreign_state_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="state"):
        CrossValidationError().evaluate(blobs(30, 2), Hyperparameters(), state=(None, None))


@pytest.mark.parametrize("slack", SLACKS)
def test_repetitions_cost_no_memory(slack: str, rng: np.random.Generator) -> None:
    """Neither in their number, nor for being in every fold: the Gram matrix is that of the distinct rows."""
    X = np.vstack([half := rng.normal(size=(60, 2)), half])
    times = np.tile(rng.integers(1, 10**9, size=60).astype(float), 2)
    problem = as_problem(X, np.repeat([1.0, -1.0], 60), times)
    assert problem.counted.max() > 10**7
    criterion, h = CrossValidationLogLoss(slack), Hyperparameters(1e-8, 1.0, 0.1, [1.0, 1.0])
    assert peak_memory(lambda: criterion.evaluate(problem, h)) < 20 * 2**20
