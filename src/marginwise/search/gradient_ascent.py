"""Gradient ascent with adaptive learning rates, section gradient_ascent of Gold & Sollich (2003).

It needs no value of the criterion, so that it can follow gradients that are estimated by sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from marginwise.search.contract import Point, Search, Space, Step
from marginwise.status import Status

Vector = npt.NDArray[np.float64]

#: A derivative that rises by less than this fraction of the gradient's norm does no harm.
_SMALL = 0.1

#: Keeps the first rates finite where the gradient vanishes.
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class AscentState:
    """Where the ascent is, its gradient there, the learning rates, and the largest gradient norm so far."""

    space: Space
    position: Vector
    gradient: Vector
    noise: Vector
    rates: Vector
    peak: float
    discarded: int = 0


@dataclass(frozen=True)
class GradientAscent(Search[AscentState]):
    """Move along the gradient, each hyperparameter at its own rate, judged by how the gradient changes.

    All moves are in logarithms. With g the gradient before a move and g' after it:

    - a derivative that kept its sign and did not decline quickly, |g'| > ``decline`` |g|, has its rate
      raised;
    - one that changed its sign, so that a maximum was passed, has its rate lowered;
    - one that rose sharply, |g'| > ``rise`` |g|, or that changed its sign and is no smaller, shows that the
      move was too long: it is discarded and all rates are lowered. Here the derivatives for the length scales
      count as one vector, of which the norm rises and the direction turns (by more than a right angle).

    Changes within the noise of the gradients, or small beside the whole gradient, do not discard a move.

    Parameters
    ----------
    first_move : float
        How far the hyperparameter with the largest derivative is moved by the first step.
    largest_move : float
        No hyperparameter is moved further by one step.
    raise_by, lower_by : float
        Factors of the learning rates.
    decline, rise : float
        The ratios |g'|/|g| in the rules above.
    tolerance : float
        The ascent ends when |g|² ≤ |noise|² + (tolerance · peak)², peak being the largest |g| met.
    patience : int
        The ascent gives up after so many discarded moves one after the other.
    """

    name: ClassVar[str] = "gradient-ascent"
    needs_value: ClassVar[bool] = False
    needs_gradient: ClassVar[bool] = True

    first_move: float = 0.2
    largest_move: float = 1.0
    raise_by: float = 1.5
    lower_by: float = 0.5
    decline: float = 0.7
    rise: float = 2.0
    tolerance: float = 0.01
    patience: int = 20

    def init(self, space: Space, start: Point) -> AscentState:
        gradient, noise = _usable(space, start)
        rates = np.full(space.size, self.first_move / max(np.abs(gradient).max(), _TINY))
        return AscentState(space, start.position, gradient, noise, rates, peak=float(np.linalg.norm(gradient)))

    def propose(self, state: AscentState, rng: np.random.Generator) -> Vector:
        move = np.clip(state.rates * state.gradient, -self.largest_move, self.largest_move)
        return state.space.clip(state.position + move)

    def step(self, state: AscentState, point: Point) -> tuple[AscentState, Step]:
        if not point.status.ok:
            return self._discard(state)
        gradient, noise = _usable(state.space, point)
        insignificant = 2.0 * np.hypot(noise, state.noise) + _SMALL * np.linalg.norm(state.gradient)
        if self._went_too_far(state, gradient, insignificant):
            return self._discard(state)
        agreement = gradient * state.gradient
        unchanged = (agreement > 0) & (np.abs(gradient) > self.decline * np.abs(state.gradient))
        turned = (agreement < 0) & (np.abs(gradient) > 2.0 * noise)
        rates = state.rates * np.where(unchanged, self.raise_by, np.where(turned, self.lower_by, 1.0))
        peak = max(state.peak, float(np.linalg.norm(gradient)))
        state = AscentState(state.space, point.position, gradient, noise, rates, peak)
        return state, Step(True, rates)

    def terminate(self, state: AscentState) -> Status | None:
        norm, noise = np.linalg.norm(state.gradient), np.linalg.norm(state.noise)
        small = self.tolerance * state.peak
        if norm**2 <= noise**2 + small**2:
            return Status(True, f"converged: the gradient {norm:.2g} is small beside its peak {state.peak:.2g}")
        if state.discarded >= self.patience:
            return Status(False, f"{self.patience} moves one after the other were discarded, gradient {norm:.2g}")
        return None

    def _went_too_far(self, state: AscentState, gradient: Vector, insignificant: Vector) -> bool:
        """Say whether C, k0, koff or the vector of length scales rose sharply or turned without shrinking."""
        together = state.space.is_length_scale
        for part in [*np.eye(state.space.size, dtype=bool)[~together], together]:
            before, after = np.linalg.norm(state.gradient[part]), np.linalg.norm(gradient[part])
            margin = np.linalg.norm(insignificant[part])
            turned = gradient[part] @ state.gradient[part] < 0
            if after > (1.0 if turned else self.rise) * before + margin:
                return True
        return False

    def _discard(self, state: AscentState) -> tuple[AscentState, Step]:
        rates = state.rates * self.lower_by
        return replace(state, rates=rates, discarded=state.discarded + 1), Step(False, rates)


def _usable(space: Space, point: Point) -> tuple[Vector, Vector]:
    """Return the gradient and its noise without the components that push the point out of the box."""
    assert point.gradient is not None  # the driver lets no other point through to this search
    gradient = space.projected(point.position, point.gradient)
    noise = np.zeros_like(gradient) if point.noise is None else np.where(gradient == 0.0, 0.0, point.noise)
    return gradient, noise
