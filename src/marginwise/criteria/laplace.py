"""The Laplace approximation of the evidence around the SVM's solution, for both slack penalties.

    E(Y|X) = (1/n)[ln Q* - ½ ln det(I + LK)],  ln Q* = -½ Σ α_i z_i - Σ C_i l_p(z_i) + n ln κ(C),  z = y∘θ*

Linear slack, eq. (lapnv): over the marginal support vectors, L_i = 2π[α_i(C_i - α_i)/C_i]².
Quadratic slack, eq. (laplace_qu): over all support vectors, L_i = C_i l_2''(z_i), smoothed to
C_i exp[-a/(1 - z_i)].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.adjoint import solution_cotangent
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.curvature import curvature, log_maximum, log_maximum_slope
from marginwise.criteria.factor import Factor, factorise
from marginwise.criteria.low_rank_laplace import laplace_low_rank, train_low_rank
from marginwise.criteria.training import principal_block, train
from marginwise.errors import InvalidInputError
from marginwise.likelihoods import Likelihood
from marginwise.model import Model
from marginwise.problem import Problem

NOT_POSITIVE_DEFINITE = (
    "the determinant of I + LK could not be computed: the Gram matrix is so close to singular that rounding makes "
    "it indefinite; a smaller C·k0 or shorter length scales help"
)


class LaplaceEvidence(Criterion):
    """The normalised log evidence in Laplace's approximation; ``a`` smooths l_2'', for quadratic slack.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear" or "quadratic".
    a : float, default=0.1
        How far from the margin l_2'' is smoothed.

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

    def __init__(self, slack: Likelihood | str | None = None, *, a: float = 0.1) -> None:
        super().__init__(slack)
        if not (math.isfinite(a) and a >= 0):
            raise InvalidInputError("a", a, "a number that is not negative")
        self.a = a

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient."""
        if problem.inducing is not None:
            trained, gram = train_low_rank(problem, model, self.likelihood, state)
            return laplace_low_rank(trained, gram, curvature(trained, self.a), with_gradient=with_gradient)
        trained = train(problem, model, self.likelihood, state)
        curved = curvature(trained, self.a)
        K = principal_block(trained.support_gram, curved.inside)
        spread = determinant(K, curved.root)
        if spread is None:
            return trained.failed(NOT_POSITIVE_DEFINITE)
        n = trained.total_weight
        support = trained.solution.support
        points = support[curved.inside]
        value = (log_maximum(trained) - 0.5 * spread.log_det) / n
        if not with_gradient:
            return trained.evaluation(value, curved=len(points))

        K_slope, root_slope = spread.slopes()
        beta_bar = np.zeros(trained.problem.n)
        beta_bar[points] = -trained.problem.y[points] * root_slope * curved.by_alpha
        solution = solution_cotangent(trained, beta_bar)
        log_C = log_maximum_slope(trained) - float(root_slope @ curved.by_log_C) + solution.log_C
        block = -0.5 * K_slope
        if len(points) < len(support):
            curved_block, block = block, np.zeros_like(trained.support_gram)
            block[np.ix_(curved.inside, curved.inside)] = curved_block
        direction = solution.direction + 0.5 * trained.signed_alpha  # ∂ln Q*/∂K = ½ββᵀ
        gradient = trained.gradient(direction, log_C, block) / n if solution.status.ok else None
        return trained.evaluation(value, gradient, solution.status, curved=len(points))


@dataclass(frozen=True, eq=False)
class Determinant:
    """ln det(I + LK), L = diag(root²), by the factor of B = I + √L K √L."""

    K: Array
    root: Array
    factor: Factor

    @property
    def log_det(self) -> float:
        """ln det(I + LK)."""
        return self.factor.log_det

    def slopes(self) -> tuple[Array, Array]:
        """Return its derivatives in K and, for each point, half of that in √L."""
        inverse = self.factor.inverse()
        # S = (K⁻¹ + L)⁻¹ has √L S = B⁻¹√L K and √L S √L = I - B⁻¹; ½ ∂ln det/∂√L_i = √L_i S_ii is taken from the
        # one in which no digits cancel.
        share = 1.0 - inverse.diagonal()
        small = share < 0.5
        indirect = np.einsum("ij,j,ij->i", inverse, self.root, self.K)
        root_slope = np.where(small, indirect, share / np.where(small, 1.0, self.root))
        inverse *= self.root[:, None]
        inverse *= self.root
        return inverse, root_slope


def determinant(K: Array, root: Array) -> Determinant | None:
    """Return ln det(I + LK), L = diag(root²), or None if rounding makes B = I + √L K √L indefinite."""
    B = K * root
    B *= root[:, None]
    B[np.diag_indices_from(B)] += 1.0
    factor = factorise(B)
    return None if factor is None else Determinant(K, root, factor)
