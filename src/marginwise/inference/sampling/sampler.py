"""What a sampler of the posterior is: a target, a state that the next step needs, and a record of the step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from marginwise._arrays import Array, Mask
from marginwise.likelihoods.slack import Slack


@dataclass(frozen=True, eq=False)
class Target:
    """The posterior of the latent values, eq. (log_post): Q(θ|D) ∝ N(θ; 0, K) exp[-Σ_i C_i l_p(y_iθ_i)].

    K is the sampler's business, which may know it in one form or another; ``y`` are the labels ±1, ``penalties`` the
    C_i, and ``slack`` gives l_p.
    """

    y: Array
    penalties: Array
    slack: Slack

    @property
    def n(self) -> int:
        """Number of latent values."""
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Draws:
    """Latent values θ and dual latent values θ̃ (θ = Kθ̃), shape (n, chains): one draw in each column."""

    latent: Array
    dual_latent: Array


@dataclass(frozen=True, eq=False)
class Info:
    """What only diagnostics need of a step.

    Attributes
    ----------
    acceptance : array of shape (chains,)
        Probability with which the proposal was accepted.
    energy_error : array of shape (chains,)
        Change of the Hamiltonian along the trajectory: 0 for an exact one.
    n_leapfrog : int
        Number of leapfrog steps in the trajectory.
    """

    acceptance: Array
    energy_error: Array
    n_leapfrog: int


State = TypeVar("State")


class Sampler(ABC, Generic[State]):
    """A Markov chain, or several side by side, that leaves the target invariant. Subclasses are final.

    A state is never changed in place, so that it can be kept and started from again.
    """

    target: Target

    @abstractmethod
    def init(self, rng: np.random.Generator) -> State:
        """Return a state to start from."""

    @abstractmethod
    def step(self, rng: np.random.Generator, state: State) -> tuple[State, Info]:
        """Return the next state, by a step that leaves the target invariant."""

    @abstractmethod
    def warm_up(self, rng: np.random.Generator, state: State) -> State:
        """Return a state near equilibrium with its step size tuned; these steps are not samples."""

    @abstractmethod
    def draws(self, state: State) -> Draws:
        """Return the latent values of a state."""


def metropolis(rng: np.random.Generator, energy_error: Array) -> tuple[Array, Mask]:
    """Return each chain's probability of acceptance, min(1, exp(-ΔH)), and whether it accepts.

    A trajectory that left the range of floating-point numbers is rejected.
    """
    probability = np.exp(-np.maximum(np.where(np.isfinite(energy_error), energy_error, np.inf), 0.0))
    return probability, rng.random(len(energy_error)) < probability
