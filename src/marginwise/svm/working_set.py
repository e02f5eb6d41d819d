"""The SVM of any size from a working set: solve on the points that matter, look at all of them, choose again.

Points that matter are the marginal support vectors, the violators of the optimality conditions and the points near
the margin. Only the rows of the Gram matrix that belong to support vectors are read in full.
"""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import RowCovariance
from marginwise.covariance.dense import DenseCovariance
from marginwise.likelihoods.slack import Slack
from marginwise.svm.base import Solution, describe
from marginwise.svm.coordinate import Programme, descend, largest_violation
from marginwise.svm.newton import COARSE, FreeSystem, minimise

#: The accuracy that is promised, in units of ``Solution.kkt_violation``.
TOLERANCE = 1e-9

#: The accuracy of the margins that is aimed at, and what rounding adds to it in units of the terms they are sums of.
#: Ten times both ends the iteration.
_AIM, _ROUNDING = 1e-12, 2e-16

#: Up to this many examples the working set is everything.
_SMALL = 300

#: Distance from the margin within which a settled point joins the working set although it violates nothing.
_NEAR = 0.1

#: Largest working set: its block of the Gram matrix takes 128 MB.
_LARGEST = 4000

_MAX_ROUNDS = 500


def solve_working_set(
    source: RowCovariance,
    y: Array,
    penalties: Array,
    slack: Slack,
    start: Solution | None,
    repeats: Indices | None,
) -> Solution:
    """Solve (linear_problem) or (quadratic_problem), from a neighbouring solution if one is given.

    ``repeats`` gives equal numbers to examples with the same input and label. With linear slack only the sum of
    their α is determined; it is shared out in proportion to their penalties.
    """
    n = len(y)
    extra, reach = slack.ridge(penalties), slack.reach(penalties)
    diagonal, roots = source.diagonal + extra, np.sqrt(source.diagonal)
    lower, upper = np.where(y > 0, 0.0, -reach), np.where(y > 0, reach, 0.0)
    beta = np.zeros(n) if start is None else _signed_start(start, y, reach)
    latent, size = _look(source, beta)
    gradient = latent - y + extra * beta
    if start is None and n > _SMALL and isinstance(source, DenseCovariance):
        _first_guess(Programme(source.gram, diagonal, lower, upper), beta, gradient)
        latent = gradient + y - extra * beta

    chosen, system = np.empty(0, dtype=np.intp), None
    error, last = 1.0, np.inf
    exact = n <= _SMALL or start is not None  # a set that is still to change needs no exact solution
    for rounds in range(1, _MAX_ROUNDS + 1):
        safe_point()
        previous, chosen = chosen, _choose(lower, upper, beta, gradient, chosen)
        system = _system(source, diagonal, chosen, previous, system)
        aim = _AIM + _ROUNDING * size.max() if exact else 0.1 * error
        before, slope = beta[chosen], gradient[chosen]
        part = before.copy()
        minimise(system, lower[chosen], upper[chosen], part, slope, aim)
        beta[chosen] = part
        if exact:
            latent, size = _look(source, beta)
        else:
            moved = np.flatnonzero(part != before)
            latent = latent + source.combine(chosen[moved], part[moved] - before[moved])[0]
        gradient = latent - y + extra * beta
        error = largest_violation(lower, upper, beta, gradient)
        floor = 10.0 * (_AIM + _ROUNDING * size.max())
        if exact and (error <= floor or (last <= error and np.array_equal(chosen, previous))):
            break
        last = error if exact else np.inf
        # |K_ij| ≤ (K_ii K_jj)^½ bounds the terms of the margins without a look at them.
        terms = roots.max() * (roots @ np.abs(beta))
        exact = n <= _SMALL or error <= max(0.03, 1000.0 * _ROUNDING * terms)
    alpha = np.abs(beta)
    if repeats is not None:
        alpha = penalties * (np.bincount(repeats, alpha) / np.bincount(repeats, penalties))[repeats]
    return describe(latent, 1.0 + size.max(), y, penalties, slack, alpha, tolerance=TOLERANCE, iterations=rounds)


def _first_guess(programme: Programme, beta: Array, gradient: Array) -> None:
    """Take the steepest steps from all points, as long as they find new support vectors more often than not."""
    chunk = 100 + len(beta) // 16
    found = 0
    while True:
        steps = descend(programme, beta, gradient, COARSE, chunk)
        before, found = found, int(np.count_nonzero(beta))
        if steps < chunk or found - before < chunk // 2:
            return


def _signed_start(start: Solution, y: Array, reach: Array) -> Array:
    """Return β of a neighbouring solution, moved into the present box; what was at its bound stays there."""
    alpha = np.minimum(start.alpha, reach)
    if np.isfinite(reach).all():  # quadratic slack has no bound
        alpha[start.bound] = reach[start.bound]
    return y * alpha


def _look(source: RowCovariance, beta: Array) -> tuple[Array, Array]:
    """Return Kβ and |K||β|, from scratch."""
    support = np.flatnonzero(beta)
    return source.combine(support, beta[support])


def _choose(lower: Array, upper: Array, beta: Array, gradient: Array, previous: Indices) -> Indices:
    """Return the working set: free coordinates, then violators and points near the margin, the worst first."""
    n = len(beta)
    if n <= _SMALL:
        return np.arange(n)
    if not beta.any():
        return np.arange(0, n, max(1, n // 1000))
    free = (beta > lower) & (beta < upper)
    # Positive where a coordinate on its bound would move away from it.
    urge = np.where(beta <= lower, -gradient, gradient)
    n_free = int(np.count_nonzero(free))
    others = np.flatnonzero(~free & (urge > -_NEAR))
    room = min(max(64, int(np.count_nonzero(beta)) // 2), _LARGEST // 4)
    if others.size > room:
        others = others[np.argpartition(-urge[others], room)[:room]]
    if n_free + len(others) > _LARGEST:
        # Too many for one block. The worst come first, then some of the block before: without them two blocks
        # undo each other's work in turn.
        candidates = np.concatenate([np.flatnonzero(free), others])
        worst = candidates[np.argsort(-np.where(free, np.abs(gradient), urge)[candidates])]
        half = _LARGEST // 2
        ranked = np.concatenate([worst[:half], previous[free[previous]][::2], worst[half:]])
        return np.sort(ranked[np.sort(np.unique(ranked, return_index=True)[1])[:_LARGEST]])
    free[others] = True
    return np.flatnonzero(free)


def _system(
    source: RowCovariance, diagonal: Array, chosen: Indices, previous: Indices, system: FreeSystem | None
) -> FreeSystem:
    """Return the linear algebra of the chosen set, with the factor of the previous one where it still serves."""
    if system is not None and np.array_equal(chosen, previous):
        return system
    fresh = FreeSystem(source.block(chosen), diagonal[chosen])
    if system is not None:
        fresh.inherit(system, previous, chosen)
    return fresh
