"""Criteria of a user, outside the library: what `marginwise study run --criterion own_criteria:Alignment` imports."""

from __future__ import annotations

import numpy as np

from marginwise.criteria.base import Criterion, Evaluation


class Alignment(Criterion):
    """How well the kernel agrees with the labels, A = yᵀKy / (n |K|) (Cristianini et al. 2002)."""

    name = "alignment"
    direction = "maximise"
    smooth = True
    scale_free = True
    equation = "Cristianini et al. (2002)"

    def evaluate(self, problem, hyperparameters, state=None, *, with_gradient=True):
        covariance = problem.dense_covariance(hyperparameters)
        K, y = covariance.gram, problem.y
        norm = np.linalg.norm(K)
        value = y @ K @ y / (problem.n * norm)
        G = np.outer(y, y) / (problem.n * norm) - value * K / norm**2
        return Evaluation(float(value), np.concatenate([[0.0], covariance.contract(G)]))


class RoundedAlignment(Criterion):
    """The same in steps, which no gradient can climb."""

    name = "rounded-alignment"
    direction = "maximise"
    smooth = False
    equation = "none"

    def evaluate(self, problem, hyperparameters, state=None, *, with_gradient=True):
        return Evaluation(round(Alignment(self.likelihood).evaluate(problem, hyperparameters).value, 3), None)


class Unfinished(Criterion):
    """It does not evaluate."""

    name = "unfinished"


class Nameless(Criterion):
    """It evaluates, but does not say what it is."""

    def evaluate(self, problem, hyperparameters, state=None, *, with_gradient=True):
        return Evaluation(1.0, None)


def not_a_criterion() -> None:
    """Something else."""
