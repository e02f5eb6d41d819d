"""The trained SVM as the criteria see it: repeated rows merged, what their formulas need at hand, and its derivative.

The derivative of the solution is taken backwards, from ∂V/∂β to ∂V/∂K and ∂V/∂log C. On a fixed support set β = y∘α
obeys linear equations: one factorisation differentiates it.

    (K_mm + D) β_m + K_mb β_b = y_m,  β_b = C_b y_b    (m marginal, b bound support vectors)

with D = 0 for linear slack, and D = diag(1/C_i) and no bound ones for quadratic slack. With λ = (K_mm + D)⁻¹ ∂V/∂β_m
and zero elsewhere, the cotangent of K is -sym(λβᵀ).
Where a point enters or leaves the support β is continuous and its slope jumps: the result is the slope on the
side of the support set at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.covariance.dense import DenseCovariance
from marginwise.criteria.base import Evaluation
from marginwise.criteria.factor import factorise
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import Slack, as_slack
from marginwise.model import Model
from marginwise.problem import Problem, merge_repeated
from marginwise.status import CONVERGED, Status
from marginwise.svm.api import solve_svm
from marginwise.svm.base import Solution, describe

#: A margin (natural unit 1) this close to zero is a tie, which H(0) = 1 in eq. (hinge) counts as an error.
_TIE = 1e-10

#: Reciprocal condition below which the derivative of the solution has no correct digit left.
_SINGULAR = 1e-15

_NO_DERIVATIVE = Status(
    False,
    "there is no gradient: the equations of the support vectors are singular to rounding, and their solution "
    "can't be differentiated; shorter length scales or a smaller C·k0 help",
)

#: What a criterion can be started from.
OWN_STATE = "None, or the state of an evaluation of this criterion on this problem"


@dataclass(frozen=True, eq=False)
class Curvature:
    """√L of the points with curvature (their places among the support vectors), and its derivatives."""

    inside: Indices
    root: Array
    by_alpha: Array
    by_log_C: Array


@dataclass(frozen=True, eq=False)
class TrainedSVM:
    """An SVM's solution with what it is the solution of."""

    problem: Problem
    model: Model
    slack: Slack
    solution: Solution

    @cached_property
    def penalties(self) -> Array:
        """C_i = C w_i."""
        return self.problem.penalties(self.model.C)

    @cached_property
    def total_weight(self) -> float:
        """Σ w_i, the n of every average."""
        return float(self.problem.weights.sum())

    @cached_property
    def signed_alpha(self) -> Array:
        """β = y∘α, the expansion coefficients of the latent function."""
        return self.problem.y * self.solution.alpha

    @cached_property
    def margin(self) -> Array:
        """y∘θ*."""
        return self.problem.y * self.solution.latent

    @cached_property
    def marginal_in_support(self) -> Indices:
        """Where the marginal support vectors stand among the support vectors."""
        return np.searchsorted(self.solution.support, self.solution.marginal)

    @property
    def log_maximum(self) -> float:
        """ln Q*(Y|X), the height of the posterior's maximum: eq. (p*yx) times n."""
        kappa = self.slack.log_kappa(self.model.C)
        return float(-0.5 * self.solution.alpha @ self.margin - self._loss + self.total_weight * kappa)

    @property
    def log_maximum_slope(self) -> float:
        """∂ln Q*/∂log C: the maximum moves, but to no first-order effect."""
        C = self.model.C
        return float(self.total_weight * C * self.slack.log_kappa_derivative(C) - self._loss)

    @property
    def _loss(self) -> float:
        return float(self.penalties @ self.slack.loss(self.margin))

    def curvature(self, a: float, exponent: float = 1.0) -> Curvature:
        """Return √L of the marginal support vectors, as Laplace's approximation takes it; without those where it is 0.

        ``a`` and ``exponent`` smooth l_2'', for quadratic slack.
        """
        marginal = self.solution.marginal
        rows = self.slack.root_curvature(self.solution.alpha[marginal], self.penalties[marginal], a, exponent)
        curved = np.flatnonzero(rows.root)
        return Curvature(self.marginal_in_support[curved], *(row[curved] for row in rows))

    def mean(self, values: Array) -> float:
        """Return the weighted mean over the examples."""
        return float(self.problem.weights @ values) / self.total_weight

    def evaluation(
        self, value: float, gradient: Array | None = None, status: Status | None = None, **info: Any
    ) -> Evaluation:
        """Return the evaluation; its status is the solver's where that is not ok, else ``status``."""
        solved = self.solution.status
        reported = solved if status is None or not solved.ok else status
        info = {"support_vectors": len(self.solution.support), **info}
        return Evaluation(value, gradient, reported, state=self.solution, info=info)

    def failed(self, reason: str) -> Evaluation:
        """Return the evaluation of a criterion that has no value here."""
        return self.evaluation(np.nan, None, Status(False, reason))


@dataclass(frozen=True, eq=False)
class DenseTrainedSVM(TrainedSVM):
    """The same with the Gram matrix at hand.

    ``problem`` has no repeated rows: for linear slack the split of α between copies of a row is arbitrary; only
    their sum is fixed. ``rows`` says which rows of the given problem these are.
    """

    covariance: DenseCovariance
    rows: Indices

    @property
    def gram(self) -> Array:
        """K."""
        return self.covariance.gram

    @cached_property
    def support_covariance(self) -> DenseCovariance:
        """The covariance of the support vectors alone."""
        return self.covariance.principal(self.solution.support)

    @property
    def support_gram(self) -> Array:
        """K restricted to the support vectors."""
        return self.support_covariance.gram

    def gradient(self, direction: Array, log_C: float, block: Array | None = None) -> Array:
        """Return the derivatives in log C and the logarithms of the kernel's hyperparameters.

        The cotangent of K is sym(direction βᵀ), zero off the support vectors, plus ``block`` on these;
        ``log_C`` is the derivative that does not come through K.
        """
        support = self.solution.support
        G = symmetric_product(direction[support, None], self.signed_alpha[support, None])
        if block is not None:
            G += block
        return np.concatenate([[log_C], self.support_covariance.contract(G)])


def train(
    problem: Problem,
    model: Model,
    likelihood: Likelihood,
    start: Any = None,
) -> DenseTrainedSVM:
    """Train the SVM on the problem, its repeated rows merged; a likelihood that is no slack has none."""
    merged, rows, _ = merge_repeated(problem, problem.repeats)
    covariance = merged.dense_covariance(model)
    return solve_distinct(merged, rows, model, as_slack(likelihood), covariance, check_start(start, merged.n))


def solve_distinct(
    problem: Problem,
    rows: Indices,
    model: Model,
    slack: Slack,
    covariance: DenseCovariance,
    start: Solution | None,
) -> DenseTrainedSVM:
    """Train the SVM on a problem whose rows all differ."""
    solution = solve_svm(covariance, problem.y, problem.penalties(model.C), slack, start=start)
    return DenseTrainedSVM(problem, model, slack, solution, covariance, rows)


@dataclass(frozen=True, eq=False)
class SolutionCotangent:
    """∂V/∂K = sym(direction βᵀ) and ∂V/∂log C for a function V of the solution, where ``status`` is ok."""

    direction: Array
    log_C: float
    status: Status = CONVERGED


def solution_cotangent(trained: DenseTrainedSVM, beta_bar: Array) -> SolutionCotangent:
    """Return the cotangents of a function V with ∂V/∂β = ``beta_bar``; entries off the support are not read.

    V may depend on the latent values θ = Kβ too: add K ∂V/∂θ to ``beta_bar``, and ∂V/∂θ to the direction.
    """
    solution, beta = trained.solution, trained.signed_alpha
    free, bound = solution.marginal, solution.bound
    ridge = trained.slack.ridge(trained.penalties)[free]
    block = principal_block(trained.support_gram, trained.marginal_in_support).copy()
    block.reshape(-1)[:: len(block) + 1] += ridge  # the diagonal
    factor = factorise(block)
    if factor is None or factor.reciprocal_condition < _SINGULAR:
        return SolutionCotangent(np.zeros_like(beta), 0.0, _NO_DERIVATIVE)
    multiplier = factor.solve(beta_bar[free])
    direction = np.zeros_like(beta)
    direction[free] = -multiplier
    # ∂D/∂log C = -D and ∂β_b/∂log C = β_b, and β_m follows
    by_bound = float(beta[bound] @ (beta_bar[bound] - trained.gram[np.ix_(bound, free)] @ multiplier))
    return SolutionCotangent(direction, float(multiplier @ (ridge * beta[free])) + by_bound)


def check_start(start: Any, n: int) -> Solution | None:
    """Return what a solver for ``n`` points may start from, if that is what it is."""
    if start is not None and not (isinstance(start, Solution) and len(start.alpha) == n):
        raise InvalidInputError("state", start, OWN_STATE)
    return start


def starting_point(latent: Array, y: Array, penalties: Array, slack: Slack, alpha: Array) -> Solution:
    """Return dual variables with their latent values as something to start a solver from."""
    return describe(latent, 1.0, y, penalties, slack, alpha, tolerance=np.inf, iterations=0)


def principal_block(matrix: Array, rows: Indices) -> Array:
    """Return the rows and columns of these ascending indices: the matrix itself if they are all."""
    return matrix if len(rows) == len(matrix) else matrix.take(rows, axis=0).take(rows, axis=1)


def symmetric_product(left: Array, right: Array) -> Array:
    """Return ½(left rightᵀ + right leftᵀ), in one pass over the result."""
    return np.hstack([left, right]) @ np.hstack([0.5 * right, 0.5 * left]).T


def wrong(margin: Array) -> Array:
    """Return H(-z): 1 for a misclassified example or a tie, else 0."""
    return (margin <= _TIE).astype(float)
