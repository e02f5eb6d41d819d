"""The exact leave-one-out error, eq. (eloo_def), by training again without one point at a time.

Most points need no training. A point that is no support vector changes nothing when it is left out. A
misclassified one stays so: leaving it out can't raise its margin. One with y_iθ*_i > α_i K_ii stays right, by
the bound of Jaakkola & Haussler. The rest are solved again, each started from the solution on all points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.covariance.dense import DenseCovariance
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.bounds import least_margin
from marginwise.criteria.training import DenseTrainedSVM, principal_block, starting_point, train, wrong
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status
from marginwise.svm.api import solve_svm

#: Distance from zero beyond which the bound is trusted over a second training (its natural unit is 1).
_SURE = 1e-6


class LeaveOneOut(Criterion):
    """The fraction of points misclassified by an SVM trained on all the others.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> round(evaluate("loo", [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], Hyperparameters(C=2)).value, 3)
    0.0
    """

    name = "loo"
    leaves_rows = True
    direction = "minimise"
    smooth = False
    scale_free = True
    equation = "eq. (eloo_def)"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the error; it is piecewise constant and has no gradient."""
        trained = train(problem, model, self.likelihood, state)
        margin = trained.margin.copy()
        at_risk = (trained.solution.alpha > 0.0) & (least_margin(trained) <= _SURE)
        undecided = np.flatnonzero(at_risk & (wrong(margin) == 0.0))
        status = CONVERGED
        for left_out in leave_out(trained, undecided):
            margin[left_out.point] = trained.problem.y[left_out.point] * left_out.latent
            status = left_out.status if status.ok else status
        return trained.evaluation(trained.mean(wrong(margin)), None, status, trainings=1 + len(undecided))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The SVM trained without one example of ``point``: θ^i_i, all α (0 for a point left out whole), and the status."""

    point: int
    latent: float
    alpha: Array
    status: Status


def leave_out(trained: DenseTrainedSVM, points: Indices) -> Iterator[LeftOut]:
    """Yield the SVM without each of these points, in no particular order."""
    remainder = trained.problem.weights - trained.problem.left_out
    whole = remainder[points] <= 0.0
    if trained.problem.n > 1:
        yield from _without(trained, np.sort(points[whole]))
    else:
        yield from (LeftOut(int(i), 0.0, np.zeros(1), CONVERGED) for i in points[whole])
    for i in points[~whole]:
        yield _lightened(trained, int(i), float(remainder[i]))


def _without(trained: DenseTrainedSVM, points: Indices) -> Iterator[LeftOut]:
    """Leave ascending points out altogether; from one to the next one row and column of the matrix change."""
    y, penalties, beta, full = trained.problem.y, trained.penalties, trained.signed_alpha, trained.solution
    rows = np.arange(1, trained.problem.n)
    outside = 0
    K = principal_block(trained.gram, rows)
    for i in points:
        if i != outside:
            place = i - 1  # where i has been since the beginning, the points before it being smaller
            rows[place], outside = outside, i
            K[place] = K[:, place] = trained.gram[rows[place], rows]
        latent = full.latent[rows] - trained.gram[rows, i] * beta[i]
        start = starting_point(latent, y[rows], penalties[rows], trained.slack, full.alpha[rows])
        solution = solve_svm(DenseCovariance.of_matrix(K), y[rows], penalties[rows], trained.slack, start=start)
        alpha = np.zeros(trained.problem.n)
        alpha[rows] = solution.alpha
        yield LeftOut(int(i), float(trained.gram[i] @ (y * alpha)), alpha, solution.status)


def _lightened(trained: DenseTrainedSVM, i: int, weight: float) -> LeftOut:
    """Lower the weight of a row to ``weight``."""
    full, y = trained.solution, trained.problem.y
    penalties = trained.penalties.copy()
    penalties[i] = trained.model.C * weight
    alpha = full.alpha.copy()
    alpha[i] = min(alpha[i], penalties[i])
    latent = full.latent + trained.gram[:, i] * (y[i] * (alpha[i] - full.alpha[i]))
    start = starting_point(latent, y, penalties, trained.slack, alpha)
    solution = solve_svm(trained.covariance, y, penalties, trained.slack, start=start)
    return LeftOut(i, float(solution.latent[i]), solution.alpha, solution.status)
