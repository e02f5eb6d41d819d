"""The ladder of priors and the weights of its rungs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import zoo
from marginwise import TunedSVC, freedom, relay
from marginwise.criteria import as_criterion
from marginwise.ensemble import Ensemble, stacking_weights
from marginwise.freedom import climb, settle
from marginwise.kernels import Blend
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem, as_problem
from marginwise.search import Limits, QuasiNewton, RandomWalk
from marginwise.tuning import SearchSettings, tune_problem

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


@pytest.fixture
def tried(monkeypatch):
    """The freedom of each search on a fold, in order; None where a fold only predicts."""
    spreads = []
    plain = freedom._judge

    def watched(inside, outside, criterion, start, settings, by):
        spreads.append(None if settings is None else settings.prior.spread)
        return plain(inside, outside, criterion, start, settings, by)

    monkeypatch.setattr(freedom, "_judge", watched)
    return spreads


def test_many_rows_are_given_the_most_freedom_first(tried, monkeypatch):
    """And less only if that gains nothing; searches begin on a part of the rows."""
    monkeypatch.setattr(relay, "FIRST_ROWS", 120)
    X = np.random.default_rng(5).normal(size=(240, 6))
    few = as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))
    stack = climbed(few, seed=1)
    assert tried == [None] * 4 + [1.0] * 2 + [None] * 2
    assert stack.models[-1].spread == 1.0
    tried.clear()
    climbed(zoo.twonorm(240), seed=1)
    assert tried[:10] == [None] * 4 + [1.0] * 2 + [None] * 2 + [0.3] * 2


def test_first_folds_that_gain_nothing_end_the_climb(tried, monkeypatch):
    climbed(zoo.twonorm(100), seed=1)
    assert tried == [None] * 4 + [0.3] * 2
    tried.clear()
    monkeypatch.setattr(freedom, "_STAGES", (((2, -np.inf), (4, 0.0)), ()))
    climbed(zoo.twonorm(100), seed=1)
    assert tried == [None] * 4 + [0.3] * 4


def blended(problem: Problem, **settings) -> Ensemble:
    """A climb with the kernel that is a sum of several."""
    start = Prior().mean_of(Model(1.0, Blend()), problem.X.shape[1])
    return climb(problem, CRITERION, start, under(**settings))


def test_the_papers_kernel_stands_beside_a_blend():
    stack = blended(zoo.twonorm(100), seed=1)
    [simple] = [model for model in stack.models if model.beside]
    assert simple.hyperparameters.kernel.present == ("k0", "koff")
    assert simple.spread == 0.0
    assert stack.main is not simple
    assert stack.main.hyperparameters.kernel.present == ("k0", "koff", "klin", "k1")
    assert sum(model.weight for model in stack.models) == pytest.approx(1.0)
    # Its search is begun at what the blend found, and cut short: near to where a search of its own ends.
    own = tune_problem(zoo.twonorm(100), CRITERION, Prior().mean(20, isotropic=True), under())
    assert simple.tuning.value == pytest.approx(own.value, abs=0.002)


def test_nothing_stands_beside_what_has_no_simpler_form(monkeypatch):
    problem = zoo.twonorm(60)
    assert not any(model.beside for model in climbed(problem, seed=1).models)  # the paper's kernel itself
    monkeypatch.setattr(freedom, "LEAST_WEIGHT", 0.0)  # whatever was a candidate is there
    assert any(model.beside for model in blended(problem, seed=1).models)
    low_rank = replace(problem, inducing=problem.X[:20])
    assert not any(model.beside for model in blended(low_rank, seed=1).models)


@pytest.mark.parametrize(("draw", "bound"), [("curved", -0.001), ("straight", 0.006)])
def test_it_helps_where_terms_are_not_called_for_and_does_little_harm_where_they_are(draw, bound, monkeypatch):
    """Log-loss on new rows, the mean of several tables: with it minus without it."""

    def made(n, rng):
        X = rng.normal(size=(n, 4))
        f = 4.0 - (X**2).sum(axis=1) if draw == "curved" else 3.0 * X[:, 0] - 2.0 * X[:, 1]
        return X, np.where(f + rng.logistic(size=n) > 0, 1, -1)

    def loss(seed):
        rng = np.random.default_rng(seed)
        (X, y), (new, labels) = made(80, rng), made(4000, rng)
        probability = TunedSVC(random_state=seed, standardize=False).fit(X, y).predict_proba(new)
        return -np.log(probability[np.arange(len(labels)), (labels > 0).astype(int)]).mean()

    with_it = np.array([loss(seed) for seed in range(8)])
    monkeypatch.setattr(Blend, "simpler", lambda kernel: None)
    difference = with_it - [loss(seed) for seed in range(8)]
    assert difference.mean() < bound


@pytest.fixture
def searches(monkeypatch):
    """The searches that are made, in order: rows, settings, and evaluations made."""
    made = []
    plain = tune_problem

    def watched(problem, criterion, start, settings):
        tuning = plain(problem, criterion, start, settings)
        made.append((problem.n, settings, len(tuning.trace)))
        return tuning

    for module in (relay, freedom):
        monkeypatch.setattr(module, "tune_problem", watched)
    return made


def test_a_search_that_was_asked_for_is_kept(searches, monkeypatch):
    """Also where an earlier one has learnt no curvature."""
    monkeypatch.setattr(relay, "FIRST_ROWS", 30)
    monkeypatch.setattr(relay, "learnt", lambda criterion, tuning: ())
    climbed(zoo.blobs(60, 1), search=QuasiNewton())
    assert [(rows, settings.search) for rows, settings, _ in searches] == [(30, QuasiNewton()), (60, QuasiNewton())]


def test_the_first_search_of_a_climb_begins_on_half_of_many_rows(searches):
    """And ends where one from the same start on all rows does, but for what examples would not show."""
    problem = zoo.blobs(300, 2)
    climbed(problem)
    assert [rows for rows, _, _ in searches[:2]] == [150, 300]
    assert searches[1][1].search.learnt
    searches.clear()
    climbed(problem, restarts=1)  # random starts are for all rows
    assert [rows for rows, _, _ in searches[:1]] == [300]


def test_a_rough_search_ends_near_a_fine_one():
    problem, start = zoo.twonorm(300), Prior().mean(20, isotropic=True)
    fine = tune_problem(problem, CRITERION, start, under())
    rough = relay.begin_roughly(problem, CRITERION, start, under())
    assert len(rough.trace) < len(fine.trace)
    gap = problem.n * (_score(fine) - _score(rough))
    assert abs(gap) < 0.1  # in units of the log-probability of all labels


def _score(tuning) -> float:
    return max(record.point.score for record in tuning.trace)


@pytest.mark.parametrize("rows", [40, 90])
def test_budget_and_search_hold_for_all_searches_inside(rows, searches, monkeypatch):
    monkeypatch.setattr(relay, "FIRST_ROWS", 60)
    X = np.random.default_rng(5).normal(size=(rows, 3))
    problem = as_problem(X, np.where(np.sin(2 * X[:, 0]) > 0, 1.0, -1.0))
    climbed(problem, search=RandomWalk(), limits=Limits(2))
    assert len(searches) > 2
    assert {settings.search for _, settings, _ in searches} == {RandomWalk()}
    assert max(evaluations for _, _, evaluations in searches) <= 2
    assert {settings.limits.max_evaluations for _, settings, _ in searches} == {2}


def test_settings_of_a_search_are_kept_where_it_goes_on(searches, monkeypatch):
    monkeypatch.setattr(relay, "FIRST_ROWS", 40)
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
    monkeypatch.setattr(relay, "FIRST_ROWS", 40)
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
