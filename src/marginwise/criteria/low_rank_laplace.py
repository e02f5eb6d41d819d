"""The Laplace evidence of a Gram matrix of low rank, K = VVᵀ + D: the same formulas on m×m matrices.

    ln det(I + LK) = Σ ln(1 + L_iD_i) + ln det A,   A = I + VᵀTV,   T = L/(1 + LD)

Equations of many support vectors are solved by way of m×m ones, too (Woodbury). No n×n matrix is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack, solve

from marginwise._arrays import Array
from marginwise.covariance import LowRankCovariance
from marginwise.criteria.base import Evaluation
from marginwise.criteria.curvature import Curvature, log_maximum, log_maximum_slope
from marginwise.criteria.training import Trained, check_start
from marginwise.likelihoods import Likelihood, as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.svm import solve_problem
from marginwise.svm.low_rank import LEAST, positive_residual

#: Up to this many times the rank, the equations of the free support vectors are solved as they are: where D is tiny,
#: as with nearly as many inducing inputs as rows, Woodbury's formula leaves few correct digits.
_FEW = 2


def train_low_rank(
    problem: Problem, model: Model, likelihood: Likelihood, start: Any
) -> tuple[Trained, LowRankCovariance]:
    """Train the SVM. Repeated rows stay: each has a residual of its own, which makes its α unique."""
    gram, slack = problem.undivided_covariance(model), as_slack(likelihood)
    assert isinstance(gram, LowRankCovariance)
    solution = solve_problem(problem, model, slack, covariance=gram, start=check_start(start, problem.n))
    return Trained(problem, model, slack, solution), gram


def laplace_low_rank(
    trained: Trained, gram: LowRankCovariance, curved: Curvature, *, with_gradient: bool
) -> Evaluation:
    """Return the evidence and its gradient; ``curved`` is √L of the support vectors with curvature."""
    n, solution = trained.total_weight, trained.solution
    points = solution.support[curved.inside]
    D, root = positive_residual(gram), np.zeros(gram.n)
    root[points] = curved.root
    L = root**2
    T = L / (1.0 + L * D)
    A_inverse, half, log_det = _inverse(gram, T)
    value = (log_maximum(trained) - 0.5 * (log_det + float(np.log1p(L * D).sum()))) / n
    if not with_gradient:
        return trained.evaluation(value, curved=len(points))

    spread = gram.moments(np.zeros(gram.rank), half)[1]  # of the values Vu
    gain = T * (1.0 - T * spread)
    v = spread / (1.0 - T * spread) + D
    root_slope = (root * v / (1.0 + L * v))[points]  # ½ ∂ln det/∂√L = √L S_ii, S = (K⁻¹ + L)⁻¹
    beta, beta_bar = trained.signed_alpha, np.zeros(gram.n)
    beta_bar[points] = -trained.problem.y[points] * root_slope * curved.by_alpha
    multiplier, by_solution = _support_equations(trained, gram, D, beta_bar)
    direction = 0.5 * beta - multiplier

    residual_bar = direction * beta - 0.5 * gain
    floor = gram.residual < D
    by_kernel = gram.contract(
        np.column_stack([direction, beta]),
        np.array([gram.project(beta), gram.project(direction)]),
        -T[:, None],
        A_inverse[None],
        np.where(floor, 0.0, residual_bar),
    )
    floor_bar = LEAST[gram.single] * float(residual_bar[floor].sum()) / gram.n
    by_kernel += gram.contract_prior_variance(np.full(gram.n, floor_bar))
    log_C = log_maximum_slope(trained) - float(root_slope @ curved.by_log_C) + by_solution
    return trained.evaluation(value, np.concatenate([[log_C], by_kernel]) / n, curved=len(points))


def _inverse(gram: LowRankCovariance, weights: Array) -> tuple[Array, Array, float]:
    """Return A⁻¹, the inverse of A's lower factor, and ln det A for A = I + Vᵀdiag(weights)V."""
    A = gram.weighted(weights)
    A[np.diag_indices_from(A)] += 1.0
    factor, _ = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1, overwrite_a=1)
    half = lapack.dtrtri(factor, lower=1)[0]
    return half.T @ half, half, 2.0 * float(np.log(factor.diagonal()).sum())


def _support_equations(trained: Trained, gram: LowRankCovariance, D: Array, beta_bar: Array) -> tuple[Array, float]:
    """Return λ of ``adjoint.solution_cotangent`` and the derivative with respect to log C."""
    solution, beta = trained.solution, trained.signed_alpha
    free, bound = solution.marginal, solution.bound
    ridge = trained.slack.ridge(trained.penalties)
    own = D + ridge
    multiplier = np.zeros(gram.n)
    if len(free) <= _FEW * gram.rank:
        V = gram.features_of(free)
        multiplier[free] = solve(V @ V.T + np.diag(own[free]), beta_bar[free], assume_a="pos", check_finite=False)
    else:
        stiffness = np.zeros(gram.n)
        stiffness[free] = 1.0 / own[free]
        A_inverse = _inverse(gram, stiffness)[0]
        pulled = stiffness * beta_bar
        multiplier = pulled - stiffness * gram.expand(A_inverse @ gram.project(pulled))
    across = gram.expand(gram.project(multiplier))
    return multiplier, float(multiplier @ (ridge * beta)) + float(beta[bound] @ (beta_bar - across)[bound])
