"""Common folds, and parts of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import zoo
from marginwise.fitting.folds import Folds, sample_of
from marginwise.fitting.schedule import SCHEDULE
from marginwise.problem import MulticlassProblem, as_problem

RNG = np.random.default_rng(0)
REPEATED = as_problem(RNG.normal(size=(40, 2)), np.tile([1.0, -1.0], 20), 1.0 + np.arange(40) % 3)
CLASSES = MulticlassProblem(RNG.normal(size=(50, 2)), np.arange(50.0) % 3, np.ones(50), n_classes=3)


@pytest.mark.parametrize("problem", [REPEATED, CLASSES], ids=["repeated", "classes"])
def test_every_example_is_in_one_fold_and_labels_are_spread_evenly(problem):
    folds = Folds.assign(problem, 0)
    assert len(folds) == SCHEDULE.n_folds
    np.testing.assert_allclose(folds.counts.sum(axis=1), problem.counted)
    for label in range(problem.n_classes):
        sizes = folds.counts[problem.labels == label].sum(axis=0)
        assert np.ptp(sizes) <= 1.0


@pytest.mark.parametrize("problem", [REPEATED, CLASSES], ids=["repeated", "classes"])
def test_what_stays_in_and_what_is_left_out_are_all_examples(problem):
    folds = Folds.assign(problem, 1)
    for k in range(len(folds)):
        inside, outside = folds.split(k)
        np.testing.assert_array_equal(outside, problem.X[folds.rows[k]])
        assert inside.counted.sum() + folds.counts[:, k].sum() == pytest.approx(problem.counted.sum())
        assert inside.weights.sum() == pytest.approx(problem.weights.sum() - folds.counts[:, k] @ problem.left_out)
        assert inside.n_classes == problem.n_classes
        assert type(inside) is type(problem)
    assert folds.weights.sum() == pytest.approx(problem.weights.sum())
    assert len(folds.labels) == len(folds.weights) == (folds.counts > 0).sum()


def test_gains_and_means_by_hand():
    folds = Folds.assign(REPEATED, 2)
    rng = np.random.default_rng(3)
    rows = np.concatenate(folds.rows)
    before, after = (np.log(rng.dirichlet(np.ones(2), size=len(rows))) for _ in range(2))
    own = [(after - before)[i, REPEATED.labels[row]] for i, row in enumerate(rows)]
    assert folds.gain(after, before) == pytest.approx(float(folds.weights @ own))
    part = len(folds.rows[0])
    assert folds.gain(after[:part], before) == pytest.approx(float(folds.weights[:part] @ own[:part]))
    by_row = folds.by_row(np.exp(after))
    np.testing.assert_allclose(by_row.sum(axis=1), 1.0)
    for row in range(REPEATED.n):
        mine = rows == row
        expected = np.average(np.exp(after)[mine], axis=0, weights=folds.weights[mine])
        np.testing.assert_allclose(by_row[row], expected)


def test_the_rarer_label_limits_the_number_of_folds():
    X = np.arange(20.0)[:, None]
    assert len(Folds.assign(as_problem(X, np.where(np.arange(20) < 3, 1.0, -1.0)), 0)) == 3
    assert Folds.assign(as_problem(X, np.where(np.arange(20) < 1, 1.0, -1.0)), 0) is None
    rare = MulticlassProblem(X, np.r_[np.zeros(10), np.ones(9), 2.0], np.ones(20), n_classes=3)
    assert len(Folds.assign(rare, 0)) == SCHEDULE.n_folds  # two classes are enough to be told apart


def test_a_part_of_the_rows_keeps_rare_labels():
    y = np.where(np.arange(1000) < 15, 1.0, -1.0)
    problem = as_problem(RNG.normal(size=(1000, 1)), y)
    part = sample_of(problem, 100, np.random.default_rng(0))
    assert part.labels.sum() == 10
    assert part.n == pytest.approx(108, abs=1)
    assert sample_of(problem, 1000, np.random.default_rng(0)) is problem


def test_folds_of_many_rows_train_on_a_part(schedule):
    schedule(fold_rows=50)
    inside, outside = Folds.assign(zoo.blobs(200, 2), 0).split(0)
    assert inside.n == 50
    assert len(outside) == 50
