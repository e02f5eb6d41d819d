"""Figures for a phone: the same panels, stacked in a narrow figure."""

from __future__ import annotations

import pickle
from math import ceil
from typing import TYPE_CHECKING

from marginwise.display.style import figure_style, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Width in inches: that of a page's text on a screen of 390 pixels.
_PHONE = 3.7

#: Panels up to which each has the whole width; of more, two share it.
_MOST_ALONE = 8


def narrowed(figure: Figure) -> Figure | None:
    """Return a figure for a phone with the same font size; None if the given one is narrow enough."""
    if figure.get_figwidth() <= _PHONE:
        return None
    with require_matplotlib("matplotlib").rc_context(figure_style()):
        copy: Figure = pickle.loads(pickle.dumps(figure))  # ours, made a line ago: the way matplotlib copies figures
        copy.set_layout_engine("constrained")
        panels = [axes for axes in copy.axes if axes.get_subplotspec() is not None]
        copy.set_size_inches(_PHONE, copy.get_figheight())
        if len({_column(axes) for axes in panels}) > 1:
            _stack(copy, panels)
        copy.draw_without_rendering()
    return copy


def _stack(figure: Figure, panels: list[Axes]) -> None:
    """Stack the panels in reading order, each with the labels that it shared with its neighbours."""
    panels = sorted(panels, key=lambda axes: (_row(axes), _column(axes)))
    heights = [figure.get_figheight() * _rows(axes) for axes in panels]
    for axes in panels:
        column = [other for other in panels if _column(other) == _column(axes)]
        row = [other for other in panels if _row(other) == _row(axes)]
        axes.set_title(axes.get_title(loc="left") or column[0].get_title(loc="left"))
        axes.set_xlabel(axes.get_xlabel() or column[-1].get_xlabel())
        axes.set_ylabel(axes.get_ylabel() or row[0].get_ylabel())
        axes.tick_params(labelleft=True, labelbottom=True)
    n_columns = 1 if len(panels) <= _MOST_ALONE else 2
    n_rows = ceil(len(panels) / n_columns)
    rows = [max(heights[k * n_columns : (k + 1) * n_columns]) for k in range(n_rows)]
    grid = figure.add_gridspec(n_rows, n_columns, height_ratios=rows)
    for place, axes in enumerate(panels):
        axes.set_subplotspec(grid[place // n_columns, place % n_columns])
    figure.set_size_inches(_PHONE, sum(rows))


def _spec(axes: Axes) -> SubplotSpec:
    """Return the place of axes that have one."""
    spec = axes.get_subplotspec()
    assert spec is not None
    return spec


def _row(axes: Axes) -> int:
    return _spec(axes).rowspan.start


def _column(axes: Axes) -> int:
    return _spec(axes).colspan.start


def _rows(axes: Axes) -> float:
    """Return the share of the figure's rows that a panel takes."""
    spec = _spec(axes)
    return len(spec.rowspan) / spec.get_gridspec().nrows
