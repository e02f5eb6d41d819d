"""What every SVM solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.likelihoods.slack import Slack
from marginwise.status import Status


@dataclass(frozen=True, eq=False)
class Solution:
    """The maximum of eq. (linear_problem) or (quadratic_problem), and how well it is one.

    Attributes
    ----------
    alpha : array of shape (n,)
        Dual variables; exactly 0 off the support, exactly the penalty C_i on ``bound``.
    latent : array of shape (n,)
        θ* = K(y∘α), the latent function at the training points.
    support, marginal, bound : arrays of int
        Support vectors; those with 0 < α_i < C_i (for quadratic slack all of them); those with α_i = C_i.
    objective : float
        Value of the dual, Σα - ½(y∘α)ᵀK(y∘α), with K + I/C for quadratic slack.
    duality_gap : float
        Primal minus dual value, never negative except for rounding.
    kkt_violation : float
        Largest violation of the optimality conditions on the margins y_iθ_i, in units of the largest
        ``1 + Σ_j |K_ij| α_j``: 1e-16 is rounding, 1 means that this is not a solution.
    status : Status
        Whether the requested accuracy was reached.
    iterations : int
        Number of the solver's passes over the data.

    Examples
    --------
    >>> from marginwise import Hyperparameters, solve
    >>> solution = solve([[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2))
    >>> solution.support.tolist(), solution.duality_gap < 1e-12
    ([0, 1, 2], True)
    """

    alpha: Array
    latent: Array
    support: Indices
    marginal: Indices
    bound: Indices
    objective: float
    duality_gap: float
    kkt_violation: float
    status: Status
    iterations: int

    __repr__ = summary


def describe(
    latent: Array,
    scale: float,
    y: Array,
    penalties: Array,
    slack: Slack,
    alpha: Array,
    *,
    tolerance: float,
    iterations: int,
) -> Solution:
    """Return the Solution of these dual variables and latent values; ``scale`` is that of ``kkt_violation``."""
    margin = y * latent
    ridge = slack.ridge(penalties)
    slope = 1.0 - margin - ridge * alpha  # ∂(dual)/∂α
    at_bound = alpha >= slack.reach(penalties)
    off = alpha <= 0.0
    violation = np.where(off, np.maximum(slope, 0.0), np.where(at_bound, np.maximum(-slope, 0.0), np.abs(slope)))
    norm = float(alpha @ margin)  # |w|² = (y∘α)ᵀK(y∘α)
    dual = float(alpha.sum()) - 0.5 * norm - 0.5 * float(alpha @ (ridge * alpha))
    primal = 0.5 * norm + float(penalties @ slack.loss(margin))
    kkt = float(violation.max(initial=0.0) / scale)
    ok = kkt <= tolerance
    message = (
        "converged"
        if ok
        else f"the SVM's optimality conditions hold only to {kkt:.1e} instead of {tolerance:.0e}: the Gram matrix is "
        "nearly singular; try a smaller C·k0 or shorter length scales"
    )
    return Solution(
        alpha=alpha,
        latent=latent,
        support=np.flatnonzero(~off),
        marginal=np.flatnonzero(~off & ~at_bound),
        bound=np.flatnonzero(at_bound),
        objective=dual,
        duality_gap=primal - dual,
        kkt_violation=kkt,
        status=Status(ok, message),
        iterations=iterations,
    )
