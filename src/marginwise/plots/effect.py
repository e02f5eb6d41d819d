"""How the prediction depends on one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from marginwise._arrays import Array
from marginwise.display.style import MUTED
from marginwise.errors import InvalidInputError
from marginwise.estimators._effects import Effect
from marginwise.inspection.effects import effect
from marginwise.inspection.positive import positive_place
from marginwise.plots._axes import OneAxes, axes_for, label_text
from marginwise.plots._cells import on_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distance on the axis between the dots of two classes at the same word.
_APART = 0.12


class EffectDisplay(OneAxes):
    """The effect of a column: a curve with the posterior's own band or, for a category, a dot for each value.

    Parameters
    ----------
    effect : Effect
        What :func:`marginwise.inspection.effect` returns.
    classes : sequence
        The classes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Effect
    >>> from marginwise.plots import EffectDisplay
    >>> grid, zeros = np.array([20.0, 60.0]), np.zeros(2)
    >>> EffectDisplay(Effect("age", grid, zeros, zeros, zeros, zeros, additive=False), ["no", "yes"]).effect.name
    'age'
    """

    def __init__(self, effect: Effect, classes: Any) -> None:
        self.effect, self.classes = effect, classes.tolist() if hasattr(classes, "tolist") else list(classes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        column: str | int,
        *,
        response: str = "latent",
        positive_class: Any = None,
        grid: Any = None,
        background: Any = None,
        ax: Any = None,
    ) -> EffectDisplay:
        """Draw the effect of a column in a fitted TunedSVC, on ``positive_class``, or on all of several classes."""
        found = effect(estimator, column, grid=grid, background=background)
        return cls(found, estimator.classes_).plot(ax, response=response, positive_class=positive_class)

    def plot(
        self, ax: Axes | None = None, *, response: str = "latent", positive_class: Any = None, coverage: float = 0.95
    ) -> EffectDisplay:
        """Draw the change of the latent function (``response="latent"``) or the mean "probability"."""
        if response not in ("latent", "probability"):
            raise InvalidInputError("response", response, '"latent" or "probability"')
        ax = axes_for(ax)
        one = self.effect
        middle = one.latent if response == "latent" else one.probability
        low, high = one.band(coverage) if response == "latent" else one.probability_band(coverage)
        where, ticks = on_axis(one.grid)
        shown = self._shown(positive_class)
        for number, (k, name) in enumerate(shown):
            curves = [part if part.ndim == 1 else part[:, k] for part in (middle, low, high)]
            if middle.ndim == 1 and k == 0:
                curves = _of_first(curves, response)
            beside = (number - (len(shown) - 1) / 2) * _APART
            if ticks:
                _draw_dots(ax, where + beside, curves, f"C{number}", name)
            else:
                _draw_curves(ax, where, curves, f"C{number}", name, filled=len(shown) == 1)
        if ticks:
            ax.set_xticks(range(len(ticks)), ticks)
            ax.set_xlim(-0.5, len(ticks) - 0.5)
        if response == "latent":
            ax.axhline(0.0, color=MUTED, linewidth=0.8)
        else:
            ax.set_ylim(0.0, 1.0)
        ax.set_xlabel(one.name)
        own = "its own curve, for every row" if one.additive else "on average"
        ax.set_ylabel(f"effect (log-odds), {own}" if response == "latent" else "mean probability")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False)
        return self._drawn_on(ax)

    def _shown(self, positive_class: Any) -> list[tuple[int, str]]:
        """Return the places and names of the classes to draw: the second of two unless one is asked for."""
        place = positive_place(self.classes, positive_class)
        places = range(len(self.classes)) if place is None else [place]
        return [(k, label_text(self.classes[k])) for k in places]


def _of_first(curves: list[Array], response: str) -> list[Array]:
    """Return the curves of the first of two classes from those of the second."""
    middle, low, high = curves
    return [-middle, -high, -low] if response == "latent" else [1.0 - middle, 1.0 - high, 1.0 - low]


def _draw_dots(ax: Axes, where: Array, curves: list[Array], colour: str, name: str) -> None:
    middle, low, high = curves
    bars = [middle - low, high - middle]
    ax.errorbar(where, middle, bars, fmt="o", color=colour, linewidth=1.3, capsize=3, label=name)


def _draw_curves(ax: Axes, where: Array, curves: list[Array], colour: str, name: str, *, filled: bool) -> None:
    """Draw a curve with its band; of several, bands have limits instead of a filling, which would hide the others."""
    order = np.argsort(where)
    middle, low, high = (curve[order] for curve in curves)
    if filled:
        ax.fill_between(where[order], low, high, color=colour, alpha=0.2, linewidth=0)
    else:
        ax.plot(where[order], np.column_stack([low, high]), color=colour, linewidth=0.8, linestyle=(0, (2, 2)))
    ax.plot(where[order], middle, color=colour, label=name)
