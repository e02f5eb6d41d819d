"""Where several searches ended, and how models vote."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from marginwise import freedom, relay
from marginwise.criteria import as_criterion
from marginwise.ends import all_ends, alone
from marginwise.ensemble import Vote
from marginwise.freedom import settle
from marginwise.hyperparameters import Hyperparameters
from marginwise.priors import Prior
from marginwise.search.driver import Run
from marginwise.search.trace import Trace
from marginwise.status import CONVERGED, Code, Status
from marginwise.tuning import SearchSettings, Tuning

BUDGET = Status(False, "the budget is used up", Code.BUDGET)


def run(C: float, score: float, status: Status = CONVERGED) -> Run:
    model = Hyperparameters(C=C)
    return Run(model, score, score, Trace(()), status, model, {})


def tuning(*runs: Run) -> Tuning:
    return Tuning(runs[0].hyperparameters, runs[0].value, runs[0].trace, runs[0].status, runs)


def test_ends_at_the_same_place_are_one_with_a_larger_share():
    found = tuning(run(1.0, -0.5), run(3.0, -0.4), run(1.01, -0.499), run(1.005, -0.6))
    ends = all_ends(found)
    assert [end.tuning.hyperparameters.C for end in ends] == [3.0, 1.01]  # the best first, and the best of those near
    assert [end.share for end in ends] == [0.25, 0.75]
    assert all(end.tuning.restarts == found.restarts for end in ends)


def test_ends_that_did_not_converge_are_left_out():
    ends = all_ends(tuning(run(1.0, -0.5), run(3.0, -0.1, BUDGET), run(2.0, -0.6)))
    assert [(end.share, end.tuning.value) for end in ends] == [(0.5, -0.5), (0.5, -0.6)]
    none = tuning(run(1.0, -0.5, BUDGET), run(3.0, -0.6, BUDGET))
    assert [(end.share, end.tuning) for end in all_ends(none)] == [(1.0, none)]
    assert alone(none)[0].tuning is none


def test_without_scores_ends_keep_their_order():
    ends = all_ends(tuning(run(2.0, np.nan), run(1.0, np.nan), run(3.0, np.nan)))
    assert [end.tuning.hyperparameters.C for end in ends] == [2.0, 1.0, 3.0]


def test_shares_of_votes_by_hand():
    probability = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.2, 0.8]], [[0.1, 0.9], [0.7, 0.3]]])
    weights = np.array([0.5, 0.2, 0.3])
    shares = np.exp(Vote(np.ones(2)).log_shares(np.log(probability), weights))
    np.testing.assert_allclose(shares, [[0.7, 0.3], [0.3, 0.7]], atol=2e-6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)


def test_equal_votes_are_decided_by_the_mean_and_all_votes_leave_finite_logarithms():
    probability = np.array([[[0.9, 0.1], [0.999, 0.001]], [[0.45, 0.55], [1.0 - 1e-12, 1e-12]]])
    logs = Vote(np.ones(2)).log_shares(np.log(probability), np.array([0.5, 0.5]))
    assert np.exp(logs[0]) == pytest.approx([0.5, 0.5], abs=1e-5)
    assert logs[0, 0] > logs[0, 1]
    assert np.isfinite(logs).all()
    assert logs[1, 1] < np.log(1e-6)


def test_models_vote_with_the_importance_of_the_classes_in_mind():
    probability = np.array([[[0.6, 0.4]], [[0.9, 0.1]], [[0.55, 0.45]]])
    weights = np.full(3, 1 / 3)
    shares = np.exp(Vote(np.array([1.0, 2.0])).log_shares(np.log(probability), weights))
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3]], atol=2e-6)


def test_held_out_shares_of_two_classes_are_those_of_the_labels(rng):
    own, labels = rng.uniform(0.01, 0.99, size=(3, 20)), rng.integers(0, 2, size=20)
    vote, weights = Vote(np.array([1.0, 1.7])), np.array([0.2, 0.5, 0.3])
    second = np.where(labels == 1, own, 1.0 - own)
    by_class = vote.held_out(np.stack([1.0 - second, second], axis=2), weights, labels)
    np.testing.assert_allclose(by_class[np.arange(20), labels], vote.held_out(own, weights, labels), rtol=1e-12)


@pytest.mark.parametrize("rows", [60, 40])
def test_searches_with_free_length_scales_are_restarted_when_all_ends_are_wanted(rows, monkeypatch):
    monkeypatch.setattr(relay, "FIRST_ROWS", rows)
    made = []
    plain = freedom.tune_problem

    def watched(problem, criterion, start, settings):
        tuning = plain(problem, criterion, start, settings)
        made.append((problem.n, start.is_isotropic, len(tuning.restarts)))
        return tuning

    for module in (relay, freedom):
        monkeypatch.setattr(module, "tune_problem", watched)
    start = Prior().mean(3, isotropic=True)
    given = (zoo.blobs(60, 3), as_criterion("ep-loo"), start, SearchSettings(prior=Prior(), restarts=2))
    best = settle(*given, spread=1.0)
    assert made[:2] == [(rows, True, 3), (rows, False, 1)]
    assert len(best.models) == 1
    made.clear()
    several = settle(*given, spread=1.0, several=True)
    assert made[:2] == [(rows, True, 3), (rows, False, 3)]
    assert made[2:] == ([] if rows == 60 else [(60, False, 1)] * len(several.models))  # each goes on, on all rows
    assert sum(model.weight for model in several.models) == pytest.approx(1.0)
    assert all(len(model.tuning.restarts) == 3 for model in several.models)
