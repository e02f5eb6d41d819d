"""Classes with an order: what the order is, and predictions that use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Indices
from marginwise._wording import some
from marginwise.errors import Finding, InvalidInputError

#: What ``classes`` may be, besides the labels themselves.
AUTO, ORDERED, UNORDERED = "auto", "ordered", "unordered"

_WANTED = '"auto", "ordered", "unordered", or the labels from the lowest to the highest'


class OrderedMixin:
    """A classifier whose classes may have an order.

    Attributes
    ----------
    class_order_ : array of shape (n_classes,) or None
        The labels from the lowest to the highest; None if they have no order.
    """

    class_order_: npt.NDArray[Any] | None
    classes_: npt.NDArray[Any]
    predict_proba: Callable[[Any], Array]

    def predict_median(self, X: Any) -> npt.NDArray[Any]:
        """Return the median class of each row: the lowest for which it or a lower one has a probability of ½ or more.

        No other prediction has a smaller expected distance from the true class, counted in classes. ``predict`` is the
        most probable class, which is right most often.
        """
        order, probability = self._in_order(X)
        return self.classes_[order[medians(probability)]]

    def expected_grade(self, X: Any) -> Array:
        """Return the expected place of each row's class in ``class_order_``, from 0, the lowest, to n_classes - 1."""
        order, probability = self._in_order(X)
        return probability @ np.arange(float(len(order)))

    def _in_order(self, X: Any) -> tuple[Indices, Array]:
        """Return the numbers of the classes in their order, and the probabilities in columns of that order."""
        if self.class_order_ is None:
            found = Finding("was fitted to classes without an order")
            raise InvalidInputError("model", found, 'one fitted with classes="ordered", or to an ordered categorical')
        order = np.searchsorted(self.classes_, self.class_order_)
        return order, self.predict_proba(X)[:, order]


def medians(probability: Array) -> Indices:
    """Return the place of the median class, from probabilities in columns of the order."""
    reached = probability.cumsum(axis=1)
    return np.asarray((reached >= 0.5 * reached[:, -1:]).argmax(axis=1))


def check_classes(classes: Any, predictor: str) -> None:
    """Raise if the parameter ``classes`` is none of what it may be."""
    if isinstance(classes, str):
        known = classes in (AUTO, ORDERED, UNORDERED)
    else:
        known = isinstance(classes, (list, tuple, np.ndarray)) and np.ndim(classes) == 1
    if not known:
        raise InvalidInputError("classes", classes, _WANTED)
    if predictor == "svm" and not (isinstance(classes, str) and classes in (AUTO, UNORDERED)):
        wanted = '"auto" or "unordered" with predictor="svm": only predictor="posterior" uses an order'
        raise InvalidInputError("classes", classes, wanted)


def class_order(classes: Any, y: Any, labels: npt.NDArray[Any], predictor: str) -> tuple[int, ...] | None:
    """Return the numbers of the sorted ``labels`` from the lowest to the highest; None if they have no order.

    ``y`` are the labels as they were given: an ordered categorical of pandas or an Enum of polars knows the order.
    """
    own = _categories(y)
    if isinstance(classes, str):
        if classes == UNORDERED or predictor == "svm" or (classes == AUTO and own is None):
            return None
        order = labels.tolist() if own is None else own
    else:
        order = np.asarray(classes).tolist()
    return _numbers(order, labels.tolist())


def _categories(y: Any) -> list[Any] | None:
    """Return the categories of labels with an order."""
    kind = getattr(y, "dtype", None)
    if getattr(kind, "ordered", False) or type(kind).__name__ == "Enum":
        return list(kind.categories)  # type: ignore[union-attr]
    return None


def _numbers(order: list[Any], labels: list[Any]) -> tuple[int, ...]:
    """Return the numbers of the labels in the order; labels that no row has are left out of it."""
    if len(set(order)) < len(order):
        raise InvalidInputError("classes", order, "each label once, from the lowest to the highest")
    if missing := [repr(label) for label in labels if label not in order]:
        raise InvalidInputError("classes", order, f"all labels of y in it; {some(missing)} of them is missing")
    return tuple(labels.index(label) for label in order if label in labels)
