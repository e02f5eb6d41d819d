"""What every classifier of the library does with a table before the mathematics begins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_X_y
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from marginwise._arrays import Array, Indices, Mask
from marginwise.covariance import as_blocks
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._groups import group_numbers
from marginwise.multiplicity import agreement_by_chance, assign_groups, count_examples, counts_of
from marginwise.row_hash import draw_rows, first_rows, group_ids, hash_rows, joint_ids, totals

#: Beyond these, penalties C w_i lose their digits.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-6, 1e6

#: Most parts that groups are assigned to, of which some are set aside.
_PARTS = 20


def n_decisions(n_classes: int) -> int:
    """Return how many numbers decide about a row: one for two classes, one for each of more."""
    return 1 if n_classes == 2 else n_classes


@dataclass(frozen=True, eq=False)
class ClassificationTable:
    """A checked table.

    Attributes
    ----------
    X : array of shape (n, d)
        Cells as numbers, NaN where they are missing.
    codes : array of int, shape (n,)
        Class numbers.
    weights : array of shape (n,)
        Positive: sample weights times those of the classes.
    classes : array
        In order.
    examples : array of shape (n,)
        How many examples each row stands for: how often it counts, until :meth:`counted` looks closer.
    groups : array of int, shape (n,), or None
        Numbers of the groups of rows that belong together; equal rows are one only within a group.
    places : array of int, shape (n_given,)
        Where each row that was given is in this table, -1 for rows that were left out.
    """

    X: Array
    codes: Indices
    weights: Array
    classes: npt.NDArray[Any]
    examples: Array
    places: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    groups: Indices | None = None

    def rows(self, chosen: Indices) -> ClassificationTable:
        """Return the table of these rows, in memory."""
        mask = np.zeros(len(self.codes), dtype=bool)
        mask[chosen] = True
        return self._of(np.concatenate(as_blocks(self.X).map(_taken, columns=[mask])), mask)

    def _of(self, X: Array, chosen: Any) -> ClassificationTable:
        columns = (self.codes[chosen], self.weights[chosen], self.classes, self.examples[chosen])
        return ClassificationTable(X, *columns, groups=None if self.groups is None else self.groups[chosen])

    @cached_property
    def inputs(self) -> Indices:
        """Numbers of the inputs, equal for equal ones of a group."""
        inputs = group_ids(self.X)
        return inputs if self.groups is None else joint_ids(inputs, self.groups)

    @cached_property
    def importance(self) -> Array:
        """The mean weight of an example of each class, in units of that of all examples."""
        means = np.bincount(self.codes, self.weights) / np.bincount(self.codes, self.examples)
        return means * (self.examples.sum() / self.weights.sum())

    @property
    def weights_in_class(self) -> Array:
        """Weights with the same mean over the examples of each class, and the sum that they are worth.

        Examples of unequal weights w are worth (Σw)²/Σw² of equal ones (Kish 1965).
        """
        own = self.weights * (self.examples.sum() / self.weights.sum()) / self.importance[self.codes]
        return own * (own.sum() / (own @ (own / self.examples)))

    def drawn(self, size: int, allowed: Mask, seed: int) -> ClassificationTable:
        """Return distinct random rows among those allowed, which neither order nor repetitions of rows change."""
        numbers = np.concatenate(as_blocks(self.X).map(hash_rows, seed))
        places = np.flatnonzero(allowed)
        return self.rows(places[draw_rows(numbers[places], self.codes[places], size)]).merged()

    def merged(self) -> ClassificationTable:
        """Return the distinct examples, each with its total weight, in an order that depends on nothing but themselves.

        So neither the order of the rows nor the way in which repetitions are given changes anything later, and tables
        with many repeated rows are as cheap as short ones.
        """
        order, first = self._groups
        weights, examples = (np.add.reduceat(column[order], first) for column in (self.weights, self.examples))
        rows = order[first]
        places = _followed(self.places, self.merged_places)
        # Groups are numbered in the order of the rows: what they are called does not matter.
        groups = None if self.groups is None else first_rows(self.groups[rows])[1]
        return ClassificationTable(self.X[rows], self.codes[rows], weights, self.classes, examples, places, groups)

    @property
    def merged_places(self) -> Indices:
        """The place in :meth:`merged` of each row's example."""
        order, first = self._groups
        begins = np.zeros(len(order), dtype=int)
        begins[first[1:]] = 1
        places = np.empty_like(begins)
        places[order] = np.cumsum(begins)
        return places

    @cached_property
    def _groups(self) -> tuple[Indices, Indices]:
        """An order in which equal examples follow each other, and where in it each begins."""
        keys = [self.codes] if self.groups is None else [self.groups, self._contents[self.groups], self.codes]
        order = np.lexsort([self.weights, *keys, *self.X.T[::-1]])
        X = self.X[order]
        same = (X[1:] == X[:-1]) | (np.isnan(X[1:]) & np.isnan(X[:-1]))
        new = ~same.all(axis=1)
        for key in keys:
            new |= key[order][1:] != key[order][:-1]
        return order, np.concatenate([[0], 1 + np.flatnonzero(new)])

    @cached_property
    def _contents(self) -> npt.NDArray[np.uint64]:
        """A number for each group that depends on nothing but its examples: neither on their order nor on its name."""
        assert self.groups is not None
        numbers = hash_rows(np.column_stack([self.X, self.codes]), 0)
        groups, numbers = np.unique(np.array([self.groups, numbers], dtype=np.uint64), axis=1)
        contents = np.zeros(int(self.groups.max()) + 1, dtype=np.uint64)
        np.add.at(contents, groups.astype(np.intp), numbers)  # wraps around
        return contents

    def merged_unsorted(self) -> ClassificationTable:
        """Return the same for rows that are not in memory, in the order that they have."""
        kept, went = first_rows(joint_ids(self.inputs, self.codes))
        if len(kept) == len(went):
            return self
        weights, examples = (totals(went, column) for column in (self.weights, self.examples))
        places = _followed(self.places, went)
        return replace(self._of(self.X[kept], kept), weights=weights, examples=examples, places=places)

    def counted(self) -> ClassificationTable:
        """Return the table of distinct rows with the number of examples that each of them is."""
        return replace(self, examples=count_examples(self.inputs, self.codes, self.examples, self._chance))

    def _chance(self) -> float:
        """Return how often rows agree by chance; rows that are elsewhere are not asked."""
        return agreement_by_chance(self.X, self.examples) if isinstance(self.X, np.ndarray) else 0.0


def _followed(places: Indices, went: Indices) -> Indices:
    """Return where rows are after those of a table went elsewhere."""
    return np.where(places < 0, -1, went[np.maximum(places, 0)]) if len(places) else places


def _taken(X: Array, mask: Mask) -> Array:
    return X[mask]


def check_table(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None, groups: Any = None
) -> ClassificationTable:
    """Check X, y and weights as scikit-learn does; the table holds the cells of X as numbers."""
    if y is None:
        validate_data(estimator, X, y)  # says that it takes y
    cells = estimator._learn(X)
    labels = check_X_y(np.zeros((len(cells), 1)), _of_one_kind(y), estimator=estimator)[1]
    return classified(cells, labels, sample_weight, class_weight, groups)


def classified(X: Any, y: Any, sample_weight: Any, class_weight: Any, groups: Any = None) -> ClassificationTable:
    """Check labels and weights; rows of weight zero are left out, which is what they mean."""
    y = np.asarray(_of_one_kind(y))
    check_classification_targets(y)
    given = _weights_of(sample_weight, len(y))
    weights = given
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if class_weight is not None and not balanced:
        weights = weights * _of_classes(class_weight, y)
    numbers = None if groups is None else group_numbers(groups, len(y))
    kept = weights > 0
    if not kept.all():
        X, y, weights, given = X[kept], y[kept], weights[kept], given[kept]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = Finding("has one class only")
        raise InvalidInputError("y", found, "at least two classes among the rows of positive weight")
    if balanced:
        # From the weighted counts, so that a weight of 2 stays the same as the row given twice.
        counts = np.bincount(codes, weights)
        weights = weights * (weights.sum() / (len(classes) * counts))[codes]
    _check_range(weights)
    places = np.where(kept, np.cumsum(kept) - 1, -1)
    numbers = None if numbers is None else numbers[kept]
    if numbers is not None and len(np.unique(numbers)) == len(numbers):
        numbers = None  # a group for each row is none
    return ClassificationTable(X, codes, weights, classes, counts_of(given), places, numbers)


def _weights_of(sample_weight: Any, n: int) -> Array:
    """Return the weight of each of n rows: those given, the one given for all, or one."""
    if sample_weight is None or isinstance(sample_weight, Real):
        sample_weight = np.full(n, 1.0 if sample_weight is None else sample_weight)
    weights: Array = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise InvalidInputError(
            "sample_weight", Finding(f"has shape {weights.shape}"), f"shape ({n},), one for each row"
        )
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise InvalidInputError(f"sample_weight[{row}]", weights[row].item(), "a number that is not negative")
    if not weights.any():
        raise InvalidInputError("sample_weight", Finding("is zero for all rows"), "weights that are not all zero")
    return weights


def _of_one_kind(y: Any) -> Any:
    """Return labels held as objects as what they are: booleans or numbers; strings stay, and mixtures are refused."""
    labels = np.asarray(y)
    if labels.dtype != object or labels.ndim != 1:
        return y
    kinds = {type(label) for label in labels}
    for kind in (str, (bool, np.bool_), Real):
        if all(issubclass(one, kind) for one in kinds):
            return y if kind is str else np.array(labels.tolist())
    found = "has labels of types " + ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidInputError("y", Finding(found), "labels of one kind, none missing: strings, whole numbers or booleans")


def set_aside(codes: Indices, fraction: float | None, rng: np.random.Generator, groups: Indices | None = None) -> Mask:
    """Return which rows are set aside: this fraction of each class, at least one of it and never all.

    Of groups, whole ones with about this fraction of the rows.
    """
    aside = np.zeros(len(codes), dtype=bool)
    if fraction is None:
        return aside
    if groups is not None:
        most = min(_PARTS, len(np.unique(groups)))
        share = Fraction(min(max(fraction, 1.0 / most), 1.0 - 1.0 / most)).limit_denominator(most)
        return assign_groups(codes, groups, share.denominator, rng) < share.numerator
    for code in range(codes.max() + 1):
        rows = np.flatnonzero(codes == code)
        if len(rows) < 2:
            raise InvalidInputError("validation_fraction", fraction, "None, because a class has only one row")
        size = int(np.clip(round(fraction * len(rows)), 1, len(rows) - 1))
        aside[rng.permutation(rows)[:size]] = True
    return aside


def _of_classes(class_weight: Any, y: Any) -> Array:
    """Return the weight of each row's class."""
    if not isinstance(class_weight, dict):
        raise InvalidInputError("class_weight", class_weight, 'a dict of weights by class, "balanced" or None')
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
            raise InvalidInputError(f"class_weight[{label!r}]", weight, "a number that is not negative")
    return compute_sample_weight(class_weight, y)


def _check_range(weights: Array) -> None:
    """Refuse weights that no row could have in earnest."""
    for weight in (weights.min(), weights.max()):
        if not _LEAST_WEIGHT <= weight <= _LARGEST_WEIGHT:
            raise InvalidInputError(
                "sample_weight",
                float(weight),
                f"0, or weights from {_LEAST_WEIGHT:g} to {_LARGEST_WEIGHT:g}, times those of the classes",
            )
