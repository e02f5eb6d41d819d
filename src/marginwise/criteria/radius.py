"""The radius-margin bound, eq. (margin_bound): (R²/n) Σα, R the radius of the points in feature space.

The centre of the smallest ball is Σγ_iφ(x_i) with the γ that maximises R² = Σγ_i q_i - γᵀPγ over γ ≥ 0, Σγ = 1
(Schölkopf, Burges & Vapnik 1995), P = K and q its diagonal. Quadratic slack is a hard margin for K + I/C (section svm):
q has 1/C more, and P has diag(1/C_i), because the w_i copies that a weight stands for share γ_i. Adding a constant to K
moves all points alike and changes nothing: the offset koff is taken off, and enough is added for all P_ij to be
positive.

Where all q_i are equal, γ = u/Σu and R² = q - 1/Σu for u = argmax_{u ≥ 0} Σu - ½uᵀPu: the dual of the SVM with all
labels +1 and a hard margin. As P_ij ≥ 0, and (Pu)_i = 1 on the support, u_i ≤ 1/P_ii: any larger penalty is a hard
margin. Otherwise γ(μ) = argmax_{γ ≥ 0} Σγ_i(½q_i + μ) - ½γᵀPγ is such an SVM in γ_i(½q_i + μ), Σγ(μ) rises with μ along
pieces of straight lines, and the μ at which it is 1 is found by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import lstsq

from marginwise._arrays import Array
from marginwise.covariance.dense import DenseCovariance
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import OWN_STATE, DenseTrainedSVM, check_start, solution_cotangent, train
from marginwise.errors import InvalidInputError, choose
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import LINEAR
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status
from marginwise.svm.api import solve_svm
from marginwise.svm.base import Solution

#: Relative difference of norms that is rounding.
_EQUAL = 1e-12

#: Rounds of Newton's method for points of unequal norms, and the accuracy of Σγ = 1 that ends it.
_MOST_ROUNDS, _SUMS_TO_ONE = 50, 1e-12


class RadiusMargin(Criterion):
    """R² times the mean of α; ``radius="bound"`` takes R² ≤ K(x, x) in place of the smallest ball.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear" or "quadratic".
    radius : {"ball", "bound"}, default="ball"
        The smallest ball around the rows in feature space, or K(x, x).

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(RadiusMargin("quadratic", radius="bound"), X, y, Hyperparameters(C=2)).value, 3)
    1.039
    """

    name = "radius-margin"
    leaves_rows = True
    direction = "minimise"
    smooth = True
    scale_free = True
    equation = "eq. (margin_bound)"

    def __init__(self, slack: Likelihood | str | None = None, *, radius: Literal["ball", "bound"] = "ball") -> None:
        super().__init__(slack)
        self.radius = choose("radius", radius, ("ball", "bound"))

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the bound and its gradient."""
        start, ball_start = _checked(state)
        trained = train(problem, model, self.likelihood, start)
        ball = smallest_ball(trained, ball_start) if self.radius == "ball" else _norm_bound(trained)
        total = float(trained.solution.alpha.sum())
        value = ball.squared_radius * total / trained.total_weight
        status, gradient = CONVERGED, None
        if with_gradient:
            cotangent = solution_cotangent(trained, trained.problem.y)
            status = cotangent.status
            if status.ok:
                margin_part = trained.gradient(cotangent.direction, cotangent.log_C)
                gradient = (ball.squared_radius * margin_part + total * ball.gradient) / trained.total_weight
        status = status if ball.status.ok else ball.status
        evaluation = trained.evaluation(value, gradient, status, squared_radius=ball.squared_radius)
        return Evaluation(value, gradient, evaluation.status, (trained.solution, ball.solution), evaluation.info)


@dataclass(frozen=True, eq=False)
class Ball:
    """R², its gradient, and the one-class solution it comes from (None for the bound)."""

    squared_radius: float
    gradient: Array
    status: Status
    solution: Solution | None


def smallest_ball(trained: DenseTrainedSVM, start: Solution | None = None) -> Ball:
    """Return the smallest ball around the points in the feature space of K, K + I/C for quadratic slack."""
    ridge, own = trained.slack.ridge(trained.penalties), _own_part(trained)
    P = trained.gram - trained.model.kernel.offset
    P += max(0.0, -float(P.min()))
    q = P.diagonal() + own
    P[np.diag_indices_from(P)] += ridge
    find = _centre if np.ptp(q) <= _EQUAL * q.max() else _centre_of_unequal
    gamma, squared, solution = find(P, q, check_start(start, len(q)))
    support = np.flatnonzero(gamma)
    centre, covariance = gamma[support], trained.covariance.principal(support)
    # ∂R²/∂P = diag(γ) - γγᵀ at the maximising γ
    by_kernel = covariance.kernel.contract_diagonal(centre, covariance.X) - covariance.contract(
        np.outer(centre, centre)
    )
    log_C = float(centre**2 @ ridge[support]) - own
    return Ball(max(0.0, squared), np.concatenate([[log_C], by_kernel]), solution.status, solution)


def _centre(P: Array, q: Array, start: Solution | None) -> tuple[Array, float, Solution]:
    """Return γ, R² and the one-class SVM they come from, where all points have the same norm."""
    solution = solve_svm(DenseCovariance.of_matrix(P), np.ones(len(q)), 2.0 / P.diagonal(), LINEAR, start=start)
    total = float(solution.alpha.sum())
    return solution.alpha / total, float(q[0]) - 1.0 / total, solution


def _centre_of_unequal(P: Array, q: Array, start: Solution | None) -> tuple[Array, float, Solution]:
    """Return the same for points of any norm."""
    shift = float(q.max())  # more added to K, so that μ ≥ 0
    P, q = P + shift, q + shift
    low, high, mu = 0.0, np.inf, shift
    solution = start
    for _ in range(_MOST_ROUNDS):
        pull = 0.5 * q + mu
        hard = 2.0 * pull**2 / P.diagonal()
        solution = solve_svm(
            DenseCovariance.of_matrix(P / np.outer(pull, pull)), np.ones(len(q)), hard, LINEAR, start=solution
        )
        gamma = solution.alpha / pull
        excess = float(gamma.sum()) - 1.0
        if abs(excess) <= _SUMS_TO_ONE:
            break
        low, high = (low, mu) if excess > 0.0 else (mu, high)
        support = solution.support
        slope = float(lstsq(P[np.ix_(support, support)], np.ones(len(support)), check_finite=False)[0].sum())
        mu -= excess / slope if slope > 0.0 else 0.0
        if not low < mu < high:
            mu = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low + shift
    assert solution is not None
    gamma /= gamma.sum()
    return gamma, float(gamma @ q - gamma @ P @ gamma), solution


def _norm_bound(trained: DenseTrainedSVM) -> Ball:
    """Return R² ≤ max K(x, x), with 1/C more for quadratic slack: the ball around the origin."""
    own = _own_part(trained)
    squared = trained.covariance.diagonal + own
    farthest = int(np.argmax(squared))
    by_kernel = trained.covariance.kernel.contract_diagonal(np.ones(1), trained.problem.X[[farthest]])
    gradient = np.concatenate([[-own], by_kernel])
    return Ball(float(squared[farthest]), gradient, CONVERGED, None)


def _own_part(trained: DenseTrainedSVM) -> float:
    """Return what quadratic slack adds to the squared norm of an example: 1/C, whatever its weight."""
    return float(trained.slack.ridge(np.array([trained.model.C]))[0])


def _checked(state: Any) -> tuple[Solution | None, Solution | None]:
    if state is None:
        return None, None
    if not (isinstance(state, tuple) and len(state) == 2):
        raise InvalidInputError("state", state, OWN_STATE)
    return state
