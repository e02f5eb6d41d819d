"""Expectation propagation with a Gram matrix of low rank: against the dense one, and by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from differences import gradient_error
from marginwise.covariance import DenseCovariance, LowRankCovariance, as_blocks, choose_inducing
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import posterior
from marginwise.inference.ep import run
from marginwise.inference.ep.run import run_ep
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.problem import Problem
from zoo import blobs, hard_problems

H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5])
HARD = {name: (problem, h) for name, problem, h in hard_problems()}


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fixed point be found to rounding, as differences need it."""
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=0.0))


def problem(rank: int | None, n: int = 60) -> Problem:
    base = blobs(n, 3, shift=0.6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n)
    return replace(base, weights=weights, inducing=None if rank is None else base.X[:rank] + 0.01)


def approximate_gram(at: Problem, h: Hyperparameters) -> np.ndarray:
    """The matrix that stands for K, by the textbook: Q + diag(K - Q), Q = K_nm K_mm⁻¹ K_mn."""
    cross, inner = h.kernel.cross(at.X, at.inducing), h.kernel.gram(at.inducing)
    Q = cross @ np.linalg.solve(inner + 1e-9 * (h.k0 + h.koff) * np.eye(len(inner)), cross.T)
    np.fill_diagonal(Q, h.k0 + h.koff)
    return Q


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("rank", [1, 8, 30])
def test_is_the_dense_method_on_the_approximate_matrix(slack: str, rank: int) -> None:
    """Sites on the features' values and a blurred likelihood: the same fixed point as sites on the latent values."""
    at = problem(rank)
    K = approximate_gram(at, H)
    dense = run_ep(DenseCovariance.of_matrix(K), at.y, as_slack(slack).weighted(H.C, at.weights), tolerance=1e-12)
    ours = site_posterior(at, H, as_slack(slack), tolerance=1e-12)
    assert ours.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    np.testing.assert_allclose(ours.latent_mean, dense.mean, atol=1e-7)
    np.testing.assert_allclose(ours.latent_variance, dense.variance, rtol=1e-6)
    new = np.random.default_rng(2).normal(size=(7, 3))
    cross, inner = H.kernel.cross(at.X, at.inducing), H.kernel.gram(at.inducing)
    k = H.kernel.cross(new, at.inducing) @ np.linalg.solve(inner, cross.T)
    mean, variance = ours.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, k @ dense.gaussian.dual_mean, atol=1e-6)
    explained = np.einsum("ij,ij->i", k @ dense.gaussian.predictor()[1], k)
    np.testing.assert_allclose(variance, H.k0 + H.koff - explained, rtol=1e-6)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
@pytest.mark.parametrize("rank", [1, 10])
def test_gradients_agree_with_differences(criterion: type, slack: str, rank: int) -> None:
    assert gradient_error(criterion(slack, tolerance=1e-12), problem(rank), H) < 1e-6


@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
def test_isotropic_gradients_agree_with_differences(criterion: type) -> None:
    assert gradient_error(criterion(tolerance=1e-12), problem(10), Hyperparameters(0.7, 20.0, 3.0, 2.0)) < 1e-6


@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
def test_converges_to_the_dense_criterion(criterion: type) -> None:
    dense = criterion().evaluate(problem(None), H)
    errors = []
    for rank in (5, 20, 45, 60):
        at = replace(problem(None), inducing=problem(None).X[:rank])
        ours = criterion().evaluate(at, H)
        errors.append(abs(ours.value - dense.value))
        last = ours
    assert errors[-1] < 1e-7 < errors[1]
    assert errors[2] < errors[0]
    np.testing.assert_allclose(last.gradient, dense.gradient, atol=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EPLeaveOneOut().evaluate(problem(10), H)
    monkeypatch.setattr("marginwise.covariance.blocks.ROWS", 7)
    parts = EPLeaveOneOut().evaluate(problem(10), H)
    assert parts.value == pytest.approx(whole.value, abs=1e-12)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=1e-10)


def test_products_are_those_of_the_matrix(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("marginwise.covariance.blocks.ROWS", 9)
    at = problem(6)
    gram = LowRankCovariance(H.kernel, as_blocks(at.X), at.inducing)
    V = gram.features(at.X)
    x, u, M = rng.normal(size=at.n), rng.normal(size=6), rng.normal(size=(6, 6))
    np.testing.assert_allclose(V @ V.T + np.diag(gram.residual), approximate_gram(at, H), atol=1e-7)
    np.testing.assert_allclose(gram.project(x), V.T @ x, atol=1e-12)
    np.testing.assert_allclose(gram.expand(u), V @ u, atol=1e-12)
    np.testing.assert_allclose(gram.weighted(x), V.T @ np.diag(x) @ V, atol=1e-12)
    np.testing.assert_allclose(gram.quadratic(M), np.diag(V @ M @ V.T), atol=1e-12)
    R = np.asfortranarray(np.tril(M))
    mean, squares = gram.moments(u, R)
    np.testing.assert_allclose(mean, V @ u, atol=1e-12)
    np.testing.assert_allclose(squares, np.diag(V @ R.T @ R @ V.T), atol=1e-12)
    A, right = gram.normal_equations(x, x)
    np.testing.assert_allclose(A, V.T @ np.diag(x) @ V, atol=1e-12)
    np.testing.assert_allclose(right, V.T @ x, atol=1e-12)
    np.testing.assert_allclose(H.kernel.cross(at.X, at.inducing) @ gram.dual(u), V @ u, atol=1e-7)


def test_many_rows_converge_in_few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=1e-6))
    base = blobs(3000, 2, shift=0.5)
    at = replace(base, inducing=base.X[:40])
    cold = EPLeaveOneOut().evaluate(at, Hyperparameters(1.0, 30.0, 1.0, 1.0))
    warm = EPLeaveOneOut().evaluate(at, Hyperparameters(1.0, 31.0, 1.0, 1.0), cold.state)
    assert cold.status.ok
    assert cold.info["sweeps"] <= 20
    assert warm.info["sweeps"] < cold.info["sweeps"]


def test_what_has_no_low_rank_form_says_so() -> None:
    at = problem(10)
    with pytest.raises(InvalidInputError, match="low"):
        at.dense_covariance(H)
    with pytest.raises(InvalidInputError, match="low-rank"):
        posterior(at.X, at.y, H, method="variational", inducing=at.inducing)
    with pytest.raises(InvalidInputError, match="like rows of X"):
        posterior(at.X, at.y, H, inducing=at.inducing[:, :2])


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_converge(slack: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=1e-6))
    base, h = HARD[name]
    at = replace(base, inducing=choose_inducing(base.X, h.kernel, 12))
    ours = site_posterior(at, h, as_slack(slack))
    assert ours.status.ok, ours.status.message
    assert np.isfinite(ours.log_evidence)
    assert (ours.latent_variance > 0).all()


def test_sites_that_run_in_circles_are_damped() -> None:
    """All at once, these sites change by 0.85 of the last change, to and fro."""
    base = blobs(400, 2, shift=0.8)
    labels = np.where((base.X[:, 0] <= 1) & (base.y < 0), 1.0, -1.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=400)
    h = Hyperparameters(0.72, 5.3, 0.5, 1.07)
    at = Problem(base.X, labels, weights, choose_inducing(base.X, h.kernel, 15))
    ours = site_posterior(at, h, as_slack("linear"))
    assert ours.status.ok
    assert ours.diagnostics["sweeps"] < 40
