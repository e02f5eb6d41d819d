"""The exact leave-one-out error, eq. (eloo_def), by training again without one point at a time.

Most points need no training. A point that is no support vector changes nothing when it is left out. A
misclassified one stays so: leaving it out can't raise its margin. One with y_iθ*_i > α_i K_ii stays right, by
the bound of Jaakkola & Haussler. The rest are solved again, each started from the solution on all points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise.criteria.bounds import least_margin
from marginwise.criteria.contract import Criterion, Evaluation
from marginwise.criteria.training import Trained, principal_block, starting_point, train, wrong
from marginwise.hyperparameters import Hyperparameters
from marginwise.problem import Problem
from marginwise.solve import Solution, solve_dense

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

#: Distance from zero beyond which the bound is trusted over a second training (its natural unit is 1).
_SURE = 1e-6


class LeaveOneOut(Criterion):
    """The fraction of points misclassified by an SVM trained on all the others."""

    name = "loo"
    direction = "minimise"
    smooth = False
    scale_free = True
    equation = "eq. (eloo_def)"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None) -> Evaluation:
        """Return the error; it is piecewise constant and has no gradient."""
        trained = train(problem, hyperparameters, self.slack, state)
        margin = trained.margin.copy()
        at_risk = (trained.solution.alpha > 0.0) & (least_margin(trained) <= _SURE)
        undecided = np.flatnonzero(at_risk & (wrong(margin) == 0.0))
        status = None
        for i, latent, solution in left_out_latents(trained, undecided):
            margin[i] = trained.problem.y[i] * latent
            status = solution.status if solution is not None and not solution.status.ok else status
        return trained.evaluation(trained.mean(wrong(margin)), None, status, trainings=1 + len(undecided))


def left_out_latents(trained: Trained, points: Indices) -> Iterator[tuple[int, float, Solution | None]]:
    """Yield each point with θ^i_i, its latent value when one copy of it is left out, and the solution then.

    The solution is None if no example is left to train on.
    """
    remainder = trained.problem.weights - trained.left_out
    whole = points[remainder[points] <= 0.0]
    yield from _without(trained, whole)
    for i in points[remainder[points] > 0.0]:
        solution = _lightened(trained, int(i), remainder[i])
        yield int(i), float(solution.latent[i]), solution


def _without(trained: Trained, points: Indices) -> Iterator[tuple[int, float, Solution | None]]:
    """Leave each point out altogether: from one to the next a row and a column of the Gram matrix change."""
    y, penalties, beta, full = trained.problem.y, trained.penalties, trained.signed_alpha, trained.solution
    if trained.problem.n == 1:
        yield from ((int(i), 0.0, None) for i in points)
        return
    rows = np.arange(1, trained.problem.n)
    outside = 0
    K = principal_block(trained.gram, rows)
    for i in points:
        if i != outside:
            place = int(i) - 1  # rows[j - 1] = j until j is left out, and points come in ascending order
            rows[place], outside = outside, int(i)
            K[place] = K[:, place] = trained.gram[rows[place], rows]
        latent = full.latent[rows] - trained.gram[rows, i] * beta[i]
        start = starting_point(latent, y[rows], penalties[rows], trained.slack, full.alpha[rows])
        solution = solve_dense(K, y[rows], penalties[rows], trained.slack, start=start)
        support = solution.support
        value = trained.gram[i, rows[support]] @ (y[rows[support]] * solution.alpha[support])
        yield int(i), float(value), solution


def _lightened(trained: Trained, i: int, weight: float) -> Solution:
    """Train with the weight of one row lowered to ``weight``."""
    full, y = trained.solution, trained.problem.y
    penalties = trained.penalties.copy()
    penalties[i] = trained.hyperparameters.C * weight
    alpha = full.alpha.copy()
    alpha[i] = min(alpha[i], penalties[i])
    latent = full.latent + trained.gram[:, i] * (y[i] * (alpha[i] - full.alpha[i]))
    start = starting_point(latent, y, penalties, trained.slack, alpha)
    return solve_dense(trained.gram, y, penalties, trained.slack, start=start)
