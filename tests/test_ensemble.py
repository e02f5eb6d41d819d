"""The ladder of priors and the weights of its rungs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from marginwise.stacking import climb, settle, stacking_weights
from scipy.optimize import minimize

import zoo
from marginwise import stacking
from marginwise.criteria import as_criterion
from marginwise.priors import Prior
from marginwise.problem import as_problem
from marginwise.search import QuasiNewton


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
    criterion = as_criterion("ep-loo")
    free = climb(few, criterion, prior=Prior(), seed=1)
    assert max(c.spread for c in free.components) > 0
    assert sum(c.weight for c in free.components if c.spread > 0) > 0.6
    even = climb(zoo.twonorm(160), criterion, prior=Prior(), seed=1)
    assert sum(c.weight for c in even.components if c.spread == 0) > 0.4
    for stack in (free, even):
        assert sum(c.weight for c in stack.components) == pytest.approx(1.0)
        assert ((stack.held_out > 0) & (stack.held_out < 1)).all()


def test_many_rows_are_given_the_most_freedom_first(monkeypatch):
    """And less only if that gains nothing; searches begin on a part of the rows."""
    monkeypatch.setattr(stacking, "_FIRST_ROWS", 120)
    X = np.random.default_rng(5).normal(size=(240, 6))
    few = as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))
    tried = []
    plain = stacking._fold

    def watched(inside, outside, criterion, prior, start, asked):
        tried.append(None if prior is None else prior.spread)
        return plain(inside, outside, criterion, prior, start, asked)

    monkeypatch.setattr(stacking, "_fold", watched)
    stack = climb(few, as_criterion("ep-loo"), prior=Prior(), seed=1)
    assert tried == [None] * 4 + [1.0] * 2 + [None] * 2
    assert stack.components[-1].spread == 1.0
    tried.clear()
    climb(zoo.twonorm(240), as_criterion("ep-loo"), prior=Prior(), seed=1)
    assert tried[:8] == [None] * 4 + [1.0] * 2 + [0.3] * 2


def test_a_search_that_was_asked_for_is_kept(monkeypatch):
    """Also where an earlier one has learnt no curvature."""
    asked = []
    plain = stacking.tune
    monkeypatch.setattr(stacking, "_FIRST_ROWS", 30)
    monkeypatch.setattr(stacking, "_learnt", lambda criterion, tuning: ())

    def watched(X, *arguments, **options):
        asked.append((len(X), options.get("search")))
        return plain(X, *arguments, **options)

    monkeypatch.setattr(stacking, "tune", watched)
    climb(zoo.blobs(60, 1), as_criterion("ep-loo"), prior=Prior(), search="quasi-newton")
    assert asked == [(30, "quasi-newton"), (60, "quasi-newton")]


@pytest.fixture
def searches(monkeypatch):
    """The searches that are made, in order: rows, options, and evaluations made."""
    made = []
    plain = stacking.tune

    def watched(X, *arguments, **options):
        tuning = plain(X, *arguments, **options)
        made.append((len(X), options, len(tuning.trace)))
        return tuning

    monkeypatch.setattr(stacking, "tune", watched)
    return made


@pytest.mark.parametrize("rows", [40, 90])
def test_budget_and_search_hold_for_all_searches_inside(rows, searches, monkeypatch):
    monkeypatch.setattr(stacking, "_FIRST_ROWS", 60)
    X = np.random.default_rng(5).normal(size=(rows, 3))
    problem = as_problem(X, np.where(np.sin(2 * X[:, 0]) > 0, 1.0, -1.0))
    climb(problem, as_criterion("ep-loo"), prior=Prior(), search="random-walk", max_evaluations=2)
    assert len(searches) > 2
    assert {options["search"] for _, options, _ in searches} == {"random-walk"}
    assert max(evaluations for _, _, evaluations in searches) <= 2
    assert {options["max_evaluations"] for _, options, _ in searches} == {2}


def test_settings_of_a_search_are_kept_where_it_goes_on(searches, monkeypatch):
    monkeypatch.setattr(stacking, "_FIRST_ROWS", 40)
    mine = QuasiNewton(first_move=0.25)
    settle(zoo.blobs(60, 2), as_criterion("ep-loo"), prior=Prior(), spread=0.0, search=mine)
    first, last = (options["search"] for _, options, _ in searches)
    assert first is mine
    assert last == replace(mine, learnt=last.learnt)
    assert last.learnt


@pytest.mark.parametrize(("spread", "expected"), [(0.0, [40, 100]), (0.3, [40, 40, 100])])
def test_searches_with_a_given_freedom_begin_on_a_part_of_the_rows(spread, expected, searches, monkeypatch):
    """As those of a climb do: a given freedom is to save time and not to cost it."""
    problem, criterion = zoo.blobs(100, 3), as_criterion("ep-loo")
    whole = settle(problem, criterion, prior=Prior(), spread=spread).components[0]
    assert [rows for rows, _, _ in searches] == [100] * (len(expected) - 1)
    searches.clear()
    monkeypatch.setattr(stacking, "_FIRST_ROWS", 40)
    begun = settle(problem, criterion, prior=Prior(), spread=spread, restarts=1).components[0]
    assert [rows for rows, _, _ in searches] == expected
    assert searches[-1][2] <= (3 if spread == 0 else 8)
    assert begun.spread == whole.spread == spread
    assert begun.hyperparameters.is_isotropic == (spread == 0)
    assert len(begun.tuning.restarts) == (2 if spread == 0 else 1)
    assert begun.tuning.value == pytest.approx(whole.tuning.value, abs=0.02)


def test_the_result_does_not_depend_on_the_number_of_workers():
    problem = zoo.blobs(60, 3)
    one, two = (climb(problem, as_criterion("ep-loo"), prior=Prior(), seed=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.held_out, two.held_out)
    assert [c.hyperparameters for c in one.components] == [c.hyperparameters for c in two.components]


def test_too_few_examples_for_folds_leave_one_length_scale():
    problem = as_problem([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1, -1, -1])
    stack = climb(problem, as_criterion("ep-loo"), prior=Prior())
    assert [c.spread for c in stack.components] == [0.0]
    assert stack.held_out is None
