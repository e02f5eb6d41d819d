"""Rows that deserve a second look: labels that may be wrong, and rows between two classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginwise.errors import InvalidInputError
from marginwise.inspection.held_out import HeldOutReport, report_with_warning


class DoubtfulRow(NamedTuple):
    """A row and its copies, and the held-out probability of their label.

    Attributes
    ----------
    rows : tuple of int
        Their positions in the table, from 0.
    label : object
        Their label.
    probability : float
        Its probability.
    other : object
        The most probable other class.
    other_probability : float
        The probability of that class.

    Examples
    --------
    >>> from marginwise.inspection import DoubtfulRow
    >>> row = DoubtfulRow(rows=(17,), label="benign", probability=0.02, other="malignant", other_probability=0.98)
    >>> row.other
    'malignant'
    """

    rows: tuple[int, ...]
    label: Any
    probability: float
    other: Any
    other_probability: float


def label_issues(model: Any, y: Any, threshold: float = 0.1) -> list[DoubtfulRow]:
    """Return the rows whose label has a low held-out probability, the least probable first.

    Such a label may be wrong, or the case unusual. Some are expected by chance: see :func:`expected_label_issues`.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    y : array of shape (n,)
        The labels that it was fitted to, in the same order.
    threshold : float, default=0.1
        A label is listed if its probability is below this.

    Returns
    -------
    list of DoubtfulRow
        Copies of a row are one entry. Rows without held-out probabilities are left out, with a ``TableWarning``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import label_issues
    >>> X = np.r_[np.arange(20.0), np.arange(40.0, 60.0)][:, None]
    >>> y = np.repeat(["low", "high"], 20)
    >>> y[5] = "high"
    >>> model = TunedSVC(ard=0, random_state=0).fit(X, y)
    >>> [(issue.rows, issue.label, issue.other) for issue in label_issues(model, y)]
    [((5,), 'high', 'low')]
    """
    _check_threshold(threshold)
    report = report_with_warning(model, y)
    order = np.argsort(report.own, kind="stable")
    return [_doubtful(report, i) for i in order[: np.count_nonzero(report.own < threshold)].tolist()]


def expected_label_issues(model: Any, y: Any, threshold: float = 0.1) -> float:
    """Return how many rows :func:`label_issues` would list if all labels were right and the probabilities true.

    That is Σ_i Σ_k p_ik [p_ik < threshold], the sum over all rows.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    y : array of shape (n,)
        The labels that it was fitted to, in the same order.
    threshold : float, default=0.1
        As in ``label_issues``.

    Returns
    -------
    float
        The expected number of rows, copies counted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import expected_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> expected_label_issues(TunedSVC(ard=0, random_state=0).fit(X, y), y) < 10
    True
    """
    _check_threshold(threshold)
    report = report_with_warning(model, y)
    p = report.probability
    return float(report.copies @ np.where(p < threshold, p, 0.0).sum(axis=1))


def uncertain_rows(model: Any, y: Any, n: int = 10) -> list[DoubtfulRow]:
    """Return the rows whose two most probable classes have the closest held-out probabilities, the closest first.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    y : array of shape (n,)
        The labels that it was fitted to, in the same order.
    n : int, default=10
        How many to return.

    Returns
    -------
    list of DoubtfulRow
        Copies of a row are one entry. Rows without held-out probabilities are left out, with a ``TableWarning``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import uncertain_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> rows = uncertain_rows(TunedSVC(ard=0, random_state=0).fit(X, y), y, n=3)
    >>> [{row.label, row.other} for row in rows]  # between versicolor and virginica
    [{1, 2}, {1, 2}, {1, 2}]
    """
    if n < 1:
        raise InvalidInputError("n", n, "at least 1")
    report = report_with_warning(model, y)
    ordered = np.sort(report.probability, axis=1)
    order = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")
    return [_doubtful(report, i) for i in order[:n].tolist()]


def _doubtful(report: HeldOutReport, i: int) -> DoubtfulRow:
    labels, p, own = report.classes.tolist(), report.probability[i].copy(), report.codes[i]
    probability, p[own] = float(p[own]), -1.0
    other = int(p.argmax())
    return DoubtfulRow(report.rows_of(i), labels[own], probability, labels[other], float(p[other]))


def _check_threshold(threshold: float) -> None:
    if not 0.0 < threshold <= 1.0:
        raise InvalidInputError("threshold", threshold, "a probability above 0, at most 1")
