"""The ladder of priors and the weights of its rungs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import zoo
from marginwise import freedom
from marginwise.criteria import as_criterion
from marginwise.ensemble import Ensemble, stacking_weights
from marginwise.freedom import climb, settle
from marginwise.priors import Prior
from marginwise.problem import Problem, as_problem
from marginwise.search import Limits, QuasiNewton, RandomWalk
from marginwise.tuning import SearchSettings

CRITERION = as_criterion("ep-loo")


def climbed(problem: Problem, **settings) -> Ensemble:
    return climb(problem, CRITERION, Prior().mean(problem.X.shape[1], isotropic=True), under(**settings))


def settled(problem: Problem, spread: float, **settings) -> Ensemble:
    start = Prior().mean(problem.X.shape[1], isotropic=True)
    return settle(problem, CRITERION, start, under(**settings), spread=spread)


def under(**settings) -> SearchSettings:
    return SearchSettings(prior=Prior(), **settings)


def test_weights_maximise_the_penalised_likelihood(rng):
    probabilities = rng.uniform(0.05, 0.95, size=(80, 3))
    example_weights = rng.uniform(0.5, 2.0, size=80)
    found = stacking_weights(probabilities, example_weights, n_iterations=20_000)

    def loss(free):
        weights = np.exp([*free, 0.0])
        weights /= weights.sum()
        return -example_weights @ np.log(probabilities @ weights) - 4.0 / 3 * np.log(weights).sum()

    best = minimize(loss, np.zeros(2), tol=1e-12).x
    expected = np.exp([*best, 0.0])
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-5)


def test_weights_go_to_the_better_model():
    probabilities = np.column_stack([np.full(1000, 0.9), np.full(1000, 0.6)])
    weights = stacking_weights(probabilities, np.ones(1000))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.99


def test_few_relevant_inputs_give_freedom_and_many_do_not():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 8))
    few = as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))
    free = climbed(few, seed=1)
    assert max(c.spread for c in free.models) > 0
    assert sum(c.weight for c in free.models if c.spread > 0) > 0.6
    even = climbed(zoo.twonorm(160), seed=1)
    assert sum(c.weight for c in even.models if c.spread == 0) > 0.4
    for stack in (free, even):
        assert sum(c.weight for c in stack.models) == pytest.approx(1.0)
        assert ((stack.held_out > 0) & (stack.held_out < 1)).all()


def test_many_rows_are_given_the_most_freedom_first(monkeypatch):
    """And less only if that gains nothing; searches begin on a part of the rows."""
    monkeypatch.setattr(freedom, "_FIRST_ROWS", 120)
    X = np.random.default_rng(5).normal(size=(240, 6))
    few = as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))
    tried = []
    plain = freedom._judge

    def watched(inside, outside, criterion, start, settings, by):
        tried.append(None if settings is None else settings.prior.spread)
        return plain(inside, outside, criterion, start, settings, by)

    monkeypatch.setattr(freedom, "_judge", watched)
    stack = climbed(few, seed=1)
    assert tried == [None] * 4 + [1.0] * 2 + [None] * 2
    assert stack.models[-1].spread == 1.0
    tried.clear()
    climbed(zoo.twonorm(240), seed=1)
    assert tried[:8] == [None] * 4 + [1.0] * 2 + [0.3] * 2


@pytest.fixture
def searches(monkeypatch):
    """The searches that are made, in order: rows, settings, and evaluations made."""
    made = []
    plain = freedom.tune_problem

    def watched(problem, criterion, start, settings):
        tuning = plain(problem, criterion, start, settings)
        made.append((problem.n, settings, len(tuning.trace)))
        return tuning

    monkeypatch.setattr(freedom, "tune_problem", watched)
    return made


def test_a_search_that_was_asked_for_is_kept(searches, monkeypatch):
    """Also where an earlier one has learnt no curvature."""
    monkeypatch.setattr(freedom, "_FIRST_ROWS", 30)
    monkeypatch.setattr(freedom, "_learnt", lambda criterion, tuning: ())
    climbed(zoo.blobs(60, 1), search=QuasiNewton())
    assert [(rows, settings.search) for rows, settings, _ in searches] == [(30, QuasiNewton()), (60, QuasiNewton())]


@pytest.mark.parametrize("rows", [40, 90])
def test_budget_and_search_hold_for_all_searches_inside(rows, searches, monkeypatch):
    monkeypatch.setattr(freedom, "_FIRST_ROWS", 60)
    X = np.random.default_rng(5).normal(size=(rows, 3))
    problem = as_problem(X, np.where(np.sin(2 * X[:, 0]) > 0, 1.0, -1.0))
    climbed(problem, search=RandomWalk(), limits=Limits(2))
    assert len(searches) > 2
    assert {settings.search for _, settings, _ in searches} == {RandomWalk()}
    assert max(evaluations for _, _, evaluations in searches) <= 2
    assert {settings.limits.max_evaluations for _, settings, _ in searches} == {2}


def test_settings_of_a_search_are_kept_where_it_goes_on(searches, monkeypatch):
    monkeypatch.setattr(freedom, "_FIRST_ROWS", 40)
    mine = QuasiNewton(first_move=0.25)
    settled(zoo.blobs(60, 2), 0.0, search=mine)
    first, last = (settings.search for _, settings, _ in searches)
    assert first is mine
    assert last == replace(mine, learnt=last.learnt)
    assert last.learnt


@pytest.mark.parametrize(("spread", "expected"), [(0.0, [40, 100]), (0.3, [40, 40, 100])])
def test_searches_with_a_given_freedom_begin_on_a_part_of_the_rows(spread, expected, searches, monkeypatch):
    """As those of a climb do: a given freedom is to save time and not to cost it."""
    problem = zoo.blobs(100, 3)
    whole = settled(problem, spread).models[0]
    assert [rows for rows, _, _ in searches] == [100] * (len(expected) - 1)
    searches.clear()
    monkeypatch.setattr(freedom, "_FIRST_ROWS", 40)
    begun = settled(problem, spread, restarts=1).models[0]
    assert [rows for rows, _, _ in searches] == expected
    assert searches[-1][2] <= (3 if spread == 0 else 8)
    assert begun.spread == whole.spread == spread
    assert begun.hyperparameters.is_isotropic == (spread == 0)
    assert len(begun.tuning.restarts) == (2 if spread == 0 else 1)
    assert begun.tuning.value == pytest.approx(whole.tuning.value, abs=0.02)


def test_the_result_does_not_depend_on_the_number_of_workers():
    problem = zoo.blobs(60, 3)
    one, two = (climbed(problem, seed=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.held_out, two.held_out)
    assert [c.hyperparameters for c in one.models] == [c.hyperparameters for c in two.models]


def test_too_few_examples_for_folds_leave_one_length_scale():
    problem = as_problem([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1, -1, -1])
    stack = climbed(problem)
    assert [c.spread for c in stack.models] == [0.0]
    assert stack.held_out is None
