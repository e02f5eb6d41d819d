"""Control variates have mean zero, exactly, and resemble what they control."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature, target_of
from marginwise.covariance import DenseCovariance, Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep.run import run_ep
from marginwise.inference.sampling.control_variates import ControlVariates
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.inference.sampling.sampler import Draws, Target
from marginwise.likelihoods import SLACKS, Slack, as_slack
from zoo import twonorm

H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])
every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)


def slopes(target: Target, latent: np.ndarray) -> np.ndarray:
    y = target.y[:, None]
    return target.penalties[:, None] * y * target.slack.derivative(y * latent)


@every_slack
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("guide", ["ep", "anything"])
def test_means_are_zero(slack: Slack, n: int, guide: str) -> None:
    problem = few(n, weighted=True)
    target = target_of(problem, H, slack)
    if guide == "ep":
        ep = run_ep(DenseCovariance.of_matrix(target.gram), target.y, as_slack(slack).weighted(H.C, problem.weights))
        tau, nu = ep.tau, ep.nu
    else:
        rng = np.random.default_rng(0)
        tau, nu = rng.exponential(size=n), rng.normal(size=n)
    controls = ControlVariates(target, gaussian_reference(pivoted_gram(target.gram), Sites(tau, nu)), H.koff)
    exact = quadrature(problem, H, slack)
    draws = Draws(exact.latent, np.linalg.solve(target.gram, exact.latent))
    at = controls.at(draws, slopes(target, exact.latent))
    spread = np.sqrt(exact.mean(at.chains**2))
    assert np.all(spread[2:5] > 0)  # (one example leaves some of the others no spread)
    np.testing.assert_allclose(exact.mean(at.chains), 0.0, atol=1e-7 * (1 + spread.max()))

    # Z_λ is a contraction with ∂K of a matrix of mean zero: (c∘g)θ̃ᵀ + E[v](K⁻¹g)ᵀ - K⁻¹Σ diag(c).
    matrix = (at.scaled * exact.probability) @ draws.dual_latent.T
    matrix += np.outer(controls.mean_slope, exact.mean(at.dual))
    left, right, diagonal = controls.constant()
    symmetric, constant = matrix + matrix.T, left @ right.T + np.diag(diagonal)
    np.testing.assert_allclose(symmetric, constant + constant.T, atol=1e-6 * np.abs(symmetric).max())


@every_slack
def test_means_are_zero_where_rows_repeat(slack: Slack) -> None:
    # Two equal rows are one latent value: the same means, by quadrature over the one.
    one = few(1, weighted=True)
    both = type(one)(np.repeat(one.X, 2, axis=0), np.repeat(one.y, 2), np.repeat(one.weights, 2) / 2)
    target = target_of(both, H, slack)
    prior = pivoted_gram(target.gram)
    assert prior.rank == 1
    controls = ControlVariates(
        target, gaussian_reference(prior, Sites(np.array([0.4, 0.9]), np.array([1.0, 0.2]))), H.koff
    )
    exact = quadrature(one, H, slack)
    latent = np.repeat(exact.latent, 2, axis=0)
    at = controls.at(Draws(latent, prior.solve(latent)), slopes(target, latent))
    np.testing.assert_allclose(exact.mean(at.chains), 0.0, atol=1e-7)


@every_slack
def test_they_explain_most_of_the_gradients_spread(slack: Slack) -> None:
    # Under the reference itself g = θ - m, and the linear fit leaves only what is not linear in the slope.
    problem, h = twonorm(60), Hyperparameters(0.6, 1.0, 0.2, 3.0)
    target = target_of(problem, h, slack)
    ep = run_ep(DenseCovariance.of_matrix(target.gram), target.y, as_slack(slack).weighted(h.C, problem.weights))
    reference = gaussian_reference(pivoted_gram(target.gram), Sites(ep.tau, ep.nu))
    centred = reference.draw(np.random.default_rng(0), 4000)
    draws = Draws(reference.mean[:, None] + centred, reference.dual(centred))
    v = slopes(target, draws.latent)
    summand = -0.5 * h.koff * v.sum(axis=0) * draws.dual_latent.sum(axis=0)
    Z = ControlVariates(target, reference, h.koff).at(draws, v).chains
    residual = summand - summand.mean()
    residual -= np.linalg.lstsq(Z.T, residual, rcond=None)[0] @ Z
    assert residual.var() < 0.05 * summand.var()
