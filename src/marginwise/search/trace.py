"""The record of a search: every evaluation, as a table, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marginwise._summary import summary
from marginwise._wording import numbered
from marginwise.errors import MarginwiseError
from marginwise.model import Model
from marginwise.search.base import Point, Step
from marginwise.status import Code, Status

if TYPE_CHECKING:
    import pandas

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Record:
    """One evaluation: where, what was found, what the search made of it, and how long all of it has taken.

    ``errors`` holds held-out errors by name; they are measured where the search moved to, and missing
    elsewhere.

    Attributes
    ----------
    index : int
        Number of the evaluation.
    hyperparameters : Model
        Where it was made.
    point : Point
        What was found.
    step : Step
        What the search made of it.
    seconds : float
        Since the start of the search.
    errors : dict of float
        Held-out errors by name, where they were measured.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "span", isotropic=True, max_evaluations=5)
    >>> record = found.trace[-1]
    >>> record.index, record.hyperparameters.names
    (4, ('C', 'k0', 'koff', 'l'))
    """

    index: int
    hyperparameters: Model
    point: Point
    step: Step
    seconds: float
    errors: dict[str, float] = field(default_factory=dict)

    __repr__ = summary


#: Called with each new record; the search ends if it returns True.
Callback = Callable[[Record], bool | None]


class Trace:
    """All records of one search, in order. Iterate over them, or take columns with :meth:`to_arrays`.

    Parameters
    ----------
    names : tuple of str
        Names of the free hyperparameters.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "span", isotropic=True, max_evaluations=5)
    >>> table = found.trace.to_arrays()
    >>> list(table)[:4], table["value"].shape
    (['k0', 'koff', 'l', 'value'], (5,))
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._records: list[Record] = []

    def append(self, record: Record) -> None:
        """Add the record of one more evaluation."""
        self._records.append(record)

    def __repr__(self) -> str:
        return f"<Trace of {numbered(len(self), 'evaluation')}>"

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __getitem__(self, index: int) -> Record:
        return self._records[index]

    @property
    def accepted(self) -> list[Record]:
        """The records of the points that the search moved to: its path."""
        return [record for record in self._records if record.step.accepted]

    @property
    def failures(self) -> list[Record]:
        """The records of the points at which the criterion failed."""
        return [record for record in self._records if not record.point.status.ok]

    def best(self, error: str | None = None) -> Record | None:
        """Return the record to keep: the path's best score, its end if there are no scores, or its least ``error``.

        The first of equals is kept. None if the search never found a point at which the criterion works.
        """
        path = self.accepted
        if not path:
            return None
        if error is not None:
            return min(path, key=lambda record: record.errors[error])
        if np.isnan(path[-1].point.score):
            return path[-1]
        return max(path, key=lambda record: record.point.score)

    def oracle_minimum(self, error: str = "test") -> Record:
        """Return the record with the smallest held-out error along the path: an oracle, not a way to choose.

        This is the minimum that table (results) of Gold & Sollich (2003) gives next to the final error. It
        looks at the test labels, so it bounds what early stopping could reach (section overfitting) and
        estimates nothing.
        """
        path = self.accepted
        if not all(error in record.errors for record in path) or not path:
            raise MarginwiseError(f"no {error} error was recorded; give {error}=(X, y) to the search")
        return min(path, key=lambda record: record.errors[error])

    def to_arrays(self) -> dict[str, Array]:
        """Return the table as columns by name.

        The free hyperparameters by their names; ``value`` of the criterion; ``score``, which the search makes
        large; ``accepted``; ``failure``, a message or empty; ``seconds`` since the start; for each
        hyperparameter ``gradient_…`` of the score, ``noise_…`` (its standard error) and ``rate_…`` (step size
        or learning rate), as far as there are any; and the held-out errors, NaN where they were not measured.
        """
        points = [record.point for record in self._records]
        positions = _matrix([point.position for point in points], len(self.names))
        table: dict[str, Array] = dict(zip(self.names, np.exp(positions).T, strict=True))
        table["value"] = np.array([point.value for point in points])
        table["score"] = np.array([point.score for point in points])
        table["accepted"] = np.array([record.step.accepted for record in self._records], dtype=bool)
        table["failure"] = np.array([_failure(point) for point in points], dtype=object)
        table["seconds"] = np.array([record.seconds for record in self._records])
        table |= self._columns("gradient", [point.gradient for point in points])
        table |= self._columns("noise", [point.noise for point in points])
        table |= self._columns("rate", [record.step.rates for record in self._records])
        for name in self._error_names:
            table[f"{name}_error"] = self._errors(name)
        return table

    def to_frame(self) -> pandas.DataFrame:
        """Return the table of :meth:`to_arrays` as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise MarginwiseError("to_frame needs pandas (pip install pandas); to_arrays does not") from None
        return pandas.DataFrame(self.to_arrays())

    def __getstate__(self) -> dict[str, Any]:
        """Return columns: a stored trace is a few arrays, not thousands of small objects."""
        points = [record.point for record in self._records]
        width = len(self.names)
        models = [record.hyperparameters for record in self]
        return {
            "names": list(self.names),
            "model": models[0] if models else None,
            "hyperparameters": np.array([model.values for model in models]),
            "position": _matrix([point.position for point in points], width),
            "value": np.array([point.value for point in points]),
            "score": np.array([point.score for point in points]),
            "gradient": _matrix([point.gradient for point in points], width),
            "noise": _matrix([point.noise for point in points], width),
            "ok": np.array([point.status.ok for point in points], dtype=bool),
            "message": np.array([point.status.message for point in points], dtype=str),
            "accepted": np.array([record.step.accepted for record in self], dtype=bool),
            "rates": _matrix([record.step.rates for record in self], width),
            "seconds": np.array([record.seconds for record in self]),
            "errors": {name: self._errors(name) for name in self._error_names},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.names = tuple(state["names"])
        self._records = []
        model = state["model"]
        for i, values in enumerate(state["hyperparameters"]):
            point = Point(
                position=state["position"][i],
                value=float(state["value"][i]),
                score=float(state["score"][i]),
                gradient=_row(state["gradient"], i),
                noise=_row(state["noise"], i),
                status=Status(bool(state["ok"][i]), str(state["message"][i])),
            )
            step = Step(bool(state["accepted"][i]), _row(state["rates"], i))
            errors = {name: float(column[i]) for name, column in state["errors"].items() if not np.isnan(column[i])}
            self.append(Record(i, model.with_values(values), point, step, float(state["seconds"][i]), errors))

    @property
    def _error_names(self) -> list[str]:
        return sorted({name for record in self._records for name in record.errors})

    def _errors(self, name: str) -> Array:
        return np.array([record.errors.get(name, np.nan) for record in self._records])

    def _columns(self, prefix: str, rows: list[Any]) -> dict[str, Array]:
        if all(row is None for row in rows):
            return {}
        matrix = _matrix(rows, len(self.names))
        return {f"{prefix}_{name}": matrix[:, i] for i, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search from one start has found, or the best of several.

    Attributes
    ----------
    hyperparameters : Model
        The best found: by the criterion and the prior, or by the validation error if a validation set was
        given.
    value : float
        The criterion there; NaN for criteria that have only a gradient.
    trace : Trace
        Every evaluation of the search that found it.
    status : Status
        How that search ended.
    restarts : tuple of Tuning
        Of the best of several searches: all of them, in the order of their starts.
    score : float
        What the search made large: the criterion (negative if smaller is better) and the prior.
    start : Model or None
        Where it began; None if hyperparameters were given and not searched for.
    errors : dict
        Held-out errors at ``hyperparameters``, by name.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "laplace-evidence", "quadratic", isotropic=True, max_evaluations=3)
    >>> found.hyperparameters.names, len(found.trace), found.status.message
    (('C', 'k0', 'koff', 'l'), 3, 'the budget of 3 evaluations is used up')
    >>> [search.start.names for search in found.restarts]
    [('C', 'k0', 'koff', 'l')]
    """

    hyperparameters: Model
    value: float
    trace: Trace
    status: Status
    restarts: tuple[Tuning, ...] = ()
    score: float = np.nan
    start: Model | None = None
    errors: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return summary(self, "hyperparameters", "value", "trace", "status", "start")

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.status.code is Code.INTERRUPTED


def _matrix(rows: list[Any], width: int) -> Array:
    """Return the rows as a matrix, NaN where there are none."""
    nothing = np.full(width, np.nan)
    return np.array([nothing if row is None else row for row in rows]).reshape(len(rows), width)


def _row(matrix: Array, i: int) -> Array | None:
    return None if np.isnan(matrix[i]).all() else matrix[i]


def _failure(point: Point) -> str:
    return "" if point.status.ok else point.status.message
