"""How labels are predicted with a model: by expectation propagation; for many classes by least squares or softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria import Criterion
from marginwise.inference.api import site_posterior
from marginwise.many import EP, LEAST_SQUARES, METHODS, MOST_SOFTMAX, SOFTMAX, best_softmax_C
from marginwise.model import Model
from marginwise.problem import ClassProblem, Problem


@dataclass(frozen=True)
class Method:
    """A method by its name; ``C`` takes the place of the model's, if it is not None."""

    name: str
    C: float | None = None

    def probability(self, problem: Problem, criterion: Criterion, model: Model, X_new: Array) -> Array:
        """Return the probability of each class at new points."""
        if self.name == EP:
            return site_posterior(problem, model, criterion.likelihood, with_gradient=False).predict_proba(X_new)
        posterior = METHODS[self.name](problem, model if self.C is None else model.with_C(self.C))
        return np.exp(posterior.fitted_link().log_proba(*posterior.predictor.moments(X_new)))


def first_method(problem: Problem) -> Method:
    """Return the method that all rungs are judged with."""
    return Method(LEAST_SQUARES if isinstance(problem, ClassProblem) else EP)


def second_method(problem: Problem, model: Model) -> Method | None:
    """Return the softmax likelihood for more than two classes, with the C under which examples left out do best."""
    if not isinstance(problem, ClassProblem) or problem.n_classes > MOST_SOFTMAX:
        return None
    C = best_softmax_C(problem, model)
    return None if C is None else Method(SOFTMAX, C)
