"""Candidates judged on common folds: spreads that gain, label models and kernels that would have a weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import zoo
from fits import BLEND, config_of
from marginwise.fitting import judging
from marginwise.fitting.folds import Folds
from marginwise.fitting.judging import Jury
from marginwise.fitting.labels import LeastSquaresLabels
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, after, mean_of
from marginwise.fitting.stacking import combined, kept_weights
from marginwise.problem import Problem, as_problem
from marginwise.search.restarts import tune_problem


def few_inputs(n: int, d: int) -> Problem:
    """Two of the inputs matter, one of them more."""
    X = np.random.default_rng(5).normal(size=(n, d))
    return as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))


def heard(problem: Problem, *, labels=None, **options) -> Jury:
    """Judge the candidates of a problem; with ``labels`` by these alone."""
    config = config_of(problem, seed=1, **options)
    declared = config.declared
    if labels is not None:
        main = replace(declared.main, labels=tuple(labels))
        declared = replace(declared, families=(main, *declared.families[1:]))
    searcher = Searcher(problem, declared.main.criterion, config.settings)
    jury = Jury(searcher, Folds.assign(problem, 1), declared, thorough=config.all_optima)
    first = searcher.first(declared.main.start, config.settings)
    with jury.in_session(1):
        for family in declared.families:
            jury.hear(family, first)
        jury.hear_screened()
    return jury


@pytest.fixture
def tried(monkeypatch):
    """What is done on folds, in order: the spread of each search, and the labels of each prediction."""
    calls = []
    search, predict = judging._search, judging._predict

    def searched(inside, criterion, start, settings):
        calls.append(0.0 if start.is_isotropic else settings.prior.spread)
        return search(inside, criterion, start, settings)

    def predicted(inside, outside, labels, model):
        calls.append(labels.name)
        return predict(inside, outside, labels, model)

    monkeypatch.setattr(judging, "_search", searched)
    monkeypatch.setattr(judging, "_predict", predicted)
    return calls


#: One length scale: searched and predicted on each fold.
ONE = [0.0] * 4 + ["least-squares"] * 4


def a_spread(spread: float, searches: int = 2, predictions: int = 2) -> list[float | str]:
    """Return what is done on two of four folds."""
    return [spread] * searches + ["least-squares"] * predictions


@dataclass(frozen=True)
class Clueless(LeastSquaresLabels):
    """Takes all classes for equally probable."""

    name: ClassVar[str] = "clueless"

    def train(self, problem, model, start=None):
        trained = super().train(problem, model)
        flat = replace(trained.predictor.link, steepness=1e-9)
        return trained._replace(predictor=replace(trained.predictor, link=flat))


@dataclass(frozen=True)
class Scaleless(LeastSquaresLabels):
    """Has no scale for any model."""

    name: ClassVar[str] = "scaleless"

    def scale(self, problem, model):
        return None


LEAST_SQUARES = (LeastSquaresLabels(),)


def objective(searcher):
    """What searches maximise, as a function of a problem and a model."""

    def score(problem: Problem, model) -> float:
        evaluations = searcher.quiet.going_on(1)
        return tune_problem(problem, searcher.criterion, model, evaluations).trace[0].point.score

    return score


def test_first_folds_that_gain_nothing_end_the_spreads(tried, monkeypatch):
    monkeypatch.setattr(Folds, "gain", lambda *_: -0.1)
    jury = heard(few_inputs(60, 3), labels=LEAST_SQUARES)
    assert tried == ONE + a_spread(0.3)
    assert [one.searched.spread for one in jury.judged] == [0.0]


def test_spreads_are_raised_while_they_gain(tried):
    jury = heard(few_inputs(160, 6), labels=LEAST_SQUARES)
    assert tried == ONE + 2 * a_spread(0.3) + 2 * a_spread(1.0)
    assert [one.searched.spread for one in jury.judged] == [0.0, 0.3, 1.0]
    gains = [jury.folds.gain(b.log_proba, a.log_proba) for a, b in zip(jury.judged, jury.judged[1:], strict=False)]
    assert min(gains) > 0.0


def test_many_rows_are_given_the_largest_spread_first(tried, schedule, monkeypatch):
    """And a smaller one only if that gains nothing; the searches of the first folds serve the others."""
    schedule(coarse_rows=100)
    problem = few_inputs(160, 4)
    jury = heard(problem, labels=LEAST_SQUARES)
    one = ["least-squares"] * 4  # with the search of all rows
    assert tried == one + a_spread(1.0) + a_spread(1.0, searches=0)
    assert jury.judged[-1].searched.spread == 1.0
    tried.clear()
    monkeypatch.setattr(Folds, "gain", lambda *_: -0.1)
    jury = heard(problem, labels=LEAST_SQUARES)
    assert tried == one + [step for s in (1.0, 0.3) for step in a_spread(s) + a_spread(s, searches=0)]
    assert [one.searched.spread for one in jury.judged] == [0.0]


def test_a_spread_that_is_given_is_the_only_one_and_need_not_gain(tried):
    jury = heard(zoo.twonorm(80), labels=LEAST_SQUARES, ard=1.0)
    assert tried == ONE + 2 * a_spread(1.0)
    assert [one.searched.spread for one in jury.judged] == [1.0]
    ends = {one.hyperparameters.to_vector().tobytes() for one in jury.judged[0].searched.ends}
    assert len(ends) == len(jury.folds)


@pytest.mark.parametrize(("ard", "thorough"), [(1.0, True), (1.0, False), ("auto", True)])
def test_folds_of_a_given_spread_search_as_long_as_all_rows(monkeypatch, ard, thorough):
    budgets = []
    plain = judging._search

    def watched(inside, criterion, start, settings):
        budgets.append(settings.limits.max_evaluations)
        return plain(inside, criterion, start, settings.going_on(3))

    monkeypatch.setattr(judging, "_search", watched)
    jury = heard(few_inputs(60, 3), labels=LEAST_SQUARES, ard=ard, all_optima=thorough)
    whole = jury.searcher.settings.limits.max_evaluations
    most = whole if thorough and ard != "auto" else SCHEDULE.fold_evaluations
    assert budgets[:4] == [SCHEDULE.shared_fold_evaluations] * 4
    assert set(budgets[4:]) == {most}


def test_one_length_scale_is_found_on_each_fold_without_the_rows_left_out():
    """Few rows move it: that of all rows has seen those left out."""
    jury = heard(few_inputs(60, 3), labels=LEAST_SQUARES, ard=0.0)
    searched = jury.judged[0].searched
    whole = searched.begun.hyperparameters
    score = objective(jury.searcher)
    parts = [jury.folds.split(k)[0] for k in range(len(jury.folds))]
    gains = [score(part, searched.model(k)) - score(part, whole) for k, part in enumerate(parts)]
    assert min(gains) >= 0.0
    assert np.count_nonzero(gains) >= 2  # where the step is too long, the search stays


def test_auxiliary_models_leave_out_half_of_the_folds_at_once():
    jury = heard(zoo.twonorm(60), kernel=BLEND)
    ends = next(one.searched.ends for one in jury.judged if one.searched.family.auxiliary)
    assert ends[0] is ends[1]
    assert ends[2] is ends[3]
    assert ends[0].hyperparameters != ends[2].hyperparameters


def test_rows_that_are_many_share_one_search(schedule):
    schedule(coarse_rows=50)
    jury = heard(few_inputs(60, 3), labels=LEAST_SQUARES, ard=0.0)
    assert len(set(map(id, jury.judged[0].searched.ends))) == 1


def test_what_is_stated_is_mixed_with_weights_of_the_other_folds():
    jury = heard(few_inputs(80, 3))
    folds, logs = jury.folds, np.array([one.log_proba for one in jury.judged])
    mixed = jury.held_out(None)
    for k in range(len(folds)):
        inside = folds.numbers == k
        table = np.column_stack([folds.own(one.log_proba) for one in jury.judged])
        weights = kept_weights(table[~inside], folds.weights[~inside])
        np.testing.assert_allclose(mixed[inside], combined(logs[:, inside], weights, None))


def test_candidates_without_a_weight_on_the_first_folds_are_dropped(tried):
    jury = heard(zoo.blobs(240, 2, shift=2.0), labels=(LeastSquaresLabels(), Clueless(), Scaleless()), ard=0.0)
    assert [one.labels.name for one in jury.judged] == ["least-squares"]
    assert tried.count("clueless") == SCHEDULE.first_folds
    assert "scaleless" not in tried


def test_other_labels_share_the_last_search():
    jury = heard(few_inputs(100, 4))
    assert {one.labels.name for one in jury.judged} > {"least-squares"}
    spread = [one.searched for one in jury.judged if one.labels.name == "least-squares"][-1]
    for one in jury.judged:
        assert one.labels.name == "least-squares" or one.searched is spread
        assert len(one.log_proba) == len(jury.folds.weights)
        np.testing.assert_allclose(np.exp(one.log_proba).sum(axis=1), 1.0)
    assert jury.weights.sum() == pytest.approx(1.0)
    kept = jury.weights[jury.weights > 0]
    assert kept.min() >= SCHEDULE.least_weight


@pytest.mark.parametrize("many", [False, True])
def test_normal_scores_are_judged_on_the_same_folds(schedule, many):
    """By what a search on the scores of the rows that stay in says of the others; many rows share two searches."""
    schedule(least_weight=0.0, scored_from=0.0, coarse_rows=50 if many else SCHEDULE.coarse_rows)
    problem = few_inputs(80, 3)
    jury = heard(problem, labels=LEAST_SQUARES)
    [scored] = [one for one in jury.judged if one.searched.view is not None]
    main = [one for one in jury.judged if not (one.searched.view or one.searched.family.auxiliary)][-1]
    assert scored.searched.spread == main.searched.spread
    seen, expected = replace(problem, X=scored.searched.view(problem.X)), []
    criterion, ends = jury.searcher.criterion, []
    settings = jury.searcher.quiet.with_spread(main.searched.spread)
    for k in range(len(jury.folds)):
        inside, outside = Folds(seen, jury.folds.counts, jury.folds.seed).split(k)
        if many and k >= SCHEDULE.first_folds:
            model = mean_of(ends)
        else:
            near, most = main.searched.ends[k], SCHEDULE.many_fold_evaluations if many else SCHEDULE.fold_evaluations
            own = after(criterion, near, settings.going_on(most))
            ends.append(tune_problem(inside, criterion, near.hyperparameters, own))
            model = ends[-1].hyperparameters
        expected.append(LeastSquaresLabels().train(inside, model).predictor.log_proba(outside))
    np.testing.assert_allclose(scored.log_proba, np.concatenate(expected), atol=1e-10)


def test_inputs_that_are_nearly_normal_have_no_second_view(tried):
    jury = heard(few_inputs(80, 3), labels=LEAST_SQUARES)
    assert all(one.searched.view is None for one in jury.judged)


def test_each_term_alone_is_a_candidate(schedule):
    """With C as many times that of its search as the softmax likelihood asks for with all terms."""
    schedule(least_weight=0.0)  # whatever was a candidate is judged on all folds
    jury = heard(zoo.twonorm(60), kernel=BLEND)
    alone = [one for one in jury.judged if one.candidate.auxiliary]
    present = [one.searched.model(0).kernel.present[:2] for one in alone]
    assert present == [("k0", "koff"), ("koff", "klin"), ("koff", "k1")]
    whole = next(one for one in jury.judged if one.labels.name == "softmax")
    growth = whole.scale.C / mean_of(whole.searched.ends).C
    for one in alone:
        assert (one.candidate.spread, one.labels.name) == (0.0, "softmax")
        np.testing.assert_allclose(one.scale.C, growth * mean_of(one.searched.ends).C)


def test_rows_left_out_are_unknown_to_the_models_that_predict_them(monkeypatch):
    """A fold's search and training see none of its rows."""
    problem = few_inputs(60, 3)
    search, predict = judging._search, judging._predict
    searched, known = {}, []  # some searches stay where they begin, and end at the same place

    def searching(inside, criterion, start, settings):
        found = search(inside, criterion, start, settings)
        searched.setdefault(found.hyperparameters, []).append(rows_of(inside.X))
        return found

    def predicting(inside, outside, labels, model):
        others = rows_of(outside)
        known.append(bool(rows_of(inside.X) & others) or all(rows & others for rows in searched[model]))
        return predict(inside, outside, labels, model)

    monkeypatch.setattr(judging, "_search", searching)
    monkeypatch.setattr(judging, "_predict", predicting)
    heard(problem, labels=LEAST_SQUARES)
    assert known
    assert not any(known)


def rows_of(X: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in X}
