"""Quasi-Newton ascent within bounds: BFGS with a long memory, and a backtracking search along the projected arc.

Nocedal & Wright, Numerical Optimization (2006), chapters 3, 6 and 16.7. Unlike SciPy's L-BFGS-B this one can
be held between two evaluations and steps back from points where the criterion fails. It also needs a quarter
fewer of them, because with few hyperparameters it can afford to remember all recent moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from marginwise._arrays import Array, Mask
from marginwise.errors import Finding, InvalidInputError
from marginwise.search.base import Point, Search, Space, Step
from marginwise.status import Status

#: Sufficient increase (Nocedal & Wright eq. 3.4), and the least cosine between a move and the change of
#: gradient at which the move says something about the curvature.
_INCREASE = 1e-4
_CURVED = 1e-8

#: A step is shortened to between a tenth and a half of itself, and to a quarter when the criterion failed.
_SHORTEST, _LONGEST, _AFTER_FAILURE = 0.1, 0.5, 0.25

#: Steps are so much longer after a move along which the score curves upwards, as it does far from a maximum.
_STRETCH = 4.0

#: Where rounding or a small kink of the criterion ends the search, a derivative of so many tolerances will do.
_NEARLY = 100.0

#: Up to so many hyperparameters the curvature is a matrix; for more it stays a sum of a few products.
_DENSE = 200

#: Moves, with the fall of the gradient along each.
Pairs = tuple[tuple[Array, Array], ...]


@dataclass(frozen=True, eq=False)
class NewtonState:
    """The point reached, what is known of the curvature there, and the arc being tried.

    ``pairs`` are the last moves with the fall of the gradient along each; ``stretch`` multiplies the Newton
    step; ``trials`` counts evaluations on this arc; ``past_scores`` are those before each of the last moves.
    """

    space: Space
    point: Point
    pairs: Pairs
    stretch: float
    direction: Array
    length: float = 1.0
    trials: int = 0
    past_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class QuasiNewton(Search[NewtonState]):
    """Ascend with the gradient and the curvature that past gradients show.

    Parameters
    ----------
    first_move, largest_move : float
        How far the first step moves C, k0, koff and the length scale with the largest derivative, and how far any step
        moves at most.
    gradient_tolerance : float
        The search ends when no derivative is larger (but for those that push against a bound).
    gain_tolerance, moves : float, int
        The search ends when so many moves together have raised the score by no more than this.
    memory : int
        Number of moves from which the curvature is learnt.
    trials : int
        So many points are tried along one arc before the search forgets the curvature, or gives up.
    curvature_pairs : tuple of pairs
        What an earlier search near by has learnt of the curvature: the ``pairs_of`` its path.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> from marginwise.search import QuasiNewton
    >>> data = load_benchmark("crabs")
    >>> search = QuasiNewton(first_move=0.5)
    >>> found = tune(data.X_train, data.y_train, "span", search=search, max_evaluations=5)
    >>> len(found.trace)
    5
    """

    name: ClassVar[str] = "quasi-newton"
    needs_value: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = True

    first_move: float = 0.5
    largest_move: float = 1.0
    gradient_tolerance: float = 1e-5
    gain_tolerance: float = 5e-6
    moves: int = 5
    memory: int = 50
    trials: int = 12
    curvature_pairs: Pairs = ()

    def init(self, space: Space, start: Point) -> NewtonState:
        if any(len(move) != space.size for move, _ in self.curvature_pairs):
            raise InvalidInputError(
                "curvature_pairs", Finding("is of another size"), f"moves of {space.size} free hyperparameters"
            )
        return self._at(space, start, self.curvature_pairs[-self.memory :], 1.0)

    def propose(self, state: NewtonState, rng: np.random.Generator) -> Array:
        return state.space.clip(state.point.position + state.length * state.direction)

    def step(self, state: NewtonState, point: Point) -> tuple[NewtonState, Step]:
        here = state.point
        move = point.position - here.position
        expected = float(_gradient(here) @ move)
        if point.status.ok and point.score > here.score and point.score >= here.score + _INCREASE * expected:
            return self._move(state, point, move), Step(True)
        return self._shorten(state, point, expected), Step(False)

    def terminate(self, state: NewtonState) -> Status | None:
        gradient = _gradient(state.point)
        largest = np.abs(state.space.projected(state.point.position, gradient)).max()
        if largest <= self.gradient_tolerance:
            return Status(True, f"converged: no derivative is above {self.gradient_tolerance:g}")
        gain = state.point.score - state.past_scores[0] if len(state.past_scores) == self.moves else np.inf
        if gain <= self.gain_tolerance:
            return Status(True, f"converged: {self.moves} moves gained no more than {self.gain_tolerance:g}")
        if state.trials >= self.trials:
            nearly = largest <= _NEARLY * self.gradient_tolerance
            return Status(nearly, f"no point along the gradient is better; the largest derivative is {largest:.2g}")
        return None

    def _move(self, state: NewtonState, point: Point, move: Array) -> NewtonState:
        """Return the state at the better ``point``, with what its gradient says about the curvature."""
        fall = _gradient(state.point) - _gradient(point)
        pairs, stretch = state.pairs, state.stretch * _STRETCH
        if _is_curved(move, fall):
            pairs, stretch = (*pairs, (move, fall))[-self.memory :], 1.0
        past_scores = (*state.past_scores, state.point.score)[-self.moves :]
        return replace(self._at(state.space, point, pairs, stretch), past_scores=past_scores)

    def _shorten(self, state: NewtonState, point: Point, expected: float) -> NewtonState:
        """Return the state that tries a nearer point on the arc, or at last one along the bare gradient."""
        if state.trials + 1 >= self.trials and state.pairs:
            return replace(self._at(state.space, state.point, (), 1.0), past_scores=state.past_scores)
        factor = _AFTER_FAILURE
        if point.status.ok:
            # The parabola through the score and slope here and the score there has its maximum at this
            # fraction.
            lost = state.point.score + expected - point.score
            factor = float(np.clip(0.5 * expected / lost, _SHORTEST, _LONGEST)) if lost > 0 else _LONGEST
        return replace(state, length=factor * state.length, trials=state.trials + 1)

    def _at(self, space: Space, point: Point, pairs: Pairs, stretch: float) -> NewtonState:
        """Return the state that begins a new arc: the Newton step of all that no bound holds, cut if it is long."""
        gradient = space.projected(point.position, _gradient(point))
        free = gradient != 0.0
        direction = np.zeros_like(gradient)
        if not pairs:
            direction = stretch * self.first_move * space.normalised(gradient)
        elif free.any():
            try:
                direction[free] = stretch * newton_step(pairs, gradient, free)
            except np.linalg.LinAlgError:  # moves so nearly parallel that the matrix is not positive definite
                return self._at(space, point, (), stretch)
        longest = float(np.abs(direction).max())
        if longest > self.largest_move:
            direction *= self.largest_move / longest
        return NewtonState(space, point, pairs, stretch, direction)


def pairs_of(path: Sequence[Point]) -> Pairs:
    """Return those moves along a path that say something about the curvature."""
    pairs = [(b.position - a.position, _gradient(a) - _gradient(b)) for a, b in pairwise(path)]
    return tuple(pair for pair in pairs if _is_curved(*pair))


def newton_step(pairs: Pairs, gradient: Array, free: Mask) -> Array:
    """Return B⁻¹g for the free entries, B the block of :func:`curvature` that belongs to them."""
    if len(gradient) <= _DENSE:
        return cho_solve(cho_factor(curvature(pairs)[np.ix_(free, free)]), gradient[free])
    flat, ups, downs = _factors(pairs)
    U = np.vstack([ups, downs])[:, free]
    # (βI + UᵀSU)⁻¹ = [I - Uᵀ(βS + UUᵀ)⁻¹U]/β, S the signs of the rows of U: Woodbury's formula
    inner = U @ U.T + flat * np.diag([1.0] * len(ups) + [-1.0] * len(downs))
    step = (gradient[free] - U.T @ np.linalg.solve(inner, U @ gradient[free])) / flat
    if not step @ gradient[free] > 0.0:
        raise np.linalg.LinAlgError("not positive definite")
    return step


def curvature(pairs: Pairs) -> Array:
    """Return the BFGS approximation of minus the Hessian from moves and the fall of the gradient along each.

    Directions that no move has tried are taken for as flat as the flattest move, by the scale y·y/s·y that
    Nocedal & Wright (eq. 6.20) take from the last one; then follow the updates (eq. 6.19), the oldest first.
    """
    flat, ups, downs = _factors(pairs)
    return flat * np.eye(ups.shape[1]) + ups.T @ ups - downs.T @ downs


def _factors(pairs: Pairs) -> tuple[float, Array, Array]:
    """Return β, U and D with B = βI + UᵀU - DᵀD: a row of U and one of D for each move."""
    flat = min(float(y @ y) / float(s @ y) for s, y in pairs)
    ups, downs = np.empty((2, len(pairs), len(pairs[0][0])))
    for k, (s, y) in enumerate(pairs):
        pull = flat * s + (ups[:k] @ s) @ ups[:k] - (downs[:k] @ s) @ downs[:k]
        if not s @ pull > 0.0:
            raise np.linalg.LinAlgError("not positive definite")
        ups[k], downs[k] = y / np.sqrt(s @ y), pull / np.sqrt(s @ pull)
    return flat, ups, downs


def _is_curved(move: Array, fall: Array) -> bool:
    return bool(move @ fall > _CURVED * np.linalg.norm(move) * np.linalg.norm(fall))


def _gradient(point: Point) -> Array:
    assert point.gradient is not None  # the driver lets no other point through to this search
    return point.gradient
