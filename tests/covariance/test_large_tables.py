"""TunedSVC on many rows: low rank, tuned on some of the rows, trained on all."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.estimators._classes import ClassificationTable
from marginwise.estimators._parameters import chosen_rank, chosen_subset
from marginwise.fitting.labels import LeastSquaresLabels, SlackLabels
from marginwise.fitting.rank import RankPolicy
from marginwise.fitting.schedule import SCHEDULE
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.status import Status
from marginwise.svm.low_rank import solve_low_rank
from zoo import blobs

RNG = np.random.default_rng(0)
TABLE = blobs(400, 2, shift=0.8)
NEW = blobs(1000, 2, shift=0.8, seed=9)


@pytest.fixture(scope="module")
def low_rank() -> TunedSVC:
    return TunedSVC(rank=25, subset=200, random_state=0).fit(TABLE.X, TABLE.y)


def test_rank_and_subset_are_chosen_by_size() -> None:
    assert chosen_rank("auto", np.empty((SCHEDULE.exact_rows, 1))) is None
    assert chosen_rank("auto", np.empty((SCHEDULE.exact_rows + 1, 1))) == "auto"
    assert chosen_rank(7, np.empty((10, 1))) == 7
    assert chosen_rank(None, np.empty((10**6, 1))) is None
    assert chosen_subset("auto", "auto", SCHEDULE.exact_rows) is None
    assert chosen_subset("auto", "auto", 10**6) == SCHEDULE.wide_rows
    assert chosen_subset("auto", 7, SCHEDULE.tuning_rows) is None
    assert chosen_subset("auto", 7, 10**6) == SCHEDULE.tuning_rows
    assert chosen_subset(None, "auto", 10**6) is None
    assert chosen_subset(50, "auto", 100) == 50


@pytest.mark.filterwarnings("ignore:the search had not converged")
@pytest.mark.parametrize(("rank", "most", "points"), [("auto", 30, 30), ("auto", 10, 12), (25, 10, 25)])
def test_very_many_rows_have_fewer_inducing_inputs(rank: str | int, most: int, points: int, schedule) -> None:
    """As few as keep the time of a pass within bounds, but no fewer than while tuning; a given rank is kept."""
    n = len(TABLE.y)
    schedule(exact_rows=100, tuning_rank=12, pass_cost=most**2 * n, feature_numbers=most * n, local_numbers=0)
    model = TunedSVC(0, rank=rank, subset=200, max_evaluations=5, random_state=0).fit(TABLE.X, TABLE.y)
    assert model.ensemble_.n_points == points


def test_members_share_the_time(schedule) -> None:
    """Of passes over the rows: least squares make none, and have as many features as memory allows."""
    schedule(tuning_rank=5, pass_cost=30**2 * TABLE.n, feature_numbers=25 * TABLE.n, local_numbers=0)
    h, policy = Hyperparameters(1.0, 20.0, 1.0, 0.5), RankPolicy("auto")
    for members, points in ((1, 30), (4, 15), (100, 5)):
        for labels, most in ((SlackLabels(as_slack("linear")), points), (LeastSquaresLabels(), 25)):
            [(_, _, trained)] = policy.train(labels, TABLE, TABLE.X, h, members)
            assert len(trained.predictor.points) == most


def test_the_exact_matrix_needs_no_inducing_inputs() -> None:
    policy = RankPolicy(None)
    assert policy.exact
    assert policy.for_tuning(TABLE, Hyperparameters()) is TABLE
    [(_, _, trained)] = policy.train(LeastSquaresLabels(), TABLE, TABLE.X, Hyperparameters(), 1)
    np.testing.assert_array_equal(trained.predictor.points, TABLE.X)


def test_rows_to_tune_on_depend_on_nothing_but_the_rows() -> None:
    X = np.repeat(np.random.default_rng(5).normal(size=(300, 3)), 2, axis=0)
    codes = (np.arange(600) % 20 < 2).astype(int)
    table = ClassificationTable(X, codes, np.ones(600), np.arange(2), np.ones(600))
    order = np.random.default_rng(6).permutation(600)
    other = ClassificationTable(X[order], codes[order], np.ones(600), np.arange(2), np.ones(600))
    everything = np.ones(600, dtype=bool)
    a, b = table.drawn(100, everything, 3), other.drawn(100, everything, 3)
    c = table.merged().drawn(100, everything[::2], 3)
    for one in (b, c):
        np.testing.assert_array_equal(a.X, one.X)
        np.testing.assert_array_equal(a.codes, one.codes)
        np.testing.assert_array_equal(a.weights, one.weights)
    assert len(a.codes) == 100
    assert a.codes.sum() == 10
    assert (a.weights == 2).all()
    assert not np.array_equal(a.X, table.drawn(100, everything, 4).X)
    assert len(table.drawn(600, everything, 3).codes) == len(table.merged().codes)
    kept = np.arange(600) < 300
    assert set(map(tuple, table.drawn(40, kept, 3).X)) <= set(map(tuple, X[kept]))


def test_agrees_with_the_exact_model(low_rank: TunedSVC) -> None:
    exact = TunedSVC(rank=None, random_state=0).fit(TABLE.X, TABLE.y)
    same_rows = TunedSVC(rank=50, random_state=0).fit(TABLE.X, TABLE.y)
    a, b = exact.predict_proba(NEW.X)[:, 1], same_rows.predict_proba(NEW.X)[:, 1]
    assert np.abs(a - b).mean() < 0.01
    assert same_rows.expected_log_loss_ == pytest.approx(exact.expected_log_loss_, abs=0.01)
    assert abs(exact.score(NEW.X, NEW.y) - low_rank.score(NEW.X, NEW.y)) < 0.015
    assert low_rank.expected_error_ == pytest.approx(exact.expected_error_, abs=0.03)


def test_it_is_of_low_rank_and_small(low_rank: TunedSVC) -> None:
    model = low_rank.ensemble_
    assert model.n_points == 25
    assert all(member.few_points is not None and member.few_points.points.shape == (25, 2) for member in model.members)
    assert all(member.stored == () for member in model.members)
    assert len(model.X) == len(model.codes) == 200
    assert len(model.held_out) == 400
    assert model.machines is None


def test_the_svm_predicts_too(low_rank: TunedSVC) -> None:
    fitted = clone(low_rank).set_params(predictor="svm").fit(TABLE.X, TABLE.y)
    machines = fitted.ensemble_.machines
    assert machines.points.shape == (25, 2)
    assert machines.coefficients.shape == (1, 25)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(NEW.X), fitted.decision_function(NEW.X))
    assert (low_rank.predict(NEW.X) != fitted.predict(NEW.X)).mean() < 0.03


def test_the_svm_needs_rows_that_are_not_kept(low_rank: TunedSVC) -> None:
    later = pickle.loads(pickle.dumps(low_rank)).set_params(predictor="svm")
    with pytest.raises(InvalidInputError, match=r"needs all 400 training rows; 200 are kept.*fit with predictor=.svm"):
        later.predict(NEW.X)


@pytest.mark.filterwarnings("ignore:the search had not converged")
def test_the_svm_is_trained_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are kept: to ask for it later gives the same as to ask for it in the fit."""
    few: dict[str, Any] = {"ard": 0, "criterion": "ep-loo", "rank": 25, "random_state": 0, "max_evaluations": 3}
    expected = TunedSVC(**few, predictor="svm").fit(TABLE.X, TABLE.y).decision_function(NEW.X)
    with monkeypatch.context() as patched:
        patched.setattr("marginwise.fitting.machines.solve_svm", None)  # can't be called
        model = TunedSVC(**few).fit(TABLE.X, TABLE.y)
    later = model.set_params(predictor="svm").decision_function(NEW.X)
    np.testing.assert_allclose(later, expected, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:the search had not converged")
def test_the_svm_of_rounded_rows(full: bool) -> None:
    """At full size it is one that Newton's method with 100 steps leaves far from its solution."""
    n = 1700 if full else 300
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + 0.5 * rng.normal(size=n) > 1
    model = TunedSVC(0, rank="auto" if full else 280, max_evaluations=100 if full else 3, random_state=0)
    model.fit(X.round(1), y)
    by_posterior = model.predict(X.round(1))
    assert (model.set_params(predictor="svm").predict(X.round(1)) != by_posterior).mean() < 0.07


@pytest.mark.filterwarnings("ignore:the search had not converged")
def test_an_svm_that_did_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, **options: Any) -> Any:
        return replace(solve_low_rank(*arguments, **options), status=Status(False, "no solution"))

    monkeypatch.setattr("marginwise.fitting.machines.solve_svm", failing)
    with pytest.raises(NotConvergedError, match="no solution"):
        TunedSVC(0, rank=25, predictor="svm", max_evaluations=3).fit(TABLE.X, TABLE.y)


def test_it_survives_storage(low_rank: TunedSVC) -> None:
    again = pickle.loads(pickle.dumps(low_rank))
    np.testing.assert_array_equal(again.predict_proba(NEW.X), low_rank.predict_proba(NEW.X))


def test_the_exact_kernel_tuned_on_a_subset() -> None:
    model = TunedSVC(0, rank=None, subset=100, random_state=0).fit(TABLE.X, TABLE.y)
    ensemble = model.ensemble_
    assert len(ensemble.X) == ensemble.n_points == 400
    assert all(member.few_points is None for member in ensemble.members)
    assert model.score(NEW.X, NEW.y) > 0.75
    again = pickle.loads(pickle.dumps(model)).set_params(predictor="svm")
    assert again.score(NEW.X, NEW.y) > 0.75


def test_three_classes_weights_and_rows_set_aside() -> None:
    y = np.where(TABLE.X[:, 0] > 1, "c", np.where(TABLE.y > 0, "a", "b"))
    weights = RNG.uniform(0.5, 2.0, size=400)
    model = TunedSVC(0, rank=15, subset=150, validation_fraction=0.2, random_state=0).fit(TABLE.X, y, weights)
    assert model.predict_proba(NEW.X).shape == (1000, 3)
    assert model.score(TABLE.X, y) > 0.7


@pytest.mark.parametrize(("name", "value"), [("rank", 0), ("rank", "some"), ("subset", 2.5), ("subset", True)])
def test_wrong_values_are_named(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=name):
        TunedSVC(**{name: value}).fit(TABLE.X, TABLE.y)
