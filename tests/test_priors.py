"""Priors: their densities, limits and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.priors import Prior
from zoo import random_hyperparameters

PRIORS = [Prior(), Prior(spread=None), Prior(spread=1e-3), Prior(spread=50.0), Prior(k0=(0.0, math.inf))]


def density(prior: Prior, logs: np.ndarray, d: int) -> float:
    return prior.log_density(Hyperparameters.from_vector(logs), d)[0]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("isotropic", [False, True])
def test_gradient_agrees_with_differences(prior: Prior, isotropic: bool, rng: np.random.Generator) -> None:
    h = random_hyperparameters(rng, 1 if isotropic else 4)
    _, gradient = prior.log_density(h, 4)
    # The density is quadratic: differences are exact but for rounding, whatever the step.
    logs = h.to_vector()
    steps = [(density(prior, logs + e, 4) - density(prior, logs - e, 4)) / 2.0 for e in np.eye(len(logs))]
    np.testing.assert_allclose(gradient, steps, rtol=1e-9, atol=1e-9)


def test_independent_part_is_normal(rng: np.random.Generator) -> None:
    prior = Prior(spread=None, length_scale=(0.5, 2.0))
    h = random_hyperparameters(rng, 3)
    laws = [prior.C, prior.k0, prior.koff, *[(0.5, 2.0)] * 3]
    logs = h.to_vector()
    expected = sum(norm(*law).logpdf(x) - norm(*law).logpdf(law[0]) for law, x in zip(laws, logs, strict=True))
    assert prior.log_density(h, 3)[0] == pytest.approx(expected, rel=1e-12)


def test_shared_length_scale_is_integrated_out(rng: np.random.Generator) -> None:
    """r ~ N(0, s²I + σ²11ᵀ), by the library's own formula for the density."""
    d, s, mean, sd = 5, 0.4, 0.7, 1.3
    prior = Prior(spread=s, length_scale=(mean, sd))
    law = multivariate_normal(np.full(d, mean), s**2 * np.eye(d) + sd**2 * np.ones((d, d)))
    logs = prior.mean(d).to_vector()
    logs[3:] += rng.normal(size=d)
    expected = law.logpdf(logs[3:]) - law.logpdf(law.mean)
    assert density(prior, logs, d) == pytest.approx(expected, rel=1e-10)


def test_profiling_gives_the_same_as_integrating(rng: np.random.Generator) -> None:
    d, s, mean, sd = 4, 0.6, -0.2, 0.9
    prior = Prior(spread=s, length_scale=(mean, sd))
    logs = prior.mean(d).to_vector()
    logs[3:] += rng.normal(size=d)
    shared = np.linspace(-6, 6, 200_001)
    joint = -0.5 * (((logs[3:, None] - shared) ** 2).sum(axis=0) / s**2 + (shared - mean) ** 2 / sd**2)
    assert density(prior, logs, d) == pytest.approx(joint.max(), abs=1e-7)


def test_limits_of_the_spread() -> None:
    d = 3
    equal = Hyperparameters(1, 3, 0.3, [5.0] * d)
    unequal = Hyperparameters(1, 3, 0.3, [5.0, 1.0, 0.2])
    tight, loose = Prior(spread=1e-4), Prior(spread=1e4)
    one = Hyperparameters(1, 3, 0.3, 5.0)
    assert tight.log_density(equal, d)[0] == pytest.approx(tight.log_density(one, d)[0], rel=1e-6)
    assert tight.log_density(unequal, d)[0] < -1e6
    assert loose.log_density(unequal, d)[0] == pytest.approx(0.0, abs=1e-6)


def test_is_largest_at_its_mean(rng: np.random.Generator) -> None:
    for isotropic in (False, True):
        value, gradient = Prior().log_density(Prior().mean(7, isotropic=isotropic), 7)
        assert value == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    assert Prior().mean(8).length_scales[0] == pytest.approx(4.0)  # √(2·8)


@pytest.mark.parametrize("wrong", [{"spread": 0.0}, {"spread": -1.0}, {"C": (0.0, 0.0)}, {"k0": (math.inf, 1.0)}])
def test_refuses_what_is_no_law(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Prior(**wrong)  # type: ignore[arg-type]
