"""The Laplace approximation of the evidence around the SVM's solution, for both slack penalties.

    E(Y|X) = (1/n)[ln Q* - ½ ln det(I + LK)],  ln Q* = -½ Σ α_i z_i - Σ C_i l_p(z_i) + n ln κ(C),  z = y∘θ*

Linear slack, eq. (lapnv): over the marginal support vectors, L_i = 2π[α_i(C_i - α_i)/C_i]².
Quadratic slack, eq. (laplace_qu): over all support vectors, L_i = C_i l_2''(z_i), smoothed to
C_i exp[-a/(1 - z_i)ᵖ], p = 1 in the paper.

Of a Gram matrix of low rank, K = VVᵀ + D, the same formulas on m×m matrices:

    ln det(I + LK) = Σ ln(1 + L_iD_i) + ln det A,   A = I + VᵀTV,   T = L/(1 + LD)

Equations of many support vectors are solved by way of m×m ones, too (Woodbury). No n×n matrix is made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve

from marginwise._arrays import Array
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.factor import NOT_POSITIVE_DEFINITE, determinant
from marginwise.criteria.training import Curvature, TrainedSVM, check_start, principal_block, solution_cotangent, train
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.svm.api import solve_problem
from marginwise.svm.low_rank import LEAST, positive_residual

#: Up to this many times the rank, the equations of the free support vectors are solved as they are: where D is tiny,
#: as with nearly as many inducing inputs as rows, Woodbury's formula leaves few correct digits.
_FEW = 2


class LaplaceEvidence(Criterion):
    """The normalised log evidence in Laplace's approximation; ``a`` smooths l_2'', for quadratic slack.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear" or "quadratic".
    a : float, default=0.1
        How far from the margin l_2'' is smoothed.
    exponent : float, default=1
        Of the distance from the margin: exp[-a/(1-z)ᵖ] stands for the step in l_2''. The paper has 1.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(LaplaceEvidence("quadratic"), X, y, Hyperparameters(C=2)).value, 3)
    -0.744
    """

    name = "laplace-evidence"
    direction = "maximise"
    smooth = True
    equation = "eq. (lapnv) for linear slack, eq. (laplace_qu) for quadratic slack"

    def __init__(self, slack: Likelihood | str | None = None, *, a: float = 0.1, exponent: float = 1.0) -> None:
        super().__init__(slack)
        if not (math.isfinite(a) and a >= 0):
            raise InvalidInputError("a", a, "a number that is not negative")
        if not (math.isfinite(exponent) and exponent > 0):
            raise InvalidInputError("exponent", exponent, "a positive number")
        self.a, self.exponent = a, exponent

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient."""
        if problem.inducing is not None:
            trained, gram = _train_low_rank(problem, model, self.likelihood, state)
            return _low_rank(trained, gram, trained.curvature(self.a, self.exponent), with_gradient=with_gradient)
        trained = train(problem, model, self.likelihood, state)
        curved = trained.curvature(self.a, self.exponent)
        K = principal_block(trained.support_gram, curved.inside)
        spread = determinant(K, curved.root)
        if spread is None:
            return trained.failed(NOT_POSITIVE_DEFINITE)
        n = trained.total_weight
        support = trained.solution.support
        points = support[curved.inside]
        value = (trained.log_maximum - 0.5 * spread.log_det) / n
        if not with_gradient:
            return trained.evaluation(value, curved=len(points))

        K_slope, root_slope = spread.slopes()
        beta_bar = np.zeros(trained.problem.n)
        beta_bar[points] = -trained.problem.y[points] * root_slope * curved.by_alpha
        solution = solution_cotangent(trained, beta_bar)
        log_C = trained.log_maximum_slope - float(root_slope @ curved.by_log_C) + solution.log_C
        block = -0.5 * K_slope
        if len(points) < len(support):
            curved_block, block = block, np.zeros_like(trained.support_gram)
            block[np.ix_(curved.inside, curved.inside)] = curved_block
        direction = solution.direction + 0.5 * trained.signed_alpha  # ∂ln Q*/∂K = ½ββᵀ
        gradient = trained.gradient(direction, log_C, block) / n if solution.status.ok else None
        return trained.evaluation(value, gradient, solution.status, curved=len(points))


def _train_low_rank(
    problem: Problem, model: Model, likelihood: Likelihood, start: Any
) -> tuple[TrainedSVM, LowRankCovariance]:
    """Train the SVM. Repeated rows stay: each has a residual of its own, which makes its α unique."""
    gram, slack = problem.undivided_covariance(model), as_slack(likelihood)
    assert isinstance(gram, LowRankCovariance)
    solution = solve_problem(problem, model, slack, covariance=gram, start=check_start(start, problem.n))
    return TrainedSVM(problem, model, slack, solution), gram


def _low_rank(trained: TrainedSVM, gram: LowRankCovariance, curved: Curvature, *, with_gradient: bool) -> Evaluation:
    """Return the evidence and its gradient; ``curved`` is √L of the support vectors with curvature."""
    n, solution = trained.total_weight, trained.solution
    points = solution.support[curved.inside]
    D, root = positive_residual(gram), np.zeros(gram.n)
    root[points] = curved.root
    L = root**2
    T = L / (1.0 + L * D)
    A_inverse, half, log_det = _inverse(gram, T)
    value = (trained.log_maximum - 0.5 * (log_det + float(np.log1p(L * D).sum()))) / n
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
    log_C = trained.log_maximum_slope - float(root_slope @ curved.by_log_C) + by_solution
    return trained.evaluation(value, np.concatenate([[log_C], by_kernel]) / n, curved=len(points))


def _inverse(gram: LowRankCovariance, weights: Array) -> tuple[Array, Array, float]:
    """Return A⁻¹, the inverse of A's lower factor, and ln det A for A = I + Vᵀdiag(weights)V."""
    A = gram.weighted(weights)
    A[np.diag_indices_from(A)] += 1.0
    factor, _ = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1, overwrite_a=1)
    half = lapack.dtrtri(factor, lower=1)[0]
    return half.T @ half, half, 2.0 * float(np.log(factor.diagonal()).sum())


def _support_equations(trained: TrainedSVM, gram: LowRankCovariance, D: Array, beta_bar: Array) -> tuple[Array, float]:
    """Return λ of ``solution_cotangent`` and the derivative with respect to log C."""
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
