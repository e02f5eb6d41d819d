"""How many examples a row stands for: what leave-one-out and folds take away at a time.

A row of weight 3 may be three examples that happen to be equal, or one that counts three times. Leaving out one of
three copies tells nothing: the other two remember its label. So repetitions are believed where they show it: inputs
that really repeat carry both labels sooner or later, copies never do; and where columns have so few values that rows
agree by chance. Otherwise equal rows are one example, left out whole.

Where rows are known to belong together, in groups, it is groups that are taken away: all rows of a group at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.row_hash import joint_ids

#: Of the examples at inputs that repeat, at least this share must be where labels differ, or repetitions are copies.
_BELIEVED = 0.25

#: Repetitions are also believed if pairs of rows agree at most this much more often than they would by chance, were the
#: columns independent: with a few columns of a few values each.
_BY_CHANCE = 4.0

#: Examples that are assigned one by one, of all rows together and of one; of more, an equal number goes into each fold.
_ONE_BY_ONE, _MOST_OF_A_ROW = 200_000, 1000


#: Weights beyond this are not counts: their sums would not be exact.
_MOST_COUNTED = 2.0**45


def counts_of(weights: Array) -> Array:
    """Return how often each row counts: its weight, in units of the smallest or as it is, where all these are whole.

    Other weights can't be counts, nor can those beyond 2⁴⁵, and each row counts once.
    """
    with np.errstate(over="ignore"):
        units = weights / weights.min()
    for counts in (units, weights):
        whole = np.round(counts)
        if whole.max() <= _MOST_COUNTED and np.allclose(counts, whole, rtol=1e-9, atol=0.0):
            return whole
    return np.ones_like(weights)


def agreement_by_chance(X: Array, counts: Array) -> float:
    """Return the probability that two rows agree in all columns if the columns are independent."""
    total = counts.sum()
    shares = (np.bincount(np.unique(column, return_inverse=True)[1].reshape(-1), counts) / total for column in X.T)
    return float(np.prod([share @ share for share in shares]))


def count_examples(inputs: Indices, labels: Indices, counts: Array, chance: Callable[[], float]) -> Array:
    """Return the number of examples in each row, from numbers of the rows' inputs and labels and their counts.

    ``chance`` gives :func:`agreement_by_chance`, where it is needed. Where repetitions are believed these are the
    counts, without their greatest common divisor; otherwise the rows with the same input and label are one example
    together.
    """
    rows = joint_ids(inputs, labels)
    in_row = np.bincount(rows, counts)
    counts = counts / np.gcd.reduce(in_row.astype(np.int64))
    at_input = np.bincount(inputs, counts)
    lowest, highest = np.full(len(at_input), labels.max()), np.zeros(len(at_input), dtype=np.intp)
    np.minimum.at(lowest, inputs, labels)
    np.maximum.at(highest, inputs, labels)
    differing, repeated = at_input[lowest < highest].sum(), at_input[at_input > 1.0].sum()
    if differing > 0.0 and differing >= _BELIEVED * repeated:
        return counts
    total = at_input.sum()
    if repeated > 0.0 and at_input @ (at_input - 1.0) <= _BY_CHANCE * chance() * total * (total - 1.0):
        return counts
    return counts / np.bincount(rows, counts)[rows]


def assign_folds(
    labels: Indices, examples: Array, n_folds: int, rng: np.random.Generator, groups: Indices | None = None
) -> Array:
    """Return the number of examples of each row in each fold, shape (n, n_folds), labels spread evenly."""
    if groups is not None:
        return examples[:, None] * (assign_groups(labels, groups, n_folds, rng)[:, None] == np.arange(n_folds))
    numbers = np.maximum(1, np.round(examples)).astype(np.int64)
    most = max(1, min(_MOST_OF_A_ROW, _ONE_BY_ONE // len(numbers)))
    even = np.maximum(numbers - most, 0) // n_folds
    counts = np.repeat(even[:, None].astype(float), n_folds, axis=1)
    loose = numbers - n_folds * even
    first = 0
    for label in range(labels.max() + 1):
        rows = np.flatnonzero(labels == label)
        rows = rng.permutation(np.repeat(rows, loose[rows]))
        np.add.at(counts, (rows, (np.arange(len(rows)) + first) % n_folds), 1.0)
        first += len(rows)
    return counts


def assign_groups(labels: Indices, groups: Indices, n_folds: int, rng: np.random.Generator) -> Indices:
    """Return the fold of each row: groups are in one fold each, and labels in equal shares as far as that can be.

    From the largest group on, each goes where it adds least to the sum over folds and labels of the squared share of a
    label's rows; never does a fold get all rows of a label if another place is left.
    """
    _, numbers = np.unique(groups, return_inverse=True)
    table = np.zeros((numbers.max() + 1, labels.max() + 1))
    np.add.at(table, (numbers, labels), 1.0)
    table = table[:, table.any(axis=0)]
    shares = table / table.sum(axis=0)
    order = rng.permutation(len(shares))
    order = order[np.argsort(-shares[order].sum(axis=1), kind="stable")]
    fold, load = np.empty(len(shares), dtype=np.intp), np.zeros((n_folds, shares.shape[1]))
    for one in order:
        own = shares[one]
        whole = ((load + own > 1.0 - 1e-9) & (own > 0.0)).any(axis=1)
        fold[one] = np.argmin(load @ own + shares.shape[1] * whole + 1e-9 * load.sum(axis=1))
        load[fold[one]] += own
    return fold[numbers.reshape(-1)]


def units_of(groups: Indices | None, n: int) -> Indices:
    """Return the number from 0 of what each of n rows is part of: itself, or its group."""
    return np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)


def groups_with(labels: Indices, groups: Indices, n_classes: int) -> Indices:
    """Return the number of groups that each label occurs in."""
    pairs = np.unique(groups * n_classes + labels)
    return np.bincount(pairs % n_classes, minlength=n_classes)
