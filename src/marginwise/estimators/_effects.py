"""How the prediction depends on one column, whatever the others are: partial dependence of the posterior itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from scipy.stats import norm

from marginwise._arrays import Array
from marginwise._runtime.interrupts import hold_interrupts, safe_point
from marginwise._runtime.threads import threads_for
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explaining import (
    background_rows,
    column_place,
    feature_names,
    input_columns,
    require_posterior,
)
from marginwise.shapley.expansion import Background
from marginwise.tables.reading import DATE

#: Values of a column of numbers at which its effect is computed, and the range of its training cells that they span.
_POINTS, _RANGE = 20, (0.02, 0.98)


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a column: what changes, on average over rows, when all of them have the same cell there.

    Attributes
    ----------
    name : str
        The name of the column.
    grid : array of shape (g,)
        Its cells, as the table has them.
    latent, deviation : arrays of shape (g,), or (g, n_classes) for more than two classes
        Mean and standard deviation under the posterior of the mean over background rows b of f(b with the cell) - f(b),
        f the latent function in log-odds.
    probability : array of shape (g,) or (g, n_classes)
        The mean over the background rows of the probability: of the second of two classes, or of each.
    level : array of shape (g,) or (g, n_classes)
        Standard deviation of the mean of f over the rows with the cell, which says how sure ``probability`` is.
    additive : bool
        Whether the model is a sum of functions of single columns. Then ``latent`` is that of this column, but for a
        constant, and holds for every row.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Effect
    >>> effect = Effect("age", np.array([20.0, 60.0]), np.array([-1.0, 1.0]), np.full(2, 0.5), np.array([0.3, 0.7]),
    ...                 np.full(2, 0.6), additive=True)
    >>> low, high = effect.band()
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-1.98, 0.02], [-0.02, 1.98])
    """

    name: str
    grid: npt.NDArray[Any]
    latent: Array
    deviation: Array
    probability: Array
    level: Array
    additive: bool

    __repr__ = summary

    def band(self, coverage: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of the posterior's interval of ``latent`` at each cell."""
        half = norm.ppf(0.5 + 0.5 * coverage) * self.deviation
        return self.latent - half, self.latent + half

    def probability_band(self, coverage: float = 0.95) -> tuple[Array, Array]:
        """Return the same for ``probability``: its log-odds with the deviation ``level``, an approximation."""
        half = norm.ppf(0.5 + 0.5 * coverage) * self.level
        centre = logit(np.clip(self.probability, 1e-15, 1.0 - 1e-15))
        return expit(centre - half), expit(centre + half)


def effect_of(model: Any, column: str | int, grid: Any, background: Any) -> Effect:
    """Return the effect of a column in a fitted TunedSVC."""
    names = feature_names(model)
    require_posterior(model)
    place = column_place(names, column)
    with hold_interrupts(), threads_for(model.ensemble_.n_points):
        rows = background_rows(model, background)
        codes, shown = _grid(model, place, grid)
        cells = np.zeros((len(codes), len(names)))
        cells[:, place] = codes
        mine = np.flatnonzero(input_columns(model) == place)
        inputs = model._encoding(cells)[:, mine]
        latent, deviation, probability, level = (
            np.array(part) for part in zip(*(_at(model, rows, mine, one) for one in inputs), strict=True)
        )
    if latent.shape[1] == 1:  # one function for two classes, which speaks for the second
        latent, deviation, probability, level = latent[:, 0], deviation[:, 0], probability[:, 1], level[:, 0]
    name = names[place] + (" (days since 1970)" if model._schema.columns[place].kind == DATE else "")
    return Effect(name, shown, latent, deviation, probability, level, model.ensemble_.description.is_additive)


def _at(model: Any, background: Background, mine: Any, inputs: Array) -> tuple[Array, Array, Array, Array]:
    """Return the effect's mean and deviation, the mean probabilities, and the deviation of the level, for one cell."""
    safe_point()
    rows, shares = background
    changed = rows.copy()
    changed[:, mine] = inputs
    ensemble = model.ensemble_
    mean, variance = ensemble.latent_sum(np.concatenate([changed, rows]), np.concatenate([shares, -shares]))
    _, level = ensemble.latent_sum(changed, shares)
    return mean, np.sqrt(variance), shares @ np.exp(model._weighted(ensemble.log_proba(changed))), np.sqrt(level)


def _grid(model: Any, place: int, grid: Any) -> tuple[Array, npt.NDArray[Any]]:
    """Return the cells of a column at which to compute, as numbers and as the user knows them."""
    described = model._schema.columns[place]
    if grid is not None:
        shown = np.atleast_1d(np.asarray(grid))
        return _as_cells(described, shown), shown
    if described.categories:
        return np.arange(float(len(described.categories))), np.array(described.categories, dtype=object)
    cells = _training_cells(model, place)
    distinct = np.unique(cells)
    if len(distinct) <= _POINTS:
        return distinct, distinct
    low, high = np.quantile(cells, _RANGE)
    values = np.linspace(low, high, _POINTS)
    return values, values


def _as_cells(column: Any, shown: npt.NDArray[Any]) -> Array:
    """Return cells as numbers: those of categories are their places."""
    if not column.categories:
        try:
            return shown.astype(float)
        except (TypeError, ValueError):
            raise InvalidInputError("grid", Finding("has words"), f"numbers, as the column {column.name} has") from None
    categories = list(column.categories)
    wrong = [value for value in shown.tolist() if value not in categories]
    if wrong:
        raise InvalidInputError("grid", wrong[0], f"categories of the column: {categories}")
    return np.array([float(categories.index(value)) for value in shown.tolist()])


def _training_cells(model: Any, place: int) -> Array:
    """Return the cells of a column of numbers in the training rows that the model holds, without gaps."""
    encoding, X = model._encoding, model.ensemble_.rows
    first = encoding.firsts[place]
    inputs = X[:, first]
    if encoding.gap[place] > 0.0:
        inputs = inputs[X[:, first + 1] == 0.0]
    scaling = encoding.scaling
    spread = scaling.spread[place]
    if not np.isfinite(spread):
        return np.zeros(1)
    return np.asarray(scaling.unit[place] * (scaling.centre[place] + spread * inputs))
