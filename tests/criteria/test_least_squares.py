"""The leave-one-out criterion of least squares with several classes, and criteria of two classes over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.criteria import as_criterion
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.criteria.pairs import OverPairs
from marginwise.errors import InvalidInputError
from marginwise.kernels import Blend
from marginwise.model import Model
from marginwise.multiclass import least_squares
from marginwise.problem import MulticlassProblem

RNG = np.random.default_rng(0)
N = 40
X = RNG.normal(size=(N, 3))
Y = RNG.integers(4, size=N).astype(float)
X[1] = X[2] = X[0]  # one row twice, and once with another label
Y[:3] = 0.0, 0.0, 1.0
WEIGHTS = RNG.uniform(0.5, 3.0, size=N)
MODEL = Model(1.7, Blend(1.2, 0.3, 0.5, 0.8, 0.9, (1.0, 2.0, 1.5)))


def _differences(criterion, problem) -> np.ndarray:
    h, logs = 1e-5, MODEL.to_vector()
    steps = h * np.eye(len(logs))

    def value(at) -> float:
        return criterion.evaluate(problem, MODEL.with_vector(at)).value

    return np.array([(value(logs + step) - value(logs - step)) / (2 * h) for step in steps])


@pytest.mark.parametrize("inducing", [None, X[::4] + 0.01], ids=["dense", "low rank"])
@pytest.mark.parametrize("examples", [np.ones(N), 1.0 + (np.arange(N) % 3 == 0)], ids=["ones", "several"])
def test_the_gradient_is_that_of_differences(inducing, examples):
    problem = MulticlassProblem(X, Y, WEIGHTS, inducing, examples, n_classes=5)  # of the last there is no row
    criterion = LeastSquaresLeaveOneOut()
    gradient = criterion.evaluate(problem, MODEL).gradient
    assert gradient is not None
    np.testing.assert_allclose(gradient, _differences(criterion, problem), atol=1e-8)


def test_the_value_is_the_mean_log_probability_and_the_prior_of_the_link():
    problem = MulticlassProblem(X[3:], Y[3:], WEIGHTS[3:], examples=np.ones(N - 3), n_classes=4)
    result = LeastSquaresLeaveOneOut().evaluate(problem, MODEL)
    link, n = result.state, problem.weights.sum()
    logs = link.log_proba(*least_squares(problem, MODEL).left_out)[np.arange(N - 3), problem.labels]
    penalty = 0.5 * ((link.logs - np.log([5.0, 0.3, 1.0 / (1.0 + n)])) ** 2).sum()
    assert result.value == pytest.approx((problem.weights @ logs - penalty) / n, rel=1e-10)


def test_only_the_product_of_C_and_kernel_counts():
    problem = MulticlassProblem(X, Y, WEIGHTS, examples=np.ones(N), n_classes=4)
    one = LeastSquaresLeaveOneOut().evaluate(problem, MODEL)
    other = LeastSquaresLeaveOneOut().evaluate(problem, MODEL.with_C_in_kernel())
    assert other.value == pytest.approx(one.value, rel=1e-9)


def test_a_foreign_state_is_refused():
    problem = MulticlassProblem(X, Y, WEIGHTS, examples=np.ones(N), n_classes=4)
    with pytest.raises(InvalidInputError):
        LeastSquaresLeaveOneOut().evaluate(problem, MODEL, state=3)


def test_over_pairs_is_the_mean_over_the_two_class_problems():
    problem = MulticlassProblem(X, Y, WEIGHTS, examples=np.ones(N), n_classes=4)
    inner = as_criterion("ep-loo")
    criterion = OverPairs(inner)
    assert (criterion.name, criterion.direction, criterion.smooth) == ("ep-loo", "maximise", True)
    result = criterion.evaluate(problem, MODEL)
    values, sizes = [], []
    for i in range(4):
        for j in range(i + 1, 4):
            rows = np.flatnonzero((i == Y) | (j == Y))
            two = [pair for pair, own in problem.pairs() if np.array_equal(own, rows)]
            assert len(two) == 1
            assert set(two[0].y) == {-1.0, 1.0}
            values.append(inner.evaluate(two[0], MODEL).value)
            sizes.append(WEIGHTS[rows].sum())
    assert result.value == pytest.approx(np.average(values, weights=sizes), rel=1e-9)
    np.testing.assert_allclose(result.gradient, _differences(criterion, problem), atol=1e-6)
    assert criterion.evaluate(problem, MODEL, result.state).value == pytest.approx(result.value, rel=1e-8)
