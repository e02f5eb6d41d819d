"""The support vector machine: the maximum of the posterior."""

from marginwise.svm.api import expansion, solve, solve_dense, solve_gram, solve_problem
from marginwise.svm.contract import Solution

__all__ = ["Solution", "expansion", "solve", "solve_dense", "solve_gram", "solve_problem"]
