"""How well the rows of a table were predicted by models that were trained without them, overall and by class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import auc, roc_curve

from marginwise._arrays import Array, Indices
from marginwise._wording import numbered
from marginwise.errors import Finding, InvalidInputError, TableWarning
from marginwise.inspection.ordered import OrderScores, order_scores


class ClassScores(NamedTuple):
    """How well one class is separated from the others.

    Attributes
    ----------
    rows : int
        Rows of this class.
    recall : float
        The share of these rows that are predicted as this class. All scores are NaN for a class without rows.
    precision : float or None
        The share of the rows predicted as this class that belong to it; None if no row is predicted as it.
    f1 : float
        The harmonic mean of recall and precision, 0 for a class that is never predicted.
    auc : float
        The area under the ROC curve: how often a row of this class gets a higher probability of it than a row of
        another class.

    Examples
    --------
    >>> from marginwise.inspection import ClassScores
    >>> ClassScores(rows=50, recall=0.9, precision=0.75, f1=0.818, auc=0.96).recall
    0.9
    """

    rows: int
    recall: float
    precision: float | None
    f1: float
    auc: float


class Mistake(NamedTuple):
    """How many rows of one class were predicted as another.

    Attributes
    ----------
    true, predicted : object
        The two classes.
    rows : float
        How many.
    share : float
        Their share among the rows of the true class.

    Examples
    --------
    >>> from marginwise.inspection import Mistake
    >>> Mistake("versicolor", "virginica", rows=3, share=0.06).predicted
    'virginica'
    """

    true: Any
    predicted: Any
    rows: float
    share: float


@dataclass(frozen=True, eq=False)
class HeldOutReport:
    """Held-out predictions of the rows that a model was fitted to, and how good they are.

    Copies of a row are one example, because they were left out together; they count as often as they occur in the
    table. Sample weights are not used.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    probability : array of shape (n_examples, n_classes)
        Class probabilities of each example.
    codes : array of int, shape (n_examples,)
        The index of each example's class among the classes.
    copies : array of shape (n_examples,)
        How often each example occurs in the table.
    examples : array of int, shape (n_rows,)
        The example that each row of the table belongs to, -1 for rows without held-out probabilities.
    groups : array of int, shape (n_examples,), or None
        The group of each example, where rows of a group were left out together.
    order : array of int, shape (n_classes,), or None
        The indices of the classes from the lowest to the highest, if they have an order.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import HeldOutReport
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> report = HeldOutReport(np.array(["no", "yes"]), p, np.array([0, 1, 1]), np.ones(3), np.arange(3))
    >>> report.confusion.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    >>> report.scores["yes"].recall
    0.5
    """

    classes: npt.NDArray[Any]
    probability: Array
    codes: Indices
    copies: Array
    examples: Indices
    groups: Indices | None = None
    order: Indices | None = None

    @property
    def n_left_out(self) -> int:
        """How many rows of the table have no held-out probabilities and are not in the report."""
        return int(np.count_nonzero(self.examples < 0))

    @property
    def own(self) -> Array:
        """The probability of each example's own class."""
        return self.probability[np.arange(len(self.codes)), self.codes]

    @property
    def predicted(self) -> Indices:
        """The index of each example's most probable class."""
        return self.probability.argmax(axis=1)

    def rows_of(self, example: int) -> tuple[int, ...]:
        """Return the rows of the table that are this example, counted from 0."""
        order, first = self._rows
        return tuple(order[first[example] : first[example + 1]].tolist())

    @cached_property
    def _rows(self) -> tuple[Indices, Indices]:
        """The rows in the order of their examples, and where in it each example begins and the last one ends."""
        order = np.argsort(self.examples, kind="stable")
        return order, np.searchsorted(self.examples[order], np.arange(len(self.codes) + 1))

    @cached_property
    def confusion(self) -> Array:
        """How many rows of each class (rows) were predicted as each (columns)."""
        n_classes = len(self.classes)
        pairs = self.codes * n_classes + self.predicted
        counts: npt.NDArray[Any] = np.bincount(pairs, self.copies, n_classes**2)
        return counts.reshape(n_classes, n_classes)

    def roc(self, label: Any) -> tuple[Array, Array]:
        """Return the ROC curve of a class against the rest: false and true positive rates, both increasing."""
        if label not in self.classes.tolist():
            raise InvalidInputError("label", label, f"one of the classes {self.classes.tolist()}")
        k = self.classes.tolist().index(label)
        false_positive, true_positive, _ = roc_curve(self.codes == k, self.probability[:, k], sample_weight=self.copies)
        return false_positive, true_positive

    @cached_property
    def scores(self) -> dict[Any, ClassScores]:
        """How well each class is separated from the others."""
        return {label: self._scores(k, label) for k, label in enumerate(self.classes.tolist())}

    def _scores(self, k: int, label: Any) -> ClassScores:
        found, total, named = self.confusion[k, k], self.confusion[k].sum(), self.confusion[:, k].sum()
        precision = float(found / named) if named > 0 else None
        if total == 0:
            return ClassScores(0, np.nan, precision, np.nan, np.nan)
        return ClassScores(
            rows=round(total),
            recall=float(found / total),
            precision=precision,
            f1=float(2 * found / (total + named)),
            auc=float(auc(*self.roc(label))) if total < self.copies.sum() else np.nan,
        )

    @cached_property
    def order_scores(self) -> OrderScores | None:
        """How far predictions are off, where the classes have an order."""
        if self.order is None:
            return None
        return order_scores(self.probability[:, self.order], np.argsort(self.order)[self.codes], self.copies)

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """Every pair of classes that was confused, the commonest first."""
        labels, totals = self.classes.tolist(), self.confusion.sum(axis=1)
        made = [
            Mistake(labels[i], labels[j], float(self.confusion[i, j]), float(self.confusion[i, j] / totals[i]))
            for i, j in np.argwhere(self.confusion).tolist()
            if i != j
        ]
        return sorted(made, key=lambda mistake: (-mistake.rows, -mistake.share))


def held_out_report(model: Any, y: Any) -> HeldOutReport:
    """Compare the held-out predictions of a fitted model with the labels.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    y : array of shape (n,)
        The labels that it was fitted to, in the same order.

    Returns
    -------
    HeldOutReport
        Rows without held-out probabilities are left out, and counted by ``n_left_out``.

    Raises
    ------
    InvalidInputError
        If the model has no held-out probabilities, or was fitted to other labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import held_out_report
    >>> X, y = load_iris(return_X_y=True)
    >>> report = held_out_report(TunedSVC(ard=0, random_state=0).fit(X, y), y)
    >>> report.scores[0].recall  # setosa
    1.0
    >>> {frozenset((mistake.true, mistake.predicted)) for mistake in report.mistakes}
    {frozenset({1, 2})}
    """
    proba = _held_out_proba(model)
    groups, labels = np.asarray(model.row_groups_), np.asarray(y)
    if labels.shape != (len(proba),):
        found = Finding(f"has shape {labels.shape}")
        raise InvalidInputError("y", found, f"the {len(proba)} labels that the model was fitted to")
    known = np.flatnonzero(np.isfinite(proba[:, 0]))
    if not np.isin(labels[known], model.classes_).all():
        found = Finding("has labels that the model does not know")
        raise InvalidInputError("y", found, f"the labels that it was fitted to, out of {model.classes_.tolist()}")
    codes = np.searchsorted(model.classes_, labels[known])
    _, first, places = np.unique(groups[known], return_index=True, return_inverse=True)
    if (codes[first][places] != codes).any():
        found = Finding("differs between rows that are copies of each other")
        raise InvalidInputError("y", found, "the labels that the model was fitted to, in the same order")
    examples = np.full(len(proba), -1)
    examples[known] = places
    copies = np.bincount(places).astype(float)
    numbers = getattr(model, "_groups", None)
    together = None if numbers is None else numbers[groups[known][first]]
    labels_in_order = getattr(model, "class_order_", None)
    order = None if labels_in_order is None else np.searchsorted(model.classes_, labels_in_order)
    return HeldOutReport(model.classes_, proba[known][first], codes[first], copies, examples, together, order)


def report_with_warning(model: Any, y: Any) -> HeldOutReport:
    """Return the report, with a warning if it is not of all rows: for results that have no place to say so."""
    report = held_out_report(model, y)
    if report.n_left_out:
        message = f"{numbered(report.n_left_out, 'row')} of {len(report.examples)} left out: no held-out probabilities"
        warnings.warn(message, TableWarning, stacklevel=3)
    return report


def _held_out_proba(model: Any) -> Array:
    proba = getattr(model, "held_out_proba_", None)
    if proba is None:
        found = Finding(f"is a {type(model).__name__} without held_out_proba_")
        raise InvalidInputError("model", found, "a fitted TunedSVC; of a pipeline, its last step")
    if np.isnan(proba).all():
        found = Finding("has no held-out probabilities: every model was trained on all rows")
        raise InvalidInputError(
            "model",
            found,
            'one fitted with ard="auto" or ard=0 (if a class has too few rows for folds), or with subset=None, or '
            'rank="auto" and predictor="posterior" (if it was tuned on a part of the rows)',
        )
    return np.asarray(proba)
