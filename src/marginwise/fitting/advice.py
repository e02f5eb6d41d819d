"""What a user should know of a fit, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginwise.criteria.base import Criterion
from marginwise.model import Model
from marginwise.search.trace import Tuning
from marginwise.status import Code, Status

#: Searches whose scores differ by less found the same optimum: the criteria are means over examples, of order one.
_SAME = 1e-3


def advice(
    tunings: Sequence[Tuning],
    statuses: Sequence[Status],
    criterion: Criterion,
    max_evaluations: int | None,
    several: bool = False,
) -> tuple[str, ...]:
    """Return messages about approximations that did not converge, and searches that ended where they should not.

    ``several`` says that the ends of all searches predict together, so that they may differ.
    """
    messages = [status.message for status in statuses if not status.ok]
    for tuning in tunings:
        messages += _unfinished(tuning, max_evaluations)
        messages += _on_bounds(tuning.hyperparameters)
        messages += _left_out(tuning.restarts) if several else _at_odds(tuning.restarts, criterion)
    return tuple(dict.fromkeys(messages))


def _unfinished(tuning: Tuning, max_evaluations: int | None) -> list[str]:
    """Say that a search did not end by itself; short ones of a set length are not meant to."""
    if tuning.status.ok:
        return []
    if max_evaluations is not None and len(tuning.trace) >= max_evaluations:
        return [f"the search had not converged after {max_evaluations} evaluations; raise max_evaluations"]
    return [] if tuning.status.code is Code.BUDGET else [f"the search did not converge: {tuning.status.message}"]


def _left_out(runs: Sequence[Tuning]) -> list[str]:
    """Say that some of the searches whose ends predict together did not converge."""
    lost = sum(not run.status.ok for run in runs)
    if len(runs) < 2 or lost == 0:
        return []
    kept = "those that did predict together" if lost < len(runs) else "the best of them predicts alone"
    return [f"{lost} of {len(runs)} searches had not converged, and {kept}; raise max_evaluations"]


def _on_bounds(found: Model) -> list[str]:
    """Say which of C, k0 and koff ended on a bound; a length scale on its bound only says that an input is useless."""
    logs = found.to_vector()
    alone = np.setdiff1d(np.arange(len(logs)), np.concatenate([*found.groups, []]))
    return [
        f"{found.names[i]} = {np.exp(logs[i]):.3g} ended on its {side} bound: the data do not determine it, and "
        "predictions may be too sure or too unsure; a narrower prior does, e.g. "
        f"prior=Prior({_law_of(found.names[i])})"
        for i in alone
        for side, bounds in zip(("lower", "upper"), found.log_bounds, strict=True)
        if abs(logs[i] - bounds[i]) < 1e-6
    ]


def _law_of(name: str) -> str:
    """Return the argument of Prior that gives a hyperparameter a narrower law."""
    law = "(mean of the logarithm, 0.5)"
    return f"{name}={law}" if name in ("C", "k0", "koff") else f'laws={{"{name}": {law}}}'


def _at_odds(runs: Sequence[Tuning], criterion: Criterion) -> list[str]:
    """Say that the best of several searches was alone in finding its optimum."""
    scores = np.array([run.score for run in runs if np.isfinite(run.score)])
    if len(scores) < 2 or (scores > scores.max() - _SAME).sum() > 1:
        return []
    values = ", ".join(f"{run.value:.4g}" for run in runs)
    return [
        f"{len(runs)} searches ended at different optima ({criterion.name} {values}), and the best was found only "
        "once; raise restarts until it is found again, or narrow the prior"
    ]
