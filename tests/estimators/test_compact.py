"""Compact models: their probabilities are those of the model but for the tolerance, and they say what they are."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwise import MarginSVC, TunedSVC, compact, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.estimators.compacting import made_up_rows, share_bound
from marginwise.fitting.schedule import SCHEDULE

N, TOLERANCE = 300, 0.02


def _numbers(seed: int, n: int = N) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def _mixed(seed: int, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=n), "age": rng.normal(size=n)})
    frame["colour"] = rng.choice(["red", "green", "blue"], size=n)
    frame.loc[rng.uniform(size=n) < 0.1, "age"] = np.nan
    return frame


def _labels(X: Any, n_classes: int) -> np.ndarray:
    noise = 0.3 * np.random.default_rng(len(X)).normal(size=len(X))
    if isinstance(X, pd.DataFrame):
        return (X["size"] + (X["colour"] == "red") + noise > 0.3).to_numpy()
    return np.digitize(X[:, 0] * X[:, 1] + noise, [0.0, 0.6][: n_classes - 1])


KINDS = ["two", "three", "mixed", "weights", "low rank", "local"]


@pytest.fixture(scope="module", params=KINDS)
def fitted(request: pytest.FixtureRequest) -> tuple[TunedSVC, Any]:
    """A model, and new rows from where its training rows are from."""
    make = _mixed if request.param == "mixed" else _numbers
    X, new = make(0), make(1, 1500)
    y = _labels(X, 3 if request.param == "three" else 2)
    options: dict[str, Any] = {"low rank": {"rank": 60}, "weights": {"class_weight": {0: 1.0, 1: 3.0}}}
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "local":
            patch.setitem(vars(SCHEDULE), "exact_rows", 150)
        model = TunedSVC(0.0, random_state=0, **options.get(request.param, {})).fit(X, y)
    assert (model.ensemble_.members[0].partition is not None) == (request.param == "local")
    return model, new


@pytest.fixture(scope="module")
def small(fitted: tuple[TunedSVC, Any]) -> TunedSVC:
    return compact(fitted[0], tolerance=TOLERANCE)


def moved(one: TunedSVC, other: TunedSVC, rows: Any) -> np.ndarray:
    return np.abs(one.predict_proba(rows) - other.predict_proba(rows)).max(axis=1)


def test_probabilities_stay_within_the_tolerance(fitted: tuple[TunedSVC, Any], small: TunedSVC) -> None:
    """New rows are drawn as the training rows, those of the check made up around them: nearly the same."""
    model, new = fitted
    found = small.compaction_
    assert found.is_smaller
    assert found.largest <= TOLERANCE
    numbers = sum(columns * size for columns, size in zip(found.columns, found.points, strict=True))
    assert numbers <= 0.5 * sum(size**2 for size in found.points_before)
    assert all(now <= before for now, before in zip(found.points, found.points_before, strict=True))
    assert (moved(model, small, new) > TOLERANCE).mean() <= max(2.0 * found.share_bound, 0.005)


def test_it_is_a_fitted_classifier(fitted: tuple[TunedSVC, Any], small: TunedSVC, tmp_path: Path) -> None:
    model, new = fitted
    rows = new[:50]
    proba, decision = small.predict_proba(rows), small.decision_function(rows)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(small.predict(rows), small.classes_[proba.argmax(axis=1)])
    save_model(small, tmp_path / "small.skops")
    for again in (load_model(tmp_path / "small.skops"), pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(again.predict_proba(rows), proba)
        np.testing.assert_array_equal(again.decision_function(rows), decision)
        assert again.compaction_ == small.compaction_
    assert small.get_params() == model.get_params()
    assert "held back" in str(small.compaction_)


def test_the_model_stays_as_it_is(fitted: tuple[TunedSVC, Any], small: TunedSVC) -> None:
    model, _ = fitted
    assert not hasattr(model, "compaction_")
    assert len(model.ensemble_.X)
    assert len(model.held_out_proba_) == N


def test_what_needs_training_rows_says_so_or_has_them(fitted: tuple[TunedSVC, Any], small: TunedSVC) -> None:
    model, new = fitted
    rows = new[:20]
    for call in (small.novelty, small.explain):
        with pytest.raises(InvalidInputError, match="keep_rows=True"):
            call(rows)
    with pytest.raises(InvalidInputError, match="compact already"):
        compact(small)
    assert small.held_out_proba_.shape == (0, len(model.classes_))
    kept = compact(model, tolerance=TOLERANCE, keep_rows=True)
    np.testing.assert_array_equal(kept.predict_proba(rows), small.predict_proba(rows))
    np.testing.assert_allclose(kept.novelty(rows).share, model.novelty(rows).share, atol=1e-12)
    np.testing.assert_array_equal(kept.held_out_proba_, model.held_out_proba_)
    with pytest.raises(InvalidInputError, match="compact already"):
        compact(kept)


def test_a_compact_model_can_be_fitted_again() -> None:
    X = _numbers(0, 100)
    small = compact(TunedSVC(0.0, random_state=0).fit(X, X[:, 0] > 0), tolerance=0.05)
    again = small.fit(X, X[:, 1] > 0)
    assert not hasattr(again, "compaction_")
    assert again.score(X, X[:, 1] > 0) > 0.9


def test_rows_of_the_users_say_it_of_rows_like_them() -> None:
    X = _numbers(0)
    model = TunedSVC(0.0, random_state=0).fit(X, _labels(X, 2))
    own, fresh = 0.5 * _numbers(3, 2000), 0.5 * _numbers(4, 4000)
    small = compact(model, own, tolerance=5e-3)
    found = small.compaction_
    assert found.n_checked == 1000
    assert (moved(model, small, fresh) > 5e-3).mean() <= found.share_bound
    with pytest.raises(InvalidInputError, match="100 or more"):
        compact(model, own[:99])


def test_a_tolerance_that_cannot_be_reached_is_said() -> None:
    X = _numbers(0)
    model = TunedSVC(0.0, random_state=0).fit(X, _labels(X, 2))
    with pytest.warns(UserWarning, match="a larger tolerance"):
        same = compact(model, tolerance=1e-13)
    assert not same.compaction_.is_smaller
    assert same.compaction_.points == same.compaction_.points_before
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_what_cannot_be_made_compact() -> None:
    X = _numbers(0, 60)
    y = X[:, 0] > 0
    with pytest.raises(NotFittedError):
        compact(TunedSVC())
    fitted = TunedSVC(0.0, random_state=0).fit(X, y)
    wrong: list[tuple[Any, str]] = [
        (MarginSVC().fit(X, y), "is a MarginSVC"),
        (make_pipeline(StandardScaler(), fitted), "its last step"),
        (TunedSVC(0.0, predictor="svm", random_state=0).fit(X, y), "predicts by its svm"),
        (TunedSVC(0.0, combine="vote", restarts=1, random_state=0).fit(X, y), "votes"),
    ]
    for model, message in wrong:
        with pytest.raises(InvalidInputError, match=message):
            compact(model)
    for tolerance in (0.0, 1.0, -1.0):
        with pytest.raises(InvalidInputError, match="between 0 and 1"):
            compact(fitted, tolerance=tolerance)


@pytest.mark.parametrize(("beyond", "n"), [(0, 10), (3, 200), (1, 2)])
def test_the_bound_is_that_of_the_binomial_law(beyond: int, n: int) -> None:
    """With that share of rows beyond, so few would be seen in one of twenty tables."""
    np.testing.assert_allclose(binom.cdf(beyond, n, share_bound(beyond, n, 0.95)), 0.05, rtol=1e-9)
    assert share_bound(n, n, 0.95) == 1.0


def test_made_up_rows_are_new_and_spread_as_the_rows_do(rng: np.random.Generator) -> None:
    numbers, levels = rng.normal(size=(400, 2)) @ [[2.0, 1.9], [0.0, 0.3]], rng.integers(3, size=400)
    X = np.column_stack([numbers, np.eye(3)[levels], rng.integers(2, size=400)])
    rows = made_up_rows(X, np.array([0, 1, 2, 2, 2, 3]), 4000, rng)
    assert {tuple(row) for row in rows[:, 2:5]} == {tuple(row) for row in np.eye(3)}
    assert set(rows[:, 5]) == {0.0, 1.0}
    assert len(np.unique(rows[:, 0])) > 3900  # numbers are new ones
    np.testing.assert_allclose(np.cov(rows[:, :2].T), np.cov(numbers.T), rtol=0.3)
