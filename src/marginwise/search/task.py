"""A search to be run: what to move, how, and when to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from marginwise.errors import InvalidInputError
from marginwise.search.base import Search
from marginwise.search.objective import Objective
from marginwise.search.states import fingerprint
from marginwise.search.trace import Callback
from marginwise.status import Code, Status

if TYPE_CHECKING:
    from marginwise.search.held_out import HeldOut

INTERRUPTED = Status(False, "interrupted; this is the best so far", Code.INTERRUPTED)


@dataclass(frozen=True)
class Limits:
    """When a search has to end: after so many evaluations or seconds, or when ``stop`` says so.

    ``keep`` says whether Ctrl-C ends it with the best so far; otherwise a KeyboardInterrupt goes through.

    Parameters
    ----------
    max_evaluations : int, optional
        Most evaluations of the criterion.
    max_seconds : float, optional
        Most seconds.
    deadline : float, optional
        When, on the clock of ``time.monotonic``, every search that shares these limits ends, after one evaluation at
        least.
    stop : callable, optional
        Asked before each evaluation; the search ends when it returns True.
    keep : bool, default=True
        Whether Ctrl-C ends the search with the best so far; otherwise a KeyboardInterrupt goes through.

    Examples
    --------
    >>> Limits(max_evaluations=3).reached(evaluations=3, seconds=0.1).message
    'the budget of 3 evaluations is used up'
    """

    max_evaluations: int | None = None
    max_seconds: float | None = None
    deadline: float | None = None
    stop: Callable[[], bool] | None = None
    keep: bool = True

    def __post_init__(self) -> None:
        for name in ("max_evaluations", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float, np.number)) and value > 0):
                raise InvalidInputError(name, value, "a positive number, or None for no limit")

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def reached(self, evaluations: int, seconds: float) -> Status | None:
        """Return which limit has been reached, if any."""
        if self.max_evaluations is not None and evaluations >= self.max_evaluations:
            return Status(False, f"the budget of {self.max_evaluations} evaluations is used up", Code.BUDGET)
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status(False, f"the budget of {self.max_seconds:g} seconds is used up", Code.BUDGET)
        if evaluations and self.is_late:
            return Status(False, "the time is used up", Code.BUDGET)
        return INTERRUPTED if self.stop is not None and self.stop() else None


@dataclass(frozen=True, eq=False)
class Task:
    """One search to run, and all it needs: it can be sent to another process and gives the same result there.

    Parameters
    ----------
    objective : Objective
        What to make large, and the space to do it in.
    search : Search or None
        How to move; None chooses one that suits the criterion.
    limits : Limits
        When to end at the latest.
    held_out : HeldOut, optional
        Sets of examples on which errors are recorded, and that may end the search.
    callbacks : sequence of callables
        Called with each new record; one that returns True ends the search.
    seed : int
        Seed of the search's random numbers.
    number : int
        Tells the searches of one call apart: each has random numbers and a checkpoint of its own.
    directory : Path, optional
        Where it is recorded. If that holds its beginning, it is continued.

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> from marginwise.criteria import as_criterion
    >>> from marginwise.problem import as_problem
    >>> from marginwise.search import Limits, Objective, Space, drive
    >>> problem = as_problem([[0.0], [1.0], [2.0]], [-1, 1, 1])
    >>> task = Task(Objective(as_criterion("ep-loo"), problem, Space.around(Hyperparameters())), limits=Limits(4))
    >>> len(drive(task).trace)
    4
    """

    objective: Objective
    search: Search[Any] | None = None
    limits: Limits = field(default_factory=lambda: Limits())
    held_out: HeldOut | None = None
    callbacks: Sequence[Callback] = ()
    seed: int = 0
    number: int = 0
    directory: Path | None = None

    def generator(self, purpose: Literal["start", "search"]) -> np.random.Generator:
        """Return the random numbers of this task for one purpose, the same whenever they are asked for."""
        key = (self.number, ("start", "search").index(purpose))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def settings(self) -> dict[str, Any]:
        """Return all that the run depends on but its budget, to tell whether a checkpoint is its own."""
        objective, held_out = self.objective, self.held_out
        space = objective.space
        return {
            "marginwise": version("marginwise"),
            "data": fingerprint(objective.problem),
            "criterion": fingerprint(objective.criterion),
            "prior": fingerprint(objective.prior),
            "search": "auto" if self.search is None else fingerprint(self.search),
            "start": space.origin.tolist(),
            "bounds": [space.lower.tolist(), space.upper.tolist()],
            "held-out data": fingerprint(held_out.sets if held_out else {}),
            "patience": held_out.patience if held_out and held_out.stops else None,
            "seed": self.seed,
            "number": self.number,
        }
