"""Standard errors of sampled gradients are honest: z-scores against exactly known gradients have rms near 1."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature_gradient, scattered, scattered_gradient
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.likelihoods import SLACKS, Slack
from tiers import first_quick

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)

#: The shortest run that there is, in which an error is hardest to know.
SHORTEST = Precision(tolerance=np.inf)


def rms(z: list[np.ndarray]) -> np.ndarray:
    """Root mean square of the z-scores of each component."""
    return np.sqrt(np.mean(np.square(z), axis=0))


@every_slack
@pytest.mark.parametrize(
    ("C", "k0", "koff"),
    [
        (1.1, 20.0, 5.0),
        pytest.param(4.0, 600.0, 50.0, marks=pytest.mark.slow),
        pytest.param(0.6, 1.0, 0.2, marks=pytest.mark.slow),
    ],
)
def test_scattered_examples(slack: Slack, C: float, k0: float, koff: float, full: bool) -> None:
    problem, h = scattered(100 if full else 40), Hyperparameters(C, k0, koff, 0.05)
    exact = scattered_gradient(problem, h, slack)
    runs = 60 if full else 20
    z = []
    for seed in range(runs):
        posterior = sample_posterior(problem, h, slack, seed=seed, precision=SHORTEST)
        z.append((posterior.gradient[:3] - exact) / posterior.gradient_se[:3])
    # The rms of r normal numbers has a standard error of 1/√(2r), 0.16 for 20 of them.
    assert (rms(z) < 1.2 + 2 / np.sqrt(2 * runs)).all()
    assert (rms(z) > 0.7 - 2 / np.sqrt(2 * runs)).all()
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(runs)


@every_slack
@pytest.mark.parametrize(
    "h", first_quick([Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7]), Hyperparameters(0.7, 9.0, 0.2, 0.9)])
)
def test_few_examples(slack: Slack, h: Hyperparameters, full: bool) -> None:
    # Here the length scales' derivatives are known as well, whose errors come from far fewer cells.
    problem = few(3)
    exact = quadrature_gradient(problem, h, slack)
    runs = 200 if full else 40
    z = []
    for seed in range(runs):
        posterior = sample_posterior(problem, h, slack, seed=seed, precision=SHORTEST)
        z.append((posterior.gradient - exact) / posterior.gradient_se)
    assert (rms(z) < 1.2 + 2 / np.sqrt(2 * runs)).all()
    assert (rms(z) > 0.7 - 2 / np.sqrt(2 * runs)).all()
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(runs)


@pytest.mark.slow
@every_slack
@pytest.mark.parametrize("trajectory", [1.0, 0.15])
def test_the_papers_sampler(slack: Slack, trajectory: float, full: bool) -> None:
    # With short trajectories momenta outlive many of them, and correlations have a long tail.
    problem, h = few(3), Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])
    exact = quadrature_gradient(problem, h, slack)
    runs, steps = 60 if full else 16, 10_000
    z = []
    for seed in range(runs):
        posterior = hmc_posterior(problem, h, slack, seed=seed, n_samples=steps, n_discarded=500, trajectory=trajectory)
        z.append((posterior.gradient - exact) / posterior.gradient_se)
    assert (rms(z) < 1.2 + 2 / np.sqrt(2 * runs)).all()
    assert (rms(z) > 0.7 - 2 / np.sqrt(2 * runs)).all()
    assert np.sqrt(np.mean(np.square(z))) < 1.15 + 1 / np.sqrt(2 * runs)
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(runs)
