"""Which inputs matter, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array
from marginwise.display.style import MUTED
from marginwise.errors import Finding, InvalidInputError
from marginwise.inspection.relevances import relevance_intervals
from marginwise.plots._axes import OneAxes, axes_for, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RelevanceDisplay(OneAxes):
    """Relevances of the inputs: a bar for the average, a dot for each averaged model, and intervals.

    Parameters
    ----------
    values : array of shape (n_models, n_inputs)
        Relevances in each model, with sum 1.
    weights : array of shape (n_models,)
        Weights of the models, with sum 1.
    names : sequence of str
        Names of the inputs.
    intervals : (low, high), optional
        Ends of an interval for each input, as :func:`marginwise.inspection.relevance_intervals` returns them.

    Attributes
    ----------
    importances, spread : arrays of shape (n_inputs,)
        Weighted mean and standard deviation over the models.
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> from marginwise.plots import RelevanceDisplay
    >>> display = RelevanceDisplay([[0.7, 0.3], [0.5, 0.5]], weights=[0.5, 0.5], names=["age", "height"])
    >>> display.importances.round(2).tolist(), display.spread.round(2).tolist()
    ([0.6, 0.4], [0.1, 0.1])
    """

    def __init__(
        self, values: Array, weights: Array, names: Sequence[str], intervals: tuple[Array, Array] | None = None
    ) -> None:
        self.intervals = intervals
        self.values, self.weights, self.names = np.asarray(values), np.asarray(weights), list(names)
        if self.values.shape != (len(self.weights), len(self.names)):
            raise InvalidInputError(
                "names",
                Finding(f"has {len(self.names)} names"),
                f"{self.values.shape[1]}, one for each input",
            )
        self.importances = self.weights @ self.values
        self.spread = np.sqrt(self.weights @ (self.values - self.importances) ** 2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int = 20,
        intervals: bool = False,
        ax: Any = None,
    ) -> RelevanceDisplay:
        """Draw the relevances in a fitted TunedSVC.

        The models are the members of its ensemble, with their weights. ``intervals`` adds confidence intervals, for
        which the models are trained a hundred times.
        """
        check_is_fitted(estimator)
        values = estimator._encoding.by_column(estimator.ensemble_.description.relevances)
        weights = estimator.ensemble_.weights
        if feature_names is None:
            numbered = [f"x{a}" for a in range(1, estimator.n_features_in_ + 1)]
            feature_names = list(getattr(estimator, "feature_names_in_", numbered))
        ends = relevance_intervals(estimator) if intervals else None
        return cls(values, weights, feature_names, ends).plot(ax, max_features=max_features)

    def plot(self, ax: Axes | None = None, *, max_features: int = 20) -> RelevanceDisplay:
        """Draw the largest ``max_features`` relevances, the largest on top."""
        ax = axes_for(ax)
        shown = np.argsort(-self.importances, kind="stable")[:max_features]
        places = np.arange(len(shown))
        ax.barh(places, self.importances[shown], height=0.6, color="C0", alpha=0.35, label="average")
        sizes = 4.0 + 40.0 * self.weights / self.weights.max()
        for k, (value, size) in enumerate(zip(self.values, sizes, strict=True)):
            label = "models, by weight" if k == 0 else None
            ax.scatter(value[shown], places, size, color="C0", alpha=0.8, linewidth=0, label=label, zorder=3)
        if self.intervals is not None:
            low, high = (np.asarray(end)[shown] for end in self.intervals)
            ax.hlines(places, low, high, color=text_colour(), linewidth=1.3, label="90 % interval", zorder=2)
        ax.set_yticks(places, [self.names[a] for a in shown])
        ax.invert_yaxis()
        ax.set_xlim(left=0.0)
        hidden = len(self.names) - len(shown)
        more = f" ({hidden} more inputs share {1.0 - self.importances[shown].sum():.2g})" if hidden > 0 else ""
        ax.set_xlabel(f"relevance{more}")
        ax.grid(axis="y", visible=False)
        ax.axvline(1.0 / len(self.names), color=MUTED, linewidth=1, linestyle="--", label="all inputs alike")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3 if self.intervals is None else 2)
        return self._drawn_on(ax)
