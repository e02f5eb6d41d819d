"""Expectation propagation: exact where it must be, close where it can be, and always converged or said not to be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import brute_force
from known_laws import few, quadrature, scattered, scattered_log_evidence
from marginwise.covariance import Sites
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.inference.ep.moves import Moves
from marginwise.inference.ep.run import run_ep
from marginwise.likelihoods import LIKELIHOODS, SLACKS, as_likelihood, as_slack
from marginwise.problem import Problem, as_problem
from zoo import blobs, hard_problems, random_hyperparameters, twonorm

HARD = {name: (problem, h) for name, problem, h in hard_problems()}


def titanic(n: int = 150, seed: int = 0) -> Problem:
    """Hundreds of rows at few places, with labels of both signs at each."""
    rng = np.random.default_rng(seed)
    places = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T[:6]
    rows = rng.integers(6, size=n)
    survived = rng.random(n) < np.array([0.9, 0.2, 0.6, 0.3, 0.5, 0.8])[rows]
    return as_problem(places[rows], np.where(survived, 1.0, -1.0))


def run(problem: Problem, h: Hyperparameters, name: str, **options):
    return run_ep(problem.dense_covariance(h), problem.y, as_likelihood(name).weighted(h.C, problem.weights), **options)


def textbook_ep(K: np.ndarray, y: np.ndarray, C: float, slack: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Algorithm 3.5 of Rasmussen & Williams (2006), one site at a time, with moments by brute force."""
    n = len(y)
    tau, nu = np.zeros(n), np.zeros(n)
    for _ in range(30):
        before = tau.copy()
        for i in range(n):
            sigma = np.linalg.solve(np.eye(n) + K * tau, K)
            mean = sigma @ nu
            v = 1 / (1 / sigma[i, i] - tau[i])
            m = v * (mean[i] / sigma[i, i] - nu[i])
            exact = brute_force.integrate(slack, y[i] * m, v, C)
            new_mean, new_variance = m + y[i] * np.sqrt(v) * exact.shift, v * exact.variance
            tau[i], nu[i] = 1 / new_variance - 1 / v, new_mean / new_variance - m / v
        if np.abs(tau - before).max() < 1e-9:
            break
    sigma = np.linalg.solve(np.eye(n) + K * tau, K)
    mean = sigma @ nu
    v = 1 / (1 / np.diag(sigma) - tau)
    m = v * (mean / np.diag(sigma) - nu)
    log_z = sum(brute_force.integrate(slack, y[i] * m[i], v[i], C).log_z for i in range(n))
    # eq. 3.65: the sites' constants are such that each gives Z_i under its cavity
    quadratic = 0.5 * np.sum((m - nu / tau) ** 2 / (v + 1 / tau)) + 0.5 * np.sum(np.log(v + 1 / tau))
    joint = -0.5 * np.linalg.slogdet(K + np.diag(1 / tau))[1] - 0.5 * (nu / tau) @ np.linalg.solve(
        K + np.diag(1 / tau), nu / tau
    )
    return mean, np.diag(sigma), log_z + quadratic + joint


@pytest.mark.parametrize("slack", SLACKS)
def test_agrees_with_the_textbook(slack: str) -> None:
    problem, h = blobs(8, 2, shift=0.4), Hyperparameters(1.7, 2.0, 0.3, [1.0, 2.0])
    mean, variance, log_evidence = textbook_ep(h.kernel.gram(problem.X), problem.y, h.C, slack)
    ours = run(problem, h, slack)
    np.testing.assert_allclose(ours.mean, mean, atol=1e-7)
    np.testing.assert_allclose(ours.variance, variance, rtol=1e-7)
    kappa = problem.n * as_slack(slack).log_kappa(h.C)
    assert ours.log_evidence == pytest.approx(log_evidence + kappa, abs=1e-8)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("C", [0.2, 1.0, 30.0])
def test_one_point_is_exact(name: str, C: float) -> None:
    problem, h = as_problem([[0.3]], [-1], [1.4]), Hyperparameters(C, 2.0, 0.3)
    exact = brute_force.integrate(name, 0.0, 2.3, C, 1.4)
    ours = run(problem, h, name, tolerance=1e-12)
    kappa = 1.4 * as_slack(name).log_kappa(C) if name in SLACKS else 0.0
    assert ours.log_evidence == pytest.approx(exact.log_z + kappa, abs=1e-9)
    assert ours.mean[0] == pytest.approx(-np.sqrt(2.3) * exact.shift, abs=1e-9)
    assert ours.variance[0] == pytest.approx(2.3 * exact.variance, rel=1e-8)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_few_points_are_close_to_the_integral(slack: str, n: int, weighted: bool) -> None:
    problem, h = few(n, weighted=weighted), Hyperparameters(1.3, 2.0, 0.4, [0.8, 1.5])
    exact, ours = quadrature(problem, h, as_slack(slack)), run(problem, h, slack)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    mean = exact.mean(exact.latent)
    np.testing.assert_allclose(ours.mean, mean, atol=0.02)
    np.testing.assert_allclose(ours.variance, exact.mean((exact.latent - mean[:, None]) ** 2), rtol=0.03)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("C", "k0", "koff"), [(1.0, 20.0, 5.0), (4.0, 600.0, 50.0)])
def test_many_points_against_an_exact_evidence(slack: str, C: float, k0: float, koff: float) -> None:
    problem, h = scattered(100), Hyperparameters(C, k0, koff, 0.05)
    exact = scattered_log_evidence(problem, h, as_slack(slack))
    assert run(problem, h, slack).log_evidence == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("slack", SLACKS)
def test_without_slack_penalty_the_labels_are_coin_tosses(slack: str) -> None:
    problem = blobs(30, 2)
    ours = run(problem, Hyperparameters(1e-9, 1.0, 0.1), slack)
    assert ours.log_evidence == pytest.approx(30 * as_slack(slack).log_kappa(0.0), abs=1e-6)
    np.testing.assert_allclose(ours.mean, 0.0, atol=1e-7)


def test_probit_evidence_of_two_points_is_an_orthant_probability() -> None:
    problem, h = as_problem([[0.0], [0.7]], [1, 1]), Hyperparameters(1.0, 1.5, 0.2)
    K = h.kernel.gram(problem.X) + np.eye(2)
    correlation = K[0, 1] / K[0, 0]
    exact = 0.25 + np.arcsin(correlation) / (2 * np.pi)
    assert np.exp(run(problem, h, "probit").log_evidence) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_fixed_point_it_is(name: str) -> None:
    problem = blobs(40, 2, shift=0.5)
    h = Hyperparameters(3.0, 5.0, 0.5, [1.0, 2.0])
    ours = run(problem, h, name)
    assert ours.status.ok
    gaussian = ours.gaussian
    tilted = (
        as_likelihood(name)
        .weighted(h.C, problem.weights)
        .tilted(gaussian.cavity_mean, gaussian.cavity_variance, problem.y)
    )
    sd = np.sqrt(ours.variance)
    tilted_mean = gaussian.cavity_mean + gaussian.cavity_variance * tilted.slope
    np.testing.assert_allclose((tilted_mean - ours.mean) / sd, 0.0, atol=2e-7)
    np.testing.assert_allclose(gaussian.cavity_variance * tilted.keep / ours.variance, 1.0, atol=2e-7)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_converge(slack: str, name: str) -> None:
    problem, h = HARD[name]
    ours = run(problem, h, slack)
    assert ours.status.ok, ours.status.message
    assert np.isfinite(ours.log_evidence)
    assert (ours.variance > 0).all()
    assert (ours.variance <= np.diag(h.kernel.gram(problem.X)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(
    ("C", "k0", "scale"),
    [(1.0, 1.0, 1.0), (1.0, 100.0, 1.0), (10.0, 100.0, 5.0), (100.0, 1e4, 5.0), (0.01, 1e4, 1.0), (1.0, 1e5, 0.1)],
)
def test_repeated_rows_with_mixed_labels_converge(slack: str, C: float, k0: float, scale: float) -> None:
    ours = run(titanic(), Hyperparameters(C, k0, 1.0, scale), slack)
    assert ours.status.ok, ours.status.message
    assert ours.sweeps < 60


@pytest.mark.parametrize("slack", SLACKS)
def test_random_settings_converge(slack: str, full: bool, rng: np.random.Generator) -> None:
    for _ in range(200 if full else 20):
        problem = blobs(50, 2, shift=rng.uniform(0, 2), seed=int(rng.integers(1000)))
        ours = run(problem, random_hyperparameters(rng, 2, 2.0), slack)
        assert ours.status.ok, ours.status.message


def test_not_converged_is_said() -> None:
    ours = run(titanic(), Hyperparameters(10.0, 100.0, 1.0, 5.0), "linear", max_sweeps=2)
    assert not ours.status.ok
    assert "2 sweeps" in ours.status.message
    assert np.isfinite(ours.log_evidence)


@pytest.mark.parametrize("slack", SLACKS)
def test_a_warm_start_saves_sweeps_and_changes_nothing(slack: str, rng: np.random.Generator) -> None:
    problem, h = twonorm(80), Hyperparameters(2.0, 20.0, 0.5, np.full(20, 4.0))
    near = Hyperparameters.from_vector(h.to_vector() + 0.05 * rng.choice([-1, 1], size=23))
    cold = run(problem, h, slack)
    warm = run(problem, h, slack, start=run(problem, near, slack).sites)
    assert warm.sweeps < cold.sweeps
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-10)
    np.testing.assert_allclose(warm.mean, cold.mean, atol=1e-6)


def test_a_bad_start_does_no_harm() -> None:
    problem, h = blobs(40, 2), paper_start(2)
    cold = run(problem, h, "linear")
    for start in (
        Sites(np.full(40, 1e3), -1e3 * problem.y),
        Sites(np.full(40, -10.0), np.zeros(40)),  # no Gaussian at all
    ):
        warm = run(problem, h, "linear", start=start)
        assert warm.status.ok
        assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_all_ways_lead_to_the_same_fixed_point(name: str) -> None:
    """Sites moved one at a time only, or all at once and damped only, end where the mixture of methods does."""
    problem, h = blobs(30, 2, shift=0.7), Hyperparameters(1.2, 3.0, 0.3, [1.0, 2.0])
    moves = Moves(problem.dense_covariance(h), problem.y, as_likelihood(name).weighted(h.C, problem.weights))
    ours = run(problem, h, name, tolerance=1e-11)
    alone = together = moves.prior()
    for _ in range(60):
        alone = moves.one_at_a_time(alone, 0.9)
        assert alone is not None
    for _ in range(120):
        gaussian, wanted = together.gaussian, together.matched
        together = moves.point(0.6 * gaussian.tau + 0.4 * wanted.tau, 0.6 * gaussian.nu + 0.4 * wanted.nu)
        assert together is not None
    for other in (alone, together):
        np.testing.assert_allclose(other.gaussian.mean, ours.mean, atol=1e-8)
        np.testing.assert_allclose(other.gaussian.variance, ours.variance, rtol=1e-8)


def test_likelihoods_that_are_not_log_concave_give_negative_precisions() -> None:
    problem = blobs(60, 2, shift=1.0, seed=2)
    flipped = Problem(problem.X, np.where(np.arange(60) < 3, -problem.y, problem.y), problem.weights)
    ours = run(flipped, Hyperparameters(1.0, 5.0, 0.3, [3.0, 3.0]), "normalised-linear")
    assert ours.status.ok
    assert ours.tau.min() < 0.0
    assert (ours.variance > 0).all()


def test_weight_two_is_nearly_the_row_twice() -> None:
    """Merged sites are exact about each other, separate ones are not: close, not equal."""
    problem, h = blobs(30, 2), Hyperparameters(1.0, 2.0, 0.3, [1.0, 1.0])
    weighted = Problem(problem.X, problem.y, np.full(30, 2.0))
    twice = problem.subset(np.repeat(np.arange(30), 2))
    a, b = run(weighted, h, "linear"), run(twice, h, "linear")
    assert a.log_evidence == pytest.approx(b.log_evidence, rel=2e-2)
    np.testing.assert_allclose(a.mean, b.mean[::2], atol=0.05)


def test_cavities_are_close_to_runs_without_the_point() -> None:
    problem, h = blobs(20, 2), Hyperparameters(1.0, 1.0, 0.1, [1.0, 1.0])
    ours = run(problem, h, "linear")
    for i in range(0, 20, 4):
        others = np.flatnonzero(np.arange(20) != i)
        without = run_ep(
            problem.dense_covariance(h).principal(others),
            problem.y[others],
            as_slack("linear").weighted(h.C, np.ones(19)),
        )
        k = h.kernel.gram(problem.X)[others, i]
        assert ours.gaussian.cavity_mean[i] == pytest.approx(k @ without.gaussian.dual_mean, abs=0.02)


def test_standard_normal_of_the_probit_with_no_data_is_the_prior() -> None:
    problem, h = as_problem([[0.0]], [1]), Hyperparameters(1.0, 1e-9, 1e-9)
    assert run(problem, h, "probit").log_evidence == pytest.approx(norm.logcdf(0.0), abs=1e-6)
