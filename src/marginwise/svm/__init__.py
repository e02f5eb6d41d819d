"""The support vector machine: the maximum of the posterior."""

from marginwise.svm.api import solve, solve_dense, solve_gram, solve_problem, solve_svm, svm_covariance
from marginwise.svm.base import Solution
from marginwise.svm.low_rank import solve_low_rank

__all__ = [
    "Solution",
    "solve",
    "solve_dense",
    "solve_gram",
    "solve_low_rank",
    "solve_problem",
    "solve_svm",
    "svm_covariance",
]
