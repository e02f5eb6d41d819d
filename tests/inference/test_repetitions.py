"""Leaving one of several repetitions out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from differences import differences
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import posterior
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.ep.repetitions import without_one
from marginwise.inference.ep.run import run_ep
from marginwise.likelihoods import as_slack
from marginwise.problem import as_problem

every_slack = pytest.mark.parametrize("slack", ["linear", "quadratic"])


@every_slack
@pytest.mark.parametrize("blur", [None, 0.3])
def test_moments_are_those_of_the_tilted_density(slack: str, blur: float | None) -> None:
    m, v, y, w, C = 0.4, 1.7, -1.0, 3.5, 0.8
    likelihood = as_slack(slack).weighted(C, np.array([w])).blurred(None if blur is None else np.array([blur]))
    rest = without_one(np.array([m]), np.array([v]), np.array([y]), likelihood, np.array([w - 1.0]))
    others = as_slack(slack).weighted(C, np.array([w - 1.0]))

    def density(a: float) -> float:  # the likelihood of a is that of θ ~ N(a, blur)
        log_t = others.tilted(np.array([a]), np.array([blur or 1e-12]), np.array([y])).value[0]
        return np.exp(log_t - 0.5 * (a - m) ** 2 / v)

    mass, first, second = (
        quad(lambda a, k: a**k * density(a), -12, 12, (k,), limit=200, epsabs=1e-12)[0] for k in range(3)
    )
    assert rest.mean[0] == pytest.approx(first / mass, abs=1e-6)
    assert rest.variance[0] == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-6)


@every_slack
def test_derivatives_are_right(slack: str) -> None:
    y, weights, left = np.array([1.0, -1.0]), np.array([3.0, 1.0]), np.array([1.7, 0.0])

    def moments(at: np.ndarray) -> np.ndarray:
        m, v, blur, C = at
        likelihood = as_slack(slack).weighted(C, weights).blurred(np.full(2, blur))
        return np.concatenate(without_one(np.full(2, m), np.full(2, v), y, likelihood, left)[:2])

    at = np.array([0.3, 1.4, 0.2, 0.9])
    likelihood = as_slack(slack).weighted(at[3], weights).blurred(np.full(2, at[2]))
    rest = without_one(np.full(2, at[0]), np.full(2, at[1]), y, likelihood, left)
    ours = np.array(rest[2:]).reshape(4, 4)  # by m, v, blur, C: two of the mean, two of the variance
    assert_allclose(ours, differences(moments, at, 1e-5), atol=1e-7)


@every_slack
@pytest.mark.parametrize("size", [1.0, 1.5])
def test_one_of_several_is_left_out(slack: str, size: float) -> None:
    """Close to the prediction of a posterior that has seen less of the row."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 2)), np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    h, weights = Hyperparameters(1.4, 1.5, 0.2, [1.0, 1.5]), np.full(12, 3.0)
    likelihood = as_slack(slack).weighted(h.C, weights)
    problem = as_problem(X, y, weights, examples=weights / size)
    ours = leave_one_out(
        run_ep(problem.dense_covariance(h), y, likelihood).gaussian, likelihood, problem
    ).log_probability
    for i in range(0, 12, 4):
        fewer = weights - size * (np.arange(12) == i)
        without = posterior(X, y, h, slack, sample_weight=fewer).predict_proba(X[[i]])[0, int(y[i] > 0)]
        assert ours[i] == pytest.approx(np.log(without), abs=0.02)
