"""Log-odds set right by the examples left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_expit, logit

from marginwise import TunedSVC, load_model, save_model
from marginwise.fitting.calibration import calibration, cross_calibrated


def labels(probability, rng):
    return (rng.random(len(probability)) < probability).astype(np.intp)


def logs(odds):
    """Log-probabilities of both classes from the log-odds of the second."""
    return log_expit(np.column_stack([-odds, odds]))


def odds_of(log_proba):
    return log_proba[:, 1] - log_proba[:, 0]


def test_wrong_probabilities_are_set_right(rng):
    """The truth is a straight line in the log-odds, and so are the corrections between knots."""
    odds = rng.normal(size=40_000)
    truth = expit(2 * odds - 0.5)
    found = calibration(logs(odds), labels(truth, rng), np.ones(len(odds)))
    corrected = np.exp(found(logs(odds)))
    np.testing.assert_allclose(corrected.sum(axis=1), 1.0)
    np.testing.assert_allclose(corrected[:, 1], truth, atol=0.05)
    assert np.abs(corrected[:, 1] - truth).mean() < 0.01


def test_right_probabilities_stay(rng):
    odds = 2 * rng.normal(size=40_000)
    found = calibration(logs(odds), labels(expit(odds), rng), np.ones(len(odds)))
    np.testing.assert_allclose(np.exp(found(logs(odds)))[:, 1], expit(odds), atol=0.03)


def test_order_is_kept_and_the_ends_are_shifted(rng):
    odds = rng.normal(size=500)
    found = calibration(logs(odds), labels(np.full(500, 0.5), rng), np.ones(500))
    grid = np.linspace(-30, 30, 1001)
    assert (np.diff(odds_of(found(logs(grid)))) >= -1e-9).all()
    assert np.diff(odds_of(found(logs(np.array([24.0, 25.0])))))[0] == pytest.approx(1.0)


def test_weights_are_repetitions(rng):
    odds, counts = rng.normal(size=300), rng.integers(1, 4, size=300)
    y = labels(expit(odds), rng)
    weighted = calibration(logs(odds), y, counts.astype(float))
    repeated = calibration(logs(np.repeat(odds, counts)), np.repeat(y, counts), np.ones(counts.sum()))
    grid = np.linspace(-3, 3, 50)
    one, other = (odds_of(found(logs(grid))) for found in (weighted, repeated))
    np.testing.assert_allclose(one, other, atol=0.1)  # a row may lie across two groups


@pytest.mark.parametrize("value", [-700.0, 700.0, 0.0])
def test_degenerate_probabilities(value):
    y = (np.arange(100) < 1).astype(np.intp)
    found = calibration(logs(np.full(100, value)), y, np.ones(100))
    assert np.isfinite(found(logs(logit(np.array([1e-9, 0.5, 1 - 1e-9]))))).all()


def test_many_rows_are_calibrated_and_few_are_not(tmp_path):
    """The noise here is a constant share of wrong labels, which no slack penalty looks like."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    clean = np.where(X[:, 0] + X[:, 1] ** 2 > 1, 1, 0)
    y = np.where(rng.random(6000) < 0.2, 1 - clean, clean)
    train, test = slice(0, 2000), slice(2000, 6000)
    model = TunedSVC(ard=0, rank=40, subset=500, random_state=0).fit(X[train], y[train])
    binary = model.ensemble_
    assert binary.calibration is not None
    probability = model.predict_proba(X[test])
    raw = expit(np.interp(model.decision_function(X[test]), binary.calibration.corrected, binary.calibration.odds))

    def loss(positive):
        return -np.mean(np.log(np.where(y[test] == 1, positive, 1 - positive)))

    assert loss(probability[:, 1]) < loss(raw)
    assert model.expected_log_loss_ == pytest.approx(loss(probability[:, 1]), abs=0.03)
    np.testing.assert_array_equal(model.predict(X[test]), probability.argmax(axis=1))
    np.testing.assert_array_equal(model.decision_function(X[test]) > 0, probability[:, 1] > 0.5)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_allclose(again.predict_proba(X[:9]), model.predict_proba(X[:9]))
    assert TunedSVC(ard=0, random_state=0).fit(X[:100], y[:100]).ensemble_.calibration is None


def test_an_example_does_not_recalibrate_itself():
    """On labels that say nothing a calibration that has seen them gains; one of the others does not."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(20):
        odds, labels, weights = 0.3 * rng.normal(size=400), rng.integers(2, size=400), np.ones(400)
        logs = np.log(expit(np.column_stack([-odds, odds])))
        rows = np.arange(400)
        seen, unseen = calibration(logs, labels, weights)(logs), cross_calibrated(logs, labels, weights)
        gains.append([np.log(2.0) + one[rows, labels].mean() for one in (seen, unseen)])
    with_own, without = np.mean(gains, axis=0)
    assert with_own > 0.0 > without


def test_of_very_many_examples_some_are_enough(rng, schedule):
    odds, weights = rng.normal(size=1000), rng.uniform(0.5, 2.0, size=1000)
    own = labels(expit(odds), rng)
    schedule(judged_rows=400)
    found = calibration(logs(odds), own, weights)
    schedule(judged_rows=1000)
    expected = calibration(logs(odds)[::3], own[::3], weights[::3])
    np.testing.assert_array_equal(found.corrected, expected.corrected)
    assert not np.array_equal(calibration(logs(odds), own, weights).corrected, expected.corrected)
