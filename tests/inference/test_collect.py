"""The loop that samples until an estimate is precise."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, quadrature, target_of
from marginwise.covariance import Sites
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.collect import Collection, Precision, collect
from marginwise.inference.sampling.gradient import GradientEstimate, GradientRecorder
from marginwise.inference.sampling.guided import ReferenceHMC
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.likelihoods import LINEAR
from marginwise.problem import Problem
from zoo import blobs

H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])


def run(problem: Problem, precision: Precision, chains: int = 16, seed: int = 0, **options: int) -> Collection:
    target = target_of(problem, H, LINEAR)
    zero = np.zeros(problem.n)
    sampler = ReferenceHMC(target, gaussian_reference(pivoted_gram(target.gram), Sites(zero, zero)), n_chains=chains)
    rng = np.random.default_rng(seed)
    state = sampler.warm_up(rng, sampler.init(rng))
    recorder = GradientRecorder(problem.dense_covariance(H), target, H.C, problem.weights.sum(), n_chains=chains)
    return collect(sampler, rng, state, recorder, precision, **options)


def estimate(gradient: list[float], error: list[float]) -> GradientEstimate:
    return GradientEstimate(np.array(gradient), np.array(error), np.ones(len(gradient)))


def test_precision_by_component_and_by_norm() -> None:
    noisy = estimate([1.0, 0.0], [0.05, 0.02])
    assert Precision(tolerance=0.05).reached(noisy)
    assert not Precision(tolerance=0.04).reached(noisy)
    assert Precision(relative=0.06).reached(noisy)
    assert not Precision(relative=0.05).reached(noisy)
    flat = estimate([1e-9, 0.0], [5e-5, 5e-5])
    assert Precision().reached(flat)
    assert not Precision(floor=1e-5).reached(flat)


@pytest.mark.parametrize(
    "bad", [{"tolerance": 0.0}, {"tolerance": -1.0}, {"min_steps": 0}, {"min_steps": 1000}, {"rung_steps": 0}]
)
def test_senseless_precision_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        Precision(**bad)


def test_stops_when_precise_and_says_so() -> None:
    rough, fine = (run(few(3), Precision(tolerance=t)) for t in (0.5, 0.02))
    assert rough.precise
    assert fine.precise
    assert (fine.gradient.standard_error <= 0.02).all()
    assert len(rough.acceptance) < len(fine.acceptance)


@pytest.mark.parametrize("limit", [{"max_steps": 48}, {"max_leapfrogs": 60}])
def test_stops_at_the_limits_and_says_so(limit: dict[str, int]) -> None:
    collection = run(few(3), Precision(tolerance=1e-9, min_steps=16, **limit))
    assert not collection.precise
    assert len(collection.acceptance) <= 64


def test_moments_are_those_of_the_posterior() -> None:
    problem = few(2)
    collection = run(problem, Precision(tolerance=1e-9, max_steps=1600), chains=64)
    exact = quadrature(problem, H, LINEAR)
    mean = exact.mean(exact.latent)
    variance = exact.mean(exact.latent**2) - mean**2
    np.testing.assert_allclose(collection.latent_mean, mean, atol=0.03)
    np.testing.assert_allclose(collection.latent_variance, variance, rtol=0.05)
    np.testing.assert_allclose(H.kernel.gram(problem.X) @ collection.dual_mean, collection.latent_mean, atol=1e-9)


def test_kept_draws_are_spread_over_the_run() -> None:
    problem = blobs(20, 2)
    steps = Precision(tolerance=1e-9, max_steps=160, min_steps=160)
    assert run(problem, steps, chains=24).duals.shape[1] == 160 * 24
    assert run(problem, steps, chains=24, kept_bytes=0).duals.shape[1] == 24
    collection = run(problem, steps, chains=24, kept_bytes=1024 * 20 * 8)
    kept = collection.duals
    assert kept.shape[1] == 40 * 24
    np.testing.assert_array_equal(collection.groups, np.tile(np.arange(24), 40))
    assert len(np.unique(kept, axis=1).T) > 0.7 * kept.shape[1]
    latent = H.kernel.gram(problem.X) @ kept
    error = np.sqrt(collection.latent_variance / kept.shape[1])
    assert np.abs((latent.mean(axis=1) - collection.latent_mean) / error).max() < 6
    first, second = np.array_split(latent, 2, axis=1)
    assert np.abs(first.mean(axis=1) - second.mean(axis=1)).max() < 8 * error.max()


def test_same_seed_same_collection() -> None:
    one, again, other = (run(few(3), Precision(tolerance=0.1), seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.gradient.gradient, again.gradient.gradient)
    np.testing.assert_array_equal(one.duals, again.duals)
    assert not np.array_equal(one.gradient.gradient, other.gradient.gradient)
