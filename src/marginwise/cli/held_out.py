"""How well the examples of a table were predicted by models without them, over all and class by class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import auc, roc_curve

from marginwise._arrays import Array, Indices
from marginwise.estimators import TunedSVC
from marginwise.plots import ReliabilityDisplay

#: Bins of the reliability diagram.
_BINS = 10


class ClassScores(NamedTuple):
    """How well one class is told from the others; None where nothing was predicted that it could be judged by.

    ``recall`` is the share of its examples that were predicted as this class, ``precision`` the share of its examples
    among those predicted as this class, ``f1`` their harmonic mean, and ``auc`` the area under its ROC curve: how often
    an example of it has a larger probability of it than one of another class.
    """

    rows: int
    recall: float
    precision: float | None
    f1: float
    auc: float


class Mistake(NamedTuple):
    """How many examples of one class (by number) were taken for another, and their share in the class."""

    true: int
    taken_for: int
    examples: float
    share: float


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Class probabilities of the examples that the model was trained on, from models without them.

    ``codes`` are the examples' class numbers, ``weights`` how often each is in the table, and ``examples`` has for each
    row of the table which example it is.
    """

    probability: Array
    codes: Indices
    weights: Array
    examples: Indices

    @classmethod
    def of(cls, model: TunedSVC, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> HeldOutRows:
        """Return those of a model that was fitted to this table; repeated rows are one example."""
        _, first, places = np.unique(model._places, return_index=True, return_inverse=True)
        codes = np.searchsorted(model.classes_, y)
        return cls(model.held_out_proba_[first], codes[first], np.bincount(places).astype(float), places)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.probability.shape[1]

    @property
    def own(self) -> Array:
        """The probability of each example's own class."""
        return self.probability[np.arange(len(self.codes)), self.codes]

    def rows_of(self, example: int) -> tuple[int, ...]:
        """Return the numbers of an example's rows in the table, the first row being 1."""
        return tuple((1 + np.flatnonzero(self.examples == example)).tolist())

    @property
    def predicted(self) -> Indices:
        """The number of the most probable class."""
        return self.probability.argmax(axis=1)

    @cached_property
    def confusion(self) -> Array:
        """How many examples of each class (rows) were taken for each (columns)."""
        pairs = self.codes * self.n_classes + self.predicted
        counts: npt.NDArray[Any] = np.bincount(pairs, self.weights, self.n_classes**2)
        return counts.reshape(self.n_classes, self.n_classes)

    def roc(self, k: int) -> tuple[Array, Array]:
        """Return the ROC curve of class ``k`` against the rest.

        That is the share of the other classes above each probability of it, and the share of its own above the same.
        """
        others, own, _ = roc_curve(self.codes == k, self.probability[:, k], sample_weight=self.weights)
        return others, own

    @cached_property
    def scores(self) -> list[ClassScores]:
        """How well each class is told from the others."""
        found, total, named = self.confusion.diagonal(), self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            ClassScores(
                rows=round(total[k]),
                recall=float(found[k] / total[k]),
                precision=float(found[k] / named[k]) if named[k] > 0 else None,
                f1=float(2 * found[k] / (total[k] + named[k])),
                auc=float(auc(*self.roc(k))),
            )
            for k in range(self.n_classes)
        ]

    def mistakes(self) -> list[Mistake]:
        """Return all that happened, the commonest first."""
        true, taken = np.nonzero(self.confusion)
        total = self.confusion.sum(axis=1)
        made = [
            Mistake(int(i), int(j), float(self.confusion[i, j]), float(self.confusion[i, j] / total[i]))
            for i, j in zip(true, taken, strict=True)
            if i != j
        ]
        return sorted(made, key=lambda mistake: (-mistake.examples, -mistake.share))

    def reliability(self, event: str) -> ReliabilityDisplay:
        """Return the reliability of the second of two classes (``event``), or of the predicted one of more."""
        if self.n_classes == 2:
            p, happened = self.probability[:, 1], self.codes == 1
        else:
            p, happened, event = self.probability.max(axis=1), self.codes == self.predicted, "the predicted class"
        return ReliabilityDisplay(p, happened, n_bins=_BINS, sample_weight=self.weights, event=event)
