"""The support vector machine: the maximum of the posterior."""

from marginwise.svm.api import solve, solve_gram, solve_problem, solve_svm, svm_covariance
from marginwise.svm.base import Solution

__all__ = [
    "Solution",
    "solve",
    "solve_gram",
    "solve_problem",
    "solve_svm",
    "svm_covariance",
]
