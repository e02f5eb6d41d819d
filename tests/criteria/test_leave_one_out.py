"""The exact leave-one-out error against as many full trainings as there are points."""

from __future__ import annotations

import numpy as np
import pytest

from differences import repeated
from marginwise.criteria import as_criterion
from marginwise.criteria.leave_one_out import leave_out
from marginwise.criteria.training import train
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.problem import Problem, as_problem
from reference.svm import solve_reference
from zoo import blobs, random_hyperparameters

SLACKS = ["linear", "quadratic"]


def retrained(problem: Problem, h: Hyperparameters, slack: str) -> np.ndarray:
    """Return θ^i_i for every point, by the slow solver on all others."""
    latents = []
    for i in range(problem.n):
        rest = problem.subset(np.delete(np.arange(problem.n), i))
        solution = solve_reference(h.kernel.gram(rest.X), rest.y, rest.penalties(h.C), as_slack(slack))
        cross = h.kernel.cross(problem.X[i : i + 1], rest.X)
        latents.append(float((cross @ (rest.y * solution.alpha))[0]))
    return np.array(latents)


@pytest.mark.parametrize("slack", SLACKS)
def test_against_full_trainings(slack: str, rng: np.random.Generator) -> None:
    problem = blobs(25, 2, shift=0.6)
    for _ in range(2):
        h = random_hyperparameters(rng, 2, spread=0.5)
        expected = retrained(problem, h, slack)
        trained = train(problem, h, as_slack(slack))
        latents = {left_out.point: left_out.latent for left_out in leave_out(trained, np.arange(25))}
        np.testing.assert_allclose([latents[i] for i in range(25)], expected, atol=1e-8)
        evaluation = as_criterion("loo", slack).evaluate(problem, h)
        assert evaluation.value == pytest.approx(np.mean(problem.y * expected <= 0))
        assert evaluation.gradient is None


@pytest.mark.parametrize("slack", SLACKS)
def test_few_points_are_trained_again(slack: str) -> None:
    problem = blobs(80, 2)
    evaluation = as_criterion("loo", slack).evaluate(problem, Hyperparameters(1, 1, 0.1, [1, 1]))
    assert 1 < evaluation.info["trainings"] <= evaluation.info["support_vectors"] / 2


@pytest.mark.parametrize("slack", SLACKS)
def test_repeated_rows_and_weights(slack: str) -> None:
    """One copy is left out, not all of them; and a weight is a number of copies."""
    copies, weights = repeated(blobs(12, 2, shift=0.4), 1 + np.arange(12) % 3)
    h = Hyperparameters(1.5, 1.5, 0.2, [0.7, 0.9])
    expected = np.mean(copies.y * retrained(copies, h, slack) <= 0)
    assert as_criterion("loo", slack).evaluate(copies, h).value == pytest.approx(expected)
    assert as_criterion("loo", slack).evaluate(weights, h).value == pytest.approx(expected)


@pytest.mark.parametrize("slack", SLACKS)
def test_all_copies_of_an_example_are_left_out(slack: str) -> None:
    """What carries one label wherever it repeats is copied, and so is a weight."""
    base, times = blobs(12, 2, shift=0.4), 1 + np.arange(12) % 3
    h = Hyperparameters(1.5, 1.5, 0.2, [0.7, 0.9])
    weights = as_problem(base.X, base.y, times)
    rows = np.repeat(np.arange(12), times)
    expected = np.average(base.y * retrained(weights, h, slack) <= 0, weights=times)
    assert as_criterion("loo", slack).evaluate(weights, h).value == pytest.approx(expected)
    assert as_criterion("loo", slack).evaluate(as_problem(base.X[rows], base.y[rows]), h).value == pytest.approx(
        expected
    )


@pytest.mark.parametrize("slack", SLACKS)
def test_a_light_row_is_left_out_altogether(slack: str) -> None:
    light = as_problem([[0.0], [3.0], [3.2]], [1, -1, -1], [0.5, 1.0, 1.0])
    trained = train(light, Hyperparameters(1, 1, 0.1, 1.0), as_slack(slack))
    [left_out] = leave_out(trained, np.array([0]))
    assert left_out.latent < 0  # nothing speaks for +1 any more


@pytest.mark.parametrize("slack", SLACKS)
def test_without_anyone_else_it_is_an_error(slack: str) -> None:
    evaluation = as_criterion("loo", slack).evaluate(as_problem([[0.3]], [1]), Hyperparameters())
    assert evaluation.value == 1.0
    assert evaluation.status.ok
