"""An independent check that dual variables solve the SVM: everything recomputed, in extended precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise.likelihoods import Slack
from marginwise.svm import Solution


@dataclass(frozen=True)
class Certificate:
    """How far dual variables are from the solution of eq. (linear_problem) or (quadratic_problem)."""

    latent: np.ndarray
    violation: float  # of the conditions on the margins, absolute
    scale: float  # 1 + the largest sum of |terms| that a margin is made of
    dual: float
    gap: float
    value_scale: float  # sum of the |terms| that primal and dual are made of


def certify(gram: np.ndarray, y: np.ndarray, penalties: np.ndarray, slack: Slack, alpha: np.ndarray) -> Certificate:
    """Measure the dual variables against the Karush-Kuhn-Tucker conditions and the primal problem."""
    K, a, C = (np.asarray(array, dtype=np.longdouble) for array in (gram, alpha, penalties))
    assert (alpha >= 0).all()
    latent = K @ (y * a)
    margin = y * latent
    if slack.power == 1:
        assert (alpha <= penalties).all()
        slope, bound = 1 - margin, alpha == penalties
        loss, ridge = np.maximum(1 - margin, 0), np.longdouble(0)
    else:
        slope, bound = 1 - margin - a / C, np.zeros(len(y), dtype=bool)
        loss, ridge = np.maximum(1 - margin, 0) ** 2 / 2, (a * a / C).sum() / 2
    off = alpha == 0
    violation = np.where(off, np.maximum(slope, 0), np.where(bound, np.maximum(-slope, 0), np.abs(slope)))
    norm = (a * margin).sum()
    dual = a.sum() - norm / 2 - ridge
    primal = norm / 2 + (C * loss).sum()
    absolute = np.abs(K) @ a
    return Certificate(
        latent=latent.astype(float),
        violation=float(violation.max()),
        scale=float(1 + absolute.max()),
        dual=float(dual),
        gap=float(primal - dual),
        value_scale=float(a.sum() + a @ absolute + ridge + (C * loss).sum()),
    )


def assert_solved(
    solution: Solution, gram: np.ndarray, y: np.ndarray, penalties: np.ndarray, slack: Slack, *, rounding: float = 1e-14
) -> Certificate:
    """Check every field of a solution against the certificate of its dual variables.

    ``rounding`` is in units of the terms that the margins are sums of; the promise is 1e-9, the aim far less.
    """
    certificate = certify(gram, y, penalties, slack, solution.alpha)
    assert solution.status.ok, solution.status.message
    assert bool(solution.status) is True
    assert solution.status.message == "converged"
    assert certificate.violation <= 2e-11 + rounding * certificate.scale
    assert 0 <= solution.kkt_violation <= 1e-9
    # The reported measures are the true ones, but for rounding.
    assert abs(solution.kkt_violation - certificate.violation / certificate.scale) <= 1e-14
    np.testing.assert_allclose(solution.latent, certificate.latent, rtol=0, atol=1e-14 * certificate.scale)
    assert abs(solution.objective - certificate.dual) <= 1e-13 * certificate.value_scale
    # A margin that is off by δ moves the gap by C_i δ at most.
    off, value_rounding = 2e-11 + rounding * certificate.scale, 1e-13 * certificate.value_scale
    assert abs(solution.duality_gap - certificate.gap) <= value_rounding + penalties.sum() * off
    # The gap is at most Σ C_i (violation of i) with linear slack, Σ C_i (violation of i)²/2 with quadratic.
    assert certificate.gap >= -value_rounding
    assert certificate.gap <= value_rounding + penalties.sum() * (off if slack.power == 1 else off**2)
    assert_sets_are_exact(solution, penalties, slack)
    return certificate


def assert_sets_are_exact(solution: Solution, penalties: np.ndarray, slack: Slack) -> None:
    """Check that off the support α is 0, on the bound C_i, and between them strictly inside: no tolerance."""
    alpha = solution.alpha
    np.testing.assert_array_equal(solution.support, np.flatnonzero(alpha > 0))
    np.testing.assert_array_equal(np.sort(np.r_[solution.marginal, solution.bound]), solution.support)
    assert (np.diff(solution.support) > 0).all()
    if slack.power == 2:
        assert solution.bound.size == 0
        return
    assert (alpha[solution.bound] == penalties[solution.bound]).all()
    assert (alpha[solution.marginal] > 0).all()
    assert (alpha[solution.marginal] < penalties[solution.marginal]).all()
