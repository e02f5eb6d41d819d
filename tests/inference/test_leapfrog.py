"""A leapfrog trajectory of many chains against the slow obvious form, and what makes it a valid proposal."""

from __future__ import annotations

import numpy as np
import pytest

from known_laws import few, target_of
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling import leapfrog
from marginwise.inference.sampling.leapfrog import Residual
from marginwise.likelihoods import SLACKS, Slack

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)

N, CHAINS = 3, 6
SIZE, STEPS = 0.3, 5


@pytest.fixture
def covariance(rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(N, N))
    return A @ A.T + 0.5 * np.eye(N)


def residual_of(slack: Slack, rng: np.random.Generator) -> Residual:
    target = target_of(few(N), Hyperparameters(2.0, 3.0, 0.5, 1.0), slack)
    return Residual(
        rng.normal(size=N),
        target.y,
        target.penalties,
        rng.exponential(size=N),
        rng.normal(size=N),
        np.full(N, 1.5),
        slack.power,
    )


def obvious_energy(x: np.ndarray, r: Residual, slack: Slack) -> np.ndarray:
    theta = r.mean[:, None] + x
    return r.penalties @ slack.loss(r.y[:, None] * theta) - 0.5 * r.tau @ x**2 + r.b @ x


def trajectory(x: np.ndarray, q: np.ndarray, covariance: np.ndarray, r: Residual) -> tuple[np.ndarray, ...]:
    """Return place, velocity and what the kicks changed after STEPS steps."""
    x, q, energy = x.copy(), q.copy(), np.zeros(x.shape[1])
    g = np.empty_like(x)
    leapfrog.force(x, r, g)
    image = covariance @ g
    for k in range(STEPS):
        leapfrog.kick_and_turn(x, q, g, image, energy, SIZE if k else 0.5 * SIZE, SIZE, r)
        image = covariance @ g
    leapfrog.kick_energy(q, g, image, energy, 0.5 * SIZE)
    return x, q - 0.5 * SIZE * image, energy


@every_slack
def test_residual_energy_is_the_sum_it_says(slack: Slack, rng: np.random.Generator) -> None:
    r, x = residual_of(slack, rng), 2 * rng.normal(size=(N, CHAINS))
    np.testing.assert_allclose(leapfrog.residual_energy(x, r), obvious_energy(x, r, slack), rtol=1e-12)


@every_slack
def test_force_is_the_slope_of_the_energy_away_from_the_kink(slack: Slack, rng: np.random.Generator) -> None:
    r, x = residual_of(slack, rng), 4 * rng.normal(size=(N, 200))
    g = np.empty_like(x)
    leapfrog.force(x, r, g)
    away = np.abs(1 - r.y[:, None] * (r.mean[:, None] + x)) > (1 / 1.5 if slack.power == 1 else 1e-3)
    assert away.sum() > 200
    for i in range(N):
        step = np.zeros_like(x)
        step[i] = 1e-5
        slope = (obvious_energy(x + step, r, slack) - obvious_energy(x - step, r, slack)) / 2e-5
        np.testing.assert_allclose(g[i][away[i]], slope[away[i]], rtol=1e-6, atol=1e-6)


def test_rounding_off_keeps_the_height_of_the_step() -> None:
    # Integrated over the rounded kink, the force does the same work as that of the hinge, and its slope has no
    # second moment: the rounded potential equals the hinge outside, and differs little inside.
    r = Residual(np.zeros(1), np.ones(1), np.ones(1), np.zeros(1), np.zeros(1), np.full(1, 2.0), 1)
    x = np.linspace(0.0, 2.0, 20_001)[None]
    g = np.empty_like(x)
    leapfrog.force(x, r, g)
    step = x[0, 1] - x[0, 0]
    work = step * (g[0].sum() - 0.5 * (g[0, 0] + g[0, -1]))
    assert work == pytest.approx(-1.0, abs=1e-7)
    potential = 1.0 + step * np.concatenate([[0.0], np.cumsum(0.5 * (g[0, 1:] + g[0, :-1]))])
    assert np.abs(potential - np.maximum(1.0 - x[0], 0.0)).max() < 0.06
    second_moment = np.sum(np.gradient(g[0], step) * (x[0] - 1.0) ** 2) * step
    assert second_moment == pytest.approx(0.0, abs=1e-4)


@every_slack
def test_kicks_change_the_energy_by_what_is_booked(
    slack: Slack, rng: np.random.Generator, covariance: np.ndarray
) -> None:
    r, x = residual_of(slack, rng), rng.normal(size=(N, CHAINS))
    q = np.linalg.cholesky(covariance) @ rng.normal(size=(N, CHAINS))
    new_x, new_q, booked = trajectory(x, q, covariance, r)

    def quadratic(v: np.ndarray) -> np.ndarray:
        return 0.5 * np.einsum("ij,ij->j", v, np.linalg.solve(covariance, v))

    change = quadratic(new_x) + quadratic(new_q) - quadratic(x) - quadratic(q)
    np.testing.assert_allclose(booked, change, rtol=1e-9, atol=1e-9)


@every_slack
def test_going_back_leads_home(slack: Slack, rng: np.random.Generator, covariance: np.ndarray) -> None:
    r, x = residual_of(slack, rng), rng.normal(size=(N, CHAINS))
    q = rng.normal(size=(N, CHAINS))
    there_x, there_q, gained = trajectory(x, q, covariance, r)
    back_x, back_q, lost = trajectory(there_x, -there_q, covariance, r)
    np.testing.assert_allclose(back_x, x, atol=1e-10)
    np.testing.assert_allclose(-back_q, q, atol=1e-10)
    np.testing.assert_allclose(gained, -lost, atol=1e-10)


@every_slack
def test_volume_is_kept(slack: Slack, rng: np.random.Generator, covariance: np.ndarray) -> None:
    r = residual_of(slack, rng)
    start = rng.normal(size=(2 * N, CHAINS))
    jacobian = np.empty((CHAINS, 2 * N, 2 * N))
    for k in range(2 * N):
        step = np.zeros_like(start)
        step[k] = 1e-6
        ends = [np.concatenate(trajectory(v[:N], v[N:], covariance, r)[:2]) for v in (start + step, start - step)]
        jacobian[:, :, k] = (ends[0] - ends[1]).T / 2e-6
    np.testing.assert_allclose(np.linalg.det(jacobian), 1.0, rtol=1e-4)


def test_refused_chains_are_put_back(rng: np.random.Generator) -> None:
    new, old = rng.normal(size=(2, N, CHAINS))
    accepted = np.array([True, False, True, False, False, True])
    expected = np.where(accepted, new, old)
    leapfrog.restore(accepted, new, old)
    np.testing.assert_array_equal(new, expected)
