"""The span estimate of the leave-one-out error for quadratic slack, eq. (span), raw and smoothed.

With A = diag(α) over the support vectors and M = ηI + √A(K + D)√A, D = diag(1/C_i), the span of section
errbounds is α_i S_i² = 1/[M⁻¹]_ii - η: the paper's formula times α_i, without division by a vanishing α_j.

A row of weight w > 1 stands for w copies, of which a part ρ = 1/w is left out; Woodbury's identity on the
copies gives α_i S_i² = 1/{(1 - ρ)C_i/(α_i + ηC_i) + ρ[M⁻¹]_ii} - η for each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from marginwise._arrays import Array
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.factor import Factor, factorise
from marginwise.criteria.training import DenseTrainedSVM, solution_cotangent, train, wrong
from marginwise.errors import InvalidInputError
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model
from marginwise.problem import Problem

_SINGULAR = "the span could not be computed: K + I/C is singular to rounding; a smaller C·k0 helps"


class RawSpan(Criterion):
    """The leave-one-out error if no removal changed which other points are support vectors.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> round(evaluate("raw-span", [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], Hyperparameters(C=2)).value, 3)
    0.0
    """

    name = "raw-span"
    leaves_rows = True
    direction = "minimise"
    slacks = ("quadratic",)
    smooth = False
    scale_free = True
    equation = "eq. (span)"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the estimate; it is piecewise constant and has no gradient."""
        trained = train(problem, model, self.likelihood, state)
        spans = weighted_spans(trained, 0.0)
        if spans is None:
            return trained.failed(_SINGULAR)
        margin = np.ones(trained.problem.n)
        margin[trained.solution.support] = 1.0 - spans.values
        return trained.evaluation(trained.mean(wrong(margin)))


class Span(Criterion):
    """The span estimate with a sigmoid 1/[1 + exp(-c1 x + c2)] for the step and η Σ λ_j²/α_j in the span.

    Parameters
    ----------
    slack : str or Slack, optional
        "quadratic", the only one.
    c1, c2 : float, default=5.0, 0.0
        How steep the sigmoid is, and where.
    eta : float, default=1.0
        η: 0 gives the raw span, infinity the bound of Jaakkola & Haussler.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> round(evaluate(Span(eta=0.1), [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], Hyperparameters(C=2)).value, 3)
    0.295
    """

    name = "span"
    leaves_rows = True
    direction = "minimise"
    slacks = ("quadratic",)
    smooth = True
    scale_free = True
    equation = "eq. (span), smoothed as in section errbounds"

    def __init__(
        self, slack: Likelihood | str | None = None, *, c1: float = 5.0, c2: float = 0.0, eta: float = 1.0
    ) -> None:
        super().__init__(slack)
        for name, value in (("c1", c1), ("eta", eta)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidInputError(name, value, "a positive number")
        if not math.isfinite(c2):
            raise InvalidInputError("c2", c2, "a finite number")
        self.c1, self.c2, self.eta = c1, c2, eta

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the estimate and its gradient."""
        trained = train(problem, model, self.likelihood, state)
        spans = weighted_spans(trained, self.eta)
        if spans is None:
            return trained.failed(_SINGULAR)
        support, n = trained.solution.support, trained.total_weight
        excess = np.full(trained.problem.n, -1.0)
        excess[support] += spans.values
        step = expit(self.c1 * excess - self.c2)
        if not with_gradient:
            return trained.evaluation(trained.mean(step))
        slope = (self.c1 / n * trained.problem.weights * step * (1.0 - step))[support]

        K_slope, alpha_slope, log_C = spans.pull_back(slope)
        beta_bar = np.zeros(trained.problem.n)
        beta_bar[support] = trained.problem.y[support] * alpha_slope
        cotangent = solution_cotangent(trained, beta_bar)
        gradient = None
        if cotangent.status.ok:
            gradient = trained.gradient(cotangent.direction, log_C + cotangent.log_C, K_slope)
        return trained.evaluation(trained.mean(step), gradient, cotangent.status)


@dataclass(frozen=True, eq=False)
class Spans:
    """α_i S_i² of the support vectors, and what its derivatives need."""

    values: Array
    eta: float
    part: Array  # ρ, the part of a row that is left out
    alpha: Array
    penalties: Array
    K: Array
    factor: Factor  # of M

    def pull_back(self, slope: Array) -> tuple[Array, Array, float]:
        """Return the slopes in K, α and log C of a function whose slopes in ``values`` are ``slope``."""
        alpha, C, part = self.alpha, self.penalties, self.part
        root = np.sqrt(alpha)
        by_denominator = slope * (self.values + self.eta) ** 2  # values = 1/denominator - η, sign taken below
        # [M⁻¹]_ii falls by (M⁻¹ dM M⁻¹)_ii: the cotangent of M is +Σ_i ρ_i s_i M⁻¹e_i e_iᵀM⁻¹, s_i ≥ 0.
        half = self.factor.inverse() * np.sqrt(part * by_denominator)
        M_slope = half @ half.T
        # dM_ij = (K + D)_ij d(√α_i √α_j), and d√α = dα/(2√α); the factor 2 of the two places cancels that ½.
        by_alpha = (np.einsum("ij,ij,j->i", M_slope, self.K, root) / root) + M_slope.diagonal() / C
        log_C = -float((M_slope.diagonal() * alpha) @ (1.0 / C))
        K_slope = M_slope
        K_slope *= root
        K_slope *= root[:, None]
        copies = by_denominator * (1.0 - part) * C / (alpha + self.eta * C) ** 2
        return K_slope, by_alpha + copies, log_C - float(copies @ alpha)


def weighted_spans(trained: DenseTrainedSVM, eta: float) -> Spans | None:
    """Return α_i S_i² with smoothing ``eta``, or None if M is singular to rounding."""
    support = trained.solution.support
    alpha, C = trained.solution.alpha[support], trained.penalties[support]
    part = (trained.problem.left_out / trained.problem.weights)[support]
    K = trained.support_gram
    root = np.sqrt(alpha)
    M = K * root
    M *= root[:, None]
    M.flat[:: len(M) + 1] += eta + alpha / C
    factor = factorise(M)
    if factor is None:
        return None
    denominator = (1.0 - part) * C / (alpha + eta * C) + part * factor.inverse_diagonal
    return Spans(1.0 / denominator - eta, eta, part, alpha, C, K, factor)
