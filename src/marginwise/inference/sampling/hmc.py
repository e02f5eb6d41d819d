"""Hybrid Monte Carlo as in section "Estimating evidence gradients" of Gold & Sollich (2003): one chain.

    H(θ, p) = ½ pᵀKp + ½ θᵀK⁻¹θ + V(θ),   V(θ) = Σ_i C_i l_p(y_iθ_i)                      (ham)

With θ̃ = K⁻¹θ the motion is dθ̃/dτ = p, dp/dτ = -θ̃ - ∂V/∂θ, and θ = Kθ̃ is kept up with one product for each leapfrog
step. Before each trajectory one randomly chosen momentum is drawn anew from its conditional distribution. All other
momenta go on, so that a rejected trajectory must turn them round; without that the chain would not leave Q(θ|D)
invariant.

These draws renew a component of the momenta along an eigenvector of K with eigenvalue λ only every nK_ii/λ steps. Where
λ is small that is longer than any warm-up, and the data say little: there energy must be right from the start. The
chain starts at the SVM plus a draw of the prior, with momenta from their distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled
from marginwise.covariance.dense import DenseCovariance
from marginwise.inference.sampling.sampler import Draws, Info, Sampler, Target, metropolis
from marginwise.likelihoods.slack import slack_force, slack_loss
from marginwise.svm.api import solve_svm

#: Steps of the paper: 40,000, of which the first half is discarded.
N_DISCARDED = 20_000
N_SAMPLES = 20_000

#: Time of a trajectory for C ≤ 1. Momenta outlive trajectories, so that short ones suffice.
_TRAJECTORY = 0.15
_TARGET_ACCEPTANCE = 0.8
_FIRST_STEP_SIZE = 0.05
#: Steps that tune the step size, and the power of the step's number by which their influence falls (Robbins & Monro).
_N_TUNING = 2_000
_TUNING_DECAY = 0.6


@dataclass(frozen=True, eq=False)
class HMCState:
    """Latent values θ, dual latent values θ̃, momentum p and Kp, each of shape (n,), and the step size."""

    latent: Array
    dual_latent: Array
    momentum: Array
    velocity: Array
    step_size: float


class HMC(Sampler[HMCState]):
    """The paper's sampler.

    Parameters
    ----------
    target : Target
    gram : array of shape (n, n)
        K.
    trajectory : float, optional
        Time of a trajectory. By default 0.15/max(1, C) with C the mean penalty: for large C the paper scales it with
        1/C, so that places just outside V = 0 are met.
    n_discarded : int
        Steps of the warm-up.
    """

    def __init__(
        self, target: Target, gram: Array, *, trajectory: float | None = None, n_discarded: int = N_DISCARDED
    ) -> None:
        self.target, self.gram, self.n_discarded = target, gram, n_discarded
        self.trajectory = trajectory or _TRAJECTORY / max(1.0, float(target.penalties.mean()))

    def init(self, rng: np.random.Generator) -> HMCState:
        """Return the SVM solution plus a draw of the prior, with momenta from exp(-½pᵀKp)."""
        t = self.target
        solution = solve_svm(DenseCovariance.of_matrix(self.gram), t.y, t.penalties, t.slack)
        eigenvalues, vectors = np.linalg.eigh(self.gram)
        kept = eigenvalues > t.n * np.finfo(float).eps * eigenvalues[-1]  # the others are 0 but for rounding
        # θ̃ of the prior and p have the same distribution, N(0, K⁻¹).
        noise = rng.standard_normal((np.count_nonzero(kept), 2)) / np.sqrt(eigenvalues[kept, None])
        shift, momentum = (vectors[:, kept] @ noise).T
        dual = t.y * solution.alpha + shift
        return HMCState(self.gram @ dual, dual, momentum, self.gram @ momentum, min(_FIRST_STEP_SIZE, self.trajectory))

    def step(self, rng: np.random.Generator, state: HMCState) -> tuple[HMCState, Info]:
        """Draw one momentum anew, then follow one trajectory and accept it, or stay and turn round."""
        t, gram = self.target, self.gram
        # Gibbs sampling of p_i from exp(-½pᵀKp): mean p_i - (Kp)_i/K_ii, variance 1/K_ii.
        i = int(rng.integers(t.n))
        change = rng.standard_normal() / math.sqrt(gram[i, i]) - state.velocity[i] / gram[i, i]
        momentum = state.momentum.copy()
        momentum[i] += change
        velocity = state.velocity + change * gram[i]

        n_leapfrog = math.ceil(self.trajectory / state.step_size)
        latent, dual, p, q, error = _trajectory(
            gram,
            t.y,
            t.penalties,
            t.slack.power,
            state.latent,
            state.dual_latent,
            momentum,
            velocity,
            self.trajectory / n_leapfrog,
            n_leapfrog,
        )
        energy_error = np.array([error])
        probability, accepted = metropolis(rng, energy_error)
        info = Info(probability, energy_error, n_leapfrog)
        if accepted[0]:
            return HMCState(latent, dual, p, q, state.step_size), info
        return replace(state, momentum=-momentum, velocity=-velocity), info

    def warm_up(self, rng: np.random.Generator, state: HMCState) -> HMCState:
        """Make the discarded steps; the first of them tune the step size to an acceptance of 0.8."""
        for k in range(self.n_discarded):
            state, info = self.step(rng, state)
            if k < _N_TUNING:
                change = (float(info.acceptance[0]) - _TARGET_ACCEPTANCE) / (k + 1) ** _TUNING_DECAY
                state = replace(state, step_size=min(state.step_size * math.exp(change), self.trajectory))
        return state

    def draws(self, state: HMCState) -> Draws:
        """Return the one draw."""
        return Draws(state.latent[:, None], state.dual_latent[:, None])


@compiled
def _force(latent: Array, y: Array, penalties: Array, power: int) -> Array:
    """Return ∂V/∂θ."""
    out = np.empty_like(latent)
    for i in range(len(latent)):
        out[i] = -penalties[i] * y[i] * slack_force(power, 1.0 - y[i] * latent[i])
    return out


@compiled
def _energy(latent: Array, dual: Array, p: Array, q: Array, y: Array, penalties: Array, power: int) -> float:
    """Return H, eq. (ham), with q = Kp."""
    energy = 0.0
    for i in range(len(latent)):
        loss = slack_loss(power, 1.0 - y[i] * latent[i])
        energy += 0.5 * (p[i] * q[i] + dual[i] * latent[i]) + penalties[i] * loss
    return energy


@compiled
def _trajectory(
    gram: Array,
    y: Array,
    penalties: Array,
    power: int,
    latent: Array,
    dual: Array,
    p: Array,
    q: Array,
    dt: float,
    n_leapfrog: int,
) -> tuple[Array, Array, Array, Array, float]:
    """Follow the motion from a place and momentum; return the new ones and the change of H."""
    before = _energy(latent, dual, p, q, y, penalties, power)
    dual = dual.copy()
    p = p - 0.5 * dt * (dual + _force(latent, y, penalties, power))
    for k in range(n_leapfrog):
        dual += dt * p
        latent = np.dot(gram, dual)
        kick = dt if k < n_leapfrog - 1 else 0.5 * dt
        p -= kick * (dual + _force(latent, y, penalties, power))
    q = np.dot(gram, p)
    return latent, dual, p, q, _energy(latent, dual, p, q, y, penalties, power) - before
