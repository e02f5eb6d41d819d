"""The derivative of the SVM's solution, backwards: from ∂V/∂β to ∂V/∂K and ∂V/∂log C.

On a fixed support set the solution β = y∘α obeys linear equations: one factorisation differentiates it.

    (K_mm + D) β_m + K_mb β_b = y_m,  β_b = C_b y_b    (m marginal, b bound support vectors)

with D = 0 for linear slack, and D = diag(1/C_i) and no bound ones for quadratic slack. With λ = (K_mm + D)⁻¹ ∂V/∂β_m
and zero elsewhere, the cotangent of K is -sym(λβᵀ).
Where a point enters or leaves the support β is continuous and its slope jumps: the result is the slope on the
side of the support set at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.factor import factorise
from marginwise.criteria.training import DenseTrained, principal_block
from marginwise.status import CONVERGED, Status

#: Reciprocal condition below which the derivative of the solution has no correct digit left.
_SINGULAR = 1e-15

_NO_DERIVATIVE = Status(
    False,
    "there is no gradient: the equations of the support vectors are singular to rounding, and their solution "
    "can't be differentiated; shorter length scales or a smaller C·k0 help",
)


@dataclass(frozen=True, eq=False)
class SolutionCotangent:
    """∂V/∂K = sym(direction βᵀ) and ∂V/∂log C for a function V of the solution, where ``status`` is ok."""

    direction: Array
    log_C: float
    status: Status = CONVERGED


def solution_cotangent(trained: DenseTrained, beta_bar: Array) -> SolutionCotangent:
    """Return the cotangents of a function V with ∂V/∂β = ``beta_bar``; entries off the support are not read.

    V may depend on the latent values θ = Kβ too: add K ∂V/∂θ to ``beta_bar``, and ∂V/∂θ to the direction.
    """
    solution, beta = trained.solution, trained.signed_alpha
    free, bound = solution.marginal, solution.bound
    ridge = trained.slack.ridge(trained.penalties)[free]
    block = principal_block(trained.support_gram, trained.marginal_in_support).copy()
    block.reshape(-1)[:: len(block) + 1] += ridge  # the diagonal
    factor = factorise(block)
    if factor is None or factor.reciprocal_condition < _SINGULAR:
        return SolutionCotangent(np.zeros_like(beta), 0.0, _NO_DERIVATIVE)
    multiplier = factor.solve(beta_bar[free])
    direction = np.zeros_like(beta)
    direction[free] = -multiplier
    # ∂D/∂log C = -D and ∂β_b/∂log C = β_b, and β_m follows
    by_bound = float(beta[bound] @ (beta_bar[bound] - trained.gram[np.ix_(bound, free)] @ multiplier))
    return SolutionCotangent(direction, float(multiplier @ (ridge * beta[free])) + by_bound)
