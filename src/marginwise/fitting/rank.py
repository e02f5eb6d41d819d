"""How a table with many rows is made small enough: inducing inputs, while tuning and for the last fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance import Sites, choose_inducing
from marginwise.fitting.labels import LabelModel, SlackLabels, Trained
from marginwise.fitting.schedule import SCHEDULE
from marginwise.model import Model
from marginwise.problem import Problem

#: The last fit is begun with a smaller rank, which brings the sites near at a sixteenth of the cost.
_COARSER = 4


@dataclass(frozen=True, eq=False)
class RankPolicy:
    """The rank that a model is tuned and trained with.

    Attributes
    ----------
    rank : "auto", int or None
        Number of inducing inputs, "auto" as many as leave little, None for the exact Gram matrix.
    seed : int
        Draws the start of the inducing inputs.
    """

    rank: str | int | None = None
    seed: int = 0

    @property
    def exact(self) -> bool:
        """Whether the Gram matrix is exact."""
        return self.rank is None

    def order(self, n: int) -> int:
        """Return the most rows of a square matrix in the fit of a table of n rows."""
        return n if self.rank is None else SCHEDULE.most_inducing if isinstance(self.rank, str) else self.rank

    def for_tuning(self, problem: Problem, start: Model) -> Problem:
        """Return the problem to tune on, with inducing inputs chosen for ``start`` where the rank is limited."""
        if self.rank is None:
            return problem
        number = SCHEDULE.tuning_rank if isinstance(self.rank, str) else self.rank
        return replace(problem, inducing=choose_inducing(problem.X, start.kernel, number, seed=self.seed))

    def train(self, labels: LabelModel, problem: Problem, seen: Array, model: Model, members: int) -> Trained:
        """Train one of some members on all rows; inducing inputs, if any, are chosen from the rows ``seen``."""
        if self.rank is None:
            return labels.train(problem, model)
        few = isinstance(labels, SlackLabels)
        if few:
            most = min(SCHEDULE.most_inducing, int(np.sqrt(SCHEDULE.pass_cost / (members * problem.n))))
        else:
            most = min(SCHEDULE.most_inducing_classes, SCHEDULE.feature_numbers // problem.n)
        number = None if isinstance(self.rank, str) else self.rank
        most = max(SCHEDULE.tuning_rank, most)
        inducing = choose_inducing(seen, model.kernel, number, most=most, seed=self.seed)
        start: Sites | None = None
        if few and len(inducing) // _COARSER > 1:
            coarse = choose_inducing(seen, model.kernel, len(inducing) // _COARSER, seed=self.seed)
            start = labels.train(replace(problem, inducing=coarse), model).sites
        return labels.train(replace(problem, inducing=inducing), model, start)
