"""The slow, obvious solver that the fast ones are tested against: coordinate ascent on the dual, one at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise.likelihoods import Slack
from marginwise.svm.base import Solution, describe

Array = npt.NDArray[np.float64]


def solve_reference(
    gram: Array,
    y: Array,
    penalties: Array,
    slack: Slack,
    *,
    tolerance: float = 1e-12,
    max_sweeps: int = 100_000,
) -> Solution:
    """Maximise the dual exactly along each α_i in turn until no step moves anything."""
    n = len(y)
    Q = gram * np.outer(y, y)
    upper = penalties
    if slack.power == 2:
        Q = Q + np.diag(1.0 / penalties)
        upper = np.full(n, np.inf)
    alpha = np.zeros(n)
    sweeps = 0
    for sweeps in range(1, max_sweeps + 1):
        largest = 0.0
        for i in range(n):
            step = np.clip(alpha[i] + (1.0 - Q[i] @ alpha) / Q[i, i], 0.0, upper[i]) - alpha[i]
            alpha[i] += step
            largest = max(largest, abs(step) * Q[i, i])
        if largest <= tolerance:
            break
    scale = 1.0 + float((np.abs(gram) @ alpha).max(initial=0.0))
    return describe(gram @ (y * alpha), scale, y, penalties, slack, alpha, tolerance=1e-9, iterations=sweeps)
