"""Train the SVM: the entries, and the choice between a Gram matrix in memory and rows made on demand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import Slack, as_slack
from marginwise.lowrank import LowRankGram
from marginwise.problem import Problem, as_problem, check_gram, check_labels, check_weights
from marginwise.svm.contract import Solution
from marginwise.svm.low_rank import solve_low_rank
from marginwise.svm.source import DenseGram, KernelRows
from marginwise.svm.working_set import solve_working_set

Array = npt.NDArray[np.float64]

#: Bytes that the Gram matrix may take before its rows are made on demand, and that a cache of rows may take: 2 GiB,
#: reached at n = 16384.
MAX_MEMORY = 2**31


def solve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    hyperparameters: Hyperparameters,
    slack: Slack | str = "linear",
    *,
    sample_weight: npt.ArrayLike | None = None,
    inducing: npt.ArrayLike | None = None,
    start: Solution | None = None,
    max_memory: int = MAX_MEMORY,
) -> Solution:
    """Train the SVM with these hyperparameters, to machine accuracy.

    Solves eq. (linear_problem), 0 ≤ α_i ≤ C w_i, or eq. (quadratic_problem), with K + diag(1/(C w_i)).

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,), labels -1 and +1
    hyperparameters : Hyperparameters
    slack : "linear" or "quadratic"
    sample_weight : array of shape (n,), optional
        Positive weights w_i; weight 2 is the same as the row given twice.
    inducing : array of shape (m, d), optional
        Inducing inputs: the Gram matrix is then of low rank, for tables with many rows.
    start : Solution, optional
        Solution of the same examples with neighbouring hyperparameters; saves most of the work.
    max_memory : int
        Bytes the Gram matrix may take; beyond, its rows are made on demand and cached within this limit.

    Examples
    --------
    >>> from marginwise import Hyperparameters, solve
    >>> solution = solve([[0.0], [1.0]], [-1, 1], Hyperparameters(C=10, k0=1, koff=0.1, length_scales=1))
    >>> solution.alpha.round(3), solution.latent.round(3)
    (array([2.541, 2.541]), array([-1.,  1.]))
    """
    problem = as_problem(X, y, sample_weight, inducing)
    return solve_problem(problem, hyperparameters, as_slack(slack), start=start, max_memory=max_memory)


def solve_gram(
    gram: npt.ArrayLike,
    y: npt.ArrayLike,
    C: float = 1.0,
    slack: Slack | str = "linear",
    *,
    sample_weight: npt.ArrayLike | None = None,
    start: Solution | None = None,
) -> Solution:
    """Train the SVM of a given symmetric, positive semidefinite Gram matrix; see :func:`solve`."""
    K = check_gram(gram)
    n = len(K)
    penalties = Hyperparameters(C=C).C * check_weights(sample_weight, n)
    return solve_dense(K, check_labels(y, n), penalties, as_slack(slack), start=start)


def solve_problem(
    problem: Problem,
    hyperparameters: Hyperparameters,
    slack: Slack,
    *,
    gram: Array | LowRankGram | None = None,
    start: Solution | None = None,
    max_memory: int = MAX_MEMORY,
) -> Solution:
    """Train the SVM of a checked problem; ``gram`` saves its computation when it is at hand."""
    _check_start(start, problem.n)
    penalties = problem.penalties(hyperparameters.C)
    if gram is None and problem.inducing is not None:
        gram = problem.low_rank_gram(hyperparameters)
    if isinstance(gram, LowRankGram):
        return solve_low_rank(gram, problem.y, penalties, slack, start=start)
    if gram is None and 8 * problem.n**2 > max_memory:
        rows = KernelRows(problem.X, hyperparameters, max_memory)
        return solve_working_set(rows, problem.y, penalties, slack, start, problem.repeats)
    K = problem.gram(hyperparameters) if gram is None else gram
    return solve_working_set(DenseGram(K), problem.y, penalties, slack, start, problem.repeats)


def solve_dense(gram: Array, y: Array, penalties: Array, slack: Slack, *, start: Solution | None = None) -> Solution:
    """Train the SVM of a checked Gram matrix; labels ±1, penalties C_i."""
    _check_start(start, len(y))
    return solve_working_set(DenseGram(gram), y, penalties, slack, start)


def expansion(
    problem: Problem, hyperparameters: Hyperparameters, solution: Solution, gram: LowRankGram | None = None
) -> tuple[Array, Array]:
    """Return points x_j and coefficients c_j of the latent function θ*(x) = Σ_j c_j K(x, x_j).

    The support vectors, or the inducing inputs of a Gram matrix of low rank; ``gram`` saves its computation.
    """
    signed = problem.y * solution.alpha
    if problem.inducing is None:
        return problem.X[solution.support], signed[solution.support]
    gram = problem.low_rank_gram(hyperparameters) if gram is None else gram
    return problem.inducing, gram.dual(gram.project(signed))


def _check_start(start: Solution | None, n: int) -> None:
    if start is not None and len(start.alpha) != n:
        raise InvalidInputError("start", f"a solution of {len(start.alpha)} examples", f"one of these {n} examples")
