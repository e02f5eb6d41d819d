"""The value of the evidence against quadrature, a one-dimensional integral, and thermodynamic integration."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature, scattered, scattered_log_evidence, target_of
from marginwise.covariance import DenseCovariance, Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep.run import run_ep
from marginwise.inference.sampling.evidence import EvidenceEstimate, estimate_evidence
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.likelihoods import LINEAR, SLACKS, Slack, as_slack
from marginwise.problem import Problem
from reference.thermodynamic import integrate_evidence
from zoo import blobs

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])


def climb(
    problem: Problem, h: Hyperparameters, slack: Slack, *, seed: int = 0, guided: bool = True, chains: int = 64
) -> tuple[EvidenceEstimate, float]:
    """Return the estimate, and the log evidence that it means."""
    target = target_of(problem, h, slack)
    tau = nu = np.zeros(problem.n)
    if guided:
        ep = run_ep(DenseCovariance.of_matrix(target.gram), target.y, as_slack(slack).weighted(h.C, problem.weights))
        tau, nu = ep.tau, ep.nu
    reference = gaussian_reference(pivoted_gram(target.gram), Sites(tau, nu))
    estimate = estimate_evidence(target, reference, np.random.default_rng(seed), n_chains=chains, n_steps=40)
    return estimate, estimate.value + problem.weights.sum() * slack.log_kappa(h.C)


@every_slack
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("guided", [True, False])
def test_few_examples(slack: Slack, n: int, guided: bool) -> None:
    problem = few(n, weighted=True)
    estimate, value = climb(problem, H, slack, guided=guided)
    assert abs(value - quadrature(problem, H, slack).log_evidence) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.05
    assert estimate.rungs[0] == 0
    assert estimate.rungs[-1] == 1
    assert (np.diff(estimate.rungs) > 0).all()


@every_slack
@pytest.mark.parametrize(("C", "k0", "koff"), [(1.1, 20.0, 5.0), (4.0, 600.0, 50.0)])
@pytest.mark.parametrize("guided", [True, False])
def test_scattered_examples(slack: Slack, C: float, k0: float, koff: float, guided: bool) -> None:
    # The stress test: posterior and reference far apart in every dimension, so that many rungs are needed.
    problem, h = scattered(30), Hyperparameters(C, k0, koff, 0.05)
    estimate, value = climb(problem, h, slack, guided=guided)
    assert abs(value - scattered_log_evidence(problem, h, slack)) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.3


@every_slack
def test_two_methods_agree(slack: Slack) -> None:
    problem, h = blobs(40, 2), Hyperparameters(1.3, 4.0, 0.2, [1.0, 1.5])
    estimate, value = climb(problem, h, slack)
    other, error = integrate_evidence(problem, h, slack, n_nodes=5)
    assert abs(value - other) < 4 * np.hypot(estimate.standard_error, error)
    assert error < 0.05


@every_slack
def test_thermodynamic_integration_is_exact_on_few_examples(slack: Slack) -> None:
    problem = few(3, weighted=True)
    value, error = integrate_evidence(problem, H, slack, n_nodes=6)
    assert abs(value - quadrature(problem, H, slack).log_evidence) < 4 * error
    assert error < 0.02


def test_the_chains_end_on_the_posterior() -> None:
    problem = few(2)
    estimate, _ = climb(problem, H, LINEAR, chains=4096)
    exact = quadrature(problem, H, LINEAR)
    ep = run_ep(problem.dense_covariance(H), problem.y, as_slack(LINEAR).weighted(H.C, problem.weights))
    latent = ep.mean[:, None] + estimate.state.place
    error = latent.std(axis=1) / 64
    assert np.abs((latent.mean(axis=1) - exact.mean(exact.latent)) / error).max() < 4


def test_same_seed_same_value() -> None:
    values = [climb(few(3), H, LINEAR, seed=seed)[1] for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]
