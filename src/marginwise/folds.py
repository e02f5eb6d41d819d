"""Examples dealt out to folds, and what each fold says of those that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.examples import deal
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.quasi_newton import Pairs

#: Most rows that a fold's search goes on with.
_FOLD_ROWS = 700

#: Of a rare label at least so many rows stay in a part of them, or with many labels fewer.
_RARE_ROWS = 10

#: A probability of zero counts as this.
_TINY = 1e-300

_NONE: Array = np.empty(0)


@dataclass(frozen=True, eq=False)
class Fold:
    """What a fold says: the probabilities of its labels, the hyperparameters behind them, and the curvature there.

    ``classes`` are the probabilities of all classes.
    """

    probability: Array
    hyperparameters: Model
    learnt: Pairs
    classes: Array = field(default_factory=lambda: _NONE)


@dataclass(frozen=True, eq=False)
class Dealt:
    """Examples dealt out to folds; the examples left out, fold by fold, are the rows of a long table.

    ``dealt`` is how many examples of each row are in each fold.
    """

    problem: Problem
    dealt: Array

    @classmethod
    def draw(cls, problem: Problem, n_folds: int, rng: np.random.Generator) -> Dealt:
        """Deal at random, labels evenly."""
        return cls(problem, deal(problem.labels, problem.counted, n_folds, rng))

    @cached_property
    def rows(self) -> list[Indices]:
        """The examples in each fold."""
        return [np.flatnonzero(column) for column in self.dealt.T]

    @cached_property
    def weights(self) -> Array:
        """Weights in the long table."""
        dealt = self.dealt * self.problem.left_out[:, None]
        return np.concatenate([dealt[rows, k] for k, rows in enumerate(self.rows)])

    def parts(self, k: int, seed: int) -> tuple[Problem, Problem]:
        """Return the problem without fold k, or a part of it, and the examples of fold k."""
        rest = self.problem.counted - self.dealt[:, k]
        rows = np.flatnonzero(rest > 0.0)
        inside = self.problem.subset(rows)
        inside = replace(inside, weights=inside.left_out * rest[rows], examples=rest[rows])
        return part_of(inside, _FOLD_ROWS, np.random.default_rng([seed, k])), self.problem.subset(self.rows[k])

    def gain(self, first: list[Fold], before: Array) -> float:
        """Return by how much the log-probability of the first folds is above that of another column."""
        column = column_of(first)
        logs = np.log(np.maximum(column, _TINY)) - np.log(np.maximum(before[: len(column)], _TINY))
        return float(self.weights[: len(column)] @ logs)

    def average(self, values: Array) -> Array:
        """Return the mean over the folds for each example, of a column or of several."""
        rows, columns = np.concatenate(self.rows), values.reshape(len(values), -1).T
        means = [np.bincount(rows, self.weights * column) / self.problem.weights for column in columns]
        return means[0] if values.ndim == 1 else np.column_stack(means)


def column_of(folds: list[Fold]) -> Array:
    """Return the probabilities of the labels in the long table."""
    return np.concatenate([fold.probability for fold in folds])


def classes_of(folds: list[Fold]) -> Array:
    """Return those of all classes."""
    return np.concatenate([fold.classes for fold in folds])


def mean_of(folds: list[Fold]) -> Model:
    """Return the mean of what was found, in the logarithms."""
    logs = np.mean([fold.hyperparameters.to_vector() for fold in folds], axis=0)
    return folds[0].hyperparameters.with_vector(logs)


def part_of(problem: Problem, n_rows: int, rng: np.random.Generator) -> Problem:
    """Return the problem of some rows, few enough for the exact Gram matrix; the problem itself if it has no more."""
    if problem.n <= n_rows:
        return problem
    rows = []
    least = max(1, min(_RARE_ROWS, n_rows // problem.classes))
    for label in range(problem.classes):
        own = np.flatnonzero(problem.labels == label)
        size = max(round(n_rows * len(own) / problem.n), min(least, len(own)))
        rows.append(rng.permutation(own)[:size])
    return replace(problem.subset(np.sort(np.concatenate(rows))), inducing=None)


def rarer_label(problem: Problem) -> int:
    """Return how often the second commonest label can be dealt out: the rarer one of two."""
    counts = np.bincount(problem.labels, problem.counted, problem.classes)
    return int(np.sort(counts)[-2])
