"""Where searches from several starts ended, as optima that predict together.

"One possible productive use of the high variability of classifiers produced by convergence to local optima … could be
to combine the resulting classifiers in some ensemble or voting scheme" (Gold & Sollich 2003, section results).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from marginwise.search.trace import Tuning

#: Searches found one optimum if no logarithm of a hyperparameter differs by more than this: they stop a little before.
_SAME_OPTIMUM = 0.02


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimum that searches have found; ``share`` is that of the searches that converged to it."""

    share: float
    tuning: Tuning


def best_only(tuning: Tuning) -> list[Optimum]:
    """Return the best of all searches as the only optimum."""
    return [Optimum(1.0, tuning)]


def distinct_optima(tuning: Tuning) -> list[Optimum]:
    """Return the optima of the searches that converged, the best first; if none did, the best of all alone.

    Searches that ended at the same place are one optimum with a larger share. Each has all searches as its restarts.
    """
    runs = sorted((run for run in tuning.restarts if run.status.ok), key=_rank)
    if not runs:
        return best_only(tuning)
    found: list[list[Tuning]] = []
    for run in runs:
        near = next((group for group in found if _distance(group[0], run) < _SAME_OPTIMUM), None)
        if near is None:
            found.append([run])
        else:
            near.append(run)
    return [Optimum(len(group) / len(runs), _as_tuning(group[0], tuning.restarts)) for group in found]


def _rank(run: Tuning) -> float:
    """Return a number that is smaller for better runs; without scores they keep their order."""
    return -run.score if np.isfinite(run.score) else 0.0


def _distance(first: Tuning, second: Tuning) -> float:
    return float(np.abs(first.hyperparameters.to_vector() - second.hyperparameters.to_vector()).max())


def _as_tuning(run: Tuning, runs: Sequence[Tuning]) -> Tuning:
    return replace(run, restarts=tuple(runs))
