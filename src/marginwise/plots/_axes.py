"""Axes to draw on: given ones or new ones, with matplotlib imported when something is drawn and not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from marginwise.display.style import require_matplotlib
from marginwise.errors import Finding, InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class OneAxes:
    """A display that is drawn on one pair of axes, which it keeps, with their figure."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _drawn_on(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


def axes_for(ax: Axes | None) -> Axes:
    """Return ``ax``, or the axes of a new figure."""
    return require_matplotlib("matplotlib.pyplot").subplots(layout="constrained")[1] if ax is None else ax


def column_of_axes(ax: Any, n: int) -> list[Axes]:
    """Return ``n`` axes one above the other: those given, in the place of a single one, or in a new figure."""
    pyplot = require_matplotlib("matplotlib.pyplot")
    if ax is None:
        figure = pyplot.figure(figsize=(6.4, 1.2 + 2.2 * n), layout="constrained")
        return list(figure.subplots(n, 1, sharex=True))
    given = np.ravel(np.array(ax, dtype=object))
    if len(given) == n:
        return list(given)
    if len(given) != 1:
        raise InvalidInputError("ax", Finding(f"is {len(given)} axes"), f"one, which is divided, or {n}")
    place = given[0].get_subplotspec()
    if place is None:
        raise InvalidInputError(
            "ax", Finding("was placed by hand"), f"axes of a grid, which can be divided, or {n} axes"
        )
    figure = given[0].figure
    given[0].remove()
    upper = figure.add_subplot((grid := place.subgridspec(n, 1))[0])
    return [upper, *(figure.add_subplot(grid[i], sharex=upper) for i in range(1, n))]


def label_text(label: Any) -> str:
    """Return a class label as people write it: 1 where it is held as 1.0."""
    return f"{label:g}" if isinstance(label, float) else str(label)


def text_colour() -> str:
    """Return the colour of text, which is seen on paper and on dark."""
    return str(require_matplotlib("matplotlib").rcParams["text.color"])
