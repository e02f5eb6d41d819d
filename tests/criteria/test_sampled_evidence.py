"""The sampled evidence as a criterion."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature, quadrature_gradient
from marginwise import tune
from marginwise.criteria import as_criterion
from marginwise.criteria.evidence import Evidence
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.collect import Precision
from marginwise.likelihoods import SLACKS, Slack
from zoo import blobs

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])


@every_slack
def test_value_and_gradient_are_those_of_the_evidence_per_example(slack: Slack) -> None:
    problem = few(3, weighted=True)
    result = Evidence(slack, value=True).evaluate(problem, H)
    exact = quadrature(problem, H, slack).log_evidence / problem.weights.sum()
    assert result.status.ok
    assert abs(result.value - exact) < 4 * result.info["value_se"]
    assert result.gradient is not None
    z = (result.gradient - quadrature_gradient(problem, H, slack)) / result.info["gradient_se"]
    assert np.abs(z).max() < 4


@every_slack
def test_value_is_there_only_if_asked_for(slack: Slack) -> None:
    result = as_criterion("evidence", slack).evaluate(blobs(20, 2), H)
    assert np.isnan(result.value)
    assert "value_se" not in result.info
    assert result.info["gradient_se"].shape == result.gradient.shape == (5,)
    assert result.status.ok


def test_noise_is_a_function_of_place_and_seed() -> None:
    problem, near = blobs(20, 2), Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7000001])
    first, again = (Evidence().evaluate(problem, H).gradient for _ in range(2))
    np.testing.assert_array_equal(first, again)
    for other in (Evidence().evaluate(problem, near), Evidence(seed=1).evaluate(problem, H)):
        assert other.gradient is not None
        assert np.abs(other.gradient - first).max() > 1e-6  # far more than the two places differ


def test_an_optimum_in_the_noise_is_no_failure() -> None:
    short = Evidence(precision=Precision(tolerance=1e-7, max_steps=32)).evaluate(blobs(20, 2), H)
    assert short.status.ok
    assert (short.info["gradient_se"] > 1e-7).all()


def test_an_error_that_is_unknown_is_one() -> None:
    result = Evidence().evaluate(blobs(12, 2, shift=3.0), Hyperparameters(1e4, 1.0, 0.1, [0.01, 0.01]))
    assert not result.status.ok
    assert "violates a margin" in result.status.message


def test_gradient_ascent_climbs_it() -> None:
    problem = blobs(30, 2)
    start = Hyperparameters(0.6, 1.0, 0.2, [3.0, 3.0])
    tuning = tune(problem.X, problem.y, "evidence", search="gradient-ascent", start=start, max_evaluations=8)
    values = [Evidence(value=True).evaluate(problem, h) for h in (start, tuning.hyperparameters)]
    gained = values[1].value - values[0].value
    assert gained > 4 * np.hypot(values[0].info["value_se"], values[1].info["value_se"])


@every_slack
def test_the_papers_sampler_gives_the_same_gradient(slack: Slack) -> None:
    problem = few(3, weighted=True)
    result = Evidence(slack, sampler="paper", hmc_steps=8_000).evaluate(problem, H)
    assert result.status.ok
    assert np.isnan(result.value)
    assert result.gradient is not None
    error = np.abs(result.gradient - quadrature_gradient(problem, H, slack))
    assert (error < 5 * result.info["gradient_se"] + 1e-3).all()
    assert result.info["chains"] == 1
    assert result.info["steps"] == 8_000


def test_the_papers_sampler_is_taken_as_it_is() -> None:
    place = Hyperparameters(200.0, 300.0, 0.5, [3.0, 2.0])  # where C is so large, trajectories are short
    short = Evidence(sampler="paper", hmc_steps=20).evaluate(blobs(40, 2), place)
    assert short.info["rhat"] > 1.1
    assert short.status.ok


def test_the_papers_sampler_has_no_value() -> None:
    with pytest.raises(InvalidInputError, match="the paper's sampler gives the gradient alone"):
        Evidence(sampler="paper", value=True)
    with pytest.raises(InvalidInputError, match="sampler is 'gibbs'"):
        Evidence(sampler="gibbs")
    with pytest.raises(InvalidInputError, match="hmc_steps is 0"):
        Evidence(sampler="paper", hmc_steps=0)
