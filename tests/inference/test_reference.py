"""The Gaussian reference against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.covariance import Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import GaussianReference, gaussian_reference
from marginwise.problem import as_problem
from zoo import blobs


def reference(repeat: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, GaussianReference]:
    base = blobs(15, 2)
    problem = as_problem(np.repeat(base.X, repeat, axis=0), np.repeat(base.y, repeat))
    K = Hyperparameters(1, 2, 0.3, [0.5, 0.7]).kernel.gram(problem.X)
    rng = np.random.default_rng(5)
    tau, nu = rng.exponential(size=problem.n), rng.normal(size=problem.n)
    tau[3] = 0.0
    return K, tau, nu, gaussian_reference(pivoted_gram(K), Sites(tau, nu))


@pytest.mark.parametrize("repeat", [1, 3])
def test_moments_are_those_of_the_definition(repeat: int) -> None:
    K, tau, nu, r = reference(repeat)
    assert (r.covariance is None) == (repeat == 3)  # a factor of low rank is the cheaper form
    covariance = K @ np.linalg.inv(np.eye(len(K)) + tau[:, None] * K)  # (K⁻¹ + T)⁻¹ without K⁻¹
    np.testing.assert_allclose(r.factor @ r.factor.T, covariance, atol=1e-10)
    np.testing.assert_allclose(r.variance, np.diag(covariance), atol=1e-10)
    np.testing.assert_allclose(r.mean, covariance @ nu, atol=1e-10)
    np.testing.assert_allclose(K @ r.dual_mean, r.mean, atol=1e-10)
    columns = np.random.default_rng(0).normal(size=(len(K), 4))
    np.testing.assert_allclose(r.times_covariance(columns), covariance @ columns, atol=1e-10)
    out = np.empty_like(columns)
    assert r.times_covariance(columns, out=out) is out
    np.testing.assert_allclose(out, covariance @ columns, atol=1e-10)


def test_prior_is_the_gaussian_times_the_rest() -> None:
    K, tau, _, r = reference()
    covariance = r.factor @ r.factor.T
    for theta in np.random.default_rng(1).normal(size=(5, len(K))):
        x = theta - r.mean
        gaussian = -0.5 * x @ np.linalg.solve(covariance, x) - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        prior = -0.5 * theta @ np.linalg.solve(K, theta) - 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
        rest = 0.5 * tau @ x**2 - r.dual_mean @ x
        assert r.log_normaliser + gaussian + rest == pytest.approx(prior, abs=1e-8)


@pytest.mark.parametrize("repeat", [1, 3])
def test_draws_have_the_covariance_and_a_dual(repeat: int) -> None:
    K, _, _, r = reference(repeat)
    draws = r.draw(np.random.default_rng(2), 200_000)
    empirical = draws @ draws.T / draws.shape[1]
    assert np.abs(empirical - r.factor @ r.factor.T).max() < 0.02
    some = draws[:, :50]
    np.testing.assert_allclose(K @ r.dual(some), r.mean[:, None] + some, atol=1e-9)
