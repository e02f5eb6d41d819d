"""How many examples a row stands for, and how they are dealt out to folds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.multiplicity import assign_folds, assign_groups, counts_of, groups_with, units_of
from marginwise.problem import as_problem


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        ([2, 3, 4], [2, 3, 4]),
        ([0.1, 0.2, 0.3], [1, 2, 3]),  # 0.3 is not 3 times 0.1 to the last digit
        ([1e-9, 1e-9, 2e-9], [1, 1, 2]),
        ([0.5, 0.7, 1.3], [1, 1, 1]),
    ],
)
def test_weights_that_can_be_counts_are(weights, counts):
    np.testing.assert_array_equal(counts_of(np.array(weights, dtype=float)), counts)


#: Three inputs, of which two carry both labels.
INPUTS, LABELS, TIMES = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]]), np.array([1, -1, 1, -1, 1.0]), [6, 2, 4, 2, 2]


@pytest.mark.parametrize("factor", [1, 3, 0.7])
def test_repetitions_with_both_labels_are_examples(factor):
    """A common factor of all counts is none of them."""
    weights = factor * np.array(TIMES)
    problem = as_problem(INPUTS, LABELS, weights)
    np.testing.assert_allclose(problem.counted, [3, 1, 2, 1, 1])
    np.testing.assert_allclose(problem.left_out, weights / [3, 1, 2, 1, 1])


def test_rows_given_one_by_one_are_the_same_as_weights(rng):
    rows = rng.permutation(np.repeat(np.arange(5), TIMES))
    given = as_problem(INPUTS[rows], LABELS[rows])
    merged, weighted = given.distinct, as_problem(INPUTS, LABELS, TIMES)
    np.testing.assert_array_equal(given.counted, 0.5)  # all of them twice
    places = np.lexsort([-merged.y, merged.X[:, 0]])
    np.testing.assert_array_equal(merged.counted[places], weighted.counted)
    np.testing.assert_array_equal(merged.left_out[places], weighted.left_out)


def test_repetitions_with_weights_of_their_own_are_examples(rng):
    """Weights that can't be counts: each row given is an example."""
    rows = np.repeat(np.arange(5), TIMES)
    merged = as_problem(INPUTS[rows], LABELS[rows], rng.lognormal(size=len(rows))).distinct
    np.testing.assert_array_equal(np.sort(merged.counted), [1, 1, 1, 2, 3])


def test_copies_are_one_example(rng):
    X, y = rng.normal(size=(20, 2)), np.where(np.arange(20) < 6, 1.0, -1.0)
    rows = np.repeat(np.arange(20), np.where(y > 0, 3, 1))
    for weights in (None, rng.lognormal(size=len(rows))):
        merged = as_problem(X[rows], y[rows], weights).distinct
        np.testing.assert_allclose(merged.counted, 1.0)
        np.testing.assert_allclose(merged.left_out, merged.weights)


def test_a_few_inputs_with_both_labels_do_not_make_copies_examples(rng):
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) < 20, 1.0, -1.0)
    X[0] = X[20]
    rows = np.repeat(np.arange(40), np.where(y > 0, 3, 1))
    np.testing.assert_allclose(as_problem(X[rows], y[rows]).distinct.counted, 1.0)


def test_given_numbers_of_examples_are_kept_and_checked():
    problem = as_problem(INPUTS, LABELS, TIMES, examples=[2, 2, 2, 2, 2])
    np.testing.assert_array_equal(problem.left_out, np.array(TIMES) / 2)
    np.testing.assert_array_equal(problem.subset(np.array([0, 3])).left_out, [3, 1])
    with pytest.raises(InvalidInputError, match=r"^examples\[1\] is 0.0; expected a positive number"):
        as_problem(INPUTS, LABELS, examples=[1, 0, 1, 1, 1])


def test_folds_are_balanced_in_size_and_labels(rng):
    y = np.where(np.arange(103) < 30, 1.0, -1.0)
    dealt = assign_folds((y > 0).astype(int), np.ones(103), 4, rng)
    np.testing.assert_array_equal(np.sort(dealt, axis=1)[:, :3], 0.0)
    np.testing.assert_array_equal(dealt.sum(axis=1), 1.0)
    assert np.ptp(dealt.sum(axis=0)) <= 1
    assert np.ptp(dealt[y > 0].sum(axis=0)) <= 1


def test_examples_are_dealt_out_one_by_one(rng):
    y, numbers = np.array([1.0, 1.0, -1.0, -1.0]), np.array([8.0, 1.0, 3.0, 3.0])
    dealt = assign_folds((y > 0).astype(int), numbers, 3, rng)
    np.testing.assert_array_equal(dealt.sum(axis=1), numbers)
    assert np.ptp(dealt[:2].sum(axis=0)) <= 1
    assert dealt[0].min() >= 2


@pytest.mark.parametrize("n", [100, 20_000])
def test_large_numbers_take_no_memory(rng, n):
    y, numbers = np.where(np.arange(n) < 0.4 * n, 1.0, -1.0), np.full(n, 1e6) + np.arange(n)
    tracemalloc.start()
    dealt = assign_folds((y > 0).astype(int), numbers, 4, rng)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6
    np.testing.assert_array_equal(dealt.sum(axis=1), numbers)
    assert np.ptp(dealt.sum(axis=0)) <= 1


@pytest.mark.parametrize("weights", [[1.0, 1e16], [1e-300, 1e300], [1e300, 1e300 * 3]])
def test_weights_beyond_all_counting_are_no_counts(weights):
    counts = counts_of(np.array(weights))
    np.testing.assert_array_equal(counts, [1.0, 3.0] if weights[0] == 1e300 else [1.0, 1.0])


def test_repetitions_that_chance_explains_are_believed_without_differing_labels():
    """Three columns of zeros and ones repeat their eight inputs, whatever the labels; copies of numbers do not."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(101, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    assert as_problem(X, y).distinct.counted.sum() == 101
    numbers = rng.normal(size=(50, 3))[np.r_[:50, :20, :7]]
    copied = as_problem(numbers, np.where(numbers[:, 0] > 0, 1.0, -1.0)).distinct
    np.testing.assert_array_equal(copied.counted, np.ones(50))


GROUPS = np.repeat(np.arange(12), [20, 1, 5, 5, 8, 8, 8, 3, 2, 2, 10, 12])


@pytest.mark.parametrize("n_folds", [2, 4, 5])
def test_groups_are_in_one_fold_each(rng, n_folds):
    labels = rng.integers(3, size=len(GROUPS))
    fold = assign_groups(labels, GROUPS * 7 - 3, n_folds, rng)
    for group in range(12):
        assert len(np.unique(fold[group == GROUPS])) == 1
    shares = np.array([np.bincount(fold[labels == k], minlength=n_folds) / (labels == k).sum() for k in range(3)])
    assert shares.min() > 0.0
    assert shares.max() < 1.6 * max(1.0 / n_folds, 20 / len(GROUPS))


def test_many_small_groups_are_spread_evenly(rng):
    groups, labels = np.arange(400) // 2, (rng.uniform(size=400) < 0.1).astype(int)
    fold = assign_groups(labels, groups, 4, rng)
    assert np.ptp(np.bincount(fold)) <= 4
    assert np.ptp(np.bincount(fold[labels == 1])) <= 2


def test_no_fold_gets_all_of_a_label_that_two_groups_have(rng):
    labels = np.array([0] * 50 + [1, 1])
    groups = np.concatenate([np.arange(50) // 5, [0, 1]])
    for seed in range(20):
        fold = assign_groups(labels, groups, 3, np.random.default_rng(seed))
        assert fold[-1] != fold[-2]


def test_examples_of_a_group_are_in_its_fold(rng):
    labels, examples = rng.integers(2, size=len(GROUPS)), rng.uniform(1.0, 3.0, size=len(GROUPS))
    counts = assign_folds(labels, examples, 4, np.random.default_rng(0), GROUPS)
    fold = assign_groups(labels, GROUPS, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(counts.argmax(axis=1), fold)
    np.testing.assert_array_equal(counts.sum(axis=1), examples)
    assert ((counts > 0).sum(axis=1) == 1).all()


def test_groups_with_a_label_are_counted():
    labels, groups = np.array([0, 0, 1, 1, 1, 3]), np.array([4, 4, 4, 7, 9, 9])
    np.testing.assert_array_equal(groups_with(labels, groups, 5), [1, 3, 0, 1, 0])


def test_rows_or_groups_are_units():
    np.testing.assert_array_equal(units_of(None, 3), [0, 1, 2])
    np.testing.assert_array_equal(units_of(np.array([5, 2, 5, 9]), 4), [1, 0, 1, 2])
