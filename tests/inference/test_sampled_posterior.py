"""The posterior by sampling as a posterior: predictions, warm starts, status, and both samplers alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from differences import repeated
from known_laws import few, quadrature, quadrature_gradient
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.inference.sampling.sampled import SampledPosterior
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods import LINEAR, SLACKS, Slack
from marginwise.problem import Problem, as_problem
from zoo import blobs, hard_problems

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])
NEW = np.array([[0.3, -0.2], [2.0, 1.0], [-1.0, 0.4], [6.0, 6.0]])
LONG = Precision(tolerance=1e-9, min_steps=320, max_steps=320)


def exact_prediction(problem: Problem, h: Hyperparameters, slack: Slack, x: np.ndarray) -> tuple[float, ...]:
    """Mean and variance of the latent value at x, and Q(y|x, D) = Q(Y, y|X, x)/Q(Y|X) for y = ±1, by quadrature."""
    exact = quadrature(problem, h, slack)
    k = h.kernel.cross(problem.X, x[None])[:, 0]
    weights = np.linalg.solve(h.kernel.gram(problem.X), k)
    means, left = weights @ exact.latent, h.k0 + h.koff - k @ weights
    mean = exact.mean(means)
    q = []
    for y in (-1.0, 1.0):
        more = as_problem(np.vstack([problem.X, x]), np.append(problem.y, y))
        q.append(np.exp(quadrature(more, h, slack).log_evidence - exact.log_evidence))
    return mean, exact.mean(means**2) - mean**2 + left, *q


@every_slack
def test_predictions_on_two_examples(slack: Slack) -> None:
    problem = few(2)
    posterior = sample_posterior(problem, H, slack, precision=LONG)
    mean, variance = posterior.latent_mean_and_variance(NEW)
    log_q, p, unknown = posterior.log_label_probability(NEW), posterior.predict_proba(NEW), posterior.dont_know(NEW)
    for i, x in enumerate(NEW):
        exact_mean, exact_variance, minus, plus = exact_prediction(problem, H, slack, x)
        assert mean[i] == pytest.approx(exact_mean, abs=0.03)
        assert variance[i] == pytest.approx(exact_variance, rel=0.15)
        np.testing.assert_allclose(np.exp(log_q[i]), [minus, plus], atol=0.012)
        assert p[i, 1] == pytest.approx(plus / (plus + minus), abs=0.015)
        assert unknown[i] == pytest.approx(1 - plus - minus, abs=0.015)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


SHORT = Precision(tolerance=1e-9, min_steps=32, max_steps=32)
EACH_SAMPLER = pytest.mark.parametrize(
    ("make", "size", "n_seeds"),
    [
        (sample_posterior, {"precision": SHORT, "n_chains": 16}, 40),
        (hmc_posterior, {"n_samples": 1500, "n_discarded": 500, "trajectory": 1.0}, 15),
    ],
    ids=["sample", "hmc"],
)


@pytest.mark.slow
@every_slack
@EACH_SAMPLER
def test_errors_of_predictions_are_as_large_as_told(
    make: Callable[..., SampledPosterior], size: dict[str, Any], n_seeds: int, slack: Slack
) -> None:
    """Over seeds, deviations from the law found by quadrature, in units of the standard error, have variance 1."""
    problem, points = few(2), NEW[:3]
    q = np.array([exact_prediction(problem, H, slack, x)[2:] for x in points])
    exact = q[:, 1] / q.sum(axis=1)
    z = []
    for seed in range(n_seeds):
        posterior = make(problem, H, slack, seed=seed, **size)
        p, error = posterior.probability_and_error(points)
        np.testing.assert_allclose(p, posterior.predict_proba(points), rtol=1e-12)
        z.append((p[:, 1] - exact) / error)
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.4
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(n_seeds)


def test_more_precision_is_more_precision_of_predictions() -> None:
    problem = blobs(30, 2)
    rough, fine = (sample_posterior(problem, H, LINEAR, precision=precision) for precision in (SHORT, LONG))
    assert (rough.diagnostics["kept_draws"], fine.diagnostics["kept_draws"]) == (32 * 128, 320 * 128)
    ratio = rough.probability_and_error(NEW)[1] / fine.probability_and_error(NEW)[1]
    np.testing.assert_allclose(ratio, np.sqrt(10), rtol=0.4)
    thinned = sample_posterior(problem, H, LINEAR, precision=LONG, kept_bytes=32 * 128 * 30 * 8)
    assert thinned.diagnostics["kept_draws"] == 20 * 128
    assert (thinned.probability_and_error(NEW)[1] > 1.5 * fine.probability_and_error(NEW)[1]).all()
    with pytest.raises(InvalidInputError, match="kept_bytes is -1"):
        sample_posterior(problem, H, LINEAR, precision=SHORT, kept_bytes=-1)


def test_one_draw_tells_no_error() -> None:
    p, error = hmc_posterior(few(2), H, LINEAR, n_samples=200, n_discarded=50, kept_bytes=0).probability_and_error(NEW)
    assert np.isfinite(p).all()
    assert np.isnan(error).all()


def test_many_points_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = sample_posterior(blobs(10, 2), H, LINEAR, precision=SHORT)
    once = posterior.predict_proba(NEW), *posterior.latent_mean_and_variance(NEW)
    monkeypatch.setattr("marginwise.inference.sampling.sampled._AT_ONCE", 1)
    for a, b in zip(once, (posterior.predict_proba(NEW), *posterior.latent_mean_and_variance(NEW)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@every_slack
@pytest.mark.parametrize(
    ("make", "size"), [(sample_posterior, {}), (hmc_posterior, {"n_samples": 4000, "n_discarded": 1000})]
)
def test_training_points_are_predicted_as_sampled(
    slack: Slack, make: Callable[..., SampledPosterior], size: dict[str, int]
) -> None:
    problem, h = blobs(15, 2), Hyperparameters(1.0, 2.0, 0.3, [1.0, 1.2])
    posterior = make(problem, h, slack, **size)
    mean, variance = posterior.latent_mean_and_variance(problem.X)
    np.testing.assert_allclose(mean, posterior.latent_mean, atol=1e-7)
    np.testing.assert_allclose(variance, posterior.latent_variance, rtol=0.25)


@every_slack
def test_both_samplers_agree(slack: Slack, full: bool) -> None:
    problem, h = blobs(20, 2), Hyperparameters(1.0, 2.0, 0.3, [1.0, 1.2])
    ours = sample_posterior(problem, h, slack, precision=LONG)
    size = {} if full else {"n_samples": 6000, "n_discarded": 2000}
    papers = hmc_posterior(problem, h, slack, trajectory=1.0, **size)
    assert ours.gradient is not None
    assert papers.gradient is not None
    z = (ours.gradient - papers.gradient) / np.hypot(ours.gradient_se, papers.gradient_se)
    assert np.abs(z).max() < 4
    error = np.sqrt(papers.latent_variance / papers.diagnostics["effective_samples"].min())
    assert np.abs((ours.latent_mean - papers.latent_mean) / error).max() < 5


@every_slack
@pytest.mark.parametrize("evidence", [False, True])
def test_gradient_and_value_on_three_examples(slack: Slack, evidence: bool) -> None:
    problem = few(3, weighted=True)
    posterior = sample_posterior(problem, H, slack, evidence=evidence, precision=LONG)
    assert posterior.gradient is not None
    z = (posterior.gradient - quadrature_gradient(problem, H, slack)) / posterior.gradient_se
    assert np.abs(z).max() < 4
    if evidence:
        assert posterior.log_evidence is not None
        assert posterior.log_evidence_se is not None
        assert abs(posterior.log_evidence - quadrature(problem, H, slack).log_evidence) < 4 * posterior.log_evidence_se
    else:
        assert posterior.log_evidence is None
        assert posterior.log_evidence_se is None


def test_weights_count_repetitions() -> None:
    times = np.array([1, 3, 2, 1, 2, 1, 1, 4, 1, 1])
    rows, weighted = repeated(blobs(10, 2), times)
    one, other = (sample_posterior(p, H, LINEAR, evidence=True, precision=LONG) for p in (weighted, rows))
    z = (one.gradient - other.gradient) / np.hypot(one.gradient_se, other.gradient_se)
    assert np.abs(z).max() < 4
    assert abs(one.log_evidence - other.log_evidence) < 4 * np.hypot(one.log_evidence_se, other.log_evidence_se)


def test_stops_when_asked_for_precision_is_reached() -> None:
    problem = blobs(30, 2)
    for tolerance in (0.02, 0.002):
        posterior = sample_posterior(problem, H, LINEAR, precision=Precision(tolerance=tolerance))
        assert posterior.status.ok
        assert (posterior.gradient_se <= tolerance).all()
    short = sample_posterior(problem, H, LINEAR, precision=Precision(tolerance=1e-6, max_steps=32))
    assert not short.status.ok
    assert "less precise" in short.status.message


def test_says_when_no_margin_is_ever_violated() -> None:
    problem = blobs(12, 2, shift=3.0)
    posterior = sample_posterior(problem, Hyperparameters(3e4, 1.0, 0.1, [0.01, 0.01]), LINEAR)
    assert not posterior.status.ok
    assert "violates a margin" in posterior.status.message


def test_warm_start_is_only_a_start() -> None:
    problem = blobs(30, 2)
    cold = sample_posterior(problem, H, LINEAR, precision=LONG)
    for start in (cold, cold.sites, site_posterior(problem, H, LINEAR)):
        warm = sample_posterior(problem, H, LINEAR, precision=LONG, start=start, covariance=problem.dense_covariance(H))
        z = (cold.gradient - warm.gradient) / np.hypot(cold.gradient_se, warm.gradient_se)
        assert np.abs(z).max() < 4


def test_same_seed_same_posterior() -> None:
    problem = blobs(20, 2)
    one, again, other = (sample_posterior(problem, H, LINEAR, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.gradient, again.gradient)
    np.testing.assert_array_equal(one.predict_proba(NEW), again.predict_proba(NEW))
    assert not np.array_equal(one.gradient, other.gradient)


@pytest.mark.parametrize("bad", [0, 7, 12])
def test_number_of_chains_is_checked(bad: int) -> None:
    with pytest.raises(InvalidInputError, match="n_chains"):
        sample_posterior(few(2), H, LINEAR, n_chains=bad or -8)


HARD = {name: (problem, h) for name, problem, h in hard_problems()}


@every_slack
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_give_a_posterior_or_a_reason(slack: Slack, name: str) -> None:
    problem, h = HARD[name]
    quick = Precision(max_steps=32, max_leapfrogs=2000)
    posterior = sample_posterior(problem, h, slack, precision=quick)
    assert posterior.status.ok or len(posterior.status.message) > 20
    assert np.isfinite(posterior.gradient).all()
    p = posterior.predict_proba(problem.X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_arviz_gets_chains_and_statistics() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version when it is imported
        arviz = pytest.importorskip("arviz")
    posterior: SampledPosterior = sample_posterior(blobs(20, 2), H, LINEAR, precision=LONG)
    data = posterior.to_arviz()
    assert data["posterior"]["log_k0"].shape == (128, 320)
    assert data["sample_stats"]["acceptance_rate"].shape == (128, 320)
    rhat = arviz.rhat(data, var_names=["log_C"])["log_C"]
    assert float(rhat) < 1.02
