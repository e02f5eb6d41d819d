"""The derivative of the SVM's solution, backwards: from ∂V/∂β to ∂V/∂K and ∂V/∂log C.

On a fixed support set the solution β = y∘α obeys linear equations: one factorisation differentiates it.

    linear slack     K_mm β_m + K_mb β_b = y_m, β_b = C_b y_b    (m marginal, b bound support vectors)
    quadratic slack  (K_ss + D) β_s = y_s, D = diag(1/C_i)       (s all support vectors)

With λ = K_mm⁻¹ ∂V/∂β_m, or λ = (K_ss + D)⁻¹ ∂V/∂β_s, and zero elsewhere, the cotangent of K is -sym(λβᵀ).
Where a point enters or leaves the support β is continuous and its slope jumps: the result is the slope on the
side of the support set at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.criteria.factor import factorise
from marginwise.criteria.training import DenseTrained, principal_block
from marginwise.status import CONVERGED, Status

Array = npt.NDArray[np.float64]

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
    quadratic = trained.slack.power == 2
    free = solution.support if quadratic else solution.marginal
    block = trained.support_gram if quadratic else principal_block(trained.support_gram, trained.marginal_in_support)
    block = block.copy()
    if quadratic:
        block[np.diag_indices_from(block)] += 1.0 / trained.penalties[free]
    factor = factorise(block)
    if factor is None or factor.reciprocal_condition < _SINGULAR:
        return SolutionCotangent(np.zeros_like(beta), 0.0, _NO_DERIVATIVE)
    multiplier = factor.solve(beta_bar[free])
    direction = np.zeros_like(beta)
    direction[free] = -multiplier
    if quadratic:  # ∂D/∂log C = -D
        log_C = float(multiplier @ (beta[free] / trained.penalties[free]))
    else:  # ∂β_b/∂log C = β_b, and β_m follows
        bound = solution.bound
        log_C = float(beta[bound] @ (beta_bar[bound] - trained.gram[np.ix_(bound, free)] @ multiplier))
    return SolutionCotangent(direction, log_C)
