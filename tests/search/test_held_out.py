"""Held-out errors, early stopping, and the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toys
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack
from marginwise.search import HeldOut
from marginwise.search.trace import Tuning
from marginwise.svm import solve_problem
from marginwise.tuning import tune
from zoo import blobs

TRAIN, VALIDATION, TEST = blobs(60, 4, shift=0.8), blobs(80, 4, shift=0.8, seed=1), blobs(300, 4, shift=0.8, seed=2)


def go(**options: Any) -> Tuning:
    return tune(TRAIN.X, TRAIN.y, toys.RegressionEvidence(), search="gradient-ascent", **options)


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC])
def test_errors_are_those_of_the_svm(slack: Slack, rng: np.random.Generator) -> None:
    tuning = go(max_evaluations=4)
    for record in tuning.trace:
        h = record.hyperparameters
        held_out = HeldOut(TRAIN, slack, {"test": TEST, "other": VALIDATION})
        solution = solve_problem(TRAIN, h, slack)
        wrong = [
            np.sign((TRAIN.y * solution.alpha) @ h.kernel.cross(TRAIN.X, x[None])[:, 0]) != label
            for x, label in zip(TEST.X, TEST.y, strict=True)
        ]
        errors = held_out.errors(h)
        assert errors["test"] == pytest.approx(np.mean(wrong))
        assert set(errors) == {"test", "other"}


def test_a_test_set_is_recorded_along_the_path_and_changes_nothing() -> None:
    plain, watched = go(), go(test=(TEST.X, TEST.y))
    assert watched.hyperparameters == plain.hyperparameters
    table = watched.trace.to_arrays()
    np.testing.assert_array_equal(np.isnan(table["test_error"]), ~table["accepted"])
    assert "test_error" not in plain.trace.to_arrays()


def test_early_stopping_keeps_the_smallest_validation_error() -> None:
    whole = go(test=(VALIDATION.X, VALIDATION.y))
    errors = np.array([record.errors["test"] for record in whole.trace.accepted])
    least = int(np.argmin(errors))
    assert least < len(errors) - 3, "the example does not show over-fitting any more"
    stopped = go(validation=(VALIDATION.X, VALIDATION.y), patience=2)
    best = 0
    for move, error in enumerate(errors):
        best = move if error < errors[best] else best
        if move - best == 2:
            break
    assert len(stopped.trace.accepted) == move + 1
    assert "stopped early: the validation error has not fallen for 2 moves" in stopped.status.message
    assert stopped.status.ok
    assert stopped.hyperparameters == whole.trace.accepted[best].hyperparameters


def test_the_oracle_is_the_minimum_along_the_path() -> None:
    tuning = go(test=(TEST.X, TEST.y), validation=(VALIDATION.X, VALIDATION.y), patience=1000)
    table = tuning.trace.to_arrays()
    oracle = tuning.trace.oracle_minimum()
    assert oracle.errors["test"] == np.nanmin(table["test_error"])
    assert tuning.trace.best("validation") is not None
    assert oracle.errors["test"] <= tuning.restarts[0].errors["test"]


def test_the_oracle_needs_a_test_set() -> None:
    with pytest.raises(MarginwiseError, match="no test error was recorded"):
        go(max_evaluations=3).trace.oracle_minimum()


def test_the_validation_error_chooses_among_restarts() -> None:
    tuning = go(validation=(VALIDATION.X, VALIDATION.y), restarts=3, random_state=0)
    errors = [run.errors["validation"] for run in tuning.restarts]
    assert tuning.hyperparameters == tuning.restarts[int(np.argmin(errors))].hyperparameters


def test_refuses_sets_that_do_not_fit() -> None:
    with pytest.raises(InvalidInputError, match="validation has 2 columns"):
        go(validation=(VALIDATION.X[:, :2], VALIDATION.y))
    with pytest.raises(InvalidInputError, match="patience"):
        go(validation=(VALIDATION.X, VALIDATION.y), patience=0)
