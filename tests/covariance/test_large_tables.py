"""TunedSVC on many rows: low rank, tuned on some of the rows, trained on all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.estimators._classes import ClassificationTable
from marginwise.estimators._scale import EXACT_ROWS, TUNING_ROWS, Scale, chosen_rank, chosen_subset
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from zoo import blobs

RNG = np.random.default_rng(0)
TABLE = blobs(400, 2, shift=0.8)
NEW = blobs(1000, 2, shift=0.8, seed=9)


@pytest.fixture(scope="module")
def low_rank() -> TunedSVC:
    return TunedSVC(rank=25, subset=200, random_state=0).fit(TABLE.X, TABLE.y)


def test_rank_and_subset_are_chosen_by_size() -> None:
    assert chosen_rank("auto", np.empty((EXACT_ROWS, 1))) is None
    assert chosen_rank("auto", np.empty((EXACT_ROWS + 1, 1))) == "auto"
    assert chosen_rank(7, np.empty((10, 1))) == 7
    assert chosen_rank(None, np.empty((10**6, 1))) is None
    assert chosen_subset("auto", TUNING_ROWS) is None
    assert chosen_subset("auto", 10**6) == TUNING_ROWS
    assert chosen_subset(None, 10**6) is None
    assert chosen_subset(50, 100) == 50


@pytest.mark.filterwarnings("ignore:the search had not converged")
@pytest.mark.parametrize(("rank", "most", "points"), [("auto", 30, 30), ("auto", 10, 12), (25, 10, 25)])
def test_very_many_rows_have_fewer_inducing_inputs(
    rank: str | int, most: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As few as keep the time of a pass within bounds, but no fewer than while tuning; a given rank is kept."""
    scale = "marginwise.estimators._scale"
    monkeypatch.setattr(f"{scale}.EXACT_ROWS", 100)
    monkeypatch.setattr(f"{scale}._MOST_TUNING", 12)
    monkeypatch.setattr(f"{scale}._PASS", most**2 * len(TABLE.y))
    model = TunedSVC(0, rank=rank, subset=200, max_evaluations=5, random_state=0).fit(TABLE.X, TABLE.y)
    assert model.models_[0].n_points == points


def test_members_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.estimators._scale._MOST_TUNING", 5)
    monkeypatch.setattr("marginwise.estimators._scale._PASS", 30**2 * TABLE.n)
    h = Hyperparameters(1.0, 20.0, 1.0, 0.5)
    for members, points in ((1, 30), (4, 15), (100, 5)):
        posterior = Scale("auto").posterior(TABLE, TABLE.X, h, as_slack("linear"), members)
        assert len(posterior.gaussian.points) == points


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
    assert same_rows.loo_log_loss_ == pytest.approx(exact.loo_log_loss_, abs=0.01)
    assert abs(exact.score(NEW.X, NEW.y) - low_rank.score(NEW.X, NEW.y)) < 0.015
    assert low_rank.loo_error_ == pytest.approx(exact.loo_error_, abs=0.03)


def test_it_is_of_low_rank_and_small(low_rank: TunedSVC) -> None:
    model = low_rank.models_[0]
    assert model.n_points == 25
    assert all(member.inducing is not None and member.inducing.shape == (25, 2) for member in model.members)
    assert len(model.X) == len(model.y) == 200
    assert len(model.held_out) == 400
    assert model.svm_points is not None
    assert len(model.svm_points) == len(model.dual_coef) == 25


def test_the_svm_predicts_too(low_rank: TunedSVC) -> None:
    posterior = low_rank.predict(NEW.X)
    svm = pickle.loads(pickle.dumps(low_rank)).set_params(predictor="svm").predict(NEW.X)
    assert (posterior != svm).mean() < 0.03


def test_it_survives_storage(low_rank: TunedSVC) -> None:
    again = pickle.loads(pickle.dumps(low_rank))
    np.testing.assert_array_equal(again.predict_proba(NEW.X), low_rank.predict_proba(NEW.X))


def test_the_exact_kernel_tuned_on_a_subset() -> None:
    model = TunedSVC(0, rank=None, subset=100, random_state=0).fit(TABLE.X, TABLE.y)
    assert len(model.models_[0].X) == len(model.models_[0].main.tau) == 400
    assert model.models_[0].svm_points is None
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
