"""The greedy random walk, "zero temperature Monte Carlo", section ztmc of Gold & Sollich (2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import InvalidInputError, choose
from marginwise.search.base import Point, Search, Space, Step
from marginwise.status import Status


@dataclass(frozen=True, eq=False)
class WalkState:
    """Where the walk is, how far it steps, whose turn it is, and its score after each of the last sweeps.

    ``tally`` has for each hyperparameter the steps tried and accepted since its size last changed.
    """

    space: Space
    position: Array
    score: float
    sizes: Array
    turn: int
    past_scores: tuple[float, ...]
    tally: Array


@dataclass(frozen=True)
class RandomWalk(Search[WalkState]):
    """Add a normal step to the hyperparameters, and move if and only if the score is better.

    "Adding a small step … to each parameter, recalculating the quantity being optimized" can be read in two ways:
    one hyperparameter after the other, which is the default, or all at once.

    Steps are in the logarithms of the kernel parameters and in C itself. Each has its own size, which grows
    when more than half of its last steps were accepted and shrinks by the same factor when fewer were; by default
    after every single step. In balance half the steps are accepted.
    Half is also the most that a smooth score allows, one of two directions being wrong, so sizes follow the
    distance to the optimum downwards. The walk ends when all steps are small, or when the last sweeps have
    gained very little.

    Parameters
    ----------
    proposal : {"each", "all"}
        Whether a step is added to one hyperparameter after the other, or to all at once. All at once, a step of many
        hyperparameters is rarely a gain: sizes shrink fast, and the walk ends further from the optimum.
    first_step : float
        Standard deviation of the first steps.
    factor : float
        By which a step's size is multiplied or divided.
    window : int
        Number of steps over which a rate of acceptance is measured before a step's size is changed.
    largest_step : float
        Beyond this a step's size does not grow.
    step_tolerance : float
        The walk ends when every step is below this.
    gain_tolerance, sweeps : float, int
        The walk ends when so many sweeps have raised the score by no more than this; a sweep is as many steps as there
        are hyperparameters.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> from marginwise.search import RandomWalk
    >>> data = load_benchmark("crabs")
    >>> search = RandomWalk(first_step=0.5)
    >>> found = tune(data.X_train, data.y_train, "span", search=search, random_state=0, max_evaluations=5)
    >>> len(found.trace)
    5
    """

    name: ClassVar[str] = "random-walk"
    needs_value: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = False

    proposal: Literal["each", "all"] = "each"
    first_step: float = 0.3
    factor: float = 1.15
    window: int = 1
    largest_step: float = 3.0
    step_tolerance: float = 1e-3
    gain_tolerance: float = 1e-6
    sweeps: int = 20

    def __post_init__(self) -> None:
        choose("proposal", self.proposal, ("each", "all"))
        if self.window < 1:
            raise InvalidInputError("window", self.window, "1 or more steps")

    def init(self, space: Space, start: Point) -> WalkState:
        sizes = np.full(space.size, self.first_step)
        return WalkState(
            space,
            start.position,
            start.score,
            sizes,
            turn=0,
            past_scores=(start.score,),
            tally=np.zeros((2, space.size)),
        )

    def propose(self, state: WalkState, rng: np.random.Generator) -> Array:
        space, moved = state.space, self._moved(state)
        here, lower, upper = state.position[moved], space.lower[moved], space.upper[moved]
        move = state.sizes[moved] * rng.standard_normal(len(here))
        # On a bound a step outwards would stay where it is and be evaluated in vain: it is turned inwards.
        move = np.where(((here <= lower) & (move < 0)) | ((here >= upper) & (move > 0)), -move, move)
        position = state.position.copy()
        position[moved] = here + move
        for C in np.flatnonzero(space.is_C[moved]):
            position[moved][C] = np.log(max(np.exp(here[C]) + move[C], np.exp(lower[C])))  # a slice is a view
        return space.clip(position)

    def step(self, state: WalkState, point: Point) -> tuple[WalkState, Step]:
        accepted = point.status.ok and point.score > state.score
        tally = state.tally.copy()
        tally[:, self._moved(state)] += [[1.0], [float(accepted)]]
        measured = tally[0] >= self.window
        change = np.select([2 * tally[1] > tally[0], 2 * tally[1] < tally[0]], [self.factor, 1.0 / self.factor], 1.0)
        sizes = np.minimum(np.where(measured, state.sizes * change, state.sizes), self.largest_step)
        tally[:, measured] = 0.0
        position, score = (point.position, point.score) if accepted else (state.position, state.score)
        turn, past_scores = state.turn + 1, state.past_scores
        if turn == state.space.size:
            turn, past_scores = 0, (*past_scores, score)[-self.sweeps - 1 :]
        return WalkState(state.space, position, score, sizes, turn, past_scores, tally), Step(accepted, sizes)

    def _moved(self, state: WalkState) -> slice:
        """Return which hyperparameters a step is added to."""
        return slice(None) if self.proposal == "all" else slice(state.turn, state.turn + 1)

    def terminate(self, state: WalkState) -> Status | None:
        if state.sizes.max() < self.step_tolerance:
            return Status(True, f"converged: every step is below {self.step_tolerance:g}")
        full = len(state.past_scores) > self.sweeps
        if full and state.turn == 0 and state.score - state.past_scores[0] <= self.gain_tolerance:
            return Status(True, f"converged: {self.sweeps} sweeps gained no more than {self.gain_tolerance:g}")
        return None
