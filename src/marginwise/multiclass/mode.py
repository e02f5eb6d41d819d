"""The mode of the posterior of a multinomial model: latent functions of one kernel, and the softmax likelihood.

It minimises ψ = -Σ_i w_i ln p_i(y_i) + ½ Σ_k θ_kᵀK⁻¹θ_k, which is convex (Rasmussen & Williams 2006, section 3.5). The
curvature diag(p) - ppᵀ of each row is replaced by a multiple of the identity, so that one factorisation serves all
classes and many steps; Anderson's acceleration (Walker & Ni 2011) makes up for what that costs in steps. The latent
functions of two classes are opposite, and along (1, -1) the curvature is a multiple: there the steps are Newton's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.problem import Problem

#: The multiple, in units of max_k p_k(1 - p_k). The largest eigenvalue of the curvature is 1 to 2 times that
#: (Gershgorin), and 2 of two classes; with a smaller one steps go too far.
_CURVATURE, _EXACT = 1.4, 2.0

#: Least curvature of a row, in units of its weight: a row beyond doubt says nothing, but is divided by.
LEAST_CURVATURE = 1e-10

#: Largest change of a probability in a step at which the mode is reached, and most steps towards it.
TOLERANCE, _MAX_STEPS = 1e-4, 200

#: Steps after which the curvature is looked at again, at first and where the mode is nearly known, and earlier steps
#: that a step is combined with.
_REFRESH, _WARM_REFRESH, _DEPTH = 10, 30, 6

#: Largest change of a probability in a step up to which Newton's next one takes the same curvature.
_NEAR = 0.05

#: Part of ψ that is rounding where the covariance is of single precision, and the shortest part of a step.
_ROUNDING, _SHORTEST = 1e-6, 1e-3


class _State(NamedTuple):
    """Latent values θ = Kb, b themselves, log-probabilities of all classes, and ψ."""

    theta: Array
    b: Array
    logs: Array
    loss: float


def softmax_mode(
    problem: Problem, covariance: SiteCovariance, start: Sites | None = None, tolerance: float = TOLERANCE
) -> tuple[Array, Array]:
    """Return θ and p at the mode, both of shape (n, K).

    ``start`` are sites near by, with columns ν for the classes: those of a mode of the same labels under another
    covariance, or, of no precision, K⁻¹θ itself, which is 0 for rows that are new there.
    """
    weights, labels, rows = problem.weights, problem.labels, np.arange(problem.n)
    indicators = np.zeros((problem.n, problem.n_classes))
    indicators[rows, labels] = 1.0

    def state(theta: Array, b: Array) -> _State:
        logs = log_softmax(theta, axis=1)
        return _State(theta, b, logs, 0.5 * float(np.vdot(b, theta)) - float(weights @ logs[rows, labels]))

    dual, moved, b = None, 1.0, np.zeros_like(indicators) if start is None else start.nu
    if start is not None and start.tau.any():  # one step of Newton's method from where these sites were found
        dual, moved = covariance.dual_solver(start.tau), 0.0
        b = dual(b)
        if problem.n_classes > 2:
            dual = None  # their curvature is too small for steps
    every = _REFRESH if start is None else _WARM_REFRESH
    here = state(covariance.times(b), b)
    multiple, early = (_EXACT, _NEAR) if problem.n_classes == 2 else (_CURVATURE, 1.0)
    history: list[tuple[_State, _State]] = []
    for step in range(_MAX_STEPS):
        safe_point()
        p = np.exp(here.logs)
        first = step < 3 and start is None  # the curvature changes fast
        if dual is None or first or (step > 0 and step % every == 0) or moved > early:
            rough = weights * np.maximum(multiple * (p * (1.0 - p)).max(axis=1), LEAST_CURVATURE)
            dual = None  # before another one is in memory
            dual = covariance.dual_solver(rough)
            history.clear()
        # Newton's step from what is left of the gradient: its rounding gets smaller with the steps.
        change = dual(weights[:, None] * (indicators - p) - here.b)
        move, length = covariance.times(change), 1.0
        there = state(here.theta + move, here.b + change)
        while there.loss > here.loss + _ROUNDING * abs(here.loss) and length > _SHORTEST:
            length *= 0.5
            there = state(here.theta + length * move, here.b + length * change)
        history.append((here, there))
        del history[:-_DEPTH]
        mixed = _mixed(history)
        better = None if mixed is None else state(*mixed)
        if better is not None and better.loss <= there.loss:
            after = better
        else:
            after = there
            del history[:-1]
        moved = np.abs(np.exp(there.logs) - p).max()
        here = after
        if moved < tolerance * length:  # a step that had to be shortened says little
            break
    return here.theta, np.exp(here.logs)


def _mixed(history: list[tuple[_State, _State]]) -> tuple[Array, Array] | None:
    """Return the combination of the last steps that would have changed least; None after the first."""
    if len(history) < 2:
        return None
    changes = np.array([(there.theta - here.theta).ravel() for here, there in history])
    turns = np.diff(changes, axis=0)
    gram = turns @ turns.T
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10
    try:
        shares = np.linalg.solve(gram, turns @ changes[-1])
    except np.linalg.LinAlgError:
        return None
    ends = [there for _, there in history]
    theta, b = ends[-1].theta.copy(), ends[-1].b.copy()
    for share, earlier, later in zip(shares, ends[:-1], ends[1:], strict=True):
        theta -= share * (later.theta - earlier.theta)
        b -= share * (later.b - earlier.b)
    return theta, b
