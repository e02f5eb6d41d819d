"""The trained SVM as the criteria see it: repeated rows merged, the quantities of their formulas at hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.covariance import DenseCovariance
from marginwise.criteria.base import Evaluation
from marginwise.errors import InvalidInputError
from marginwise.likelihoods import Likelihood, Slack, as_slack
from marginwise.model import Model
from marginwise.problem import Problem, merge_repeated
from marginwise.status import Status
from marginwise.svm import Solution, solve_svm
from marginwise.svm.base import describe

#: A margin (natural unit 1) this close to zero is a tie, which H(0) = 1 in eq. (hinge) counts as an error.
_TIE = 1e-10

#: What a criterion can be started from.
OWN_STATE = "None, or the state of an evaluation of this criterion on this problem"


@dataclass(frozen=True, eq=False)
class Trained:
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
class DenseTrained(Trained):
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
) -> DenseTrained:
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
) -> DenseTrained:
    """Train the SVM on a problem whose rows all differ."""
    solution = solve_svm(covariance, problem.y, problem.penalties(model.C), slack, start=start)
    return DenseTrained(problem, model, slack, solution, covariance, rows)


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
