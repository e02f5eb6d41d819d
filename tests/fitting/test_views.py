"""How a kernel sees the inputs: normal scores, and members that see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from marginwise import TunedSVC, load_model, save_model
from marginwise.fitting.views import NormalScores


def long_tails(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with very long tails, whose ranks alone decide the label."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = (np.sin(2.0 * Z[:, 0]) + Z[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return np.sinh(5.0 * Z), y


def test_scores_are_those_of_the_ranks() -> None:
    X = np.random.default_rng(0).standard_t(1.5, size=(150, 2))
    shown = NormalScores.of(X, np.ones(150))(X)
    expected = norm.ppf((rankdata(X, axis=0) - 0.5) / 150)
    assert shown == pytest.approx((expected - expected.mean(axis=0)) / expected.std(axis=0), abs=1e-12)


def test_between_few_knots_scores_are_nearly_those_of_all_values() -> None:
    X = np.random.default_rng(1).standard_t(2.0, size=(20_000, 1))
    shown = NormalScores.of(X, np.ones(len(X)))
    assert len(shown.knots[0]) == 200
    assert np.abs(shown(X) - norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))).max() < 0.6  # in the farthest tail
    assert np.abs(shown(X) - norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))).mean() < 0.01


def test_a_weight_of_two_is_the_row_given_twice() -> None:
    rng = np.random.default_rng(2)
    X, weights = rng.normal(size=(60, 2)).round(1), rng.integers(1, 4, size=60)
    once = NormalScores.of(X, weights.astype(float))
    often = NormalScores.of(np.repeat(X, weights, axis=0), np.ones(weights.sum()))
    assert once(X) == pytest.approx(often(X), abs=1e-12)


def test_two_values_stay_and_beyond_the_last_knot_the_slope_is_one() -> None:
    X = np.column_stack([np.tile([-1.0, 3.0], 20), np.arange(40.0)])
    scores = NormalScores.of(X, np.ones(40))
    assert scores(X)[:, 0].tolist() == X[:, 0].tolist()
    ends = scores(np.array([[0.0, 39.0], [0.0, 44.0], [0.0, 0.0], [0.0, -2.0]]))[:, 1]
    assert ends[1] - ends[0] == pytest.approx(5.0)
    assert ends[2] - ends[3] == pytest.approx(2.0)


def test_the_distance_of_scores_is_what_lines_leave_open() -> None:
    """For log-normal inputs 1 - 1/(e - 1) is left open; nothing where scores are lines, whatever the scale."""
    Z = np.random.default_rng(5).normal(size=(20_000, 1))
    distances = []
    for X in (Z, 100.0 * Z - 3.0, np.exp(Z), np.hstack([Z, np.exp(Z)]), np.ones((20_000, 1))):
        weights = np.full(len(X), 0.5)
        distances.append(NormalScores.of(X, weights).distance(X, weights))
    skewed = 1.0 - 1.0 / (np.e - 1.0)
    assert distances == pytest.approx([0.0, 0.0, skewed, skewed / np.sqrt(2.0), 0.0], abs=0.02)


def test_few_rows_with_long_tails_are_seen_by_their_ranks_and_others_are_not() -> None:
    X, y = long_tails(150, 7)
    model = TunedSVC(random_state=0).fit(X, y)
    seen = sum(member.weight for member in model.ensemble_.members if member.view is not None)
    assert seen > 0.3
    X_new, y_new = long_tails(2000, 8)
    as_they_are = TunedSVC(0.3, random_state=0).fit(X, y)  # a given spread has no second view
    assert model.score(X_new, y_new) > as_they_are.score(X_new, y_new) + 0.01
    ranks = TunedSVC(random_state=0).fit(np.arcsinh(X), y)  # normal
    assert all(member.view is None for member in ranks.ensemble_.members)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    return long_tails(500, 3)


def test_where_ranks_decide_the_member_that_sees_them_has_most_weight_and_is_kept_in_files(
    table: tuple[np.ndarray, np.ndarray], schedule, tmp_path
) -> None:
    schedule(exact_rows=200, wide_rows=400, wide_local=50)
    X, y = table
    model = TunedSVC(random_state=0).fit(X, y)
    weights = {member.view is not None: 0.0 for member in model.ensemble_.members}
    for member in model.ensemble_.members:
        weights[member.view is not None] += member.weight
    assert weights[True] > 0.5
    assert sum(weights.values()) == pytest.approx(1.0)
    X_new, y_new = long_tails(2000, 4)
    as_they_are = TunedSVC(random_state=0, ard=0.3).fit(X, y)  # a given spread has no second view
    assert all(member.view is None for member in as_they_are.ensemble_.members)
    assert model.score(X_new, y_new) > as_they_are.score(X_new, y_new) + 0.01
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert loaded.predict_proba(X_new[:50]) == pytest.approx(model.predict_proba(X_new[:50]), abs=1e-10)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
