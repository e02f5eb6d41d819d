"""Two bounds on the leave-one-out error that cost no more than the solution itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import DenseTrainedSVM, train, wrong
from marginwise.model import Model
from marginwise.problem import Problem


class SupportVectorFraction(Criterion):
    """Training error plus fraction of support vectors: removing any other point changes nothing.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> evaluate("sv-fraction", X, y, Hyperparameters(C=2)).value
    1.0
    """

    name = "sv-fraction"
    leaves_rows = True
    direction = "minimise"
    smooth = False
    scale_free = True
    equation = "section errbounds, after eq. (eloo_def)"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the bound; it is piecewise constant and has no gradient."""
        trained = train(problem, model, self.likelihood, state)
        error, fraction = trained.mean(wrong(trained.margin)), trained.mean(np.sign(trained.solution.alpha))
        return trained.evaluation(error + fraction, training_error=error)


class JaakkolaHaussler(Criterion):
    """The fraction of points with α_i K_ii ≥ y_iθ*_i: no other can be misclassified when left out.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> evaluate("jaakkola-haussler", X, y, Hyperparameters(C=2)).value
    0.5
    """

    name = "jaakkola-haussler"
    leaves_rows = True
    direction = "minimise"
    smooth = False
    scale_free = True
    equation = "section errbounds, y_i(θ*_i - θ^i_i) ≤ α_i K_ii"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the bound; it is piecewise constant and has no gradient."""
        trained = train(problem, model, self.likelihood, state)
        return trained.evaluation(trained.mean(wrong(least_margin(trained))))


def least_margin(trained: DenseTrainedSVM) -> Array:
    """Return a lower bound on the margin y_iθ^i_i of each point when one example of it is left out."""
    alpha = trained.solution.alpha * trained.problem.left_out / trained.problem.weights
    return trained.margin - alpha * trained.gram.diagonal()
