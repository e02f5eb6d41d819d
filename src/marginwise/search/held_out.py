"""Errors on data that the criterion does not see, and early stopping by them (section overfitting)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marginwise._arrays import Array
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import as_slack
from marginwise.model import Model
from marginwise.multiclass.posterior import least_squares
from marginwise.problem import MulticlassProblem, Problem
from marginwise.search.trace import Trace
from marginwise.status import Code, Status
from marginwise.svm.api import solve_problem, svm_covariance

#: The name of the set that stops a search; errors on all others are recorded only.
VALIDATION = "validation"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sets of examples on which the error is measured wherever a search moves to: the SVM's, or that of least squares.

    The latter where classes are more than two.

    Attributes
    ----------
    problem, likelihood : Problem, Likelihood
        What the SVM is trained with: where there are sets, the likelihood must be a slack.
    sets : dict of Problem
        The held-out examples by name.
    patience : int
        The search ends when the error on the set "validation" has not fallen for so many moves.

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> from marginwise.likelihoods import LINEAR
    >>> from marginwise.problem import as_problem
    >>> problem, test = as_problem([[0.0], [1.0]], [-1, 1]), as_problem([[0.2], [0.9]], [-1, 1])
    >>> HeldOut(problem, LINEAR, {"test": test}).errors(Hyperparameters())
    {'test': 0.0}
    """

    problem: Problem
    likelihood: Likelihood
    sets: dict[str, Problem] = field(default_factory=dict)
    patience: int = 10

    def __post_init__(self) -> None:
        if self.sets:
            as_slack(self.likelihood)

    @property
    def stops(self) -> str | None:
        """The name of the set that stops the search, if there is one."""
        return VALIDATION if VALIDATION in self.sets else None

    def errors(self, hyperparameters: Model) -> dict[str, float]:
        """Return the fraction of wrong labels on each set."""
        if not self.sets:
            return {}
        if isinstance(self.problem, MulticlassProblem):
            predictor = least_squares(self.problem, hyperparameters).predictor
            return {
                name: float(np.average(predictor.scores(held.X).argmax(axis=1) != held.labels, weights=held.weights))
                for name, held in self.sets.items()
            }
        covariance = svm_covariance(self.problem, hyperparameters)
        solution = solve_problem(self.problem, hyperparameters, as_slack(self.likelihood), covariance=covariance)
        signed = self.problem.y * solution.alpha
        return {name: _error(held, covariance.function_at(held.X, signed)) for name, held in self.sets.items()}

    def ended(self, trace: Trace) -> Status | None:
        """Return that the search is to end, if the validation error has not fallen for long enough."""
        if not self.stops or not trace[-1].step.accepted:
            return None
        errors = [record.errors[VALIDATION] for record in trace.accepted]
        since = len(errors) - 1 - int(np.argmin(errors))
        if since < self.patience:
            return None
        return Status(True, f"stopped early: the validation error has not fallen for {since} moves", Code.STOPPED)


def _error(held: Problem, latent: Array) -> float:
    return float(np.average(held.y * latent <= 0.0, weights=held.weights))
