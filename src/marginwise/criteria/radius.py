"""The radius-margin bound, eq. (margin_bound): (R²/n) Σα, R the radius of the points in feature space.

The smallest ball around points of equal norm is an SVM with one class. Its centre Σγ_iφ(x_i) maximises
R² = Σγ_i K_ii - γᵀKγ over γ ≥ 0, Σγ = 1 (Schölkopf, Burges & Vapnik 1995). The offset koff cancels, and with
P = K - koff one has γ = u/Σu and R² = k0 - 1/Σu for u = argmax_{u ≥ 0} Σu - ½uᵀPu: the dual of the SVM with
all labels +1 and a hard margin. As P_ij ≥ 0, and (Pu)_i = 1 on the support, u_i ≤ 1/k0: any larger penalty is
a hard margin. Quadratic slack is a hard margin for K + I/C (section svm), its ball is that of this kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marginwise import kernel
from marginwise.criteria.adjoint import solution_cotangent
from marginwise.criteria.contract import Criterion, Evaluation
from marginwise.criteria.training import OWN_STATE, Trained, check_start, principal_block, train
from marginwise.errors import InvalidInputError, choose
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import Likelihood
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status
from marginwise.svm import Solution, solve_dense

Array = npt.NDArray[np.float64]


class RadiusMargin(Criterion):
    """R² times the mean of α; ``radius="bound"`` takes R² ≤ K(x, x) in place of the smallest ball."""

    name = "radius-margin"
    direction = "minimise"
    smooth = True
    scale_free = True
    equation = "eq. (margin_bound)"

    def __init__(self, slack: Likelihood | str | None = None, *, radius: Literal["ball", "bound"] = "ball") -> None:
        super().__init__(slack)
        self.radius = choose("radius", radius, ("ball", "bound"))

    def evaluate(
        self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, *, with_gradient: bool = True
    ) -> Evaluation:
        """Return the bound and its gradient."""
        start, ball_start = _checked(state)
        trained = train(problem, hyperparameters, self.likelihood, start)
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


def smallest_ball(trained: Trained, start: Solution | None = None) -> Ball:
    """Return the smallest ball around the points in the feature space of K, K + I/C for quadratic slack."""
    h = trained.hyperparameters
    ridge, bounded = trained.slack.ridge(trained.penalties), np.isfinite(trained.slack.reach(trained.penalties))
    P = trained.gram - h.koff
    y = np.ones(trained.problem.n)
    penalties = np.where(bounded, 2.0 / h.k0, trained.penalties)
    solution = solve_dense(P, y, penalties, trained.slack, start=check_start(start, len(y)))
    support, total = solution.support, float(solution.alpha.sum())
    centre = solution.alpha[support] / total  # γ
    slack_part = _ridge_of_one(trained)
    squared = max(0.0, h.k0 + slack_part - 1.0 / total)
    # ∂R²/∂K = diag(γ) - γγᵀ at the maximising γ; the diagonal K_ii = k0 + koff moves with k0 and koff alone.
    gradient = -kernel.contract(
        np.outer(centre, centre), principal_block(trained.gram, support), trained.problem.X[support], h
    )
    gradient[1] += h.k0
    gradient[2] += h.koff
    gradient[0] += float(centre**2 @ ridge[support]) - slack_part
    return Ball(squared, gradient, solution.status, solution)


def _norm_bound(trained: Trained) -> Ball:
    """Return R² ≤ K(x, x), with 1/C more for quadratic slack: the ball around the origin."""
    h = trained.hyperparameters
    slack_part = _ridge_of_one(trained)
    gradient = np.zeros(len(h.to_vector()))
    gradient[:3] = -slack_part, h.k0, h.koff
    return Ball(h.k0 + h.koff + slack_part, gradient, CONVERGED, None)


def _ridge_of_one(trained: Trained) -> float:
    """Return what the slack adds to K(x, x) for an example of weight one."""
    return float(trained.slack.ridge(np.array([trained.hyperparameters.C]))[0])


def _checked(state: Any) -> tuple[Solution | None, Solution | None]:
    if state is None:
        return None, None
    if not (isinstance(state, tuple) and len(state) == 2):
        raise InvalidInputError("state", state, OWN_STATE)
    return state
