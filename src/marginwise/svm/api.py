"""Train the SVM: the entries, and the choice between a Gram matrix in memory and rows made on demand."""

from __future__ import annotations

import numpy.typing as npt

from marginwise._arrays import Array, Indices
from marginwise.covariance.base import Covariance, RowCovariance
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.covariance.on_demand import OnDemandCovariance
from marginwise.errors import Finding, InvalidInputError
from marginwise.hyperparameters import as_model
from marginwise.kernels.base import Kernel
from marginwise.kernels.values import positive
from marginwise.likelihoods.slack import Slack, as_slack
from marginwise.model import Model, Values
from marginwise.problem import Problem, as_problem, check_gram, check_labels, check_weights
from marginwise.svm.base import Solution
from marginwise.svm.low_rank import solve_low_rank
from marginwise.svm.working_set import solve_working_set

#: Bytes that the Gram matrix may take before its rows are made on demand, and that a cache of rows may take: 2 GiB,
#: reached at n = 16384.
MAX_MEMORY = 2**31


def solve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    hyperparameters: Model | Values,
    slack: Slack | str = "linear",
    *,
    kernel: Kernel | None = None,
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
        Hyperparameters of the paper's model; or C, if ``kernel`` is given.
    slack : "linear" or "quadratic"
    kernel : Kernel, optional
        A kernel of ``marginwise.kernels`` with its hyperparameters, instead of the paper's.
    sample_weight : array of shape (n,), optional
        Positive weights w_i; weight 2 is equivalent to giving the row twice.
    inducing : array of shape (m, d), optional
        Inducing inputs: the Gram matrix then has low rank, for tables with many rows.
    start : Solution, optional
        Solution for the same examples with similar hyperparameters; it saves most of the work.
    max_memory : int
        Bytes that the Gram matrix may take. If it is larger, its rows are computed on demand and cached within this
        limit.

    Examples
    --------
    >>> from marginwise import Hyperparameters, solve
    >>> solution = solve([[0.0], [1.0]], [-1, 1], Hyperparameters(C=10, k0=1, koff=0.1, length_scales=1))
    >>> solution.alpha.round(3), solution.latent.round(3)
    (array([2.541, 2.541]), array([-1.,  1.]))
    """
    problem = as_problem(X, y, sample_weight, inducing)
    model = as_model(hyperparameters, kernel)
    return solve_problem(problem, model, as_slack(slack), start=start, max_memory=max_memory)


def solve_gram(
    gram: npt.ArrayLike,
    y: npt.ArrayLike,
    C: float = 1.0,
    slack: Slack | str = "linear",
    *,
    sample_weight: npt.ArrayLike | None = None,
    start: Solution | None = None,
) -> Solution:
    """Train the SVM of a given symmetric, positive semidefinite Gram matrix; see :func:`solve`.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        K, symmetric and positive semidefinite, including any offset.
    y : array-like of shape (n,)
        Labels -1 or +1.
    C : float, default=1.0
        Slack penalty.
    slack : {"linear", "quadratic"} or Slack, default="linear"
        Penalty for margins below 1.
    sample_weight : array-like of shape (n,), optional
        Positive weights; weight 2 is equivalent to giving the row twice.
    start : Solution, optional
        The solution of a similar problem, to start from.

    Returns
    -------
    Solution

    Examples
    --------
    >>> solve_gram([[1.0, 0.2], [0.2, 1.0]], [1, -1]).alpha.round(3).tolist()
    [1.0, 1.0]
    """
    K = check_gram(gram)
    n = len(K)
    penalties = positive("C", C) * check_weights(sample_weight, n)
    return solve_svm(DenseCovariance.of_matrix(K), check_labels(y, n), penalties, as_slack(slack), start=start)


def solve_problem(
    problem: Problem,
    model: Model,
    slack: Slack,
    *,
    covariance: Covariance | None = None,
    start: Solution | None = None,
    max_memory: int = MAX_MEMORY,
) -> Solution:
    """Train the SVM of a checked problem; ``covariance`` saves its computation when it is at hand."""
    if covariance is None:
        covariance = svm_covariance(problem, model, max_memory)
    repeats = None if isinstance(covariance, LowRankCovariance) else problem.repeats
    return solve_svm(covariance, problem.y, problem.penalties(model.C), slack, start=start, repeats=repeats)


def solve_svm(
    covariance: Covariance,
    y: Array,
    penalties: Array,
    slack: Slack,
    *,
    start: Solution | None = None,
    repeats: Indices | None = None,
) -> Solution:
    """Train the SVM of a covariance, labels ±1 and penalties C_i, by the method that suits the covariance.

    ``repeats`` gives equal numbers to rows with the same input and label, see ``working_set``.
    """
    _check_start(start, len(y))
    if isinstance(covariance, LowRankCovariance):
        return solve_low_rank(covariance, y, penalties, slack, start=start)
    assert isinstance(covariance, RowCovariance)
    return solve_working_set(covariance, y, penalties, slack, start, repeats)


def svm_covariance(problem: Problem, model: Model, max_memory: int = MAX_MEMORY) -> Covariance:
    """Return the covariance, made row by row on demand where the matrix would take more memory than this."""
    if problem.inducing is None and 8 * problem.n**2 > max_memory:
        return OnDemandCovariance(model.kernel, problem.X, max_memory)
    return problem.covariance(model)


def _check_start(start: Solution | None, n: int) -> None:
    if start is not None and len(start.alpha) != n:
        raise InvalidInputError(
            "start", Finding(f"is a solution of {len(start.alpha)} examples"), f"one of these {n} examples"
        )
