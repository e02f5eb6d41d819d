"""Where searches from several starts ended, as optima that predict together.

"One possible productive use of the high variability of classifiers produced by convergence to local optima … could be
to combine the resulting classifiers in some ensemble or voting scheme" (Gold & Sollich 2003, section results).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marginwise.search.trace import Tuning

#: Searches found one optimum if no logarithm of a hyperparameter differs by more than this: they stop a little before.
_SAME_OPTIMUM = 0.02


def optima_of(tuning: Tuning, *, several: bool = True) -> list[tuple[Tuning, float]]:
    """Return the optima of the searches that converged, the best first, each with its share of them.

    The best of all searches alone if none did, or if not ``several`` are wanted. Searches that ended at the same place
    are one optimum with a larger share. Each has all searches as its restarts.
    """
    runs = sorted((run for run in tuning.restarts if run.status.ok), key=_rank) if several else []
    if not runs:
        return [(tuning, 1.0)]
    found: list[list[Tuning]] = []
    for run in runs:
        near = next((group for group in found if _distance(group[0], run) < _SAME_OPTIMUM), None)
        if near is None:
            found.append([run])
        else:
            near.append(run)
    return [(replace(group[0], restarts=tuning.restarts), len(group) / len(runs)) for group in found]


def _rank(run: Tuning) -> float:
    """Return a number that is smaller for better runs; without scores they keep their order."""
    return -run.score if np.isfinite(run.score) else 0.0


def _distance(first: Tuning, second: Tuning) -> float:
    return float(np.abs(first.hyperparameters.to_vector() - second.hyperparameters.to_vector()).max())
