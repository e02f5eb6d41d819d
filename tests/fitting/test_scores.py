"""What is expected on new rows, with standard errors."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.scores import expected_scores

FACTOR = 1.0 + SCHEDULE.n_folds / (SCHEDULE.n_folds - 1.0)


def test_scores_by_hand():
    proba, codes = np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]), np.array([0, 0, 1])
    scores = expected_scores(np.log(proba), codes, np.ones(3), np.ones(3))
    loss = -np.log([0.8, 0.4, 0.7])
    base = -np.log([2 / 3, 2 / 3, 1 / 3])
    assert scores.error == pytest.approx(1 / 3)
    assert scores.log_loss == pytest.approx(loss.mean())
    assert scores.base_log_loss == pytest.approx(base.mean())
    assert scores.error_se == pytest.approx(np.sqrt(FACTOR * 0.4 * 0.6 / 3))  # one error more, and one right more
    assert scores.log_loss_se == pytest.approx(np.sqrt(FACTOR * loss.var() / 3))
    assert scores.gain_se == pytest.approx(np.sqrt(FACTOR * (base - loss).var() / 3))


def test_a_row_of_weight_two_is_two_rows(rng):
    logs, codes = np.log(rng.dirichlet(np.ones(3), size=20)), rng.integers(3, size=20)
    weights = rng.integers(1, 4, size=20)
    rows = np.repeat(np.arange(20), weights)
    several = expected_scores(logs[rows], codes[rows], np.ones(len(rows)), np.ones(len(rows)))
    merged = expected_scores(logs, codes, 7.0 * weights, weights)  # a common factor tells nothing
    assert merged == pytest.approx(several)


def test_unequal_weights_are_worth_fewer_rows(rng):
    logs, codes = np.log(rng.dirichlet(np.ones(2), size=20)), rng.integers(2, size=20)
    few = np.where(np.arange(20) < 5, 1.0, 1e-9)
    weighted = expected_scores(logs, codes, few, np.ones(20))
    alone = expected_scores(logs[:5], codes[:5], np.ones(5), np.ones(5))
    assert weighted[:4] == pytest.approx(alone[:4], rel=1e-6)


def test_errors_that_were_counted_on_folds_are_taken(rng):
    scores = expected_scores(
        np.log(np.full((4, 2), 0.5)), np.array([0, 1, 0, 1]), np.ones(4), np.ones(4), np.full(4, 0.25)
    )
    assert scores.error == 0.25


def test_no_error_among_few_rows_is_not_certain():
    scores = expected_scores(np.log(np.tile([0.9, 0.1], (10, 1))), np.zeros(10, dtype=int), np.ones(10), np.ones(10))
    assert scores.error == 0.0
    assert scores.error_se > 0.1


def test_nothing_is_known_of_no_rows():
    scores = expected_scores(np.empty((0, 2)), np.empty(0, dtype=int), np.empty(0), np.empty(0))
    assert np.isnan(scores).all()
    assert not scores.learnt_nothing


@pytest.mark.parametrize(("wrong_every", "nothing"), [(2, True), (4, False)])
def test_what_is_learnt_is_judged_by_probabilities(wrong_every, nothing):
    """Log-odds move by 0.4 towards the right class, or away from it; the error is that of the common class."""
    rows = np.arange(200)
    codes = (rows % 10 < 3).astype(int)
    told = np.where(rows // 10 % wrong_every == 0, -0.4, 0.4) * np.where(codes == 1, 1.0, -1.0)
    positive = 0.3 * np.exp(told) / (0.3 * np.exp(told) + 0.7)
    scores = expected_scores(np.log(np.column_stack([1 - positive, positive])), codes, np.ones(200), np.ones(200))
    assert scores.error == pytest.approx(0.3)
    assert scores.learnt_nothing == nothing


def test_standard_errors_of_folds_describe_how_estimates_vary():
    """Ridge regression with a threshold on noise and on a signal: four folds against many new rows."""
    rng = np.random.default_rng(0)
    z = []
    for _ in range(200):
        X, new = rng.normal(size=(60, 10)), rng.normal(size=(1000, 10))
        y, truth = (np.sign(part[:, 0] + 2.0 * rng.normal(size=len(part))) for part in (X, new))
        held_out = np.empty(60)
        for k in range(4):
            inside = np.arange(60) % 4 != k
            held_out[~inside] = X[~inside] @ ridge(X[inside], y[inside])
        logs = np.log(np.column_stack([held_out <= 0, held_out > 0]) * 0.98 + 0.01)
        scores = expected_scores(logs, (y > 0).astype(int), np.ones(60), np.ones(60))
        z.append((np.mean(np.sign(new @ ridge(X, y)) != truth) - scores.error) / scores.error_se)
    assert 0.6 < np.std(z) < 1.1
    by_rows = np.std(z) * np.sqrt(FACTOR)
    assert by_rows > 1.05


def ridge(X, y):
    return np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y)
