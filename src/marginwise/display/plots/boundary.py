"""Where a classifier draws the line, and how sure it is on either side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices
from marginwise.display.plots._axes import axes_for, label_text
from marginwise.display.style import SERIES, require_matplotlib
from marginwise.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


#: Room around the points, as a part of their range.
_ROOM = 0.1


class BoundaryDisplay:
    """Class probabilities over a plane of two inputs, the lines on which the prediction changes, and examples.

    Parameters
    ----------
    grid : tuple of two arrays
        Values of the two inputs at which the probabilities were computed.
    probability : array of shape (len(grid[1]), len(grid[0]), n_classes)
        Probability of each class there.
    classes : array
        The classes.
    names : tuple of two str
        Names of the two inputs.
    points, codes : arrays, optional
        Examples in the plane, shape (n, 2), and the numbers of their classes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        grid: tuple[Array, Array],
        probability: Array,
        classes: npt.NDArray[Any],
        names: tuple[str, str],
        points: Array | None = None,
        codes: Indices | None = None,
    ) -> None:
        self.grid, self.probability, self.classes, self.names = grid, probability, classes, names
        self.points, self.codes = points, codes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int, int] = (0, 1),
        feature_names: Sequence[str] | None = None,
        n_points: int = 120,
        ax: Any = None,
    ) -> BoundaryDisplay:
        """Draw a classifier over the range of two columns of X; the others are kept at their medians.

        With ``y`` the examples are drawn, too. If there are other columns, that is a view from above: what looks
        wrong in this plane may be right in its own.
        """
        check_is_fitted(estimator)
        fitted_names = getattr(estimator, "feature_names_in_", ())
        table = np.asarray(X, dtype=float)
        if table.ndim != 2 or table.shape[1] < 2:
            raise InvalidInputError("X", f"an array of shape {table.shape}", "a table with at least two columns")
        if len(set(features)) != 2 or not all(0 <= a < table.shape[1] for a in features):
            raise InvalidInputError("features", features, f"two different numbers of columns, 0 … {table.shape[1] - 1}")
        grid = (_range(table[:, features[0]], n_points), _range(table[:, features[1]], n_points))
        places = np.tile(np.median(table, axis=0), (n_points**2, 1))
        for a, values in zip(features, np.meshgrid(*grid), strict=True):
            places[:, a] = values.ravel()
        if len(fitted_names) and hasattr(X, "columns"):
            places = type(X)(places, **_columns(X))
        probability = estimator.predict_proba(places).reshape(n_points, n_points, -1)
        names = fitted_names if feature_names is None else feature_names
        shown = [str(names[a]) if len(names) else f"x{a + 1}" for a in features]
        codes = None if y is None else np.searchsorted(estimator.classes_, np.asarray(y))
        points = None if y is None else table[:, list(features)]
        return cls(grid, probability, estimator.classes_, (shown[0], shown[1]), points, codes).plot(ax)

    def plot(self, ax: Axes | None = None) -> BoundaryDisplay:
        """Draw it."""
        ax = axes_for(ax)
        colours = _colours(len(self.classes))
        ax.imshow(
            self._shades(colours),
            extent=(self.grid[0][0], self.grid[0][-1], self.grid[1][0], self.grid[1][-1]),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
        )
        for k in range(1 if len(self.classes) == 2 else 0, len(self.classes)):
            others = np.delete(self.probability, k, axis=2).max(axis=2)
            ax.contour(*self.grid, self.probability[:, :, k] - others, levels=[0.0], colors="black", linewidths=1.2)
        if len(self.classes) == 2:
            lines = ax.contour(
                *self.grid, self.probability[:, :, 1], levels=[0.1, 0.25, 0.75, 0.9], colors="black", linewidths=0.5
            )
            ax.clabel(lines, fontsize=7)
        if self.points is not None and self.codes is not None:
            for k, label in enumerate(self.classes):
                mine = self.points[self.codes == k]
                ax.scatter(
                    mine[:, 0],
                    mine[:, 1],
                    s=18,
                    color=colours[k],
                    edgecolor="white",
                    linewidth=0.5,
                    label=label_text(label),
                )
            ax.legend(title="class")
        ax.grid(visible=False)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shades(self, colours: Array) -> Array:
        """Return the mean of the classes' colours under the probabilities, made lighter, as the examples are above."""
        return 1.0 - 0.6 * (1.0 - np.clip(self.probability @ colours, 0.0, 1.0))


def _range(values: Array, n_points: int) -> Array:
    low, high = values.min(), values.max()
    room = _ROOM * (high - low) or 1.0
    return np.linspace(low - room, high + room, n_points)


def _columns(X: Any) -> dict[str, Any]:
    """Return the argument that gives a data frame the columns of X."""
    return {"schema": X.columns} if type(X).__module__.startswith("polars") else {"columns": X.columns}


def _colours(n: int) -> Array:
    """Return a colour for each class."""
    to_rgb = require_matplotlib("matplotlib.colors").to_rgb
    return np.array([to_rgb(SERIES[k % len(SERIES)]) for k in range(n)])
