"""Breiman's problems: their laws, their Bayes rules and errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from marginwise.datasets import generated

TWONORM = (generated.twonorm, generated.twonorm_log_odds, generated.twonorm_bayes_error)
RINGNORM = (generated.ringnorm, generated.ringnorm_log_odds, generated.ringnorm_bayes_error)

#: Mean of each input and variance of the classes +1 and -1, as Breiman defines them; 0.4472… is 2/√20.
LAWS = {
    generated.twonorm: {1.0: (0.4472135955, 1.0), -1.0: (-0.4472135955, 1.0)},
    generated.ringnorm: {1.0: (0.0, 4.0), -1.0: (0.4472135955, 1.0)},
}


@pytest.mark.parametrize("draw", LAWS)
def test_draws_follow_the_definition(draw: Callable) -> None:
    X, y = draw(20_000, np.random.RandomState(1))
    assert X.shape == (20_000, 20)
    assert abs(y.mean()) < 5 / np.sqrt(len(y))
    for label, (mean, variance) in LAWS[draw].items():
        members = X[y == label]
        assert members.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / members.size))
        assert members.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / members.size))
        correlation = np.corrcoef(members, rowvar=False) - np.eye(20)
        assert np.abs(correlation).max() < 6 / np.sqrt(len(members))


@pytest.mark.parametrize(("draw", "log_odds", "_"), [TWONORM, RINGNORM])
def test_log_odds_are_those_of_the_densities(draw: Callable, log_odds: Callable, _: Callable) -> None:
    X, _y = draw(50, np.random.RandomState(2))
    densities = {
        label: multivariate_normal(np.full(20, mean), variance * np.eye(20)).logpdf(X)
        for label, (mean, variance) in LAWS[draw].items()
    }
    np.testing.assert_allclose(log_odds(X), densities[1.0] - densities[-1.0], atol=1e-6)


@pytest.mark.parametrize(("problem", "published"), [(TWONORM, 0.0228), (RINGNORM, 0.0124)], ids=["twonorm", "ringnorm"])
def test_bayes_error_is_the_error_of_the_bayes_rule(problem: tuple, published: float, full: bool) -> None:
    draw, log_odds, bayes_error = problem
    random = np.random.RandomState(3)
    draws, wrong = (200, 0) if full else (4, 0)
    for _ in range(draws):
        X, y = draw(50_000, random)
        wrong += np.count_nonzero(np.sign(log_odds(X)) != y)
    n, exact = draws * 50_000, bayes_error()
    assert exact == pytest.approx(published, abs=5e-5)
    assert wrong / n == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / n))
