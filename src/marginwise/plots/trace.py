"""The course of a search: criterion and hyperparameters by evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Indices
from marginwise.display.style import MUTED, SERIES
from marginwise.errors import Finding, InvalidInputError
from marginwise.plots._axes import column_of_axes
from marginwise.search import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: With more length scales than this they are not told apart: C, k0 and koff take three of the colours.
_MOST_NAMED = len(SERIES) - 3


#: Hyperparameters that are not length scales of single inputs, as formulas write them.
_ALONE = {
    "C": "$C$",
    "k0": "$k_0$",
    "koff": r"$k_\mathrm{off}$",
    "klin": r"$k_\mathrm{lin}$",
    "k1": "$k_1$",
    "lam": r"$\lambda$",
}


class TraceDisplay:
    """A search: the criterion on top, the hyperparameters along its path below, and held-out errors if there are any.

    Parameters
    ----------
    trace : Trace
        Every evaluation of the search.
    name : str, default="criterion"
        Name of the criterion.

    Attributes
    ----------
    table : dict of arrays
        The columns of the trace, see ``Trace.to_arrays``.
    axes_, figure_ : list of Axes, Figure
        Where it was drawn: criterion, hyperparameters, errors if there are any.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> from marginwise.plots import TraceDisplay
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "span", isotropic=True, max_evaluations=5)
    >>> TraceDisplay(found.trace, "span").table["value"].shape
    (5,)
    """

    axes_: list[Axes]
    figure_: Figure | SubFigure

    def __init__(self, trace: Trace, name: str = "criterion") -> None:
        if not len(trace):
            raise InvalidInputError("trace", Finding("is empty"), "a search of at least one evaluation")
        self.names, self.name = trace.names, name
        self.table = trace.to_arrays()

    @classmethod
    def from_estimator(cls, estimator: Any, *, restart: int | None = None, ax: Any = None) -> TraceDisplay:
        """Draw a search of a fitted TunedSVC: the one that found its hyperparameters, or ``restarts_[restart]``."""
        check_is_fitted(estimator)
        trace = estimator.trace_ if restart is None else estimator.restarts_[restart].trace
        return cls(trace, estimator.ensemble_.criterion).plot(ax)

    def plot(self, ax: Any = None) -> TraceDisplay:
        """Draw it on new axes, in place of one, or on as many axes as there are panels."""
        errors = {key: column for key, column in self.table.items() if key.endswith("_error")}
        above, middle, *below = self.axes_ = column_of_axes(ax, 3 if errors else 2)
        self._draw_criterion(above)
        self._draw_hyperparameters(middle)
        for axes in below:
            self._draw_errors(axes, errors)
        self.axes_[-1].set_xlabel("evaluation")
        for axes in self.axes_[:-1]:
            axes.tick_params(labelbottom=False)
        self.figure_ = above.figure
        return self

    @property
    def _path(self) -> Indices:
        """The evaluations that the search moved to."""
        return np.flatnonzero(self.table["accepted"])

    def _draw_criterion(self, axes: Axes) -> None:
        path, value = self._path, self.table["value"]
        others = np.setdiff1d(np.arange(len(value)), path)
        axes.plot(path, value[path], marker=".", color="C0", label="moved there")
        if len(others) and np.isfinite(value[others]).any():
            axes.plot(others, value[others], "x", color=MUTED, markersize=4, label="looked there", zorder=1)
            axes.legend()
            # A look far away must not flatten the path.
            low, high = np.nanmin(value[path]), np.nanmax(value[path])
            room = 0.25 * (high - low) or 0.1
            axes.set_ylim(max(axes.get_ylim()[0], low - room), min(axes.get_ylim()[1], high + room))
        axes.set_ylabel(self.name)

    def _draw_hyperparameters(self, axes: Axes) -> None:
        path = self._path
        alone = [name for name in self.names if name in _ALONE]
        scales = [name for name in self.names if name not in _ALONE]
        few = len(scales) <= _MOST_NAMED
        for k, name in enumerate(scales):
            shade = {"color": f"C{len(alone) + k}"} if few else {"color": MUTED, "linewidth": 0.7, "alpha": 0.7}
            label = _written(name) if few else ("length scales" if k == 0 else None)
            axes.semilogy(path, self.table[name][path], label=label, **shade)
        for k, name in enumerate(alone):
            axes.semilogy(path, self.table[name][path], color=f"C{k}", linewidth=2, label=_written(name))
        axes.set_ylabel("hyperparameters")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)

    def _draw_errors(self, axes: Axes, errors: dict[str, Any]) -> None:
        for key, column in errors.items():
            axes.step(self._path, column[self._path], where="post", label=key.replace("_", " "))
        axes.set_ylabel("error")
        axes.legend()


def _written(name: str) -> str:
    """Return the name of a hyperparameter as formulas write it."""
    letter, _, number = name.partition("_")
    return _ALONE.get(name, f"${letter}_{{{number}}}$" if number else f"${letter}$")
