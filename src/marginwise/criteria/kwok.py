"""Kwok's Laplace evidence for linear slack, the variant that section approxevid describes and sets aside.

The hinge loss is smoothed to s(z) = (1-z)/(1 + exp[-c(1-z)]), and eq. (lapnv) is taken with the whole Gram
matrix and the curvatures W_i = C_i s''(z_i), z = y∘θ*:  E(Y|X) = (1/n)[ln Q* - ½ ln det(I + WK)].

The SVM's solution is no maximum of the smoothed posterior, and s'' is negative for |c(1-z)| > 2.4: where such
curvatures outweigh the rest there is no Gaussian to expand around, and the status says so. With the positive
and the negative part, W = P - N, and S = (K⁻¹ + P)⁻¹: ln det(I + WK) = ln det(I + PK) + ln det(I - √N S √N).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.factor import NOT_POSITIVE_DEFINITE, Factor, determinant, factorise
from marginwise.criteria.training import principal_block, solution_cotangent, symmetric_product, train
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model
from marginwise.problem import Problem

_NO_MAXIMUM = (
    "the smoothed posterior has no maximum near the SVM's solution: the negative curvature of Kwok's loss "
    "outweighs the rest; a smaller C·k0 or another c helps, or criterion 'laplace-evidence'"
)


class KwokEvidence(Criterion):
    """The normalised log evidence with the hinge loss smoothed by a sigmoid of slope ``c``.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear", the only one.
    c : float, default=5.0
        How sharp the smoothed hinge is.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(KwokEvidence(c=4.0), X, y, Hyperparameters(C=2)).value, 3)
    -1.301
    """

    name = "kwok-evidence"
    direction = "maximise"
    slacks = ("linear",)
    smooth = True
    equation = "section approxevid, after eq. (p*yx); Kwok (2000)"

    def __init__(self, slack: Likelihood | str | None = None, *, c: float = 5.0) -> None:
        super().__init__(slack)
        if not (math.isfinite(c) and c > 0):
            raise InvalidInputError("c", c, "a positive number")
        self.c = c

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient, or a status where the expansion has no value."""
        trained = train(problem, model, self.likelihood, state)
        n = trained.total_weight
        second, third = smoothed_curvature(trained.margin, self.c)
        W = trained.penalties * second
        # A curvature whose effect on the determinant is below rounding is left out: a change of nothing.
        rows = np.flatnonzero(np.abs(W) * trained.gram.diagonal() > np.finfo(float).eps / trained.problem.n)
        K = principal_block(trained.gram, rows)
        result = _log_determinant(K, W[rows])
        if isinstance(result, str):
            return trained.failed(result)
        value = (trained.log_maximum - 0.5 * result.log_det) / n
        if not with_gradient:
            return trained.evaluation(value)

        K_slope, W_slope = result.slopes()
        latent_bar = np.zeros(trained.problem.n)
        latent_bar[rows] = -0.5 * W_slope * (trained.problem.y * trained.penalties * third)[rows]
        solution = solution_cotangent(trained, trained.gram @ latent_bar)
        gradient = None
        if solution.status.ok:
            beta = trained.signed_alpha
            direction = 0.5 * beta + solution.direction + latent_bar
            G = symmetric_product(direction[:, None], beta[:, None])
            G[np.ix_(rows, rows)] -= 0.5 * K_slope
            log_C = trained.log_maximum_slope - 0.5 * float(W_slope @ W[rows]) + solution.log_C
            gradient = np.concatenate([[log_C], trained.covariance.contract(G)]) / n
        return trained.evaluation(value, gradient, solution.status)


def smoothed_curvature(margin: Array, c: float) -> tuple[Array, Array]:
    """Return s''(z) and s'''(z).

    With x = c(1-z), t = tanh(x/2) and p = (1 - t²)/4, so that p' = -pt and t' = 2p: s'' = c p(2 - xt).
    """
    x = np.clip(c * (1.0 - margin), -1e3, 1e3)  # beyond, p is 0
    t = np.tanh(0.5 * x)
    p = 0.25 / np.cosh(0.5 * x) ** 2
    return c * p * (2.0 - x * t), c**2 * p * (t * (2.0 - x * t) + t + 2.0 * x * p)


@dataclass(frozen=True, eq=False)
class _LogDeterminant:
    """ln det(I + WK) = ln det(I + PK) + ln det(I - √N S √N), the latter by the factor ``negative``."""

    rising: Indices
    falling: Indices
    log_det: float
    positive_slopes: tuple[Array, Array]
    negative: Factor
    root: Array  # √P
    drop: Array  # √N
    J: Array  # the columns of (I + PK)⁻¹ for falling points: S = KJ, dS = Jᵀ dK J
    S: Array

    def slopes(self) -> tuple[Array, Array]:
        """Return the derivatives in K and W."""
        rising, falling, J, S = self.rising, self.falling, self.J, self.S
        by_K, by_root = self.positive_slopes
        T = self.drop[:, None] * self.negative.inverse() * self.drop
        K_slope = -J @ T @ J.T
        K_slope[np.ix_(rising, rising)] += by_K
        W_slope = np.einsum("ij,ij->i", S @ T, S)
        W_slope[rising] += by_root / self.root
        W_slope[falling] += S[falling].diagonal()
        return K_slope, W_slope


def _log_determinant(K: Array, W: Array) -> _LogDeterminant | str:
    """Return ln det(I + WK), or why there is none."""
    rising, falling = np.flatnonzero(W > 0.0), np.flatnonzero(W <= 0.0)
    root = np.sqrt(W[rising])
    positive = determinant(principal_block(K, rising), root)
    if positive is None:
        return NOT_POSITIVE_DEFINITE
    slopes = positive.slopes()
    J = np.zeros((len(W), len(falling)))
    J[falling, np.arange(len(falling))] = 1.0
    J[rising] = -slopes[0] @ K[np.ix_(rising, falling)]
    S = K @ J
    drop = np.sqrt(-W[falling])
    negative = factorise(np.eye(len(falling)) - drop[:, None] * S[falling] * drop)
    if negative is None:
        return _NO_MAXIMUM
    log_det = positive.log_det + negative.log_det
    return _LogDeterminant(rising, falling, log_det, slopes, negative, root, drop, J, S)
