"""Standard errors of the evidence's value are honest, and the value is the integral of the gradient."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature, scattered, scattered_log_evidence
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.run import sample_posterior
from marginwise.likelihoods import SLACKS, Slack
from marginwise.problem import Problem
from zoo import twonorm

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)


def values(
    problem: Problem, h: Hyperparameters, slack: Slack, runs: int, *, precision: Precision | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Log evidences of many seeds, and their standard errors."""
    shortest = precision or Precision(tolerance=np.inf, min_steps=16)
    posteriors = [sample_posterior(problem, h, slack, seed=s, evidence=True, precision=shortest) for s in range(runs)]
    return tuple(np.array([(p.log_evidence, p.log_evidence_se) for p in posteriors]).T)


def assert_honest(estimates: np.ndarray, errors: np.ndarray, exact: float) -> None:
    z = (estimates - exact) / errors
    runs = len(z)
    assert 0.7 - 2 / np.sqrt(2 * runs) < np.sqrt(np.mean(z**2)) < 1.2 + 2 / np.sqrt(2 * runs)
    assert abs(z.mean()) < 4 / np.sqrt(runs)


@every_slack
@pytest.mark.parametrize("n", [1, 3])
def test_few_examples(slack: Slack, n: int, full: bool) -> None:
    problem, h = few(n), Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])
    estimates, errors = values(problem, h, slack, 100 if full else 25)
    assert_honest(estimates, errors, quadrature(problem, h, slack).log_evidence)


@every_slack
@pytest.mark.parametrize(
    ("C", "k0", "koff"), [(1.1, 20.0, 5.0), pytest.param(4.0, 600.0, 50.0, marks=pytest.mark.slow)]
)
def test_scattered_examples(slack: Slack, C: float, k0: float, koff: float, full: bool) -> None:
    problem, h = scattered(60 if full else 30), Hyperparameters(C, k0, koff, 0.05)
    estimates, errors = values(problem, h, slack, 30 if full else 8)
    assert_honest(estimates, errors, scattered_log_evidence(problem, h, slack))


@every_slack
def test_value_is_the_integral_of_the_gradient(slack: Slack, full: bool) -> None:
    # From the start of a tuning towards its end, along a straight line in the logarithms. It does not cross C = 1,
    # where κ(C) of quadratic slack has a kink in its slope that the rule for the integral would not see.
    n, nodes = (100, 8) if full else (40, 5)
    problem = twonorm(n)
    start = Hyperparameters(1.05, 1.0, 0.2, np.full(20, 3.0)).to_vector()
    end = Hyperparameters(2.0, 60.0, 0.05, np.linspace(4.0, 8.0, 20)).to_vector()
    x, w = np.polynomial.legendre.leggauss(nodes)
    precision = Precision(tolerance=2e-4 if full else 1e-3)
    total, variance = 0.0, 0.0
    for k, (node, weight) in enumerate(zip(x, w, strict=True)):
        h = Hyperparameters.from_vector(start + 0.5 * (node + 1) * (end - start))
        posterior = sample_posterior(problem, h, slack, seed=k, precision=precision)
        assert posterior.gradient is not None
        total += 0.5 * weight * n * posterior.gradient @ (end - start)
        variance += (0.5 * weight * n) ** 2 * (posterior.gradient_se**2 @ (end - start) ** 2)
    ends = [
        sample_posterior(problem, Hyperparameters.from_vector(v), slack, seed=9, evidence=True) for v in (start, end)
    ]
    difference = ends[1].log_evidence - ends[0].log_evidence
    variance += sum(p.log_evidence_se**2 for p in ends)
    assert abs(total - difference) < 4 * np.sqrt(variance)
    assert np.sqrt(variance) < 0.2
    assert abs(difference) > 5
