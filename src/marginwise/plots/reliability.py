"""Reliability diagrams: do events with predicted probability p happen with frequency p?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marginwise.display.style import MUTED
from marginwise.errors import Finding, InvalidInputError
from marginwise.inspection.positive import positive_place
from marginwise.inspection.thresholds import wilson_interval
from marginwise.plots._axes import column_of_axes, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class ReliabilityDisplay:
    """A reliability diagram: observed frequency against predicted probability, with the numbers of examples below.

    Parameters
    ----------
    probability : array of shape (n,)
        Predicted probabilities of an event.
    happened : array of bool, shape (n,)
        Whether it happened.
    n_bins : int, default=15
        Number of bins of equal width from 0 to 1.
    sample_weight : array of shape (n,), optional
    event : str, default="the event"
        The event that the probability is of.
    name : str, optional
        Name of the model.

    Attributes
    ----------
    predicted, observed : arrays of shape (n_bins,)
        Mean probability and frequency in each bin; NaN where a bin is empty.
    counts : array of shape (n_bins,)
        Examples in each bin, by weight.
    lower, upper : arrays of shape (n_bins,)
        Wilson's 95 % confidence interval of ``observed``, which stays within 0 and 1 (Wilson 1927; Brown, Cai &
        DasGupta 2001). With weights w a bin counts as (Σw)²/Σw² examples.
    calibration_error : float
        Expected calibration error: the mean over the examples of ``|observed - predicted|`` in their bin.
    axes_, figure_ : list of Axes, Figure
        Where it was drawn: diagram, counts.

    Examples
    --------
    >>> from marginwise.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], n_bins=2)
    >>> display.predicted.round(2).tolist(), round(display.calibration_error, 2)
    ([0.15, 0.85], 0.15)
    """

    axes_: list[Axes]
    figure_: Figure | SubFigure

    def __init__(
        self,
        probability: npt.ArrayLike,
        happened: npt.ArrayLike,
        *,
        n_bins: int = 15,
        sample_weight: npt.ArrayLike | None = None,
        event: str = "the event",
        name: str | None = None,
    ) -> None:
        p, outcome = np.asarray(probability, dtype=float), np.asarray(happened, dtype=float)
        w = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
            raise InvalidInputError("probability", Finding("holds other values"), "a flat array of numbers from 0 to 1")
        if not (len(p) == len(outcome) == len(w) > 0):
            raise InvalidInputError(
                "happened", Finding(f"has {len(outcome)} values"), f"one for each of {len(p)} probabilities"
            )
        if n_bins < 1:
            raise InvalidInputError("n_bins", n_bins, "at least 1")
        bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
        self.n_bins, self.event, self.name = n_bins, event, name
        self.counts = np.bincount(bins, w, n_bins)
        with np.errstate(invalid="ignore"):
            self.predicted = np.bincount(bins, w * p, n_bins) / self.counts
            self.observed = np.bincount(bins, w * outcome, n_bins) / self.counts
            effective = self.counts**2 / np.bincount(bins, w**2, n_bins)
        self.lower, self.upper = wilson_interval(self.observed, effective)
        gap = np.abs(np.nan_to_num(self.observed - self.predicted))
        self.calibration_error = float(self.counts @ gap / self.counts.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 15,
        sample_weight: Any = None,
        positive_class: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the diagram of a classifier, on examples that it was not trained on."""
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            classes=estimator.classes_,
            n_bins=n_bins,
            sample_weight=sample_weight,
            positive_class=positive_class,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_proba: npt.ArrayLike,
        *,
        classes: npt.ArrayLike | None = None,
        n_bins: int = 15,
        sample_weight: Any = None,
        positive_class: Any = None,
        name: str | None = None,
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the diagram of predicted probabilities, one column for each class.

        The event is ``positive_class``, by default the second of two classes (``y_proba`` may then be its column
        alone); with more classes, that the predicted class is right. ``classes`` are those of the columns, by default
        the sorted labels.
        """
        labels, table = np.asarray(y_true), np.asarray(y_proba, dtype=float)
        if table.ndim == 1:
            table = np.column_stack([1.0 - table, table])
        known = np.unique(labels) if classes is None else np.asarray(classes)
        if table.ndim != 2 or table.shape != (len(labels), len(known)):
            raise InvalidInputError(
                "y_proba",
                Finding(f"has shape {table.shape}"),
                f"({len(labels)}, {len(known)}): a column for each class",
            )
        k = positive_place(known.tolist(), positive_class)
        if k is not None:
            probability, happened, event = table[:, k], labels == known[k], f"class {label_text(known[k])}"
        else:
            predicted = table.argmax(axis=1)
            probability, event = table.max(axis=1), "the predicted class"
            happened = labels == known[predicted]
        display = cls(probability, happened, n_bins=n_bins, sample_weight=sample_weight, event=event, name=name)
        return display.plot(ax)

    def enough(self, fewest: float = 1.0) -> npt.NDArray[np.bool_]:
        """Return which bins have at least so many examples."""
        return np.asarray((self.counts > 0) & (self.counts >= fewest))

    def plot(self, ax: Any = None, *, fewest: float = 1.0) -> ReliabilityDisplay:
        """Draw it on new axes, in place of one, or on two; bins with fewer than ``fewest`` examples have no dot."""
        above, below = self.axes_ = column_of_axes(ax, 2)
        some = self.enough(fewest)
        label = f"{self.name + ', ' if self.name else ''}calibration error {self.calibration_error:.3f}"
        above.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--", zorder=1)
        above.errorbar(
            self.predicted[some],
            self.observed[some],
            yerr=[(self.observed - self.lower)[some], (self.upper - self.observed)[some]],
            marker="o",
            markersize=4,
            elinewidth=0.8,
            label=label,
        )
        above.set(ylabel="observed frequency", xlim=(-0.02, 1.02), ylim=(-0.05, 1.05))
        above.legend(loc="upper left")
        above.tick_params(labelbottom=False)
        edges = np.linspace(0.0, 1.0, self.n_bins + 1)
        below.bar(edges[:-1], self.counts, width=1.0 / self.n_bins, align="edge", alpha=0.6, edgecolor="white")
        below.set(ylabel="examples", xlabel=f"predicted probability of {self.event}")
        self.figure_ = above.figure
        return self
