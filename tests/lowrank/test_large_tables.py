"""TunedSVC on many rows: low rank, tuned on some of the rows, trained on all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.estimators._scale import EXACT_ROWS, TUNING_ROWS, choose_scale
from marginwise.priors import Prior
from zoo import blobs

RNG = np.random.default_rng(0)
TABLE = blobs(400, 2, shift=0.8)
NEW = blobs(1000, 2, shift=0.8, seed=9)


@pytest.fixture(scope="module")
def low_rank() -> TunedSVC:
    return TunedSVC(rank=25, subset=200, random_state=0).fit(TABLE.X, TABLE.y)


def test_rank_and_subset_are_chosen_by_size() -> None:
    assert (choose_scale("auto", "auto", EXACT_ROWS, 0).rank, choose_scale("auto", "auto", 10, 0).subset) == (
        None,
        None,
    )
    large = choose_scale("auto", "auto", 10**6, 0)
    assert (large.rank, large.subset) == ("auto", TUNING_ROWS)
    assert choose_scale(None, None, 10**6, 0).rank is None
    assert choose_scale(7, 50, 100, 0).rank == 7


def test_rows_to_tune_on_have_both_labels_in_proportion() -> None:
    y = np.where(np.arange(400) < 40, 1.0, -1.0)
    some = choose_scale(9, 100, 400, 3).for_tuning(blobs(400, 2).__class__(TABLE.X, y, np.ones(400)), Prior())
    assert some.n == 100
    assert (some.y > 0).sum() == 10
    assert some.inducing is not None
    assert some.inducing.shape == (9, 2)


def test_agrees_with_the_exact_model(low_rank: TunedSVC) -> None:
    exact = TunedSVC(rank=None, subset=None, random_state=0).fit(TABLE.X, TABLE.y)
    a, b = exact.predict_proba(NEW.X)[:, 1], low_rank.predict_proba(NEW.X)[:, 1]
    assert np.abs(a - b).mean() < 0.03
    assert abs(exact.score(NEW.X, NEW.y) - low_rank.score(NEW.X, NEW.y)) < 0.015
    assert low_rank.loo_error_ == pytest.approx(exact.loo_error_, abs=0.03)


def test_it_is_of_low_rank_and_small(low_rank: TunedSVC) -> None:
    model = low_rank.models_[0]
    assert model.n_points == 25
    assert all(member.inducing is not None and member.inducing.shape == (25, 2) for member in model.members)
    assert len(model.members[0].tau) == 400
    assert model.svm_points is not None
    assert len(model.svm_points) == len(model.dual_coef) == 25


def test_the_svm_predicts_too(low_rank: TunedSVC) -> None:
    posterior = low_rank.predict(NEW.X)
    svm = pickle.loads(pickle.dumps(low_rank)).set_params(predictor="svm").predict(NEW.X)
    assert (posterior != svm).mean() < 0.03


def test_it_survives_storage(low_rank: TunedSVC) -> None:
    again = pickle.loads(pickle.dumps(low_rank))
    np.testing.assert_array_equal(again.predict_proba(NEW.X), low_rank.predict_proba(NEW.X))


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
