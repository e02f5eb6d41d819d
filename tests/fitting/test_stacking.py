"""The weights of candidates, and members that average or vote."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.stacking import Vote, combined, cross_fitted, kept_weights, stacking_weights


def test_weights_maximise_the_penalised_likelihood(rng):
    probabilities = rng.uniform(0.05, 0.95, size=(80, 3))
    row_weights = rng.uniform(0.5, 2.0, size=80)
    found = stacking_weights(np.log(probabilities), row_weights)

    def loss(free):
        weights = np.exp([*free, 0.0])
        weights /= weights.sum()
        return -row_weights @ np.log(probabilities @ weights) - SCHEDULE.pseudo_counts / 3 * np.log(weights).sum()

    best = minimize(loss, np.zeros(2), tol=1e-12).x
    expected = np.exp([*best, 0.0])
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-5)


def test_weights_go_to_the_better_model():
    logs = np.log(np.column_stack([np.full(1000, 0.9), np.full(1000, 0.6)]))
    weights = stacking_weights(logs, np.ones(1000))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.99


def test_probabilities_too_small_for_numbers_have_weights():
    logs = np.array([[-2000.0, -2001.0], [-1.0, -900.0]])
    assert np.isfinite(stacking_weights(logs, np.ones(2))).all()


def test_candidates_of_small_weight_are_dropped_and_the_others_stacked_again(rng):
    logs = np.log(np.column_stack([rng.uniform(0.5, 0.9, size=(300, 2)), np.full(300, 0.1)]))
    kept = kept_weights(logs, np.ones(300))
    assert kept[2] == 0.0
    np.testing.assert_allclose(kept[:2], stacking_weights(logs[:, :2], np.ones(300)))


def test_of_candidates_that_are_alike_not_all_are_dropped():
    """Each of ten equal ones has a tenth, which is too little; one has to stand for them."""
    good = np.full((300, 1), 0.8)
    logs = np.log(np.column_stack([np.repeat(good, 10, axis=1), np.full(300, 0.6)]))
    assert stacking_weights(logs, np.ones(300)).max() < SCHEDULE.least_weight
    kept = kept_weights(logs, np.ones(300))
    assert kept.sum() == pytest.approx(1.0)
    assert kept[:10].sum() > 0.9
    assert kept[kept > 0].min() >= SCHEDULE.least_weight


def test_the_mean_of_probabilities_by_hand(rng):
    probability, weights = rng.dirichlet(np.ones(3), size=(2, 5)), np.array([0.3, 0.7])
    mixed = combined(np.log(probability), weights, None)
    np.testing.assert_allclose(np.exp(mixed), 0.3 * probability[0] + 0.7 * probability[1], rtol=1e-12)
    np.testing.assert_array_equal(combined(np.log(probability[:1]), np.ones(1), None), np.log(probability[0]))


def test_shares_of_votes_by_hand():
    probability = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.2, 0.8]], [[0.1, 0.9], [0.7, 0.3]]])
    weights, vote = np.array([0.5, 0.2, 0.3]), Vote(np.ones(2))
    shares = np.exp(vote.log_shares(np.log(probability), weights))
    np.testing.assert_allclose(shares, [[0.7, 0.3], [0.3, 0.7]], atol=2e-6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(np.exp(combined(np.log(probability), weights, vote)), shares)


def test_equal_votes_are_decided_by_the_mean_and_all_votes_leave_finite_logarithms():
    probability = np.array([[[0.9, 0.1], [0.999, 0.001]], [[0.45, 0.55], [1.0 - 1e-12, 1e-12]]])
    logs = Vote(np.ones(2)).log_shares(np.log(probability), np.array([0.5, 0.5]))
    assert np.exp(logs[0]) == pytest.approx([0.5, 0.5], abs=1e-5)
    assert logs[0, 0] > logs[0, 1]
    assert np.isfinite(logs).all()
    assert logs[1, 1] < np.log(1e-6)


def test_members_vote_with_the_importance_of_the_classes_in_mind():
    probability = np.array([[[0.6, 0.4]], [[0.9, 0.1]], [[0.55, 0.45]]])
    weights = np.full(3, 1 / 3)
    shares = np.exp(Vote(np.array([1.0, 2.0])).log_shares(np.log(probability), weights))
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3]], atol=2e-6)


def test_each_fold_is_mixed_by_the_others(rng):
    logs = np.log(rng.dirichlet(np.ones(3), size=(2, 60)))
    labels, weights, fold = rng.integers(3, size=60), rng.uniform(0.5, 2.0, size=60), np.arange(60) % 3
    mixed = cross_fitted(logs, labels, weights, fold, None)
    own = logs[:, np.arange(60), labels].T
    chosen = kept_weights(own[fold != 1], weights[fold != 1])
    np.testing.assert_allclose(mixed[fold == 1], combined(logs[:, fold == 1], chosen, None))
    other = cross_fitted(logs, np.where(fold == 1, (labels + 1) % 3, labels), weights, fold, None)
    np.testing.assert_array_equal(other[fold == 1], mixed[fold == 1])  # its own labels tell a fold nothing


def test_a_single_member_needs_no_weights(rng):
    logs = np.log(rng.dirichlet(np.ones(2), size=(1, 8)))
    np.testing.assert_array_equal(
        cross_fitted(logs, np.zeros(8, dtype=int), np.ones(8), np.arange(8) % 2, None), logs[0]
    )
