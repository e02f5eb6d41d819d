"""Classifiers side by side: scores against slow obvious ones, splits, failures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from marginwise.comparison import GridSVC, calibration_error, contestants, peer_names, run_parts, scores, splits
from marginwise.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])]


def test_scores_are_those_of_cross_validated_predictions() -> None:
    rows = splits(Y, folds=4, test_fraction=None, seed=1)
    methods = {"logistic": LogisticRegression()}
    methods["stronger"] = LogisticRegression(C=100.0)
    found = {result.method: result for result in scores(list(run_parts(X, Y, methods, rows)))}
    result = found["logistic"]
    probabilities = cross_val_predict(methods["logistic"], X, Y, cv=rows, method="predict_proba")
    wrong = np.array(["a", "b", "c"])[probabilities.argmax(axis=1)] != Y
    assert result.error == pytest.approx(wrong.mean())
    assert result.error_deviation == pytest.approx(wrong.std() / np.sqrt(60))
    assert result.log_loss == pytest.approx(log_loss(Y, probabilities))
    assert result.failure == ""
    other = cross_val_predict(methods["stronger"], X, Y, cv=rows, method="predict_proba")
    codes = np.searchsorted(["a", "b", "c"], Y)
    difference = np.log(other[np.arange(60), codes]) - np.log(probabilities[np.arange(60), codes])
    best, behind = sorted(found.values(), key=lambda s: s.log_loss)
    assert list(found) == [best.method, behind.method]
    assert (best.gap, best.gap_deviation) == (0, 0)
    assert behind.gap == pytest.approx(abs(difference.mean()))
    assert behind.gap_deviation == pytest.approx(difference.std() / np.sqrt(60))
    confidence = np.sort(probabilities.max(axis=1))
    assert 0 <= result.calibration_error <= 1
    assert calibration_error(confidence, np.ones(60, dtype=bool)) == pytest.approx(1 - confidence.mean())


def test_calibration_error_of_known_cases() -> None:
    right = np.arange(1000) % 10 < 7
    assert calibration_error(np.full(1000, 0.7), right) == pytest.approx(0.0)
    assert calibration_error(np.full(1000, 0.9), right) == pytest.approx(0.2)
    half = np.repeat([0.6, 1.0], 500)  # too unsure on one half, too sure on the other
    assert calibration_error(half, np.r_[np.ones(500, bool), np.arange(500) % 10 < 7]) == pytest.approx(0.35)
    assert calibration_error(np.array([0.8]), np.array([True])) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "n"), [({"folds": 3, "test_fraction": None}, 60), ({"folds": 5, "test_fraction": 0.3}, 18)]
)
def test_splits_are_stratified_and_test_each_row_at_most_once(options: dict, n: int) -> None:
    rows = splits(Y, **options, seed=0)
    tested = np.concatenate([test for _, test in rows])
    assert len(np.unique(tested)) == len(tested) == n
    for train, test in rows:
        assert not set(train) & set(test)
        assert set(Y[train]) == set(Y[test]) == set(Y)


def test_classes_with_too_few_rows() -> None:
    y = np.array(["a"] * 9 + ["b"])
    with pytest.raises(InvalidInputError, match="folds is 2; expected at most 1, the number of rows of class b"):
        splits(y, folds=2, test_fraction=None, seed=0)
    with pytest.raises(InvalidInputError, match="two rows of each class, but b has one"):
        splits(y, folds=2, test_fraction=0.5, seed=0)


def test_a_failure_is_data() -> None:
    y = np.array(["a"] * 9 + ["b"])
    everything = np.arange(10)
    parts = list(run_parts(X[:10], y, {"grid-svc": GridSVC()}, [(everything, everything)]))
    (result,) = scores(parts)
    assert np.isnan(result.error)
    assert np.isnan(result.log_loss)
    assert "at least two rows of each class" in result.failure


@pytest.mark.slow
def test_every_peer_learns_and_gives_probabilities() -> None:
    mixed = np.empty((60, 4), dtype=object)
    mixed[:, :3], mixed[:, 3] = X, np.where(np.arange(60) % 7 == 0, None, np.where(X[:, 1] > 0, "u", "v"))
    mixed[::9, 1] = np.nan
    for table, words in ((X, [False] * 3), (mixed, [False, False, False, True])):
        for name, model in contestants([], peer_names(), seed=0, words=np.array(words)).items():
            fitted = model.fit(table[:50], Y[:50])
            assert (fitted.predict(table) == Y).mean() > 0.7, name
            np.testing.assert_allclose(fitted.predict_proba(table).sum(axis=1), 1.0)
    none = np.zeros(3, dtype=bool)
    with pytest.raises(InvalidInputError, match="peers"):
        contestants([], ["magic"], seed=0, words=none)
    with pytest.raises(InvalidInputError, match="criterion"):
        contestants(["magic"], [], seed=0, words=none)
