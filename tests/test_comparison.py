"""Classifiers side by side: scores against slow obvious ones, splits, failures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from marginwise.comparison import calibration_error, contestants, run_parts, scores, splits
from marginwise.errors import InvalidInputError
from marginwise.peers import PEERS, GridSVC

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
        for name, model in contestants([], PEERS, seed=0, words=np.array(words)).items():
            fitted = model.fit(table[:50], Y[:50])
            assert (fitted.predict(table) == Y).mean() > 0.7, name
            np.testing.assert_allclose(fitted.predict_proba(table).sum(axis=1), 1.0)
    none = np.zeros(3, dtype=bool)
    with pytest.raises(InvalidInputError, match="peers"):
        contestants([], ["magic"], seed=0, words=none)
    with pytest.raises(InvalidInputError, match="criterion"):
        contestants(["magic"], [], seed=0, words=none)


GROUPS = np.repeat(np.arange(20), 3)


@pytest.mark.parametrize("how", [{"folds": 4, "test_fraction": None}, {"folds": 5, "test_fraction": 0.4}])
def test_groups_are_on_one_side_each(how) -> None:
    rows = splits(Y, **how, seed=0, groups=GROUPS)
    for train, test in rows:
        assert not np.isin(GROUPS[test], GROUPS[train]).any()
        assert set(Y[train]) == set(Y)
    if how["test_fraction"] is None:
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in rows])), np.arange(60))
    else:
        assert len(rows) == 1
        assert len(np.unique(GROUPS[rows[0][1]])) == 8


@pytest.mark.parametrize(
    ("how", "groups", "words"),
    [
        ({"folds": 5, "test_fraction": None}, GROUPS // 5, "folds is 5; expected at most 4, the number of groups"),
        ({"folds": 5, "test_fraction": 0.01}, np.zeros(60), "expected another share of 1 groups"),
        ({"folds": 3, "test_fraction": None}, np.searchsorted(["a", "b", "c"], Y), "folds is 3; .* of class a; leave"),
        ({"folds": 5, "test_fraction": 0.3}, np.searchsorted(["a", "b", "c"], Y), "both parts have all classes"),
    ],
)
def test_groups_that_cannot_be_split(how, groups, words) -> None:
    with pytest.raises(InvalidInputError, match=words):
        splits(Y, **how, seed=0, groups=groups)


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts the shares of the classes."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.shares_.argmax()])

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def test_standard_errors_are_over_groups() -> None:
    """A table three times over, in groups of the same row, has the standard errors of the table."""
    once, thrice = (np.arange(60), np.repeat(np.arange(60), 3))
    by_row, by_group = (
        scores(
            list(
                run_parts(
                    X[rows],
                    Y[rows],
                    {"constant": Constant()},
                    [(np.flatnonzero(rows % 2 == 0), np.flatnonzero(rows % 2 == 1))],
                    groups=None if groups is None else groups,
                )
            )
        )[0]
        for rows, groups in ((once, None), (thrice, thrice))
    )
    assert by_group.error == by_row.error
    assert by_group.error_deviation == pytest.approx(by_row.error_deviation)
    assert by_group.log_loss_deviation == pytest.approx(by_row.log_loss_deviation)


@pytest.mark.parametrize("name", ["grid-svc", "logistic"])
def test_peers_search_on_folds_of_whole_groups(monkeypatch, name) -> None:
    from sklearn.model_selection import StratifiedGroupKFold

    seen = []
    split = StratifiedGroupKFold.split

    def watched(self, X, y=None, groups=None):
        seen.append(set(groups.tolist()))
        return split(self, X, y, groups)

    monkeypatch.setattr(StratifiedGroupKFold, "split", watched)
    monkeypatch.setattr("marginwise.peers.GRID", {"C": [1.0], "gamma": [0.1, 1.0]})
    peers = contestants([], [name], 0, np.zeros(3, dtype=bool), grouped=True)
    train, test = np.flatnonzero(GROUPS < 15), np.flatnonzero(GROUPS >= 15)
    (result,) = run_parts(X, Y, peers, [(train, test)], groups=GROUPS)
    assert result.failure == ""
    assert seen
    assert all(groups == set(range(15)) for groups in seen)
