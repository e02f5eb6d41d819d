"""Wahba's generalised approximate cross-validation for linear slack, eq. (gacv).

    ε = (1/n) Σ [l_1(z_i) + α_i K_ii f(z_i)],  f = 2 for z < -1, 1 for -1 ≤ z ≤ 1, 0 for z > 1,  z = y∘θ*

Points off the support have α = 0, and those on it z ≤ 1, so that f is 1 or 2 wherever it counts, and the only
jumps are those of a misclassified point whose margin passes -1: there ε jumps by C K_ii/n. Between the jumps
it is continuous and has a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import solution_cotangent, train
from marginwise.model import Model
from marginwise.problem import Problem


class GACV(Criterion):
    """An estimate of the leave-one-out hinge loss, hence of a bound on the leave-one-out error.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> round(evaluate("gacv", [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], Hyperparameters(C=2)).value, 3)
    1.225
    """

    name = "gacv"
    leaves_rows = True
    direction = "minimise"
    slacks = ("linear",)
    smooth = False
    scale_free = True
    equation = "eq. (gacv)"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the estimate and the gradient of the smooth piece it lies on."""
        trained = train(problem, model, self.likelihood, state)
        solution, y, weights = trained.solution, trained.problem.y, trained.problem.weights
        n = trained.total_weight
        doubled = trained.margin < -1.0
        factor = np.where(doubled, 2.0, 1.0)
        variance = trained.gram.diagonal()
        value = trained.mean(trained.slack.loss(trained.margin)) + float(solution.alpha @ (variance * factor)) / n
        if not with_gradient:
            return trained.evaluation(value, below_minus_one=int(doubled.sum()))

        # The loss of a marginal support vector stays 0 as the hyperparameters move: bound ones have slopes.
        latent_bar = np.zeros(trained.problem.n)
        latent_bar[solution.bound] = -(y * weights)[solution.bound]
        beta_bar = y * variance * factor
        if len(solution.bound):
            beta_bar += trained.gram[:, solution.bound] @ latent_bar[solution.bound]
        cotangent = solution_cotangent(trained, beta_bar)
        block = np.diag((solution.alpha * factor)[solution.support])
        gradient = None
        if cotangent.status.ok:
            gradient = trained.gradient(cotangent.direction + latent_bar, cotangent.log_C, block) / n
        return trained.evaluation(value, gradient, cotangent.status, below_minus_one=int(doubled.sum()))
