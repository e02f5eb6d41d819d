"""Where several searches ended."""

from __future__ import annotations

import numpy as np

from marginwise.fitting.optima import optima_of
from marginwise.hyperparameters import Hyperparameters
from marginwise.search.trace import Trace, Tuning
from marginwise.status import CONVERGED, Code, Status

BUDGET = Status(False, "the budget is used up", Code.BUDGET)


def run(C: float, score: float, status: Status = CONVERGED) -> Tuning:
    model = Hyperparameters(C=C)
    return Tuning(model, score, Trace(()), status, score=score, start=model)


def tuning(*runs: Tuning) -> Tuning:
    return Tuning(runs[0].hyperparameters, runs[0].value, runs[0].trace, runs[0].status, runs)


def test_searches_that_ended_at_the_same_place_are_one_optimum_with_a_larger_share():
    found = tuning(run(1.0, -0.5), run(3.0, -0.4), run(1.01, -0.499), run(1.005, -0.6))
    optima = optima_of(found)
    assert [one.hyperparameters.C for one, _ in optima] == [3.0, 1.01]  # the best first, the best of those near
    assert [share for _, share in optima] == [0.25, 0.75]
    assert all(one.restarts == found.restarts for one, _ in optima)
    assert optima_of(found, several=False) == [(found, 1.0)]


def test_searches_that_did_not_converge_are_left_out():
    optima = optima_of(tuning(run(1.0, -0.5), run(3.0, -0.1, BUDGET), run(2.0, -0.6)))
    assert [(one.value, share) for one, share in optima] == [(-0.5, 0.5), (-0.6, 0.5)]
    none = tuning(run(1.0, -0.5, BUDGET), run(3.0, -0.6, BUDGET))
    assert optima_of(none) == [(none, 1.0)]


def test_without_scores_optima_keep_their_order():
    optima = optima_of(tuning(run(2.0, np.nan), run(1.0, np.nan), run(3.0, np.nan)))
    assert [one.hyperparameters.C for one, _ in optima] == [2.0, 1.0, 3.0]
