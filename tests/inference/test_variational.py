"""The nearest Gaussian: a bound on the evidence, at its maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import brute_force
from known_laws import few, quadrature
from marginwise.covariance import Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep.run import run_ep
from marginwise.inference.variational import run_variational
from marginwise.likelihoods import LIKELIHOODS, SLACKS, as_likelihood, as_slack
from marginwise.problem import Problem, as_problem
from zoo import blobs, hard_problems, twonorm

HARD = {name: (problem, h) for name, problem, h in hard_problems()}


def run(problem: Problem, h: Hyperparameters, name: str, **options):
    return run_variational(
        problem.dense_covariance(h), problem.y, as_likelihood(name).weighted(h.C, problem.weights), **options
    )


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_it_is_a_bound_and_a_close_one(slack: str, n: int) -> None:
    problem = few(n, weighted=True)
    for C in (0.3, 1.3, 6.0):
        h = Hyperparameters(C, 2.0, 0.4, [0.8, 1.5])
        exact = quadrature(problem, h, as_slack(slack)).log_evidence
        bound = run(problem, h, slack).log_evidence
        assert bound <= exact + 1e-10
        assert bound >= exact - 0.1 * n * C


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_one_point_against_a_direct_maximisation(name: str) -> None:
    """Over mean and variance of one normal density, with E[ln t] by brute force."""
    problem, h = as_problem([[0.3]], [1]), Hyperparameters(1.5, 2.0, 0.3)

    def negative(parameters: np.ndarray) -> float:
        m, v = parameters[0], np.exp(parameters[1])
        divergence = 0.5 * (v / 2.3 - 1 + m * m / 2.3 + np.log(2.3 / v))
        return divergence - brute_force.integrate(name, m, v, h.C, tilted=False).mean_log_likelihood

    best = minimize(negative, [0.3, 0.0], method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-10})
    ours = run(problem, h, name)
    kappa = as_slack(name).log_kappa(h.C) if name in SLACKS else 0.0
    assert ours.log_evidence == pytest.approx(kappa - best.fun, abs=1e-8)
    assert ours.mean[0] == pytest.approx(best.x[0], abs=1e-4)
    assert ours.variance[0] == pytest.approx(np.exp(best.x[1]), rel=1e-4)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_it_is_stationary(name: str) -> None:
    """No Gaussian near by, of the same form or not, has a higher bound."""
    problem, h = blobs(15, 2, shift=0.4), Hyperparameters(1.3, 3.0, 0.3, [1.0, 2.0])
    K, likelihood = h.kernel.gram(problem.X), as_likelihood(name).weighted(h.C, problem.weights)
    ours = run(problem, h, name)
    assert ours.status.ok
    rng = np.random.default_rng(0)
    inverse = np.linalg.inv(K)
    covariance = ours.gaussian.full_covariance()

    def bound(mean: np.ndarray, covariance: np.ndarray) -> float:
        divergence = 0.5 * (
            np.trace(inverse @ covariance)
            - 15
            + mean @ inverse @ mean
            + np.linalg.slogdet(K)[1]
            - np.linalg.slogdet(covariance)[1]
        )
        expected = likelihood.expected(mean, np.diag(covariance).copy(), problem.y).value.sum()
        return float(expected - divergence + 15 * likelihood.log_kappa)

    assert bound(ours.mean, covariance) == pytest.approx(ours.log_evidence, abs=1e-8)
    for _ in range(20):
        direction, matrix = rng.normal(size=15), rng.normal(size=(15, 15))
        root = np.linalg.cholesky(covariance)
        up, down = (
            bound(ours.mean + s * root @ direction, root @ (np.eye(15) + s * (matrix + matrix.T)) @ root.T)
            for s in (1e-4, -1e-4)
        )
        assert up < ours.log_evidence
        assert down < ours.log_evidence
        assert abs(up - down) / 2e-4 < 1e-4  # the first derivative is zero


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_end_with_a_bound_or_a_reason(slack: str, name: str) -> None:
    problem, h = HARD[name]
    ours = run(problem, h, slack)
    assert np.isfinite(ours.log_evidence)
    assert ours.status.ok or "bound" in ours.status.message
    ep = run_ep(problem.dense_covariance(h), problem.y, as_likelihood(slack).weighted(h.C, problem.weights))
    assert ours.log_evidence <= ep.log_evidence + 1e-8 * abs(ep.log_evidence) + 1e-6
    if name not in ("C=1e6, k0=1e6",):  # here the bound is very narrow
        assert ours.status.ok, ours.status.message


def test_a_warm_start_changes_nothing(rng: np.random.Generator) -> None:
    problem, h = twonorm(60), Hyperparameters(2.0, 20.0, 0.5, np.full(20, 4.0))
    cold = run(problem, h, "linear")
    near = Hyperparameters.from_vector(h.to_vector() + 0.05 * rng.choice([-1, 1], size=23))
    warm = run(problem, h, "linear", start=run(problem, near, "linear").sites)
    assert warm.sweeps < cold.sweeps
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)
    hopeless = run(problem, h, "linear", start=Sites(np.full(60, -1e3), np.zeros(60)))
    assert hopeless.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)


def test_not_converged_is_said() -> None:
    problem, h = HARD["C=1e+06"]
    ours = run(problem, h, "linear", max_sweeps=2)
    assert not ours.status.ok
    assert "2 steps" in ours.status.message


def test_sites_reproduce_the_gaussian() -> None:
    problem, h = blobs(20, 2), Hyperparameters(1.0, 2.0, 0.3, [1.0, 1.0])
    ours = run(problem, h, "quadratic")
    again = problem.dense_covariance(h).gaussian(*ours.sites)
    assert again is not None
    np.testing.assert_allclose(again.mean, ours.mean, atol=1e-12)
