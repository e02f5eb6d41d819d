"""The smallest ball by its certificate and in closed form, and the radius-margin bound."""

from __future__ import annotations

import numpy as np
import pytest

from differences import repeated
from marginwise.criteria import as_criterion
from marginwise.criteria.radius import RadiusMargin, smallest_ball
from marginwise.criteria.training import train
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.problem import as_problem
from zoo import blobs, random_hyperparameters

SLACKS = ["linear", "quadratic"]


@pytest.mark.parametrize("slack", SLACKS)
def test_certificate(slack: str, rng: np.random.Generator) -> None:
    """A ball around Σγφ(x), γ ≥ 0, with all points inside and those with γ > 0 on it, is the smallest one."""
    problem = blobs(60, 3)
    for _ in range(5):
        h = random_hyperparameters(rng, 3)
        trained = train(problem, h, as_slack(slack))
        ball = smallest_ball(trained)
        assert ball.solution is not None
        gamma = ball.solution.alpha / ball.solution.alpha.sum()
        K = trained.gram + (np.eye(60) / h.C if slack == "quadratic" else 0.0)
        squared_distance = K.diagonal() - 2 * K @ gamma + gamma @ K @ gamma
        tolerance = 1e-10 * K[0, 0]
        assert gamma.min() >= 0
        assert squared_distance.max() == pytest.approx(ball.squared_radius, abs=tolerance)
        assert squared_distance[gamma > 0].min() == pytest.approx(ball.squared_radius, abs=tolerance)


def test_two_points_lie_on_a_diameter() -> None:
    h = Hyperparameters(1.0, 2.0, 0.5, 1.0)
    trained = train(as_problem([[0.0], [0.7]], [1, -1]), h, as_slack("linear"))
    expected = 0.5 * 2.0 * (1 - np.exp(-0.5 * 0.7**2))  # a quarter of |φ(x) - φ(x')|²
    assert smallest_ball(trained).squared_radius == pytest.approx(expected, rel=1e-12)


def test_points_far_apart_are_the_corners_of_a_simplex() -> None:
    trained = train(blobs(12, 2), Hyperparameters(1.0, 3.0, 0.5, 1e-3), as_slack("linear"))
    assert smallest_ball(trained).squared_radius == pytest.approx(3.0 * (1 - 1 / 12), rel=1e-12)


@pytest.mark.parametrize("slack", SLACKS)
def test_value(slack: str) -> None:
    problem, h = blobs(30, 2), Hyperparameters(1.4, 1.2, 0.3, [0.8, 1.1])
    trained = train(problem, h, as_slack(slack))
    total = trained.solution.alpha.sum()
    ball, bound = RadiusMargin(slack), RadiusMargin(slack, radius="bound")
    expected = smallest_ball(trained).squared_radius * total / 30
    assert ball.evaluate(problem, h).value == pytest.approx(expected, rel=1e-12)
    norm = 1.5 + (1 / 1.4 if slack == "quadratic" else 0.0)
    assert bound.evaluate(problem, h).value == pytest.approx(norm * total / 30, rel=1e-12)
    assert ball.evaluate(problem, h).value < bound.evaluate(problem, h).value


@pytest.mark.parametrize("slack", SLACKS)
def test_a_weight_is_a_number_of_copies(slack: str) -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 0.9])
    criterion = as_criterion("radius-margin", slack)
    one, other = criterion.evaluate(copies, h), criterion.evaluate(weights, h)
    assert one.value == pytest.approx(other.value, rel=1e-10)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-8, atol=1e-10)
    if slack == "quadratic":  # the ball of the copies themselves, each with its own direction of K + I/C
        rows = np.repeat(np.arange(20), 1 + np.arange(20) % 3)
        trained = train(weights, h, as_slack(slack))
        K = trained.gram[np.ix_(rows, rows)] + np.eye(len(rows)) / h.C
        ball = smallest_ball(trained)
        assert ball.solution is not None
        gamma = ball.solution.alpha / ball.solution.alpha.sum()
        spread = (gamma / weights.weights)[rows]
        assert (K.diagonal() - 2 * K @ spread + spread @ K @ spread).max() == pytest.approx(ball.squared_radius)


def test_only_two_radii() -> None:
    with pytest.raises(InvalidInputError, match="radius is 'sphere'"):
        RadiusMargin(radius="sphere")  # type: ignore[arg-type]
