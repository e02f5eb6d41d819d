"""The test for drift: exact ranks, capital that is a martingale, alarms as rare as promised, and not without cause."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.fitting.drift import LEVEL, DriftTest, ranks


def test_ranks_count_losses_that_came_before() -> None:
    rng = np.random.default_rng(0)
    before, new = rng.integers(0, 8, 20).astype(float), rng.integers(0, 8, 30).astype(float)
    for i, p in enumerate(ranks(before, new)):
        earlier = np.concatenate([before, new[:i]])
        assert p == pytest.approx((1 + np.count_nonzero(earlier >= new[i])) / (1 + len(earlier)))


def test_nothing_is_known_at_first() -> None:
    assert DriftTest().log_evidence == pytest.approx(0.0)
    assert not DriftTest().alarm
    assert DriftTest().after(np.ones(5), np.empty(0), 5).log_evidence == pytest.approx(0.0)


def test_capital_does_not_grow_without_drift() -> None:
    """Its mean over random orders is at most 1, and it reaches 1/α no more often than Ville's inequality says."""
    ends, alarms = [], 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        losses, test, alarm = rng.exponential(size=200) ** 2, DriftTest(), False
        for row in range(80, 200, 30):
            test = test.after(losses[:row], losses[row : row + 30], row)
            alarm = alarm or test.alarm
        ends.append(np.exp(test.log_evidence))
        alarms += alarm
    assert np.mean(ends) < 1.0 + 3.0 * np.std(ends) / np.sqrt(300)
    assert alarms <= 300 * LEVEL


def test_evidence_is_the_mixture_of_all_beginnings() -> None:
    """By brute force: the k-th beginning has 1/(k(k + 1)) of the capital, spread over bets, and the rest waits."""
    rng = np.random.default_rng(1)
    losses = rng.exponential(size=140)
    test = DriftTest().after(losses[:60], losses[60:100], 60).after(losses[:100], losses[100:], 100)
    p = ranks(losses[:60], losses[60:])
    total = 1.0 / 3.0
    for start, share in ((0, 1.0 / 2.0), (40, 1.0 / 6.0)):
        total += share * np.mean([np.prod(e * p[start:] ** (e - 1.0)) for e in (0.8, 0.9)])
    assert np.exp(test.log_evidence) == pytest.approx(total)


def test_worse_losses_are_noticed_however_late() -> None:
    rng = np.random.default_rng(2)
    losses = np.concatenate([rng.exponential(size=1000), 2.0 * rng.exponential(size=200)])
    test = DriftTest()
    for row in range(300, 1000, 50):
        test = test.after(losses[:row], losses[row : row + 50], row)
        assert not test.alarm
    for row in range(1000, 1200, 50):
        test = test.after(losses[:row], losses[row : row + 50], row)
    assert test.alarm
    assert 800 <= test.since <= 1100
