"""What every sampler promises: the right law, kept by each step, and the same result for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from known_laws import KnownTarget, exact_draws, few, quadrature, target_of
from marginwise.covariance import DenseCovariance, Sites
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep.run import run_ep
from marginwise.inference.sampling.guided import ReferenceHMC
from marginwise.inference.sampling.hmc import HMC, HMCState
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.inference.sampling.sampler import Sampler, metropolis
from marginwise.likelihoods import LINEAR, QUADRATIC, SLACKS, Slack, as_slack
from marginwise.problem import Problem, as_problem

Make = Callable[[KnownTarget, int], Sampler[Any]]


def guided_by_ep(target: KnownTarget, n_chains: int) -> ReferenceHMC:
    ep = run_ep(
        DenseCovariance.of_matrix(target.gram), target.y, as_slack(target.slack).weighted(1.0, target.penalties)
    )
    return ReferenceHMC(target, gaussian_reference(pivoted_gram(target.gram), Sites(ep.tau, ep.nu)), n_chains=n_chains)


def guided_by_the_prior(target: KnownTarget, n_chains: int) -> ReferenceHMC:
    zero = np.zeros(target.n)
    return ReferenceHMC(target, gaussian_reference(pivoted_gram(target.gram), Sites(zero, zero)), n_chains=n_chains)


def guided_by_anything(target: KnownTarget, n_chains: int) -> ReferenceHMC:
    rng = np.random.default_rng(1)
    tau, nu = rng.exponential(size=target.n), rng.normal(size=target.n)
    return ReferenceHMC(target, gaussian_reference(pivoted_gram(target.gram), Sites(tau, nu)), n_chains=n_chains)


def papers(target: KnownTarget, n_chains: int) -> HMC:
    return HMC(target, target.gram, trajectory=1.0, n_discarded=1000)


SAMPLERS: dict[str, Make] = {
    "ep": guided_by_ep,
    "prior": guided_by_the_prior,
    "anything": guided_by_anything,
    "hmc": papers,
}
every_sampler = pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)

H = Hyperparameters(2.0, 3.0, 0.5, [1.0, 0.7])

#: Largest |z| of a right sampler in the comparisons below (some hundred of them, all with fixed seeds).
MAX_Z = 4.0


def run(sampler: Sampler[Any], seed: int, steps: int) -> np.ndarray:
    """Return the latent values of ``steps`` steps after the warm-up, shape (steps, n, chains)."""
    rng = np.random.default_rng(seed)
    state = sampler.warm_up(rng, sampler.init(rng))
    out = []
    for _ in range(steps):
        state, _ = sampler.step(rng, state)
        out.append(sampler.draws(state).latent)
    return np.array(out)


def z_scores(latent: np.ndarray, functions: Callable[[np.ndarray], np.ndarray], exact: np.ndarray) -> np.ndarray:
    """z of the means of functions of the latent values, errors from blocks of a chain or from the chains."""
    values = np.array([functions(step) for step in latent])  # (steps, functions, chains)
    if values.shape[2] >= 16:
        blocks = values.mean(axis=0)
    else:
        blocks = values.reshape(20, -1, *values.shape[1:]).mean(axis=1)[..., 0].T
    error = blocks.std(axis=1, ddof=1) / np.sqrt(blocks.shape[1])
    return (blocks.mean(axis=1) - exact) / error


def moments(problem: Problem, slack: Slack) -> Callable[[np.ndarray], np.ndarray]:
    """First and second moments, products of neighbours, losses and slopes."""

    def functions(latent: np.ndarray) -> np.ndarray:
        margin = problem.y[:, None] * latent
        losses, slopes = slack.loss(margin), slack.derivative(margin)
        return np.concatenate([latent, latent**2, latent[:-1] * latent[1:], losses, slopes])

    return functions


@every_sampler
@every_slack
@pytest.mark.parametrize("n", [1, 2, 3])
def test_has_the_law_found_by_quadrature(make: Make, slack: Slack, n: int, full: bool) -> None:
    problem = few(n, weighted=True)
    exact = quadrature(problem, H, slack)
    functions = moments(problem, slack)
    sampler = make(target_of(problem, H, slack), 64)
    steps = (100_000 if full else 10_000) if isinstance(sampler, HMC) else (4000 if full else 400)
    z = z_scores(run(sampler, 3, steps), functions, exact.mean(functions(exact.latent)))
    assert np.abs(z).max() < MAX_Z


@every_sampler
def test_has_the_law_of_a_gaussian_posterior(make: Make, full: bool) -> None:
    # Far below their kinks all losses are quadratic: the posterior is N(ΣC, (K⁻¹ + C)⁻¹).
    rng = np.random.default_rng(2)
    problem = as_problem(rng.normal(size=(12, 2)), np.ones(12))
    h = Hyperparameters(0.5, 0.01, 0.002, [1.0, 2.0])
    K, C = h.kernel.gram(problem.X), problem.penalties(h.C)
    covariance = np.linalg.inv(np.linalg.inv(K) + np.diag(C))
    mean = covariance @ C
    sampler = make(target_of(problem, h, QUADRATIC), 64)
    steps = (40_000 if full else 6000) if isinstance(sampler, HMC) else (2000 if full else 300)
    axes = np.random.default_rng(4).normal(size=(8, 12))

    def functions(latent: np.ndarray) -> np.ndarray:
        along = axes @ (latent - mean[:, None])
        return np.concatenate([along, along**2])

    exact = np.concatenate([np.zeros(8), np.einsum("ij,jk,ik->i", axes, covariance, axes)])
    assert np.abs(z_scores(run(sampler, 5, steps), functions, exact)).max() < MAX_Z


@every_slack
@pytest.mark.parametrize("step_size", [0.3, 1.0])
@pytest.mark.parametrize("name", ["ep", "prior", "anything"])
def test_a_step_keeps_exact_draws_exact(name: str, slack: Slack, step_size: float, full: bool) -> None:
    # Also with long steps, most of which are rejected: what is kept is the law, however large the error.
    problem, chains = few(3), 40_000 if full else 8000
    sampler = SAMPLERS[name](target_of(problem, H, slack), chains)
    assert isinstance(sampler, ReferenceHMC)
    rng = np.random.default_rng(6)
    latent = exact_draws(problem, H, slack, rng, chains)
    state = sampler.start(latent - sampler.reference.mean[:, None], step_size)
    for _ in range(3):
        state, info = sampler.step(rng, state)
    assert info.acceptance.min() < 0.9  # some steps are refused, so that the refusal is tested too
    exact, functions = quadrature(problem, H, slack), moments(problem, slack)
    z = z_scores(sampler.draws(state).latent[None], functions, exact.mean(functions(exact.latent)))
    assert np.abs(z).max() < MAX_Z


@every_slack
@pytest.mark.parametrize("step_size", [0.1, 0.5])
def test_a_step_of_the_papers_sampler_keeps_exact_draws_exact(slack: Slack, step_size: float, full: bool) -> None:
    # Five steps, because the momenta of one step matter to the next: without turning round on refusal this fails.
    problem, draws = few(2), 40_000 if full else 4000
    target = target_of(problem, H, slack)
    sampler = HMC(target, target.gram, trajectory=0.5)
    rng = np.random.default_rng(7)
    latent = exact_draws(problem, H, slack, rng, draws)
    inverse = np.linalg.inv(target.gram)
    momenta = np.linalg.cholesky(inverse) @ rng.normal(size=(2, draws))
    after, refused = [], 0
    for theta, p in zip(latent.T, momenta.T, strict=True):
        state = HMCState(theta, inverse @ theta, p, target.gram @ p, step_size)
        for _ in range(5):
            state, info = sampler.step(rng, state)
            refused += info.acceptance[0] < 0.9
        after.append(state.latent)
    assert refused > 0.02 * draws
    exact, functions = quadrature(problem, H, slack), moments(problem, slack)
    z = z_scores(np.array(after).T[None], functions, exact.mean(functions(exact.latent)))
    assert np.abs(z).max() < MAX_Z


@every_slack
@pytest.mark.parametrize("temper", [0.3, 0.8])
def test_a_tempered_sampler_has_the_tempered_law(slack: Slack, temper: float) -> None:
    # N(m, Σ) e^{-aR} with the prior as reference is the posterior with penalties aC.
    problem = few(2)
    target = target_of(problem, H, slack)
    zero = np.zeros(2)
    sampler = ReferenceHMC(target, gaussian_reference(pivoted_gram(target.gram), Sites(zero, zero)), temper=temper)
    exact = quadrature(problem, Hyperparameters(temper * H.C, H.k0, H.koff, H.length_scales), slack)
    functions = moments(problem, slack)
    z = z_scores(run(sampler, 8, 400), functions, exact.mean(functions(exact.latent)))
    assert np.abs(z).max() < MAX_Z


@every_sampler
@every_slack
def test_same_seed_same_draws(make: Make, slack: Slack) -> None:
    target = target_of(few(3), H, slack)
    first, again, other = (run(make(target, 16), seed, 5) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@every_sampler
def test_a_state_can_be_started_from_again(make: Make) -> None:
    sampler = make(target_of(few(3), H, LINEAR), 16)
    rng = np.random.default_rng(0)
    state = sampler.init(rng)
    before = {f.name: np.copy(getattr(state, f.name)) for f in fields(state)}
    first, _ = sampler.step(np.random.default_rng(1), state)
    sampler.warm_up(rng, state)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(state, name), value)
    again, _ = sampler.step(np.random.default_rng(1), state)
    np.testing.assert_array_equal(sampler.draws(first).latent, sampler.draws(again).latent)


@every_sampler
@every_slack
def test_dual_values_belong_to_the_latent_ones(make: Make, slack: Slack) -> None:
    rng = np.random.default_rng(9)
    problem = as_problem(np.repeat(rng.normal(size=(6, 2)), 2, axis=0), np.tile([1.0, -1.0, 1.0, 1.0], 3))
    target = target_of(problem, H, slack)  # rows given twice: K has rank 6
    sampler = make(target, 8)
    state = sampler.warm_up(rng, sampler.init(rng))
    draws = sampler.draws(state)
    np.testing.assert_allclose(target.gram @ draws.dual_latent, draws.latent, rtol=1e-9, atol=1e-9)


@every_slack
@pytest.mark.parametrize("name", ["ep", "hmc"])
def test_energy_is_conserved_to_second_order(name: str, slack: Slack) -> None:
    # Ten times smaller steps give a hundred times smaller errors, where no kink is met.
    problem = few(3)
    h = Hyperparameters(2.0, 0.02, 0.005, [1.0, 0.7])  # far below the kinks
    sampler = SAMPLERS[name](target_of(problem, h, slack), 1)
    sizes = (0.4, 0.04)
    errors = []
    for size in sizes:
        rng = np.random.default_rng(3)
        state: Any = sampler.init(rng)
        if isinstance(sampler, ReferenceHMC):
            state = sampler.start(state.place, size)
            errors.append(np.abs([sampler.step(rng, state)[1].energy_error[0] for _ in range(200)]).mean())
        else:
            state, total = replace(state, step_size=size), []
            for _ in range(200):
                state, info = sampler.step(rng, state)
                total.append(abs(info.energy_error[0]))
            errors.append(np.mean(total))
    if slack.power == 1:  # the force is constant there, so that the motion is followed exactly by the one
        assert errors[1] < 0.02 * errors[0] or errors[0] < 1e-12
    else:
        assert errors[1] < 0.02 * errors[0]


@every_sampler
def test_info_says_what_happened(make: Make) -> None:
    sampler = make(target_of(few(3), H, LINEAR), 8)
    rng = np.random.default_rng(0)
    state = sampler.warm_up(rng, sampler.init(rng))
    new, info = sampler.step(rng, state)
    assert info.acceptance.shape == info.energy_error.shape == (sampler.draws(new).latent.shape[1],)
    assert ((info.acceptance >= 0) & (info.acceptance <= 1)).all()
    np.testing.assert_allclose(info.acceptance, np.exp(-np.maximum(info.energy_error, 0)))
    assert info.n_leapfrog >= 1


def test_a_trajectory_that_ran_away_is_refused() -> None:
    errors = np.array([np.nan, np.inf, -np.inf, 0.0, -5.0, 800.0])
    probability, accepted = metropolis(np.random.default_rng(0), errors)
    np.testing.assert_array_equal(probability[:5], [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(accepted, [False, False, False, True, True, False])
