"""Contributions of columns to predictions: of one row, of all rows, of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.display.style import MUTED
from marginwise.estimators._explaining import column_place
from marginwise.estimators._explanation import Explanation
from marginwise.inspection.explaining import explain
from marginwise.plots._axes import OneAxes, axes_for, text_colour
from marginwise.plots._cells import as_numbers, cell_text, on_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours of what lowers and of what raises the latent function, also those of low and high cells.
_DOWN, _UP = "C0", "C1"

#: Names of low, middle and high cells, by thirds, and their colours, which suit light and dark pages.
_LEVELS = (("low", "C0"), ("middle", MUTED), ("high", "C1"))

#: Width of a row of the beeswarm that dots may take, and how many bins dots are stacked in.
_SWARM, _BINS = 0.8, 100


class WaterfallDisplay(OneAxes):
    """The prediction of one row: from the mean over the background to its latent value, with a bar for each column.

    Parameters
    ----------
    explanation : Explanation
        Of a single latent function; its first row is shown.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Explanation
    >>> from marginwise.plots import WaterfallDisplay
    >>> one = Explanation(np.array([[1.2, -0.3]]), np.array([0.5]), np.array([[60.0, 1.7]]), ["age", "height"])
    >>> WaterfallDisplay(one).explanation.latent
    array([1.4])
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation.one_function()[:1]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, label: Any = None, background: Any = None, max_features: int = 9, ax: Any = None
    ) -> WaterfallDisplay:
        """Draw the contributions to a fitted TunedSVC's prediction for the first row of a table.

        ``label`` is the class whose latent function is shown, by default the second of two, or the most probable.
        """
        explanation = explain(estimator, X, background)[:1]
        if label is None and explanation.values.ndim == 3:
            label = estimator.classes_[explanation.latent[0].argmax()]
        return cls(explanation.one_function(label)).plot(ax, max_features=max_features)

    def plot(self, ax: Axes | None = None, *, max_features: int = 9) -> WaterfallDisplay:
        """Draw the ``max_features`` columns that contribute most, the largest on top, and the sum of the others."""
        ax = axes_for(ax)
        one = self.explanation
        values, cells = one.values[0], one.data[0]
        order = np.argsort(-np.abs(values), kind="stable")
        shown, rest = order[:max_features], order[max_features:]
        names = [f"{one.feature_names[j]} = {cell_text(cells[j])}" for j in shown]
        changes = values[shown]
        if len(rest):
            names.append(f"{len(rest)} other columns")
            changes = np.append(changes, values[rest].sum())
        ends = one.latent[0] - np.concatenate([[0.0], np.cumsum(changes)[:-1]])  # from the top down
        places = np.arange(len(changes))
        colours = [_UP if change >= 0 else _DOWN for change in changes]
        bars = ax.barh(places, changes, left=ends - changes, height=0.62, color=colours, alpha=0.75)
        ax.bar_label(bars, [f"{change:+.2f}" for change in changes], padding=3)
        for place, end in zip(places[:-1], ends[1:], strict=True):
            ax.plot([end, end], [place, place + 1], color=MUTED, linewidth=0.6, zorder=1)
        reached = np.concatenate([ends, ends - changes])
        room = 0.16 * (float(np.ptp(reached)) or 1.0)
        ax.set_xlim(reached.min() - room, reached.max() + room)
        _mark(ax, {"mean": float(one.base_values[0]), "this row": float(one.latent[0])}, room)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set_xlabel("latent function (log-odds)")
        ax.grid(axis="y", visible=False)
        return self._drawn_on(ax)


class BeeswarmDisplay(OneAxes):
    """All rows: a dot for each row and column at its contribution, coloured by whether the cell is low or high.

    Parameters
    ----------
    explanation : Explanation
        Of one latent function.

    Attributes
    ----------
    strength : array of shape (d,)
        Mean absolute contribution of each column, by which columns are sorted.
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Explanation
    >>> from marginwise.plots import BeeswarmDisplay
    >>> values, cells = np.array([[1.0, 0.5], [-3.0, 0.0]]), np.array([[1.0, 5.0], [2.0, 6.0]])
    >>> BeeswarmDisplay(Explanation(values, np.zeros(2), cells, ["age", "height"])).strength
    array([2.  , 0.25])
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation.one_function()
        self.strength = np.abs(self.explanation.values).mean(axis=0)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        label: Any = None,
        background: Any = None,
        max_features: int = 12,
        ax: Any = None,
    ) -> BeeswarmDisplay:
        """Draw the contributions of cells to the predictions of a fitted TunedSVC; of more than two classes, one."""
        explanation = explain(estimator, X, background).one_function(label)
        return cls(explanation).plot(ax, max_features=max_features)

    def plot(self, ax: Axes | None = None, *, max_features: int = 12) -> BeeswarmDisplay:
        """Draw the ``max_features`` columns that contribute most, the largest on top."""
        ax = axes_for(ax)
        one = self.explanation
        shown = np.argsort(-self.strength, kind="stable")[:max_features]
        largest = np.abs(one.values[:, shown]).max(initial=0.0) or 1.0
        size = float(np.clip(3000.0 / max(1, len(one)), 4.0, 18.0))
        for place, j in enumerate(shown):
            heights = place + _stacked(one.values[:, j], largest)
            _scatter_by_level(ax, one.values[:, j], heights, one.data[:, j], size)
        ax.axvline(0.0, color=MUTED, linewidth=0.8)
        ax.set_yticks(np.arange(len(shown)), [one.feature_names[j] for j in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        hidden = len(one.feature_names) - len(shown)
        more = f"; {hidden} more columns contribute less" if hidden else ""
        ax.set_xlabel(f"contribution (log-odds{more})")
        ax.grid(axis="y", visible=False)
        _level_legend(ax, "cell", one.data[:, shown])
        return self._drawn_on(ax)


class DependenceDisplay(OneAxes):
    """One column: the contribution of each cell, coloured by the column that it interacts with most.

    Parameters
    ----------
    explanation : Explanation
        Of one latent function.
    column : str or int
        The column to show, by name or position.
    color_by : str or int, optional
        The column that dots are coloured by; by default that with the strongest interaction, if interactions are known.

    Attributes
    ----------
    column, partner : int, int or None
        The indices of the two columns.
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Explanation
    >>> from marginwise.plots import DependenceDisplay
    >>> values, cells = np.array([[1.0, 0.5], [-3.0, 0.0]]), np.array([[1.0, 5.0], [2.0, 6.0]])
    >>> DependenceDisplay(Explanation(values, np.zeros(2), cells, ["age", "height"]), "height").column
    1
    """

    def __init__(self, explanation: Explanation, column: str | int, color_by: str | int | None = None) -> None:
        self.explanation = explanation.one_function()
        self.column = column_place(self.explanation.feature_names, column)
        self.partner = None if color_by is None else column_place(self.explanation.feature_names, color_by)
        if color_by is None and self.explanation.interactions is not None:
            strength = np.abs(self.explanation.interactions[:, self.column]).mean(axis=0)
            strength[self.column] = 0.0
            self.partner = int(strength.argmax()) if strength.any() else None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        column: str | int,
        *,
        color_by: str | int | None = None,
        label: Any = None,
        background: Any = None,
        ax: Any = None,
    ) -> DependenceDisplay:
        """Draw the contributions of a column's cells to the predictions of a fitted TunedSVC.

        Interactions, which decide the colours, take longer to compute than contributions: pass a few hundred rows.
        """
        explanation = explain(estimator, X, background, interactions=color_by is None).one_function(label)
        return cls(explanation, column, color_by).plot(ax)

    def plot(self, ax: Axes | None = None) -> DependenceDisplay:
        """Draw a dot for each row."""
        ax = axes_for(ax)
        one, j = self.explanation, self.column
        where, ticks = on_axis(one.data[:, j])
        size = float(np.clip(5000.0 / max(1, len(one)), 5.0, 22.0))
        if self.partner is None:
            ax.scatter(where, one.values[:, j], size, color="C0", alpha=0.7, linewidth=0)
        else:
            _scatter_by_level(ax, where, one.values[:, j], one.data[:, self.partner], size)
            _level_legend(ax, one.feature_names[self.partner], one.data[:, [self.partner]])
        if ticks:
            ax.set_xticks(range(len(ticks)), ticks)
        ax.axhline(0.0, color=MUTED, linewidth=0.8)
        missing = int(np.isnan(where).sum())
        ax.set_xlabel(one.feature_names[j] + (f" ({missing} rows without it not shown)" if missing else ""))
        ax.set_ylabel(f"contribution of {one.feature_names[j]} (log-odds)")
        return self._drawn_on(ax)


def _mark(ax: Axes, values: dict[str, float], near: float) -> None:
    """Mark two values by lines with their names above the axes, side by side if they are near each other."""
    low, high = sorted(values, key=lambda name: values[name])
    apart = values[high] - values[low] > 1.5 * near
    for name, side in ((low, "right"), (high, "left")):
        ax.axvline(values[name], color=MUTED, linewidth=0.8, linestyle=":")
        ax.annotate(
            f"{name}\n{values[name]:+.2f}",
            (values[name], 1.0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            xytext=(0, 2),
            ha="center" if apart else side,
            va="bottom",
        )


def _levels(cells: Any) -> Indices:
    """Return 0, 1, 2 for low, middle and high cells, by thirds, and -1 for words and missing ones."""
    numbers = as_numbers(cells)
    if numbers is None or np.isnan(numbers).all():
        return np.full(len(cells), -1)
    lower, upper = np.nanquantile(numbers, [1 / 3, 2 / 3])
    if lower == upper:  # few values
        return np.where(np.isnan(numbers), -1, np.where(numbers < lower, 0, np.where(numbers > upper, 2, 1)))
    return np.where(np.isnan(numbers), -1, np.where(numbers <= lower, 0, np.where(numbers >= upper, 2, 1)))


def _scatter_by_level(ax: Axes, x: Array, y: Array, cells: Any, size: float) -> None:
    levels = _levels(cells)
    for number, (_, colour) in enumerate(_LEVELS):
        mine = levels == number
        ax.scatter(x[mine], y[mine], size, color=colour, alpha=0.75, linewidth=0, zorder=3)
    mine = levels < 0
    ax.scatter(x[mine], y[mine], size, facecolor="none", edgecolor=text_colour(), linewidth=0.5, zorder=3)


def _level_legend(ax: Axes, name: str, cells: Any) -> None:
    """Add what the colours mean, above the axes."""
    handles: list[Any] = [ax.scatter([], [], 18, color=c, alpha=0.75, linewidth=0) for _, c in _LEVELS]
    names = [f"{name}: low", "middle", "high"]
    if any((_levels(column) < 0).any() for column in cells.T):
        handles.append(ax.scatter([], [], 18, facecolor="none", edgecolor=text_colour(), linewidth=0.5))
        names.append("word or missing")
    ax.legend(handles, names, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False, handletextpad=0.1)


def _stacked(values: Array, largest: float) -> Array:
    """Return heights by which dots of nearly equal values stand next to each other, around 0."""
    bins = np.floor((values / largest + 1.0) * 0.5 * _BINS).astype(int)
    order = np.argsort(bins, kind="stable")
    _, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    rank = np.arange(len(values)) - np.repeat(starts, counts)
    side = np.where(rank % 2, -1.0, 1.0) * ((rank + 1) // 2)
    heights = np.empty(len(values))
    heights[order] = side
    return heights * min(0.06, 0.5 * _SWARM / max(1.0, np.abs(heights).max(initial=0.0)))
