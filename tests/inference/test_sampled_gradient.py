"""Evidence gradients from draws, eqs. (cgrad) and (lgrad), against differences of the evidence by quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from differences import repeated
from known_laws import exact_draws, few, quadrature, quadrature_gradient, target_of
from marginwise.covariance import Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.control_variates import ControlVariates
from marginwise.inference.sampling.gradient import GradientRecorder
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.inference.sampling.sampler import Draws
from marginwise.likelihoods import SLACKS, Slack
from marginwise.problem import Problem
from zoo import blobs

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])


@every_slack
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("h", [H, Hyperparameters(0.7, 5.0, 0.2, 0.9)], ids=["ard", "isotropic"])
def test_posterior_means_are_the_gradient(slack: Slack, n: int, h: Hyperparameters) -> None:
    # No sampling: the summands of both equations, averaged by quadrature, against differences of the log evidence.
    problem = few(n, weighted=True)
    exact = quadrature(problem, h, slack)
    K, total = h.kernel.gram(problem.X), problem.weights.sum()
    dual = np.linalg.solve(K, exact.latent)
    margin = problem.y[:, None] * exact.latent
    slope = problem.penalties(h.C)[:, None] * problem.y[:, None] * slack.derivative(margin)
    outer = (slope * exact.probability) @ dual.T
    expected = np.array([0.0, *h.kernel.contract(-0.25 * (outer + outer.T), K, problem.X, problem.X)]) / total
    expected[0] = (
        h.C * slack.log_kappa_derivative(h.C) - exact.mean(problem.penalties(h.C) @ slack.loss(margin)) / total
    )
    np.testing.assert_allclose(expected, quadrature_gradient(problem, h, slack), atol=2e-6)


def recorded(
    problem: Problem, h: Hyperparameters, slack: Slack, latent: np.ndarray, chains: int, controlled: bool
) -> GradientRecorder:
    """Return a recorder fed with these latent values, as steps of so many chains."""
    target = target_of(problem, h, slack)
    prior = pivoted_gram(target.gram)
    controls = None
    if controlled:
        n = problem.n
        controls = ControlVariates(target, gaussian_reference(prior, Sites(np.full(n, 0.3), 0.2 * problem.y)), h.koff)
    recorder = GradientRecorder(
        problem.dense_covariance(h), target, h.C, problem.weights.sum(), n_chains=chains, controls=controls
    )
    for step in latent.reshape(problem.n, -1, chains).transpose(1, 0, 2):
        recorder.record(Draws(step, prior.solve(step)))
    return recorder


@every_slack
@pytest.mark.parametrize("controlled", [False, True])
@pytest.mark.parametrize(("n", "chains"), [(2, 64), (3, 40), (3, 7)])
def test_exact_draws_give_the_gradient(slack: Slack, controlled: bool, n: int, chains: int) -> None:
    problem = few(n, weighted=True)
    latent = exact_draws(problem, H, slack, np.random.default_rng(n), 64 * chains)
    estimate = recorded(problem, H, slack, latent, chains, controlled).estimate()
    exact = quadrature_gradient(problem, H, slack)
    z = (estimate.gradient - exact) / estimate.standard_error
    assert np.abs(z).max() < 4
    assert (estimate.effective_samples > 10).all()


@every_slack
def test_cells_are_the_slow_sum_over_draws(slack: Slack) -> None:
    problem, h, chains = blobs(12, 3), Hyperparameters(0.8, 1.5, 0.3, [1.0, 2.0, 0.7]), 6
    K = h.kernel.gram(problem.X)
    latent = np.linalg.cholesky(K) @ np.random.default_rng(0).normal(size=(12, 16 * chains))
    recorder = recorded(problem, h, slack, latent, chains, controlled=False)
    summands = []
    for theta, dual in zip(latent.T, np.linalg.solve(K, latent).T, strict=True):
        v = problem.penalties(h.C) * problem.y * slack.derivative(problem.y * theta)
        slow = []
        for k in range(1, 6):
            step = np.zeros(6)
            step[k] = 1e-5
            up, down = (h.with_vector(h.to_vector() + s * step).kernel.gram(problem.X) for s in (1, -1))
            slow.append(-0.5 * v @ ((up - down) / 2e-5) @ dual)
        summands.append([-(problem.penalties(h.C) @ slack.loss(problem.y * theta)), *slow])
    slow_mean = np.mean(summands, axis=0)
    slow_mean[0] += problem.n * h.C * slack.log_kappa_derivative(h.C)
    np.testing.assert_allclose(recorder.estimate().gradient, slow_mean / problem.n, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(recorder.terms.reshape(3, -1), np.array(summands)[:, :3].T, rtol=1e-6, atol=1e-6)


@every_slack
def test_weights_count_repetitions(slack: Slack) -> None:
    # The same draws, as weighted rows and as repeated ones.
    times = np.array([1, 3, 2])
    rows, weighted = repeated(few(3), times)
    latent = exact_draws(weighted, H, slack, np.random.default_rng(0), 16 * 8)
    one = recorded(weighted, H, slack, latent, 8, controlled=False).estimate()
    other = recorded(rows, H, slack, np.repeat(latent, times, axis=0), 8, controlled=False).estimate()
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-6)


@every_slack
def test_control_variates_change_the_error_and_not_the_value(slack: Slack) -> None:
    problem = few(3)
    latent = exact_draws(problem, H, slack, np.random.default_rng(1), 128 * 64)
    plain = recorded(problem, H, slack, latent, 64, controlled=False).estimate()
    controlled = recorded(problem, H, slack, latent, 64, controlled=True).estimate()
    assert (controlled.standard_error < 1.05 * plain.standard_error).all()
    assert np.median(controlled.standard_error / plain.standard_error) < 0.7
    assert np.abs((plain.gradient - controlled.gradient) / plain.standard_error).max() < 4
