"""Decision boundaries and probabilities in a plane of two inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices
from marginwise.display.style import SERIES, require_matplotlib
from marginwise.errors import Finding, InvalidInputError
from marginwise.plots._axes import OneAxes, axes_for, label_text
from marginwise.tables.reading import NUMBER, Cells, columns_of, is_frame, is_of_objects

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Room around the points, as a part of their range.
_ROOM = 0.1


class BoundaryDisplay(OneAxes):
    """Class probabilities over a plane of two inputs, the decision boundaries, and examples.

    Parameters
    ----------
    grid : tuple of two arrays
        Values of the two inputs at which probabilities were computed.
    probability : array of shape (len(grid[1]), len(grid[0]), n_classes)
        Probability of each class there.
    classes : array
        The classes.
    names : tuple of two str
        Names of the two inputs.
    points, codes : arrays, optional
        Examples in the plane, shape (n, 2), and the indices of their classes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.plots import BoundaryDisplay
    >>> axis = np.linspace(0.0, 1.0, 3)
    >>> probability = np.tile([[0.9, 0.1]], (9, 1)).reshape(3, 3, 2)
    >>> BoundaryDisplay((axis, axis), probability, np.array(["a", "b"]), ("age", "height")).names
    ('age', 'height')
    """

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
        """Draw a classifier over the range of two columns of numbers of X.

        The other columns are fixed, numbers at their median and words at the most common one. With ``y`` the examples
        are drawn as well; if there are other columns, they are projected, and one that looks wrong in this plane may
        be right in its own.
        """
        check_is_fitted(estimator)
        fitted_names = getattr(estimator, "feature_names_in_", ())
        if np.ndim(X) != 2 or np.shape(X)[1] < 2:
            raise InvalidInputError("X", Finding(f"has shape {np.shape(X)}"), "a table with at least two columns")
        d = np.shape(X)[1]
        if len(set(features)) != 2 or not all(0 <= a < d for a in features):
            raise InvalidInputError("features", features, f"two different column numbers from 0 to {d - 1}")
        columns = [cells for _, cells in columns_of(X if is_frame(X) or is_of_objects(X) else np.asarray(X, float))]
        for a in features:
            if columns[a].kind != NUMBER:
                raise InvalidInputError("features", features, f"columns of numbers, but {a} holds {columns[a].kind}")
        points = np.column_stack([columns[a].values for a in features])
        grid = (_range(points[:, 0], n_points), _range(points[:, 1], n_points))
        values = dict(zip(features, (axis.ravel() for axis in np.meshgrid(*grid)), strict=True))
        places = _places(X, columns, values)
        probability = estimator.predict_proba(places).reshape(n_points, n_points, -1)
        names = fitted_names if feature_names is None else feature_names
        shown = [str(names[a]) if len(names) else f"x{a + 1}" for a in features]
        codes = None if y is None else _codes(np.asarray(y), estimator.classes_, len(points))
        drawn = None if y is None else points
        return cls(grid, probability, estimator.classes_, (shown[0], shown[1]), drawn, codes).plot(ax)

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
        two = len(self.classes) == 2  # with one line between them
        for k in range(int(two), len(self.classes)):
            others = np.delete(self.probability, k, axis=2).max(axis=2)
            ax.contour(*self.grid, self.probability[:, :, k] - others, levels=[0.0], colors="black", linewidths=1.2)
        if two:
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
            ax.legend(title="class", frameon=True)  # on top of colours
        ax.grid(visible=False)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self._drawn_on(ax)

    def _shades(self, colours: Array) -> Array:
        """Return the mean of the classes' colours under the probabilities, made lighter, as the examples are above."""
        return 1.0 - 0.6 * (1.0 - np.clip(self.probability @ colours, 0.0, 1.0))


def _codes(labels: npt.NDArray[Any], classes: npt.NDArray[Any], n: int) -> Indices:
    """Return the indices of the classes of n labels."""
    if labels.shape != (n,) or not np.isin(labels, classes).all():
        raise InvalidInputError("y", Finding("has other labels"), f"one of {classes.tolist()} for each of {n} rows")
    return np.searchsorted(classes, labels)


def _range(values: Array, n_points: int) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    room = _ROOM * (high - low) or 1.0
    return np.linspace(low - room, high + room, n_points)


def _places(X: Any, columns: Sequence[Cells], values: dict[int, Array]) -> Any:
    """Return a table like X: these values of some columns, and what is typical of the others."""
    size = len(next(iter(values.values())))
    if not is_frame(X):
        places = np.empty((size, len(columns)), dtype=object if is_of_objects(X) else float)
        for a, cells in enumerate(columns):
            places[:, a] = values[a] if a in values else _typical(cells)
        return places
    whole: dict[str, Any] = {}
    for a, (name, cells) in enumerate(zip(X.columns, columns, strict=True)):
        if cells.kind == NUMBER:
            whole[name] = values.get(a, np.full(size, _typical(cells)))
            continue
        rows = np.full(size, _typical_row(cells))  # cells of its own type
        whole[name] = X[name].iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[name].gather(rows)
    return type(X)(whole)


def _typical(cells: Cells) -> Any:
    """Return the median of numbers, or the commonest of words."""
    return np.nanmedian(cells.values) if cells.kind == NUMBER else cells.values[_typical_row(cells)]


def _typical_row(cells: Cells) -> int:
    """Return a row with a cell that is as near as any to the median, or the commonest."""
    if cells.values.dtype != object:
        distance = np.abs(cells.values - np.nanmedian(cells.values))
        return int(np.nanargmin(distance)) if np.isfinite(distance).any() else 0
    found = Counter(cells.values.tolist())
    return cells.values.tolist().index(found.most_common(1)[0][0])


def _colours(n: int) -> Array:
    """Return a colour for each class."""
    to_rgb = require_matplotlib("matplotlib.colors").to_rgb
    return np.array([to_rgb(SERIES[k % len(SERIES)]) for k in range(n)])
