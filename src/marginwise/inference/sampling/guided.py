"""Hybrid Monte Carlo that moves exactly under a Gaussian near the posterior, many chains at once.

With θ = m + x, the target is ∝ N(x; 0, Σ) e^{-R(x)} for a Gaussian reference N(m, Σ) and a remainder R. In

    H = ½ xᵀΣ⁻¹x + ½ qᵀΣ⁻¹q + R(x),   q = Σp ~ N(0, Σ),

the quadratic part is solved exactly by turning (x, q); only R is integrated in steps, by kicks of q along Σ∂R/∂x, and
one product with Σ is all a step costs. The energy is followed without Σ⁻¹ (see ``leapfrog.kick_and_turn``).

The force may be any function of the place without harm to exactness, because the step decides with the true energy.
For the linear slack it is that of the hinge rounded off over about as much as a step is long: then only the few points
near their kink at the two ends of a trajectory cause an error, and not every kink that is crossed on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from marginwise._arrays import Array
from marginwise.inference.sampling import leapfrog
from marginwise.inference.sampling.leapfrog import Residual
from marginwise.inference.sampling.reference import GaussianReference
from marginwise.inference.sampling.sampler import Draws, Info, Sampler, Target, metropolis

# Settings were compared by ``benchmarks/samplers.py``.

#: Mean time of a trajectory: a little under a quarter turn (π/2), at which a Gaussian would forget its start.
_TRAJECTORY = 1.2
#: Trajectories last between 0.6 and 1.4 of it, so that no period of the motion is met for ever.
_JITTER = 0.4
_MAX_LEAPFROG = 200
#: Half-width of the rounded kink in units of the distance a latent value moves in one step.
_ROUNDING = 2.25
FIRST_STEP_SIZE = 0.3
_TARGET_ACCEPTANCE = 0.8
#: Draws from the reference among which each chain's start is chosen.
_CANDIDATES = 8
#: Warm-up on short trajectories: number of steps, and gain of ln(step size) in the error of the mean acceptance. With
#: many chains that mean is so quiet that nothing cleverer is needed.
_SHORT = 12
_WARM_UP = ((8, 0.8), (8, 0.25))
#: Then rounds of steps on trajectories of full length, until one of them has nearly the wanted acceptance.
_ROUND, _ROUND_GAIN, _MIN_ROUNDS, _MAX_ROUNDS = 4, 0.25, 2, 12
_NEARLY = 0.1


@dataclass(frozen=True, eq=False)
class ReferenceState:
    """Place x = θ - m, force g, Σg (all of shape (n, chains)) and residual energy of the chains, and the step size."""

    place: Array
    force: Array
    image: Array
    residual_energy: Array
    step_size: float


class ReferenceHMC(Sampler[ReferenceState]):
    """The default sampler. ``temper`` in (0, 1] samples N(m, Σ) e^{-temper·R} instead, 1 being the posterior."""

    def __init__(
        self,
        target: Target,
        reference: GaussianReference,
        *,
        n_chains: int = 64,
        temper: float = 1.0,
    ) -> None:
        self.target, self.reference = target, reference
        self.n_chains, self.temper = n_chains, temper
        self._residual = Residual(
            reference.mean,
            target.y,
            temper * target.penalties,
            temper * reference.tau,
            temper * reference.dual_mean,
            np.zeros(target.n),
            target.slack.power,
        )

    def init(self, rng: np.random.Generator) -> ReferenceState:
        """Return chains drawn from the reference: never all at one point, and near equilibrium already."""
        candidates = [self.reference.draw(rng, self.n_chains) for _ in range(_CANDIDATES)]
        return self.start(self.select(rng, candidates), FIRST_STEP_SIZE)

    def select(self, rng: np.random.Generator, candidates: list[Array]) -> Array:
        """Return one of the candidate places for each chain, drawn with probabilities ∝ e^{-temper·R}.

        A reference with wide tails may put a chain where only tiny steps would be accepted; this keeps it from there.
        """
        energies = np.array([self.residual_energy(place) for place in candidates])
        noise = rng.gumbel(size=energies.shape)  # the largest of log weight + Gumbel noise is a draw
        chosen = (noise - energies).argmax(axis=0)
        return np.stack(candidates)[chosen, :, np.arange(len(chosen))].T.copy()

    def start(self, place: Array, step_size: float) -> ReferenceState:
        """Return the state of chains at this place."""
        residual = self._rounded(step_size)
        force = np.empty_like(place)
        leapfrog.force(place, residual, force)
        image = self.reference.times_covariance(force)
        return ReferenceState(place, force, image, self.residual_energy(place), step_size)

    def residual_energy(self, place: Array) -> Array:
        """Return temper·R of chains at this place."""
        return leapfrog.residual_energy(place, self._residual)

    def step(self, rng: np.random.Generator, state: ReferenceState) -> tuple[ReferenceState, Info]:
        """Move every chain along one trajectory with a fresh momentum; accept or stay."""
        return self._step(rng, state, _MAX_LEAPFROG)

    def warm_up(self, rng: np.random.Generator, state: ReferenceState, *, brief: bool = False) -> ReferenceState:
        """Tune the step size to a mean acceptance of 0.8 while the chains leave their start.

        A brief warm-up is for chains that were already near, with a step size that was nearly right.
        """
        for n_steps, gain in () if brief else _WARM_UP:
            for _ in range(n_steps):
                state, _ = self._tuned_step(rng, state, _SHORT, gain)
        for done in range(1, _MAX_ROUNDS + 1):
            reached = 0.0
            for _ in range(_ROUND):
                state, acceptance = self._tuned_step(rng, state, _MAX_LEAPFROG, _ROUND_GAIN)
                reached += acceptance / _ROUND
            if done >= _MIN_ROUNDS + brief and abs(reached - _TARGET_ACCEPTANCE) < _NEARLY:
                break
            if state.step_size == _TRAJECTORY and reached > _TARGET_ACCEPTANCE:
                break
        return state

    def draws(self, state: ReferenceState) -> Draws:
        """Return the latent values of all chains."""
        return Draws(self.reference.mean[:, None] + state.place, self.reference.dual(state.place))

    def _tuned_step(
        self, rng: np.random.Generator, state: ReferenceState, longest: int, gain: float
    ) -> tuple[ReferenceState, float]:
        """Make a step and change the step size after it; return the mean acceptance as well."""
        state, info = self._step(rng, state, longest)
        acceptance = float(info.acceptance.mean())
        step_size = state.step_size * math.exp(gain * (acceptance - _TARGET_ACCEPTANCE))
        return self.start(state.place, min(step_size, _TRAJECTORY)), acceptance

    def _step(self, rng: np.random.Generator, state: ReferenceState, longest: int) -> tuple[ReferenceState, Info]:
        e = state.step_size
        residual = self._rounded(e)
        x, g, image = state.place.copy(), state.force.copy(), state.image.copy()
        q = self.reference.draw(rng, x.shape[1])
        energy = -state.residual_energy
        wanted = _TRAJECTORY / e * rng.uniform(1.0 - _JITTER, 1.0 + _JITTER)
        n_leapfrog = min(max(int(wanted + rng.random()), 1), longest)
        with np.errstate(over="ignore", invalid="ignore"):  # a trajectory that runs away will be rejected
            for k in range(n_leapfrog):  # half a kick at both ends, whole ones between two turns
                leapfrog.kick_and_turn(x, q, g, image, energy, e if k else 0.5 * e, e, residual)
                self.reference.times_covariance(g, out=image)
        leapfrog.kick_energy(q, g, image, energy, 0.5 * e)
        residual_energy = self.residual_energy(x)
        with np.errstate(invalid="ignore"):
            energy += residual_energy
        probability, accepted = metropolis(rng, energy)
        for new, old in ((x, state.place), (g, state.force), (image, state.image)):
            leapfrog.restore(accepted, new, old)
        kept = np.where(accepted, residual_energy, state.residual_energy)
        return replace(state, place=x, force=g, image=image, residual_energy=kept), Info(
            probability, energy, n_leapfrog
        )

    def _rounded(self, step_size: float) -> Residual:
        width = _ROUNDING * step_size * np.sqrt(self.reference.variance)
        return self._residual._replace(sharpness=1.0 / width)
