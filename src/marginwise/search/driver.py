"""The one loop of every search: it evaluates, checks, records, and decides when to end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.interrupts import answered, safe_point
from marginwise.search.base import Point, Step, lacks
from marginwise.search.checkpoint import Checkpoint, to_point
from marginwise.search.registry import choose_search, require_suitable
from marginwise.search.task import INTERRUPTED, Task
from marginwise.search.trace import Record, Trace, Tuning
from marginwise.status import Code, Status


def drive(task: Task) -> Tuning:
    """Run a search from the start of its space to its end.

    One with a checkpoint first goes through what is logged there, and is then where it was when it stopped.
    Callbacks are not told of that part again.

    Parameters
    ----------
    task : Task
        The search, what it maximises, and when it ends at the latest.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> from marginwise.criteria import as_criterion
    >>> from marginwise.problem import as_problem
    >>> from marginwise.search import Limits, Objective, QuasiNewton, Space
    >>> problem = as_problem([[0.0], [1.0], [2.0]], [-1, 1, 1])
    >>> objective = Objective(as_criterion("ep-loo"), problem, Space.around(Hyperparameters()))
    >>> run = drive(Task(objective, QuasiNewton(), Limits(max_evaluations=4)))
    >>> len(run.trace)
    4
    """
    log = None if task.directory is None else Checkpoint(task.directory, task.number, task.settings())
    with nullcontext() if log is None else closing(log):
        path = _Path(task, log)
        status = None
        try:
            while status is None:
                safe_point()
                status = task.limits.reached(len(path.trace), path.seconds)
                if status is not None:
                    break
                answers: list[bool | None] = []
                if path.is_logged:
                    path.go_over()
                else:
                    gradient = path.with_gradient(len(path.trace))
                    position = path.next_position()
                    path.take(*task.objective.evaluate(position, path.warm_start, with_gradient=gradient))
                    answers = [callback(path.trace[-1]) for callback in task.callbacks]
                status = path.ended(answers)
        except KeyboardInterrupt:
            if not task.limits.keep:
                raise
            answered()
            status = INTERRUPTED
        return path.result(status)


class _Path:
    """One run under way: all it does follows from what it was made with and from the points that it was told of."""

    def __init__(self, task: Task, checkpoint: Checkpoint | None) -> None:
        self.objective, self.search, self.rng = task.objective, task.search, task.generator("search")
        # A search that is still to be chosen will follow gradients, where they lead somewhere.
        smooth = self.objective.criterion.smooth
        self.gradient_at_start = smooth if self.search is None else self.search.needs_gradient
        self.held_out, self.checkpoint = task.held_out, checkpoint
        self.trace = Trace(self.objective.space.names)
        self.state: Any = None
        self.warm_start: Any = None
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time spent on this run, with that before it was continued."""
        return time.perf_counter() - self.began

    @property
    def is_logged(self) -> bool:
        """Whether the next evaluation was made before the run stopped."""
        return self.checkpoint is not None and len(self.trace) < len(self.checkpoint.entries)

    def result(self, status: Status) -> Tuning:
        """Return the run as it is now."""
        space = self.objective.space
        start = space.at(space.start)
        best = self.trace.best(self.held_out.stops if self.held_out else None)
        if best is None:
            return Tuning(start, np.nan, self.trace, status, start=start)
        remarks = [status.message, *self._failures(), *self._bounds_met(best.point.position)]
        status = replace(status, message="; ".join(remarks))
        found, score = best.point.value, best.point.score
        return Tuning(best.hyperparameters, found, self.trace, status, score=score, start=start, errors=best.errors)

    def ended(self, answers: Sequence[bool | None]) -> Status | None:
        """Return how the run ended, if it did, by itself or by the callbacks' ``answers``."""
        if self.search is None or self.state is None:
            return Status(False, f"the criterion failed at the start: {self.trace[0].point.status.message}")
        ended = self.search.terminate(self.state)
        if ended is None and self.held_out is not None:
            ended = self.held_out.ended(self.trace)
        return Status(True, "stopped by a callback", Code.STOPPED) if ended is None and any(answers) else ended

    def with_gradient(self, index: int) -> bool:
        """Say whether the evaluation of this number is asked for a gradient."""
        return self.gradient_at_start if self.search is None or not index else self.search.needs_gradient

    def take(self, point: Point, warm_start: Any) -> None:
        """Take the point that was found at the next position, and what it leaves to the next evaluation."""
        point = self._checked(point)
        step = self._judge(point)
        hyperparameters = self.objective.space.at(point.position)
        errors = self.held_out.errors(hyperparameters) if self.held_out and step.accepted else {}
        record = Record(len(self.trace), hyperparameters, point, step, self.seconds, errors)
        if self.checkpoint:
            self.checkpoint.append(record, warm_start)
        self.trace.append(record)
        if step.accepted:
            self.warm_start = warm_start

    def go_over(self) -> None:
        """Take the next position as it was evaluated before the run stopped."""
        assert self.checkpoint is not None
        entry = self.checkpoint.entries[len(self.trace)]
        position, point, seconds = self.next_position(), to_point(entry), entry["seconds"]
        if not np.array_equal(position, point.position):
            raise self.checkpoint.refuse(f"its evaluation {len(self.trace)} was made elsewhere")
        step, measured = self._judge(point), set(self.held_out.sets if self.held_out else ())
        if step.accepted != entry["accepted"] or (step.accepted and measured != entry["errors"].keys()):
            raise self.checkpoint.refuse(f"its evaluation {len(self.trace)} does not follow from those before it")
        hyperparameters = self.objective.space.at(position)
        self.trace.append(Record(len(self.trace), hyperparameters, point, step, seconds, entry["errors"]))
        if len(self.trace) == len(self.checkpoint.entries):
            self.began = time.perf_counter() - seconds
            self.warm_start = self._left_to_the_next(self.checkpoint)

    def _left_to_the_next(self, checkpoint: Checkpoint) -> Any:
        """Return what the last point of the path left; where that was lost, from the last that is there on, again."""
        path, state, known = self.trace.accepted, None, 0
        for k in range(len(path), 0, -1):
            try:
                state, known = checkpoint.state(path[k - 1].index), k
                break
            except KeyError:
                continue
        for record in path[known:]:
            safe_point()
            gradient = self.with_gradient(record.index)
            _, state = self.objective.evaluate(record.point.position, state, with_gradient=gradient)
        return state

    def next_position(self) -> Array:
        """Return where to look next."""
        if self.search is None or not len(self.trace):
            return self.objective.space.start
        return self.search.propose(self.state, self.rng)

    def _checked(self, point: Point) -> Point:
        """Return the point, as a failure if it lacks what the search has had from the start."""
        lacking = lacks(type(self.search), point) if self.search is not None and len(self.trace) else ""
        if point.status.ok and lacking:
            return Point(point.position, np.nan, np.nan, status=Status(False, f"the criterion gave no {lacking}"))
        return point

    def _judge(self, point: Point) -> Step:
        """Return what the search makes of a point; the first begins it, unless the criterion failed there."""
        if len(self.trace):
            assert self.search is not None
            self.state, step = self.search.step(self.state, point)
            return step
        if not point.status.ok:
            return Step(False)
        if self.search is None:
            self.search = choose_search(point, smooth=self.objective.criterion.smooth)
        require_suitable(self.search, point)
        self.state = self.search.init(self.objective.space, point)
        return Step(True)

    def _failures(self) -> list[str]:
        failures = self.trace.failures
        if not failures:
            return []
        last = failures[-1].point.status.message
        return [f"the criterion failed at {len(failures)} of {len(self.trace)} points (the last time: {last})"]

    def _bounds_met(self, position: Array) -> list[str]:
        space = self.objective.space
        sides = (("lower", position <= space.lower), ("upper", position >= space.upper))
        return [
            f"{name} is at its {side} bound"
            for side, met in sides
            for name, is_met in zip(space.names, met, strict=True)
            if is_met
        ]
