"""A classification problem with checked inputs, labels ±1 and weights, and the covariance of its latent values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.local import LocalCovariance
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.covariance.partition import Partition
from marginwise.errors import Finding, InvalidInputError
from marginwise.model import Model
from marginwise.multiplicity import agreement_by_chance, count_examples, counts_of
from marginwise.row_hash import first_rows, group_ids, joint_ids, repeats_of, totals

#: Sums of squares of numbers up to this one are finite, and the kernel of two inputs so far apart is koff.
FAR = 1e100

#: Weights from 1/this to this are told from one another.
_HEAVY = 1e12


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs ``X`` (n, d), labels ``y`` in {-1, +1} and positive ``weights`` (n,), all float64.

    Build it with ``as_problem``. With ``inducing`` inputs the Gram matrix has low rank; with a ``partition`` as well it
    has low rank between the blocks, and is exact within them.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Labels -1 or +1.
    weights : array of shape (n,)
        Positive; weight 2 is equivalent to giving the row twice.
    inducing : array of shape (m, d), optional
        Inducing inputs: the Gram matrix then has rank m and takes O(nm²) time and O(nm) memory for n rows.
    examples : array of shape (n,), optional
        How many examples each row stands for; one is left out at a time. By default they are counted as in
        ``marginwise.multiplicity``.
    partition : Partition, optional
        Blocks of neighbouring rows, within which the Gram matrix is exact: O(n(m² + B²)) time for blocks of B rows.
    groups : array of int, shape (n,), optional
        The group of each row: rows of a group are left out together, and each row is one example of its group.
    single : bool
        Whether features and blocks have single precision, which halves memory and time and is accurate to about six
        digits.

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> problem = as_problem([[0.0], [1.0], [2.0]], [-1, 1, 1])
    >>> problem.n, problem.dense_covariance(Hyperparameters()).gram.shape
    (3, (3, 3))
    """

    X: Array
    y: Array
    weights: Array
    inducing: Array | None = None
    examples: Array | None = None
    partition: Partition | None = None
    single: bool = False
    groups: Indices | None = None

    __repr__ = summary

    def __post_init__(self) -> None:
        if not self.y.shape == self.weights.shape == (self.n,):  # compiled loops would not notice
            shapes = self.y.shape, self.weights.shape
            raise InvalidInputError("shape of labels and weights", shapes, f"({self.n},) for each, as there are rows")
        if self.partition is not None and self.inducing is None:
            raise InvalidInputError("inducing", None, "inducing inputs, which blocks of a partition share")

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.X.shape[0]

    @property
    def labels(self) -> Indices:
        """The class numbers: 0 for label -1, 1 for +1."""
        return (self.y > 0).astype(np.intp)

    @property
    def n_classes(self) -> int:
        """Number of classes that a label can be of, whether or not a row is."""
        return 2

    def covariance(self, model: Model) -> DenseCovariance | LowRankCovariance | LocalCovariance:
        """Return the covariance of the latent values.

        It is dense, of low rank if there are inducing inputs, and local if there is a partition.
        """
        if self.inducing is None:
            return DenseCovariance.of(model.kernel, self.X)
        if self.partition is None:
            return LowRankCovariance(model.kernel, as_blocks(self.X), self.inducing, single=self.single)
        return LocalCovariance(model.kernel, self.X, self.inducing, self.partition, single=self.single)

    def undivided_covariance(self, model: Model) -> DenseCovariance | LowRankCovariance:
        """Return the dense or low-rank covariance, for methods that have no form with blocks."""
        if self.partition is not None:
            blocks = f"{self.partition.n_blocks} blocks"
            raise InvalidInputError("partition", blocks, "None, because this method has no form with blocks")
        covariance = self.covariance(model)
        assert not isinstance(covariance, LocalCovariance)
        return covariance

    def dense_covariance(self, model: Model) -> DenseCovariance:
        """Return the Gram matrix of the inputs, for methods that have no other form."""
        if self.inducing is not None:
            raise InvalidInputError("rank", len(self.inducing), "None, because this method has no low-rank form")
        return DenseCovariance.of(model.kernel, self.X)

    def penalties(self, C: float) -> Array:
        """Return C_i = C w_i, the slack penalty of each example."""
        return C * self.weights

    @cached_property
    def _inputs(self) -> Indices:
        return group_ids(self.X)

    @cached_property
    def repeats(self) -> Indices | None:
        """Numbers that are equal for rows with the same input, label and group; None when all rows differ."""
        inputs = self._inputs if self.groups is None else joint_ids(self._inputs, self.groups)
        return repeats_of(inputs, self.labels)

    @cached_property
    def counted(self) -> Array:
        """The number of examples in each row; below 1 for rows that are one example together with their copies."""
        if self.groups is not None:
            return np.ones(self.n)
        if self.examples is not None:
            return self.examples
        counts = counts_of(self.weights)
        return count_examples(self._inputs, self.labels, counts, lambda: agreement_by_chance(self.X, counts))

    @property
    def left_out(self) -> Array:
        """The weight that leaving one example out takes from each row; of groups, leaving its group out."""
        return self.weights / np.maximum(1.0, self.counted)

    @cached_property
    def distinct(self) -> Problem:
        """The problem with equal rows made one."""
        return merge_repeated(self, self.repeats)[0]

    def subset(self, rows: Indices) -> Problem:
        """Return the problem of these rows."""
        X, y, weights, examples = (column[rows] for column in (self.X, self.y, self.weights, self.counted))
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=X, y=y, weights=weights, examples=examples, groups=groups)


@dataclass(frozen=True, eq=False, repr=False)
class MulticlassProblem(Problem):
    """The same with labels of several classes: ``y`` holds their numbers, from 0 to ``n_classes`` - 1."""

    n_classes: int = 2

    @property
    def labels(self) -> Indices:
        return self.y.astype(np.intp)

    def pairs(self) -> Iterator[tuple[Problem, Indices]]:
        """Yield the two-class problem of each two classes that have rows, the first of them labelled +1, and its rows.

        In the order (0, 1), (0, 2) … (1, 2) …
        """
        own = [np.flatnonzero(self.labels == k) for k in range(self.n_classes)]
        for i, j in combinations(range(self.n_classes), 2):
            if len(own[i]) and len(own[j]):
                rows = np.sort(np.concatenate([own[i], own[j]]))
                labels = np.where(self.labels[rows] == i, 1.0, -1.0)
                parts = self.X[rows], labels, self.weights[rows], self.inducing, self.counted[rows]
                groups = None if self.groups is None else self.groups[rows]
                yield Problem(*parts, self.partition, self.single, groups), rows


def labelled_problem(
    X: Array,
    codes: Indices,
    weights: Array,
    n_classes: int,
    examples: Array | None = None,
    groups: Indices | None = None,
) -> Problem:
    """Return the problem of rows with class numbers below ``n_classes``."""
    if n_classes == 2:
        return Problem(X, np.where(codes == 1, 1.0, -1.0), weights, examples=examples, groups=groups)
    return MulticlassProblem(X, codes.astype(float), weights, examples=examples, groups=groups, n_classes=n_classes)


def as_problem(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    inducing: npt.ArrayLike | None = None,
    examples: npt.ArrayLike | None = None,
    partition: Partition | None = None,
) -> Problem:
    """Check the arguments and return them as a :class:`Problem`, with arrays of its own."""
    inputs = check_inputs(X)
    n, d = inputs.shape
    labels, weights = check_labels(y, n).copy(), check_weights(sample_weight, n).copy()
    points = None if inducing is None else check_inputs(inducing, "inducing").copy()
    if points is not None and points.shape[1] != d:
        raise InvalidInputError("inducing", Finding(f"has shape {points.shape}"), f"shape (m, {d}), like rows of X")
    numbers = None if examples is None else check_weights(examples, n, "examples").copy()
    if partition is not None:
        partition.check_inputs(d)
    return Problem(inputs.copy(), labels, weights, points, numbers, partition)


def merge_repeated(problem: Problem, groups: Indices | None) -> tuple[Problem, Indices, Indices]:
    """Return the problem with the rows of a group made one of their total weight, the rows kept, and where each went.

    ``groups`` numbers rows by input and label, as :attr:`Problem.repeats` does; None when all rows differ.
    """
    if groups is None:
        rows = np.arange(problem.n)
        return problem, rows, rows
    rows, places = first_rows(groups)
    weights, examples = (totals(places, column) for column in (problem.weights, problem.counted))
    merged = replace(problem.subset(rows), weights=weights, examples=examples)
    return merged, rows, places


def check_inputs(X: npt.ArrayLike, name: str = "X") -> Array:
    """Return ``X`` as a float64 matrix with at least one row and one column, and numbers whose squares are finite."""
    matrix = _as_floats(name, X)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInputError(
            name, Finding(f"has shape {matrix.shape}"), "shape (n, d) with at least one row and one column"
        )
    return require_near(np.ascontiguousarray(_finite(name, matrix)), name)


def require_near(X: Array, name: str = "X", instead: str = "divide the column by its largest number") -> Array:
    """Return inputs, or say ``instead`` of what if squares of their differences are not finite."""
    if X.size and max(float(X.max()), -float(X.min())) > FAR:
        i, a = np.argwhere(np.abs(X) > FAR)[0]
        raise InvalidInputError(f"{name}[{i}, {a}]", X[i, a].item(), f"a number from {-FAR:g} to {FAR:g}; {instead}")
    return X


def check_gram(gram: npt.ArrayLike) -> Array:
    """Return ``gram`` as a finite, symmetric float64 matrix, without a copy if it is one already.

    Symmetry is looked at in a few rows and columns only: a full test would cost more than training.
    """
    matrix = _finite("gram", np.ascontiguousarray(_as_floats("gram", gram)))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidInputError("gram", Finding(f"has shape {matrix.shape}"), "a square matrix, shape (n, n)")
    some = np.arange(0, len(matrix), max(1, len(matrix) // 16))
    if not np.allclose(matrix[some], matrix[:, some].T, rtol=1e-9, atol=1e-9 * np.abs(matrix.diagonal()).max()):
        raise InvalidInputError("gram", Finding("is not symmetric"), "K(x_i, x_j) = K(x_j, x_i)")
    if (matrix.diagonal() <= 0).any():
        row = int(np.argmin(matrix.diagonal()))
        raise InvalidInputError(f"gram[{row}, {row}]", matrix[row, row].item(), "a positive number, K(x, x)")
    return matrix


def check_labels(y: npt.ArrayLike, n: int) -> Array:
    """Return ``y`` as ``n`` float64 labels -1 or +1."""
    labels = _as_floats("y", y)
    if labels.shape != (n,):
        raise InvalidInputError("y", Finding(f"has shape {labels.shape}"), f"shape ({n},), one label for each row")
    wrong = np.flatnonzero(np.abs(labels) != 1.0)
    if wrong.size:
        raise InvalidInputError(f"y[{wrong[0]}]", labels[wrong[0]].item(), "-1 or +1")
    return labels


def check_weights(sample_weight: npt.ArrayLike | None, n: int, name: str = "sample_weight") -> Array:
    """Return ``n`` positive float64 weights, all one when none are given."""
    if sample_weight is None:
        return np.ones(n)
    weights = _finite(name, _as_floats(name, sample_weight))
    if weights.shape != (n,):
        raise InvalidInputError(name, Finding(f"has shape {weights.shape}"), f"shape ({n},), one weight for each row")
    wrong = np.flatnonzero((weights < 1.0 / _HEAVY) | (weights > _HEAVY))
    if wrong.size:
        weight = weights[wrong[0]].item()
        wanted = f"a number from {1.0 / _HEAVY:g} to {_HEAVY:g}" if weight > 0 else "a positive number"
        raise InvalidInputError(f"{name}[{wrong[0]}]", weight, f"{wanted} (leave the row out instead)")
    return weights


def _as_floats(name: str, values: npt.ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "USc":  # strings of digits and complex numbers would be converted
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InvalidInputError(name, type(values).__name__, "numbers only, in a rectangular array") from None


def _finite(name: str, values: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()  # one pass over memory; a sum can overflow, so look again before complaining
    if not np.isfinite(total):
        finite = np.isfinite(values)
        if finite.all():
            return values
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InvalidInputError(f"{name}[{', '.join(map(str, where))}]", values[where].item(), "a finite number")
    return values
