"""Screening: columns that matter are found, by tests that an obvious computation agrees with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm, rankdata

from marginwise.fitting.screening import BOOSTED, SIZES, Screening
from marginwise.fitting.views import Selection

N, D = 100, 300


def _inputs(seed, n=N, d=D):
    return np.random.default_rng(seed).standard_normal((n, d))


def _screening(X, labels, weights=None, columns=None):
    return Screening.of(X, labels, np.ones(len(X)) if weights is None else weights, columns)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("function", "relevant"),
    [
        (lambda X: X[:, 5] + X[:, 17] + X[:, 200], [5, 17, 200]),
        (lambda X: np.abs(X[:, 5]) + X[:, 17] - 0.8, [5, 17]),
        (lambda X: np.sin(2 * X[:, 5]) + 0.7 * X[:, 17], [5, 17]),
        (lambda X: X[:, 5] * X[:, 17], [5, 17]),
    ],
    ids=["sum", "bow", "wave", "product"],
)
def test_relevant_columns_come_first(function, relevant, seed):
    X = _inputs(seed)
    ranked = _screening(X, (function(X) > 0).astype(int)).ranked(8)
    assert set(ranked[: len(relevant)]) == set(relevant)
    assert len(set(ranked)) == len(ranked) == 8


def test_three_classes_are_told_apart():
    X = _inputs(0, 150)
    labels = np.digitize(X[:, 3] + X[:, 9], [-0.6, 0.6])
    assert set(_screening(X, labels).ranked(2)) == {3, 9}
    middle = np.where(np.abs(X[:, 3]) < 0.5, 2, (X[:, 9] > 0).astype(int))
    assert set(_screening(X, middle).ranked(2)) == {3, 9}


def test_boosting_gives_relevant_columns_the_largest_relevances():
    X = _inputs(1)
    labels = (2.0 * X[:, 4] + X[:, 8] > 0).astype(int)
    relevances = _screening(X, labels).relevances(10)
    assert 0 < np.count_nonzero(relevances) <= 10
    assert np.argsort(-relevances)[:2].tolist() == [4, 8]


def test_boosting_follows_the_obvious_steps():
    """One step after the other, with all inner products computed anew."""
    X, size = _inputs(2, 60, 40), 6
    s = _screening(X, (X[:, 0] + np.abs(X[:, 1]) > 0.5).astype(int))
    coefficients = np.zeros(len(s.column))
    for _ in range(300):
        residual = s.targets[:, 0] - coefficients @ s.features
        best, chosen = -np.inf, np.empty(0, dtype=int)
        for column in range(40):
            own = np.flatnonzero(s.column == column)
            for count in range(1, len(own) + 1):
                share = ((s.features[own[:count]] @ residual) ** 2).sum() / (residual @ residual)
                value = -(60 - 0.5 * (count + 2)) * np.log(1 - share)
                z = ((value / count) ** (1 / 3) - 1 + 2 / (9 * count)) / np.sqrt(2 / (9 * count))
                if z > best:
                    best, chosen = z, own[:count]
        entered = set(s.column[coefficients != 0])
        if s.column[chosen[0]] not in entered and len(entered) == size:
            break
        coefficients[chosen] += 0.1 * (s.features[chosen] @ residual)
    expected = np.sqrt(np.bincount(s.column, coefficients**2, 40))
    np.testing.assert_allclose(s.relevances(size), expected, atol=1e-10)


def test_the_monotone_screening_does_not_see_a_bow():
    X = _inputs(3)
    s = _screening(X, (np.abs(X[:, 4]) > 0.67).astype(int))
    assert s.relevances(5).argmax() == 4
    assert s.monotone().relevances(5)[4] == 0.0


def test_features_are_orthonormal_functions_of_ranks():
    X = _inputs(4, 50, 3)
    s = _screening(X, (X[:, 0] > 0).astype(int))
    for column in range(3):
        own = s.features[s.column == column]
        np.testing.assert_allclose(own @ own.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(own @ s.constant, 0.0, atol=1e-12)
        # the first one is the rank
        assert abs(np.corrcoef(own[0], rankdata(X[:, column]))[0, 1]) > 1 - 1e-12
    warped = Screening.of(np.exp(3 * X), (X[:, 0] > 0).astype(int), np.ones(50))
    np.testing.assert_array_equal(np.abs(warped.features), np.abs(s.features))


def test_scores_are_normal_deviates_of_chi_squared():
    X = _inputs(5, 200, 50)
    s = _screening(X, (X[:, 0] + 0.3 * _inputs(6, 200, 1)[:, 0] > 0).astype(int))
    squares = (s.features @ s.targets) ** 2
    scores, counts = s._scores(squares, s.targets, 199.0)
    statistic = s._statistic(squares, s.targets, 199.0)
    assert counts.max() == 3
    usual = (statistic > counts) & (statistic < 25.0)  # what comes below is never the best
    assert usual.sum() > 20
    np.testing.assert_allclose(scores[usual], norm.isf(chi2.sf(statistic[usual], counts[usual])), atol=0.15)


def test_tests_hold_their_level_on_noise():
    """The smallest of all tails, counted for all tests, is below 5 % about that often or less; pairs, too."""
    rng = np.random.default_rng(7)
    singles, pairs = [], []
    for _ in range(60):
        X = rng.standard_normal((80, 60))
        s = _screening(X, rng.integers(0, 2, 80))
        statistic = s._statistic((s.features @ s.targets) ** 2, s.targets, 79.0)
        counts = s._scores((s.features @ s.targets) ** 2, s.targets, 79.0)[1]
        singles.append(chi2.sf(statistic, counts).min() * len(counts) < 0.05)
        pairs.append(s._pair(s.targets, 79.0, 0.05) is not None)
    assert np.mean(singles) < 0.15
    assert np.mean(pairs) < 0.15


def test_weight_two_is_the_row_given_twice():
    X = _inputs(8, 60, 80)
    labels = (X[:, 2] + X[:, 5] > 0).astype(int)
    twice = np.random.default_rng(9).integers(1, 3, 60)
    one = _screening(X, labels, twice.astype(float))
    other = _screening(np.repeat(X, twice, axis=0), np.repeat(labels, twice))
    np.testing.assert_array_equal(one.ranked(6), other.ranked(6))
    np.testing.assert_allclose(one.relevances(6), other.relevances(6), atol=1e-10)


def test_inputs_of_a_category_are_one_column():
    rng = np.random.default_rng(10)
    category = rng.integers(0, 4, N)
    X = np.column_stack([_inputs(11, d=30), np.eye(4)[category]])
    columns = (*range(30), 30, 30, 30, 30)
    labels = np.where(rng.random(N) < 0.05, 1 - category % 2, category % 2)
    s = _screening(X, labels, columns=columns)
    assert s.ranked(1).tolist() == [30]
    assert s.selection(s.ranked(1)).inputs.tolist() == [30, 31, 32, 33]
    assert np.count_nonzero(s.column == 30) == 3  # the fourth indicator is one less the others, and has no square
    relevances = s.relevances(3)
    scales = s.selection(np.flatnonzero(relevances), relevances).scales
    assert len(np.unique(scales[-4:])) == 1


def test_columns_that_say_nothing_are_harmless():
    X = _inputs(12, 40, 4)
    X[:, 1] = 3.0
    labels = (X[:, 0] > 0).astype(int)
    assert 1 not in _screening(X, labels).ranked(4)
    constant = _screening(np.ones((40, 2)), labels)
    assert len(constant.ranked(2)) == 0
    assert not constant.relevances(2).any()
    one_class = _screening(X, np.zeros(40, dtype=int))
    assert len(one_class.ranked(2)) == 0
    assert not one_class.relevances(2).any()


def test_copies_of_a_column_are_taken_once():
    X = _inputs(13, d=50)
    X[:, 40:] = X[:, :1]
    labels = (X[:, 0] + X[:, 1] > 0).astype(int)
    ranked = _screening(X, labels).ranked(2)
    assert ranked[1] == 1 or ranked[0] == 1
    assert len({0, *range(40, 50)} & set(ranked)) == 1


def test_selections_have_the_same_names_for_any_rows():
    X = _inputs(14, d=150)
    labels = (X[:, 0] + X[:, 1] > 0).astype(int)
    all_rows, some = _screening(X, labels).selections(), _screening(X[:50], labels[:50]).selections()
    assert list(all_rows) == list(some)
    assert [len(all_rows[f"{size} ranked"].inputs) for size in SIZES] == list(SIZES)
    assert set(all_rows["2 ranked"].inputs) == {0, 1}
    boosted = all_rows[f"{BOOSTED} smooth"]
    assert 2 <= len(boosted.inputs) <= BOOSTED
    assert np.mean(boosted.scales**2) == pytest.approx(1.0)


def test_a_selection_scales_its_inputs():
    X = _inputs(15, 3, 4)
    chosen = Selection(np.array([2, 0]), np.array([0.5, 2.0]))
    np.testing.assert_array_equal(chosen(X), np.column_stack([0.5 * X[:, 2], 2.0 * X[:, 0]]))
