"""Every gradient against central differences, at the paper's start and at random points."""

from __future__ import annotations

import numpy as np
import pytest

from differences import gradient_error
from marginwise.criteria import Criterion, as_criterion
from marginwise.criteria.cross_validation import CrossValidationLogLoss
from marginwise.criteria.radius import RadiusMargin
from marginwise.datasets import benchmark_names, load_benchmark
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.problem import Problem, as_problem
from tiers import first_quick
from zoo import blobs, random_hyperparameters, twonorm

GRADIENTS = [
    pytest.param(criterion, id=f"{criterion.name}-{criterion.likelihood.name}{suffix}")
    for criterion, suffix in [
        (as_criterion("laplace-evidence", "linear"), ""),
        (as_criterion("laplace-evidence", "quadratic"), ""),
        (as_criterion("span"), ""),
        (as_criterion("gacv"), ""),
        (as_criterion("kwok-evidence"), ""),
        (RadiusMargin("linear"), ""),
        (RadiusMargin("quadratic"), ""),
        (RadiusMargin("linear", radius="bound"), "-bound"),
        (RadiusMargin("quadratic", radius="bound"), "-bound"),
        (CrossValidationLogLoss("linear", folds=4), ""),
        (CrossValidationLogLoss("quadratic", folds=4), ""),
    ]
]

PROBLEMS = {"blobs": blobs(60, 3), "noise": blobs(50, 2, shift=0.3, seed=3), "twonorm": twonorm(60)}


def weighted(problem: Problem, seed: int = 7) -> Problem:
    """Return the problem with weights below and above one."""
    weights = np.random.default_rng(seed).uniform(0.3, 3.0, size=problem.n)
    return Problem(problem.X, problem.y, weights)


def has_value(criterion: Criterion, problem: Problem, h: Hyperparameters) -> bool:
    """Whether the criterion exists there: Kwok's does not everywhere, by its nature."""
    evaluation = criterion.evaluate(problem, h)
    if criterion.name == "kwok-evidence" and not evaluation.status.ok:
        assert "no maximum" in evaluation.status.message
        return False
    return True


@pytest.mark.parametrize("criterion", GRADIENTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_at_the_papers_start(criterion: Criterion, name: str) -> None:
    problem = PROBLEMS[name]
    # ln κ(C) of quadratic slack has a jump of its second derivative at C = 1: only short steps are exact there.
    assert gradient_error(criterion, problem, paper_start(problem.X.shape[1])) < 1e-6


@pytest.mark.parametrize("criterion", GRADIENTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_at_random_points(criterion: Criterion, name: str, rng: np.random.Generator, full: bool) -> None:
    problem = PROBLEMS[name]
    tested = 0
    for _ in range(20 if full else 3):
        h = random_hyperparameters(rng, problem.X.shape[1], spread=0.7)
        if has_value(criterion, problem, h):
            assert gradient_error(criterion, problem, h) < 1e-6
            tested += 1
    assert tested > 0


@pytest.mark.parametrize("criterion", GRADIENTS)
def test_gradient_with_weights(criterion: Criterion, rng: np.random.Generator) -> None:
    problem = weighted(blobs(40, 2, shift=0.7))
    for _ in range(2):
        h = random_hyperparameters(rng, 2, spread=0.5)
        if has_value(criterion, problem, h):
            assert gradient_error(criterion, problem, h) < 1e-6


@pytest.mark.parametrize("criterion", GRADIENTS)
def test_gradient_with_repeated_rows(criterion: Criterion) -> None:
    base = blobs(24, 2, shift=0.5)
    problem = base.subset(np.repeat(np.arange(24), 1 + np.arange(24) % 3))
    assert gradient_error(criterion, problem, Hyperparameters(0.8, 1.3, 0.2, [1.0, 1.5])) < 1e-6


@pytest.mark.parametrize("criterion", GRADIENTS)
def test_isotropic_gradient_is_the_sum_over_inputs(criterion: Criterion) -> None:
    problem = blobs(40, 3)
    one = criterion.evaluate(problem, Hyperparameters(0.9, 1.2, 0.3, 1.4))
    each = criterion.evaluate(problem, Hyperparameters(0.9, 1.2, 0.3, [1.4] * 3))
    assert one.gradient is not None
    assert each.gradient is not None
    np.testing.assert_allclose(one.value, each.value, rtol=1e-12)
    np.testing.assert_allclose(one.gradient[:3], each.gradient[:3], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.gradient[3], each.gradient[3:].sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("criterion", GRADIENTS)
@pytest.mark.parametrize("name", first_quick(benchmark_names()))
def test_gradient_on_the_benchmarks(criterion: Criterion, name: str, rng: np.random.Generator, full: bool) -> None:
    benchmark = load_benchmark(name)
    rows = slice(None) if full else slice(0, 60)
    problem = as_problem(benchmark.X_train[rows], benchmark.y_train[rows])
    d = problem.X.shape[1]
    points = [paper_start(d), *(random_hyperparameters(rng, d, spread=0.7) for _ in range(20 if full else 1))]
    tested = 0
    for h in points:
        # Length scales near √d, where points see each other: at l_a = 1 in 20 inputs K is nearly diagonal.
        near = Hyperparameters(h.C, h.k0, h.koff, np.sqrt(d) * np.array(h.length_scales))
        for point in (h, near):
            if has_value(criterion, problem, point):
                assert gradient_error(criterion, problem, point) < 1e-6
                tested += 1
    assert tested > 0
