"""Sensitivity and specificity at several thresholds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_curve

from marginwise._arrays import Array, Mask
from marginwise.errors import Finding, InvalidInputError
from marginwise.fitting.scores import independent_examples
from marginwise.inspection.held_out import HeldOutReport, report_with_warning
from marginwise.inspection.positive import positive_place

#: Standard deviations of a 95 % interval.
_Z = 1.959964


def wilson_interval(frequency: Array | float, n: Array | float) -> tuple[Array, Array]:
    """Return the 95 % interval of probabilities π of which the frequency among n is z standard errors √(π(1-π)/n) away.

    Wilson (1927); Brown, Cai & DasGupta (2001), eq. (4).
    """
    shrink = 1.0 + _Z**2 / n
    centre = (frequency + _Z**2 / (2.0 * n)) / shrink
    half = _Z / shrink * np.sqrt(frequency * (1.0 - frequency) / n + (_Z / (2.0 * n)) ** 2)
    # Exactly the frequency itself where that is 0 or 1, but for rounding.
    return np.clip(centre - half, 0.0, frequency), np.clip(centre + half, frequency, 1.0)


class Proportion(NamedTuple):
    """A share of some rows, with its 95 % confidence interval.

    Attributes
    ----------
    value : float
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> from marginwise.inspection import Proportion
    >>> found = Proportion.of(9, 10)
    >>> found.value, round(found.low, 2), round(found.high, 2)
    (0.9, 0.6, 0.98)
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, found: float, total: float, worth: float | None = None) -> Proportion | None:
        """Return Wilson's interval (1927): it stays within 0 and 1, and is not empty where all or none were found.

        ``worth`` is the effective number of independent rows, if it is not ``total``.
        """
        if total <= 0:
            return None
        low, high = wilson_interval(found / total, total if worth is None else worth)
        return cls(float(found / total), float(low), float(high))


class OperatingPoint(NamedTuple):
    """What happens if a class is predicted whenever its probability reaches a threshold.

    Attributes
    ----------
    threshold : float
    sensitivity, specificity : Proportion or None
        The share of the class that is predicted as the class, and the share of the others that is not.
    positive_predictive_value, negative_predictive_value : Proportion or None
        The share of rows predicted as the class that belong to it, and of rows predicted otherwise that do not, at the
        class frequencies of this table; None if there are none.

    Examples
    --------
    >>> from marginwise.inspection import OperatingPoint, Proportion
    >>> all_found = Proportion.of(20, 20)
    >>> OperatingPoint(0.5, all_found, all_found, all_found, all_found).sensitivity.value
    1.0
    """

    threshold: float
    sensitivity: Proportion | None
    specificity: Proportion | None
    positive_predictive_value: Proportion | None
    negative_predictive_value: Proportion | None


def operating_points(model: Any, y: Any, target: float = 0.95, *, positive_class: Any = None) -> list[OperatingPoint]:
    """Return three thresholds for a class: as predicted, for a given sensitivity, and for a given specificity.

    The last two are chosen on the rows that they are evaluated on: expect slightly less on new rows.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    y : array of shape (n,)
        The labels that it was fitted to, in the same order.
    target : float, default=0.95
        The least sensitivity of the second point, and the least specificity of the third.
    positive_class : object, optional
        The positive class; by default the second of two. With more classes it must be given.

    Returns
    -------
    list of OperatingPoint
        From held-out probabilities; rows that have none are left out, with a ``TableWarning``.

    Examples
    --------
    >>> from marginwise import TunedSVC, load_benchmark
    >>> from marginwise.inspection import operating_points
    >>> data = load_benchmark("crabs")
    >>> model = TunedSVC(ard=0, random_state=0).fit(data.X_train, data.y_train)
    >>> as_predicted, sensitive, specific = operating_points(model, data.y_train, target=0.99)
    >>> as_predicted.threshold, sensitive.sensitivity.value >= 0.99, specific.specificity.value >= 0.99
    (0.5, True, True)
    """
    if not 0.0 < target <= 1.0:
        raise InvalidInputError("target", target, "a share above 0, at most 1")
    report = report_with_warning(model, y)
    k = positive_place(report.classes.tolist(), positive_class)
    if k is None:
        found = Finding(f"is not given, and there are {len(report.classes)} classes")
        raise InvalidInputError("positive_class", found, "the one to be found; held_out_report has all")
    p = report.probability[:, k]
    others, own, thresholds = roc_curve(report.codes == k, p, sample_weight=report.copies, drop_intermediate=False)
    chosen = [thresholds[np.argmax(own >= target)], thresholds[np.flatnonzero(1 - others >= target)[-1]]]
    return [
        _point(report, k, 0.5, report.predicted == k),
        *(_point(report, k, float(min(t, 1.0)), p >= t) for t in chosen),
    ]


def _point(report: HeldOutReport, k: int, threshold: float, taken: Mask) -> OperatingPoint:
    """Return that of the examples that are taken for class k."""
    ill = report.codes == k
    right = ill == taken
    return OperatingPoint(threshold, *(_right(report, right, among) for among in (ill, ~ill, taken, ~taken)))


def _right(report: HeldOutReport, right: Mask, among: Mask) -> Proportion | None:
    """Return the share of some examples that are right; rows of a group are right or wrong together."""
    w, right = report.copies[among], right[among]
    worth = None
    if report.groups is not None and len(w):
        worth = independent_examples((~right).astype(float), w / w.sum(), w, report.groups[among])
    return Proportion.of(w[right].sum(), w.sum(), worth)
