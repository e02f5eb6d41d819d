"""k-fold cross-validation of the SVM: its error, and the log-loss of its normalised probabilities.

Examples are assigned to the folds: equal rows are in one fold if they are one example, and otherwise spread over them.
Groups of rows that are left out together are in one fold.

The log-loss takes Q(y|θ) = t(yθ)/[t(θ) + t(-θ)], t(z) = exp[-C l_p(z)], the likelihood of eq. (lh) normalised
over the two labels, at the latent value of the SVM trained without the fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from marginwise._arrays import Array
from marginwise.covariance.dense import DenseCovariance
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import (
    OWN_STATE,
    DenseTrainedSVM,
    check_start,
    solution_cotangent,
    solve_distinct,
    starting_point,
    symmetric_product,
    wrong,
)
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import Slack, as_slack
from marginwise.model import Model
from marginwise.multiplicity import assign_folds
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status
from marginwise.svm.api import solve_problem
from marginwise.svm.base import Solution


class _Folded(Criterion):
    """What the two criteria share: into how many folds the rows go, and the seed that assigns them."""

    direction = "minimise"

    def __init__(self, slack: Likelihood | str | None = None, *, folds: int = 10, seed: int = 0) -> None:
        super().__init__(slack)
        if folds != int(folds) or folds < 2:
            raise InvalidInputError("folds", folds, "a whole number, 2 or more")
        self.folds, self.seed = int(folds), seed

    def _validate(self, problem: Problem, model: Model, state: Any) -> _Validation:
        distinct = problem.distinct
        return _validate(
            distinct, fold_counts(distinct, self.folds, self.seed), model, as_slack(self.likelihood), state
        )


class CrossValidationError(_Folded):
    """The fraction of rows misclassified by the SVM trained without their fold.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear" or "quadratic".
    folds : int, default=10
        Number of folds, stratified.
    seed : int, default=0
        Deals the rows out, in the same way at every evaluation.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(CrossValidationError(folds=2), X, y, Hyperparameters(C=2)).value, 3)
    0.5
    """

    name = "cross-validation"
    smooth = False
    scale_free = True
    equation = "eq. (eloo_def) with folds for points; Stone (1974)"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the error; it is piecewise constant and has no gradient."""
        validation = self._validate(problem, model, state)
        error = float((validation.shares * wrong(validation.margin)).sum())
        return Evaluation(error, None, validation.status, validation.state)


class CrossValidationLogLoss(_Folded):
    """The mean of -ln Q(y|θ) over rows, θ that of the SVM trained without their fold.

    Parameters
    ----------
    slack : str or Slack, optional
        "linear" or "quadratic".
    folds : int, default=10
        Number of folds, stratified.
    seed : int, default=0
        Deals the rows out, in the same way at every evaluation.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(CrossValidationLogLoss(folds=2), X, y, Hyperparameters(C=2)).value, 3)
    0.377
    """

    name = "cross-validation-log-loss"
    smooth = True
    equation = "eq. (lh), normalised over the two labels and cross-validated"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the log-loss and its gradient."""
        validation = self._validate(problem, model, state)
        slack, C, shares, margin = as_slack(self.likelihood), model.C, validation.shares, validation.margin
        excess = C * (slack.loss(margin) - slack.loss(-margin))  # ln t(-z) - ln t(z)
        value = float((shares * np.logaddexp(0.0, excess)).sum())
        if not with_gradient:
            return Evaluation(value, None, validation.status, validation.state)
        slope = shares * expit(excess)
        signs = validation.problem.y[:, None]
        latent_bar = slope * signs * C * (slack.derivative(margin) + slack.derivative(-margin))
        gradient, status = validation.pull_back(latent_bar)
        if gradient is not None:
            gradient[0] += float((slope * excess).sum())
        return Evaluation(value, gradient, status, validation.state)


@dataclass(frozen=True, eq=False)
class _Validation:
    """What each row's latent value is when a fold is left out, and the SVMs (None: no row left) that gave it.

    Matrices have a row for each of the problem's and a column for each fold. ``counts`` says how many examples of a row
    are in a fold: the others of the same row stay in when that is left out.
    """

    problem: Problem
    covariance: DenseCovariance
    counts: Array
    trained: tuple[DenseTrainedSVM | None, ...]
    latent: Array

    @property
    def shares(self) -> Array:
        """The shares of all rows in all folds in the mean."""
        weights = self.problem.left_out[:, None] * self.counts
        return weights / float(weights.sum())

    @property
    def margin(self) -> Array:
        """y∘θ."""
        return self.problem.y[:, None] * self.latent

    @property
    def state(self) -> tuple[Solution | None, ...]:
        return tuple(None if t is None else t.solution for t in self.trained)

    @property
    def status(self) -> Status:
        failures = [t.solution.status for t in self.trained if t is not None and not t.solution.status.ok]
        return failures[0] if failures else CONVERGED

    def pull_back(self, latent_bar: Array) -> tuple[Array | None, Status]:
        """Return the gradient, through K and the solutions, of a function with these slopes in ``latent``."""
        left, right = np.zeros_like(latent_bar), np.zeros_like(latent_bar)  # the cotangent of K is sym(left rightᵀ)
        log_C = 0.0
        for f, trained in enumerate(self.trained):
            if trained is None:
                continue
            test, support = np.flatnonzero(self.counts[:, f]), trained.solution.support
            beta_bar = np.zeros(trained.problem.n)
            beta_bar[support] = self.covariance.gram[np.ix_(trained.rows[support], test)] @ latent_bar[test, f]
            cotangent = solution_cotangent(trained, beta_bar)
            if not cotangent.status.ok:
                return None, cotangent.status
            left[test, f] = latent_bar[test, f]
            left[trained.rows, f] += cotangent.direction
            right[trained.rows, f] = trained.signed_alpha
            log_C += cotangent.log_C
        by_kernel = self.covariance.contract(symmetric_product(left, right))
        return np.concatenate([[log_C], by_kernel]), self.status


def fold_counts(problem: Problem, folds: int, seed: int) -> Array:
    """Return the number of examples of each row in each fold; never more folds than examples, or groups."""
    units = problem.counted.sum() if problem.groups is None else len(np.unique(problem.groups))
    number = max(1, min(folds, int(units)))
    return assign_folds(problem.labels, problem.counted, number, np.random.default_rng(seed), problem.groups)


def _validate(problem: Problem, counts: Array, model: Model, slack: Slack, state: Any) -> _Validation:
    """Train without each fold in turn, from the last solution without it, or else from that on all rows."""
    k = counts.shape[1]
    if state is not None and not (isinstance(state, tuple) and len(state) == k):
        raise InvalidInputError("state", state, OWN_STATE)
    covariance = problem.dense_covariance(model)
    everything = np.empty(0)
    if state is None:
        everything = solve_problem(problem, model, slack, covariance=covariance).alpha
    latent = np.zeros(counts.shape)
    trained: list[DenseTrainedSVM | None] = []
    for f in range(k):
        rest, test = counts.sum(axis=1) - counts[:, f], np.flatnonzero(counts[:, f])
        rows = np.flatnonzero(rest)
        if not len(rows):
            trained.append(None)
            continue
        inside = problem.subset(rows)
        inside = replace(inside, weights=inside.left_out * rest[rows], examples=rest[rows])
        block = covariance.principal(rows)
        start: Solution | None
        if state is None:
            alpha, penalties = everything[rows], inside.penalties(model.C)
            start = starting_point(block.times(inside.y * alpha), inside.y, penalties, slack, alpha)
        else:
            start = check_start(state[f], inside.n)
        one = solve_distinct(inside, rows, model, slack, block, start)
        support = one.solution.support
        latent[test, f] = covariance.gram[np.ix_(test, rows[support])] @ one.signed_alpha[support]
        trained.append(one)
    return _Validation(problem, covariance, counts, tuple(trained), latent)
