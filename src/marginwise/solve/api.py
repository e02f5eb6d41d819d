"""Solve the SVM of a problem: the entries, and the choice of the method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise.hyperparameters import Hyperparameters
from marginwise.problem import Problem, as_problem, check_gram, check_labels, check_weights
from marginwise.slack import Slack, as_slack
from marginwise.solve.contract import Solution
from marginwise.solve.reference import solve_reference

Array = npt.NDArray[np.float64]


def solve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    hyperparameters: Hyperparameters,
    slack: Slack | str = "linear",
    *,
    sample_weight: npt.ArrayLike | None = None,
    start: Solution | None = None,
) -> Solution:
    """Train the SVM."""
    return solve_problem(as_problem(X, y, sample_weight), hyperparameters, as_slack(slack), start=start)


def solve_gram(
    gram: npt.ArrayLike,
    y: npt.ArrayLike,
    C: float = 1.0,
    slack: Slack | str = "linear",
    *,
    sample_weight: npt.ArrayLike | None = None,
    start: Solution | None = None,
) -> Solution:
    """Train the SVM of a given Gram matrix."""
    K = check_gram(gram)
    n = len(K)
    penalties = Hyperparameters(C=C).C * check_weights(sample_weight, n)
    return solve_dense(K, check_labels(y, n), penalties, as_slack(slack), start=start)


def solve_problem(
    problem: Problem,
    hyperparameters: Hyperparameters,
    slack: Slack,
    *,
    gram: Array | None = None,
    start: Solution | None = None,
) -> Solution:
    """Train the SVM of a checked problem; ``gram`` saves its computation when it is at hand."""
    K = problem.gram(hyperparameters) if gram is None else gram
    return solve_dense(K, problem.y, problem.penalties(hyperparameters.C), slack, start=start)


def solve_dense(
    gram: Array, y: Array, penalties: Array, slack: Slack, *, start: Solution | None = None
) -> Solution:
    """Train the SVM of a checked Gram matrix; labels ±1, penalties C_i."""
    return solve_reference(gram, y, penalties, slack)
