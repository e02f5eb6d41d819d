"""Gradient ascent with adaptive learning rates, section gradient_ascent of Gold & Sollich (2003).

It needs no value of the criterion, so that it can follow gradients that are estimated by sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import choose
from marginwise.search.base import Point, Search, Space, Step
from marginwise.status import Status

#: A part of the gradient that rises by less than this fraction of the largest part does no harm.
_SMALL = 0.1


@dataclass(frozen=True, eq=False)
class AscentState:
    """Where the ascent is, its gradient there and the learning rates.

    ``peaks`` are the largest norms so far of the gradient's parts, ``least`` the smallest norm of the whole since
    the last peak, and ``idle`` is the number of moves since either, discarded ones included.
    """

    space: Space
    position: Array
    gradient: Array
    noise: Array
    rates: Array
    peaks: Array
    least: float
    idle: int = 0


@dataclass(frozen=True)
class GradientAscent(Search[AscentState]):
    """Move along the gradient, each hyperparameter at its own rate, judged by how the gradient changes.

    All moves are in logarithms, but C may move on its own scale. With g the gradient before a move and g' after it:

    - a derivative that kept its sign and did not decline quickly, ``|g'| > decline |g|``, has its rate
      raised;
    - one that changed its sign, so that a maximum was passed, has its rate lowered;
    - one that rose sharply, ``|g'| > rise |g|``, or that changed its sign and is no smaller, shows that the
      move was too long: it is discarded and all rates are lowered. Here the derivatives for the length scales
      count as one vector, of which the norm rises and the direction turns (by more than a right angle).

    Changes within the noise of the gradients, or small compared with the whole gradient, do not discard a move.

    Parameters
    ----------
    first_move : float
        How far C, k0, koff and the length scale with the largest derivative are moved by the first step.
    largest_move : float
        No hyperparameter is moved further by one step.
    raise_by, lower_by : float
        Factors of the learning rates.
    decline, rise : float
        The ratios ``|g'|/|g|`` in the rules above.
    tolerance : float
        The ascent ends when ``|g|² ≤ |noise|² + (tolerance · peak)²`` for C, k0, koff and the length scales, each with
        its own peak, the largest ``|g|`` met. (A peak of less than tolerance times the largest counts as that much.)
    C_scale : {"log", "linear"}
        Whether C is moved in its logarithm or, like in the paper, on its own scale, along ∂E/∂C.
    patience : int
        The ascent gives up when for so many moves the gradient has neither risen to a new peak nor declined.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> from marginwise.search import GradientAscent
    >>> data = load_benchmark("crabs")
    >>> search = GradientAscent(first_move=0.2)
    >>> found = tune(data.X_train, data.y_train, "span", search=search, max_evaluations=5)
    >>> len(found.trace)
    5
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
    tolerance: float = 0.02
    C_scale: Literal["log", "linear"] = "log"
    patience: int = 100

    def __post_init__(self) -> None:
        choose("C_scale", self.C_scale, ("log", "linear"))

    def init(self, space: Space, start: Point) -> AscentState:
        gradient, noise = self._usable(space, start)
        moved = gradient != 0.0
        rates = np.ones(space.size)
        rates[moved] = self.first_move * space.normalised(gradient)[moved] / gradient[moved]
        norms = _norms(space, gradient)
        return AscentState(space, start.position, gradient, noise, rates, norms, float(np.linalg.norm(norms)))

    def propose(self, state: AscentState, rng: np.random.Generator) -> Array:
        move = np.clip(state.rates * state.gradient, -self.largest_move, self.largest_move)
        position = state.position + move
        if self.C_scale == "linear":
            at_C, here = state.space.is_C, state.position
            position[at_C] = np.log(np.maximum(np.exp(here) + move, np.exp(state.space.lower)))[at_C]
        return state.space.clip(position)

    def step(self, state: AscentState, point: Point) -> tuple[AscentState, Step]:
        if not point.status.ok:
            return self._discard(state)
        gradient, noise = self._usable(state.space, point)
        if self._went_too_far(state, gradient, noise):
            return self._discard(state)
        agreement = gradient * state.gradient
        unchanged = (agreement > 0) & (np.abs(gradient) > self.decline * np.abs(state.gradient))
        turned = (agreement < 0) & (np.abs(gradient) > 2.0 * noise)
        rates = state.rates * np.where(unchanged, self.raise_by, np.where(turned, self.lower_by, 1.0))
        norms = _norms(state.space, gradient)
        norm = float(np.linalg.norm(norms))
        peaks, least, idle = np.maximum(state.peaks, norms), min(state.least, norm), state.idle + 1
        if norm < state.least or (norms > state.peaks).any():
            least, idle = norm, 0
        after = AscentState(state.space, point.position, gradient, noise, rates, peaks, least, idle)
        return after, Step(True, rates)

    def terminate(self, state: AscentState) -> Status | None:
        norms, noise = _norms(state.space, state.gradient), _norms(state.space, state.noise)
        small = self.tolerance * np.maximum(state.peaks, self.tolerance * state.peaks.max())
        if (norms**2 <= noise**2 + small**2).all():
            return Status(True, f"converged: the gradient {norms.max():.2g} is small compared with its peaks")
        if state.idle >= self.patience:
            return Status(False, f"the gradient has not declined for {self.patience} moves; it is {norms.max():.2g}")
        return None

    def _went_too_far(self, state: AscentState, gradient: Array, noise: Array) -> bool:
        """Say whether a part of the gradient rose sharply, or turned without shrinking."""
        space = state.space
        before, after = _norms(space, state.gradient), _norms(space, gradient)
        insignificant = 2.0 * np.hypot(_norms(space, noise), _norms(space, state.noise)) + _SMALL * before.max()
        turned = np.array([gradient[part] @ state.gradient[part] < 0 for part in space.groups])
        return bool((after > np.where(turned, 1.0, self.rise) * before + insignificant).any())

    def _usable(self, space: Space, point: Point) -> tuple[Array, Array]:
        """Return gradient and noise on the scales of the moves, without what pushes the point out of the box."""
        assert point.gradient is not None  # the driver lets no other point through to this search
        gradient = space.projected(point.position, point.gradient)
        noise = np.zeros_like(gradient) if point.noise is None else np.where(gradient == 0.0, 0.0, point.noise)
        if self.C_scale == "linear":  # ∂E/∂C = (∂E/∂ln C)/C
            per_unit = np.where(space.is_C, np.exp(-point.position), 1.0)
            gradient, noise = gradient * per_unit, noise * per_unit
        return gradient, noise

    def _discard(self, state: AscentState) -> tuple[AscentState, Step]:
        rates = state.rates * self.lower_by
        return replace(state, rates=rates, idle=state.idle + 1), Step(False, rates)


def _norms(space: Space, gradient: Array) -> Array:
    """Return the norm of each part: |g_C|, |g_k0|, |g_koff| and that of the length scales' vector."""
    return np.array([np.linalg.norm(gradient[part]) for part in space.groups])
