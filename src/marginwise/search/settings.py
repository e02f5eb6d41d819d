"""How hyperparameters are searched for, and the search of a problem by that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from marginwise.criteria.base import Criterion
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search.base import Bounds, Search, Space
from marginwise.search.held_out import HeldOut
from marginwise.search.objective import Objective
from marginwise.search.task import Limits, Task
from marginwise.search.trace import Callback

#: Far more than any search needs to converge; a guard against one that never does.
MAX_EVALUATIONS = 20_000


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """How hyperparameters are searched for: all but the problem, the criterion and where to begin.

    Attributes
    ----------
    search : Search or None
        How to move; None takes the best that the criterion allows.
    prior : Prior or None
        Its logarithm, divided by n, is added to the criterion.
    bounds : mapping
        Lowest and highest value of a hyperparameter by its name, where the model's own are not wanted.
    restarts : int
        Number of further searches from random starts.
    seed : int
        Seed of the random starts and walks.
    n_jobs : int or None
        Number of processes for the searches.
    limits : Limits
        Budget of each search, and what Ctrl-C does.
    held_out : mapping of Problem
        Sets on which the SVM's error is recorded; the one of the name "validation" stops searches early.
    patience : int
        After how many moves without a fall of the validation error.
    directory : Path or None
        Where searches are recorded as they go.
    callbacks : tuple of callables
        Called with each new record.
    progress : bool or None
        Whether to draw a progress bar; None on terminals.
    """

    search: Search[Any] | None = None
    prior: Prior | None = None
    bounds: Bounds = field(default_factory=dict)
    restarts: int = 0
    seed: int = 0
    n_jobs: int | None = 1
    limits: Limits = field(default_factory=lambda: Limits(MAX_EVALUATIONS))
    held_out: Mapping[str, Problem] = field(default_factory=dict)
    patience: int = 10
    directory: Path | None = None
    callbacks: tuple[Callback, ...] = ()
    progress: bool | None = None

    def going_on(self, evaluations: int) -> SearchSettings:
        """Return the settings of a search that goes on from another: no restarts, and a budget no larger than this."""
        budget = self.limits.max_evaluations
        most = evaluations if budget is None else min(budget, evaluations)
        return replace(self, restarts=0, limits=replace(self.limits, max_evaluations=most))

    def task(self, problem: Problem, criterion: Criterion, start: Model) -> Task:
        """Return the search of a problem from a start, the first of all if there are restarts."""
        return Task(
            objective=Objective(criterion, problem, space_of(criterion, start, self.bounds), self.prior),
            search=self.search,
            limits=self.limits,
            held_out=HeldOut(problem, criterion.likelihood, dict(self.held_out), self.patience),
            callbacks=self.callbacks,
            seed=self.seed,
            directory=self.directory,
        )

    def with_spread(self, spread: float) -> SearchSettings:
        """Return the same with this prior spread of the length scales; 0 is one length scale for all."""
        if self.prior is None or spread == 0:
            return self
        return replace(self, prior=replace(self.prior, spread=spread))


def space_of(criterion: Criterion, start: Model, bounds: Bounds) -> Space:
    """Return the space to search. Where only C·K counts, C is 1 and the start's C is in the kernel."""
    if criterion.scale_free and start.kernel.scaled(1.0) is not None:
        return Space.around(start.with_C_in_kernel(), fix_C=True, bounds=bounds)
    return Space.around(start, fix_C=not criterion.likelihood.has_penalty, bounds=bounds)
