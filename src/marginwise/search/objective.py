"""The function that a search maximises: a criterion on a problem, and a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.base import Criterion, attempt
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search.base import Point, Space
from marginwise.status import Status


@dataclass(frozen=True, eq=False)
class Objective:
    """score = ±criterion + log prior / n as a function of the position in a space; larger is better.

    Parameters
    ----------
    criterion : Criterion
        What is scored.
    problem : Problem
        The data.
    space : Space
        The free hyperparameters and their bounds.
    prior : Prior, optional
        Its logarithm, divided by n, is added.

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> from marginwise.criteria import as_criterion
    >>> from marginwise.problem import as_problem
    >>> problem = as_problem([[0.0], [1.0], [2.0]], [-1, 1, 1])
    >>> objective = Objective(as_criterion("gacv"), problem, Space.around(Hyperparameters()))
    >>> point, state = objective.evaluate(objective.space.start)
    >>> round(point.value, 3), round(point.score, 3)
    (1.238, -1.238)
    """

    criterion: Criterion
    problem: Problem
    space: Space
    prior: Prior | None = None

    def evaluate(self, position: Array, state: Any = None, *, with_gradient: bool = True) -> tuple[Point, Any]:
        """Return the point at ``position`` and what the next evaluation near by can be started from."""
        hyperparameters = self.space.at(position)
        evaluation = attempt(self.criterion, self.problem, hyperparameters, state, with_gradient=with_gradient)
        if not evaluation.status.ok:
            return Point(position, np.nan, np.nan, status=Status(False, evaluation.status.message)), None
        sign = self.criterion.sign
        log_prior, log_prior_gradient = self._prior(hyperparameters)
        gradient, noise = evaluation.gradient, evaluation.info.get("gradient_se")
        return Point(
            position=position,
            value=float(evaluation.value),
            score=sign * float(evaluation.value) + log_prior,
            gradient=None if gradient is None else (sign * gradient + log_prior_gradient)[self.space.free],
            noise=None if noise is None else np.asarray(noise, dtype=float)[self.space.free],
        ), evaluation.state

    def _prior(self, hyperparameters: Model) -> tuple[float, Array]:
        """Return log prior / n and its gradient; n is the sum of the weights, which count repetitions."""
        if self.prior is None:
            return 0.0, np.zeros(len(self.space.origin))
        value, gradient = self.prior.log_density(hyperparameters, self.problem.X.shape[1])
        n = self.problem.weights.sum()
        return float(value / n), gradient / n
