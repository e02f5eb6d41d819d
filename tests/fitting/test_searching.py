"""Searches that begin on a part of the rows, and go on from their neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import zoo
from fits import fitted
from marginwise.criteria import as_criterion
from marginwise.fitting import judging, searching
from marginwise.fitting.searching import Searcher, after, curvature_of, mean_of, with_curvature, with_restarts
from marginwise.priors import Prior
from marginwise.problem import as_problem
from marginwise.search import Limits, QuasiNewton, RandomWalk
from marginwise.search.restarts import tune_problem
from marginwise.search.settings import SearchSettings
from marginwise.search.trace import Trace

CRITERION = as_criterion("ls-loo")


def searcher(problem, **settings) -> Searcher:
    return Searcher(problem, CRITERION, SearchSettings(prior=Prior(), progress=False, **settings))


def begin(problem):
    return Prior().mean(problem.X.shape[1], isotropic=True)


@pytest.fixture
def searches(monkeypatch):
    """The searches that are made, in order: rows, settings, and evaluations made."""
    made = []

    def watched(plain):
        def search(problem, criterion, start, settings):
            tuning = plain(problem, criterion, start, settings)
            made.append((problem.n, settings, len(tuning.trace)))
            return tuning

        return search

    monkeypatch.setattr(searching, "tune_problem", watched(tune_problem))
    monkeypatch.setattr(judging, "_search", watched(judging._search))
    return made


def test_a_search_goes_on_with_the_curvature_of_another_from_the_mean_of_the_logarithms_of_several():
    problem = zoo.blobs(40, 2)
    tunings = [tune_problem(problem, CRITERION, begin(problem).with_C(C), SearchSettings()) for C in (0.5, 2.0)]
    one, two = (tuning.hyperparameters.to_vector() for tuning in tunings)
    np.testing.assert_allclose(mean_of(tunings).to_vector(), 0.5 * (one + two))
    learnt = after(CRITERION, tunings[0], SearchSettings(seed=7))
    assert learnt.seed == 7
    assert learnt.search.curvature_pairs
    np.testing.assert_equal(learnt.search.curvature_pairs, curvature_of(CRITERION, tunings[0]))


def test_criteria_with_jumps_leave_no_curvature():
    problem, criterion = zoo.blobs(30, 2), as_criterion("gacv")
    tuning = tune_problem(problem, criterion, begin(problem), SearchSettings(limits=Limits(6)))
    assert curvature_of(criterion, tuning) == ()


def test_curvature_goes_to_searches_that_can_use_it():
    pairs = ((np.ones(2), np.ones(2)),)
    assert with_curvature(None, ()) is None
    assert with_curvature(None, pairs).curvature_pairs == pairs
    mine = QuasiNewton(first_move=0.25)
    assert with_curvature(mine, pairs) == replace(mine, curvature_pairs=pairs)
    assert with_curvature(RandomWalk(), pairs) == RandomWalk()


def test_the_first_search_begins_on_half_of_many_rows(searches):
    problem = zoo.blobs(300, 2)
    one = searcher(problem)
    one.first(begin(problem), one.settings)
    assert [rows for rows, _, _ in searches] == [150, 300]
    assert searches[1][1].search.curvature_pairs
    searches.clear()
    restarted = searcher(problem, restarts=1)  # random starts are for all rows
    restarted.first(begin(problem), restarted.settings)
    assert [rows for rows, _, _ in searches] == [300]
    searches.clear()
    wished = searcher(problem, search=QuasiNewton())
    wished.first(begin(problem), wished.settings)
    assert [(rows, settings.search) for rows, settings, _ in searches] == [(300, QuasiNewton())]


def test_a_rough_search_ends_near_a_fine_one():
    problem = zoo.twonorm(300)
    one = searcher(problem)
    fine = tune_problem(problem, CRITERION, begin(problem), one.settings)
    rough = one.first(begin(problem), one.settings)
    assert len(rough.trace) < len(fine.trace)
    gap = problem.n * (_score(fine) - _score(rough))
    assert abs(gap) < 0.1  # in units of the log-probability of all labels


def test_a_search_near_by_ends_at_a_move_that_gains_next_to_nothing(schedule):
    problem = zoo.blobs(200, 4, shift=0.3)
    one, start = searcher(problem), begin(problem).as_ard(4)
    schedule(small_gain=1e-6)
    fine = one.near(problem, start, 0.3, 60)
    schedule(small_gain=1.0)
    rough = one.near(problem, start, 0.3, 60)
    scores = [problem.n * record.point.score for record in rough.trace.accepted]
    assert rough.status.ok
    assert len(rough.trace) < len(fine.trace)
    assert scores[-1] - scores[-2] <= 1.0
    assert min(np.diff(scores)[:-1], default=np.inf) > 1.0
    assert len(one.near(problem, start, 0.3, 2).trace) == 2


def _score(tuning) -> float:
    return max(record.point.score for record in tuning.trace)


def test_many_rows_are_searched_in_parts_and_refined_on_all(searches, schedule):
    schedule(coarse_rows=40, many_last_evaluations=3, last_evaluations=8)
    problem = zoo.blobs(100, 3)
    one = searcher(problem)
    assert one.are_many
    assert one.coarse.n == 40
    found = one.first(begin(problem), one.settings)
    one.last(0.0, [found])
    assert [rows for rows, _, _ in searches] == [40, 100]
    assert searches[-1][2] <= 3
    assert searches[-1][1].search.curvature_pairs
    # What one part says of many length scales is not near: the last search is longer.
    free = replace(found, hyperparameters=found.hyperparameters.as_ard(3), trace=Trace(()))
    one.last(0.3, [free])
    assert searches[-1][1].limits.max_evaluations == 8
    one.last(0.3, [free, free])
    assert searches[-1][1].limits.max_evaluations == 3


@pytest.mark.parametrize(("spread", "expected"), [(0.0, [40, 80]), (0.3, [40, 60, 60, 60, 60, 80])])
def test_searches_with_a_given_spread_begin_on_a_part_of_the_rows(spread, expected, searches, schedule):
    """And the folds search by themselves, as long as all rows would."""
    problem = zoo.blobs(80, 2)
    whole = fitted(problem, ard=spread).main
    searches.clear()
    schedule(coarse_rows=40)
    begun = fitted(problem, ard=spread, restarts=1).main
    assert [rows for rows, _, _ in searches] == expected
    assert begun.spread == whole.spread == spread
    assert begun.tuning.hyperparameters.is_isotropic == (spread == 0)
    assert begun.tuning.value == pytest.approx(whole.tuning.value, abs=0.03)
    if spread == 0:
        assert len(begun.tuning.restarts) == 2
        assert searches[-1][2] <= 3
    else:
        assert {settings.prior.spread for _, settings, _ in searches[1:]} == {spread}


@pytest.mark.parametrize("rows", [40, 90])
def test_budget_and_search_hold_for_all_searches_inside(rows, searches, schedule):
    schedule(coarse_rows=60)
    X = np.random.default_rng(5).normal(size=(rows, 3))
    problem = as_problem(X, np.where(np.sin(2 * X[:, 0]) > 0, 1.0, -1.0))
    fitted(problem, search=RandomWalk(), limits=Limits(2))
    assert len(searches) > 2
    assert {settings.search for _, settings, _ in searches} == {RandomWalk()}
    assert max(evaluations for _, _, evaluations in searches) <= 2
    assert {settings.limits.max_evaluations for _, settings, _ in searches} == {2}


def test_a_search_that_was_asked_for_is_kept(searches, schedule, monkeypatch):
    """Also where an earlier one has learnt no curvature."""
    schedule(coarse_rows=30)
    monkeypatch.setattr(searching, "pairs_of", lambda path: ())
    fitted(zoo.blobs(60, 1), search=QuasiNewton())
    assert [(rows, settings.search) for rows, settings, _ in searches] == [(30, QuasiNewton()), (60, QuasiNewton())]


def test_settings_of_a_search_are_kept_where_it_goes_on(searches, schedule):
    schedule(coarse_rows=40)
    mine = QuasiNewton(first_move=0.25)
    fitted(zoo.blobs(60, 2), ard=0.0, search=mine)
    first, last = (settings.search for _, settings, _ in searches)
    assert first is mine
    assert last == replace(mine, curvature_pairs=last.curvature_pairs)
    assert last.curvature_pairs


def test_the_searches_that_were_asked_for_are_reported():
    problem = zoo.blobs(30, 2)
    several, one = (tune_problem(problem, CRITERION, begin(problem), SearchSettings(restarts=n)) for n in (1, 0))
    assert with_restarts(one, several) is several
    assert with_restarts(several, one).restarts == several.restarts
    assert with_restarts(several, one).hyperparameters == one.hyperparameters
