"""The simplex search of Nelder & Mead, for criteria with jumps or without gradient.

With the adaptive coefficients of Gao & Han (2012, Computational Optimization and Applications 51, 259-277),
which keep it moving in more than a few dimensions. The same points in the same order as SciPy's
implementation, but one evaluation at a time, so that the one driver can hold and continue it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from marginwise._arrays import Array
from marginwise.search.base import Point, Search, Space, Step
from marginwise.status import Status

#: Scores on the two sides of a jump never agree; a simplex that is still smaller by this factor has found
#: one.
_AT_A_JUMP = 1e-2


@dataclass(frozen=True, eq=False)
class SimplexState:
    """The simplex, the scores of its corners, and what is being tried.

    While the simplex is first made ("build") or drawn together ("shrink"), corner ``at`` is the next to be
    looked at. Otherwise corners are sorted, the best first, and one moves the worst: its reflection, then a
    point further out ("expand") or a contraction on either side of the middle; ``reflected`` is the
    reflection and its score.
    """

    space: Space
    corners: Array
    scores: Array
    stage: Literal["build", "shrink", "reflect", "expand", "outside", "inside"]
    at: int = 0
    reflected: tuple[Array, float] | None = None
    seen: int = 0
    landmark: tuple[float, int] = (-np.inf, 0)


@dataclass(frozen=True)
class NelderMead(Search[SimplexState]):
    """Move the worst corner of a simplex through the middle of the others, and shrink it when that fails.

    Parameters
    ----------
    first_size : float
        Length of the edges from the start, one along each logarithm.
    size_tolerance, gain_tolerance : float
        The search ends when all corners are within this distance of the best and their scores within this
        gain.
    patience : int
        It ends, too, when the best score has not risen by that gain for so many evaluations for each corner.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> from marginwise.search import NelderMead
    >>> data = load_benchmark("crabs")
    >>> search = NelderMead(first_size=0.5)
    >>> found = tune(data.X_train, data.y_train, "span", search=search, max_evaluations=5)
    >>> len(found.trace)
    5
    """

    name: ClassVar[str] = "nelder-mead"
    needs_value: ClassVar[bool] = True
    needs_gradient: ClassVar[bool] = False

    first_size: float = 0.5
    size_tolerance: float = 1e-3
    gain_tolerance: float = 1e-5
    patience: int = 20

    def init(self, space: Space, start: Point) -> SimplexState:
        corners = np.vstack([start.position, start.position + self.first_size * np.eye(space.size)])
        corners = space.clip(np.where(corners > space.upper, 2.0 * space.upper - corners, corners))
        scores = np.full(space.size + 1, -np.inf)
        scores[0] = start.score
        return SimplexState(space, corners, scores, "build", at=1)

    def propose(self, state: SimplexState, rng: np.random.Generator) -> Array:
        if state.stage in ("build", "shrink"):
            return state.corners[state.at]
        d = state.space.size
        centre = state.corners[:-1].sum(axis=0) / d
        contraction = 0.75 - 1.0 / (2.0 * d)
        distance = {"reflect": 1.0, "expand": 1.0 + 2.0 / d, "outside": contraction, "inside": -contraction}
        a = distance[state.stage]
        return state.space.clip((1.0 + a) * centre - a * state.corners[-1])

    def step(self, state: SimplexState, point: Point) -> tuple[SimplexState, Step]:
        score = point.score if point.status.ok else -np.inf
        best = max(float(state.scores.max()), -np.inf if state.reflected is None else state.reflected[1])
        seen, landmark = state.seen + 1, state.landmark
        if max(best, score) > landmark[0] + self.gain_tolerance:
            landmark = (max(best, score), seen)
        after = replace(self._next(state, point.position, score), seen=seen, landmark=landmark)
        return after, Step(accepted=score > best)

    def terminate(self, state: SimplexState) -> Status | None:
        if state.stage != "reflect":
            return None
        size = np.abs(state.corners[1:] - state.corners[0]).max()
        gain = np.abs(state.scores[1:] - state.scores[0]).max()
        if size <= self.size_tolerance and (gain <= self.gain_tolerance or size <= _AT_A_JUMP * self.size_tolerance):
            return Status(True, f"converged: the simplex is smaller than {self.size_tolerance:g}")
        idle = state.seen - state.landmark[1]
        if idle >= self.patience * len(state.corners):
            return Status(True, f"converged: {idle} points gained no more than {self.gain_tolerance:g}")
        return None

    def _next(self, state: SimplexState, position: Array, score: float) -> SimplexState:
        best, second_worst, worst = state.scores[0], state.scores[-2], state.scores[-1]
        match state.stage:
            case "build" | "shrink":
                return self._fill(state, score)
            case "reflect":
                reflected = (position, score)
                if score > best:
                    return replace(state, stage="expand", reflected=reflected)
                if score > second_worst:
                    return self._replace_worst(state, *reflected)
                return replace(state, stage="outside" if score > worst else "inside", reflected=reflected)
            case "expand":
                assert state.reflected is not None
                better = score > state.reflected[1]
                return self._replace_worst(state, *((position, score) if better else state.reflected))
            case "outside":
                assert state.reflected is not None
                if score >= state.reflected[1]:
                    return self._replace_worst(state, position, score)
            case "inside":
                if score > worst:
                    return self._replace_worst(state, position, score)
        return self._shrink(state)

    def _fill(self, state: SimplexState, score: float) -> SimplexState:
        """Return the state with the score of one more corner."""
        scores = state.scores.copy()
        scores[state.at] = score
        if state.at == state.space.size:
            return self._sorted(state.space, state.corners, scores)
        return replace(state, scores=scores, at=state.at + 1)

    def _replace_worst(self, state: SimplexState, position: Array, score: float) -> SimplexState:
        corners, scores = state.corners.copy(), state.scores.copy()
        corners[-1], scores[-1] = position, score
        return self._sorted(state.space, corners, scores)

    def _shrink(self, state: SimplexState) -> SimplexState:
        """Return the state with all corners drawn towards the best, to be looked at one by one."""
        shrinkage = 1.0 - 1.0 / state.space.size
        corners = state.corners.copy()
        corners[1:] = state.space.clip(corners[0] + shrinkage * (corners[1:] - corners[0]))
        return replace(state, corners=corners, stage="shrink", at=1)

    def _sorted(self, space: Space, corners: Array, scores: Array) -> SimplexState:
        order = np.argsort(-scores)
        return SimplexState(space, corners[order], scores[order], "reflect")
