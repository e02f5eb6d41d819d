"""Kwok's evidence: the smoothed loss, the formula, and where it has no value."""

from __future__ import annotations

import numpy as np
import pytest

from differences import differences, repeated
from marginwise.criteria.kwok import KwokEvidence, smoothed_curvature
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import LINEAR
from marginwise.svm import solve_problem
from zoo import blobs, random_hyperparameters


def smoothed_loss(z: np.ndarray, c: float) -> np.ndarray:
    """Return s(z), the paper's smoothed hinge loss."""
    return (1 - z) / (1 + np.exp(-c * (1 - z)))


@pytest.mark.parametrize("c", [1.0, 5.0, 20.0])
def test_curvature_is_the_second_derivative(c: float) -> None:
    z = 1 + np.linspace(-6, 6, 25) / c
    step = 1e-3 / c
    second, third = smoothed_curvature(z, c)
    numerical = (smoothed_loss(z + step, c) - 2 * smoothed_loss(z, c) + smoothed_loss(z - step, c)) / step**2
    np.testing.assert_allclose(second, numerical, atol=1e-5 * c)
    for k in range(len(z)):
        slope = differences(lambda x: float(smoothed_curvature(x, c)[0][0]), z[k : k + 1], 1e-5 / c)
        assert third[k] == pytest.approx(slope[0], rel=1e-6, abs=1e-7 * c**2)


def test_formula(rng: np.random.Generator) -> None:
    problem = blobs(40, 2)
    tested = negative = 0
    for _ in range(10):
        h = random_hyperparameters(rng, 2, spread=0.7)
        solution = solve_problem(problem, h, LINEAR)
        z = problem.y * solution.latent
        W = h.C * smoothed_curvature(z, 5.0)[0]
        K = h.kernel.gram(problem.X)
        sign, log_det = np.linalg.slogdet(np.eye(40) + W[:, None] * K)
        maximum = -0.5 * solution.alpha @ z - h.C * LINEAR.loss(z).sum() + 40 * LINEAR.log_kappa(h.C)
        evaluation = KwokEvidence().evaluate(problem, h)
        if evaluation.status.ok:
            assert sign > 0
            assert evaluation.value == pytest.approx((maximum - 0.5 * log_det) / 40, rel=1e-9)
            tested += 1
            negative += int((W < 0).any())
    assert tested > 3
    assert negative > 0


def test_says_so_where_the_smoothed_posterior_has_no_maximum() -> None:
    problem, h = blobs(40, 2, shift=0.3), Hyperparameters(100.0, 10.0, 0.1, [1.0, 1.0])
    solution = solve_problem(problem, h, LINEAR)
    W = h.C * smoothed_curvature(problem.y * solution.latent, 5.0)[0]
    curvature = np.linalg.inv(h.kernel.gram(problem.X)) + np.diag(W)
    assert np.linalg.eigvalsh(curvature).min() < 0  # it has none indeed
    evaluation = KwokEvidence().evaluate(problem, h)
    assert np.isnan(evaluation.value)
    assert evaluation.gradient is None
    assert "no maximum" in evaluation.status.message


def test_a_weight_is_a_number_of_copies() -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    h = Hyperparameters(0.5, 1.0, 0.2, [0.7, 0.9])
    one, other = KwokEvidence().evaluate(copies, h), KwokEvidence().evaluate(weights, h)
    assert one.status.ok
    assert one.value == pytest.approx(other.value, rel=1e-10)


def test_c_is_checked() -> None:
    with pytest.raises(InvalidInputError, match="c is 0"):
        KwokEvidence(c=0)
