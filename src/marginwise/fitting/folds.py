"""Common folds: examples assigned once, so that all candidates predict the same ones left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.fitting.schedule import SCHEDULE
from marginwise.multiplicity import assign_folds, groups_with
from marginwise.problem import Problem

#: Of a rare label at least so many rows stay in a part of them, or with many labels fewer.
_RARE_ROWS = 10


@dataclass(frozen=True, eq=False)
class Folds:
    """Examples assigned to folds, labels spread evenly; those left out, fold by fold, are the rows of a long table.

    ``counts`` is how many examples of each row are in each fold.
    """

    problem: Problem
    counts: Array
    seed: int

    @classmethod
    def assign(cls, problem: Problem, seed: int) -> Folds | None:
        """Assign at random; None where the second commonest label is too rare to be in two folds."""
        n_folds = min(SCHEDULE.n_folds, _second_commonest(problem))
        if n_folds < 2:
            return None
        rng = np.random.default_rng(seed)
        return cls(problem, assign_folds(problem.labels, problem.counted, n_folds, rng, problem.groups), seed)

    def __len__(self) -> int:
        return self.counts.shape[1]

    @cached_property
    def rows(self) -> list[Indices]:
        """The rows of each fold."""
        return [np.flatnonzero(column) for column in self.counts.T]

    @cached_property
    def weights(self) -> Array:
        """Weights in the long table."""
        counts = self.counts * self.problem.left_out[:, None]
        return np.concatenate([counts[rows, k] for k, rows in enumerate(self.rows)])

    @cached_property
    def labels(self) -> Indices:
        """Labels in the long table."""
        return self.problem.labels[np.concatenate(self.rows)]

    @cached_property
    def numbers(self) -> Indices:
        """Numbers of the folds in the long table."""
        return np.repeat(np.arange(len(self)), [len(rows) for rows in self.rows])

    @property
    def halves(self) -> tuple[range, range]:
        """The first folds, on which a candidate has to gain, and the others."""
        first = min(SCHEDULE.first_folds, len(self))
        return range(first), range(first, len(self))

    def split(self, k: int) -> tuple[Problem, Array]:
        """Return the problem without fold k, or a part of it, and the inputs of fold k."""
        if k not in self._splits:
            part = sample_of(self.without([k]), SCHEDULE.fold_rows, np.random.default_rng([self.seed, k]))
            self._splits[k] = part, self.problem.X[self.rows[k]]
        return self._splits[k]

    @cached_property
    def _splits(self) -> dict[int, tuple[Problem, Array]]:
        return {}

    def without(self, folds: Sequence[int]) -> Problem:
        """Return the problem without some of the folds."""
        rest = self.problem.counted - self.counts[:, folds].sum(axis=1)
        rows = np.flatnonzero(rest > 0.0)
        inside = self.problem.subset(rows)
        return replace(inside, weights=inside.left_out * rest[rows], examples=rest[rows])

    def own(self, log_proba: Array) -> Array:
        """Return the log-probabilities of the labels from those of all classes, for first rows of the long table."""
        return log_proba[np.arange(len(log_proba)), self.labels[: len(log_proba)]]

    def gain(self, log_proba: Array, before: Array) -> float:
        """Return by how much labels of the first folds are more probable than before, in nats."""
        more = self.own(log_proba) - self.own(before[: len(log_proba)])
        return float(self.weights[: len(more)] @ more)

    def by_row(self, proba: Array) -> Array:
        """Return the mean over the folds for each row of the problem, of columns of the long table."""
        rows = np.concatenate(self.rows)
        means = [np.bincount(rows, self.weights * column) / self.problem.weights for column in proba.T]
        return np.column_stack(means)


def sample_of(problem: Problem, n_rows: int, rng: np.random.Generator) -> Problem:
    """Return the problem of some rows, few enough for the exact Gram matrix; the problem itself if it has no more."""
    if problem.n <= n_rows:
        return problem
    return replace(problem.subset(sample_rows(problem, n_rows, rng)), inducing=None)


def sample_rows(problem: Problem, n_rows: int, rng: np.random.Generator) -> Indices:
    """Return about so many random rows, with labels in their shares, but for a few more of rare ones."""
    rows = []
    least = max(1, min(_RARE_ROWS, n_rows // problem.n_classes))
    for label in range(problem.n_classes):
        own = np.flatnonzero(problem.labels == label)
        size = max(round(n_rows * len(own) / problem.n), min(least, len(own)))
        rows.append(rng.permutation(own)[:size])
    return np.sort(np.concatenate(rows))


def _second_commonest(problem: Problem) -> int:
    """Return how often the second commonest label can be assigned: the rarer one of two."""
    if problem.groups is None:
        counts = np.bincount(problem.labels, problem.counted, problem.n_classes)
    else:
        counts = groups_with(problem.labels, problem.groups, problem.n_classes)
    return int(np.sort(counts)[-2])
