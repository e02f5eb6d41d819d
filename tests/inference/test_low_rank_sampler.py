"""Sampling with few inducing inputs: against the dense matrix VVᵀ + D, by quadrature, by differences, and beside EP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from known_laws import few, target_of
from marginwise.covariance import DenseCovariance, LowRankCovariance, Sites
from marginwise.criteria.evidence import Evidence
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import posterior
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.control_variates import ControlVariates
from marginwise.inference.sampling.low_rank import LowRankPrior, low_rank_prior
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.inference.sampling.run import sample_posterior
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods import LINEAR, SLACKS, Slack
from marginwise.problem import Problem
from zoo import blobs

H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5])
every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
every_rank = pytest.mark.parametrize("rank", [1, 8, 40])
FINE = Precision(tolerance=1e-3)


def problem(rank: int, n: int = 40) -> Problem:
    """Weighted rows; some of them are inducing inputs themselves, which leave nothing open there."""
    base = blobs(n, 3, shift=0.6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n)
    return replace(base, weights=weights, inducing=base.X[:rank])


def covariance_of(at: Problem, h: Hyperparameters = H) -> LowRankCovariance:
    covariance = at.covariance(h)
    assert isinstance(covariance, LowRankCovariance)
    return covariance


def textbook_gram(at: Problem, prior: LowRankPrior, h: Hyperparameters = H) -> np.ndarray:
    """VVᵀ + D as the prior has them, with VVᵀ = Q = K_nm K_mm⁻¹ K_mn to what a solution with K_mm is good for."""
    cross, inner = h.kernel.cross(at.X, at.inducing), h.kernel.gram(at.inducing)
    Q = cross @ np.linalg.solve(inner + 1e-9 * np.diag(inner.diagonal()), cross.T)
    np.testing.assert_allclose(prior.features @ prior.features.T, Q, atol=1e-5)
    return prior.features @ prior.features.T + np.diag(prior.own)


@every_rank
def test_the_prior_is_that_of_the_textbook_matrix(rank: int, rng: np.random.Generator) -> None:
    at = problem(rank)
    prior = low_rank_prior(covariance_of(at))
    K = textbook_gram(at, prior)
    np.testing.assert_allclose(K.diagonal(), H.k0 + H.koff, rtol=2e-6)
    columns = K @ rng.normal(size=(at.n, 3))
    np.testing.assert_allclose(K @ prior.solve(columns), columns, atol=1e-6)
    tau, nu = rng.exponential(size=at.n), rng.normal(size=at.n)
    ours, dense = (gaussian_reference(p, Sites(tau, nu)) for p in (prior, pivoted_gram(K)))
    for name in ("mean", "dual_mean", "variance"):
        np.testing.assert_allclose(getattr(ours, name), getattr(dense, name), atol=1e-6)
    assert ours.log_normaliser == pytest.approx(dense.log_normaliser, abs=1e-6)
    np.testing.assert_allclose(ours.times_covariance(columns), dense.times_covariance(columns), atol=1e-6)
    some = ours.draw(rng, 5)
    np.testing.assert_allclose(K @ ours.dual(some), ours.mean[:, None] + some, atol=1e-6)
    many = ours.draw(rng, 100_000)
    assert np.abs(many @ many.T / many.shape[1] - dense.factor @ dense.factor.T).max() < 0.06


@every_rank
def test_new_points_depend_on_the_rows_as_in_the_textbook(rank: int, rng: np.random.Generator) -> None:
    at = problem(rank)
    prior, new = low_rank_prior(covariance_of(at)), rng.normal(size=(6, 3))
    K, inner = textbook_gram(at, prior), H.kernel.gram(at.inducing)
    to_rows, to_new = H.kernel.cross(at.X, at.inducing), H.kernel.cross(new, at.inducing)
    k = to_rows @ np.linalg.solve(inner, to_new.T)  # covariances of the rows and the new points
    theta = K @ rng.normal(size=at.n)
    np.testing.assert_allclose(
        to_new @ prior.coefficients(prior.solve(theta[:, None]))[:, 0], k.T @ np.linalg.solve(K, theta), atol=1e-5
    )
    expected = H.k0 + H.koff - np.einsum("ij,ij->j", k, np.linalg.solve(K, k))
    variance = prior.conditional_variance(to_new.T, H.kernel.diagonal(new))
    np.testing.assert_allclose(variance, expected, atol=1e-5)


@every_rank
def test_derivatives_of_products_agree_with_differences(rank: int, rng: np.random.Generator) -> None:
    at = problem(rank)
    at = replace(at, inducing=at.inducing + 0.01)  # differences need a residual that is not cut off at 0
    left, right, own = rng.normal(size=(at.n, 2)), rng.normal(size=(at.n, 2)), rng.normal(size=at.n)
    G = left @ right.T + np.diag(own)

    def product(log_h: np.ndarray) -> float:
        covariance = covariance_of(at, H.with_vector(log_h))
        V = covariance.expand(np.eye(rank))
        return float(np.sum(G * (V @ V.T)) + G.diagonal() @ covariance.residual)

    slopes = []
    for k in range(1, 6):
        move = np.zeros(6)
        move[k] = 1e-5
        slopes.append((product(H.to_vector() + move) - product(H.to_vector() - move)) / 2e-5)
    ours = covariance_of(at).contract_product(left, right, own)
    np.testing.assert_allclose(ours, slopes, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())


def test_a_dense_product_is_the_contraction_of_its_matrix(rng: np.random.Generator) -> None:
    at = blobs(15, 3)
    left, right, own = rng.normal(size=(15, 4)), rng.normal(size=(15, 4)), rng.normal(size=15)
    G = left @ right.T + np.diag(own)
    covariance = DenseCovariance.of(H.kernel, at.X)
    np.testing.assert_allclose(
        covariance.contract_product(left, right, own), covariance.contract(0.5 * (G + G.T)), rtol=1e-10
    )


@every_slack
def test_the_constant_of_the_control_variates_is_its_definition(slack: Slack, rng: np.random.Generator) -> None:
    at = problem(8)
    prior, target = low_rank_prior(covariance_of(at)), target_of(at, H, slack)
    sites = Sites(rng.exponential(size=at.n), rng.normal(size=at.n))
    K = textbook_gram(at, prior)
    matrices = []
    for p in (prior, pivoted_gram(K)):
        left, right, own = ControlVariates(target, gaussian_reference(p, sites), 0.0).constant()
        matrices.append(left @ right.T + np.diag(own))
    np.testing.assert_allclose(*matrices, atol=1e-6)


@every_slack
def test_all_rows_inducing_is_the_exact_posterior(slack: Slack) -> None:
    """The same law, other draws: nothing differs by more than their errors."""
    exact = few(3, weighted=True)
    at, h = replace(exact, inducing=exact.X), Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])
    ours, dense = (sample_posterior(p, h, slack, evidence=True, precision=FINE) for p in (at, exact))
    for one in (ours, dense):
        assert one.status.ok, one.status
    z = (ours.gradient - dense.gradient) / np.hypot(ours.gradient_se, dense.gradient_se)
    assert np.abs(z).max() < 4
    assert abs(ours.log_evidence - dense.log_evidence) < 4 * np.hypot(ours.log_evidence_se, dense.log_evidence_se)
    new = np.array([[0.3, -0.2], [2.0, 2.0]])
    (p, error), (q, other) = (one.probability_and_error(new) for one in (ours, dense))
    assert (np.abs(p - q)[:, 1] < 4 * np.hypot(error, other) + 1e-6).all()


@every_slack
@pytest.mark.parametrize("rank", [2, 10])
def test_expectation_propagation_of_the_same_rank_is_near(slack: Slack, rank: int) -> None:
    at = problem(rank, n=60)
    ours, ep = sample_posterior(at, H, slack, evidence=True, precision=FINE), site_posterior(at, H, slack)
    assert ours.status.ok, ours.status
    assert abs(ours.log_evidence - ep.log_evidence) < 0.5 + 4 * ours.log_evidence_se
    np.testing.assert_allclose(ours.gradient, ep.gradient, atol=6e-3)
    np.testing.assert_allclose(ours.latent_mean, ep.latent_mean, atol=0.2)
    new = np.random.default_rng(3).normal(size=(8, 3))
    np.testing.assert_allclose(ours.predict_proba(new), ep.predict_proba(new), atol=0.02)
    mean, variance = ours.latent_mean_and_variance(new)
    ep_mean, ep_variance = ep.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, ep_mean, atol=0.2)
    np.testing.assert_allclose(variance, ep_variance, rtol=0.2, atol=0.02)


def test_the_sampled_gradient_is_that_of_the_value() -> None:
    """Along a line, the mean of the gradients at both ends is the slope of the sampled evidence (Simpson)."""
    at = problem(10, n=60)
    start, step = H.to_vector(), np.array([0.2, -0.3, 0.1, 0.2, -0.2, 0.1])
    ends = [start, start + 0.5 * step, start + step]
    runs = [
        sample_posterior(at, H.with_vector(v), LINEAR, seed=k, evidence=True, precision=Precision(rung_steps=400))
        for k, v in enumerate(ends)
    ]
    total = at.weights.sum()
    slope = np.array([1, 4, 1]) / 6 @ [run.gradient @ step for run in runs]
    rise = (runs[2].log_evidence - runs[0].log_evidence) / total
    error = np.hypot(runs[0].log_evidence_se, runs[2].log_evidence_se) / total
    assert abs(rise - slope) < 4 * error + 1e-3
    assert error < 0.1 * abs(rise)


def test_the_public_way_and_the_criterion_take_inducing_inputs() -> None:
    at = problem(10)
    result = posterior(at.X, at.y, H, method="sample", inducing=at.inducing, sample_weight=at.weights)
    again = posterior(at.X, at.y, H, method="sample", inducing=at.inducing, sample_weight=at.weights, start=result)
    assert result.status.ok
    assert again.status.ok
    evaluation = Evidence("linear").evaluate(at, H)
    assert evaluation.status.ok
    np.testing.assert_allclose(evaluation.gradient, result.gradient, atol=0.02)


@pytest.mark.slow
def test_many_rows_take_little_memory(full: bool) -> None:
    """Nothing of n² numbers is made: 20,000 rows would need 3.2 GB for one such matrix."""
    import tracemalloc

    n = 20_000 if full else 6_000
    at = replace(blobs(n, 3, shift=0.5), inducing=blobs(50, 3, seed=1).X)
    tracemalloc.start()
    result = sample_posterior(at, H, LINEAR, n_chains=16, precision=Precision(max_steps=32))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(result.gradient).all()
    assert peak < (0.1 if full else 0.6) * 8 * n**2
