"""What a search is: where to look next, what to make of what was found, and when to end.

A search never evaluates anything itself. It is asked for a position, told the point found there, and keeps
what it knows in a state that only it can read; the one loop that asks and tells is in
:mod:`marginwise.search.driver`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.model import Model
from marginwise.status import CONVERGED, Status

State = TypeVar("State")

#: A value on a bound may leave it by rounding on the way through exp and log.
_ROUNDING = 1e-12


#: Lowest and highest value that a search may reach, by the hyperparameter's name.
Bounds = Mapping[str, tuple[float, float]]


def log_bounds(model: Model, bounds: Bounds) -> tuple[Array, Array]:
    """Return the lowest and highest logarithms: those of the model, or within these where others are given."""
    lower, upper = model.log_bounds
    names = [name.partition("_")[0] if name not in bounds else name for name in model.names]
    for name, pair in bounds.items():
        places = [place for place, known in enumerate(names) if known == name]
        if not places:
            raise InvalidInputError("bounds", name, f"names of hyperparameters: {', '.join(dict.fromkeys(names))}")
        low, high = (float(value) for value in pair)
        widest = float(np.exp(lower[places].min())), float(np.exp(upper[places].max()))
        if not widest[0] * (1 - _ROUNDING) <= low < high <= widest[1] * (1 + _ROUNDING):
            expected = f"two numbers in rising order, between {widest[0]:g} and {widest[1]:g}"
            raise InvalidInputError(f"bounds of {name}", pair, expected)
        lower[places], upper[places] = np.log(low), np.log(high)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Space:
    """The free logarithms of the hyperparameters and their bounds: the box that a search moves in.

    Attributes
    ----------
    model : Model
        The model at the start: what is not free stays.
    origin : array
        All its logarithms, in the order of ``Model.to_vector``.
    free : array of int
        Indices into ``origin`` of the logarithms that a position holds.
    lower, upper : arrays
        Bounds of a position.

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> space = Space.around(Hyperparameters(length_scales=[1.0, 2.0]), fix_C=True)
    >>> space.names, space.start.round(2).tolist()
    (('k0', 'koff', 'l_1', 'l_2'), [0.0, -2.3, 0.0, 0.69])
    """

    model: Model
    origin: Array
    free: Indices
    lower: Array
    upper: Array

    @classmethod
    def around(cls, start: Model, *, fix_C: bool = False, bounds: Bounds | None = None) -> Space:
        """Return the space of hyperparameters with as many length scales as ``start``; C may be fixed.

        ``bounds`` are lowest and highest values by name, in the place of the model's own; "l" is that of all l_a.
        """
        origin = start.to_vector()
        lower, upper = log_bounds(start, bounds or {})
        free = np.arange(1 if fix_C else 0, len(origin))
        outside = np.flatnonzero((origin < lower - _ROUNDING) | (origin > upper + _ROUNDING))
        if outside.size:
            i = outside[0]
            allowed = f"a value between {np.exp(lower[i]):g} and {np.exp(upper[i]):g}, the bounds of every search"
            raise InvalidInputError(f"start: {start.names[i]}", float(np.exp(origin[i])), allowed)
        return cls(start, np.clip(origin, lower, upper), free, lower[free], upper[free])

    @property
    def size(self) -> int:
        """Number of free logarithms."""
        return len(self.free)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free hyperparameters."""
        names = self.model.names
        return tuple(names[i] for i in self.free)

    @property
    def is_C(self) -> Mask:
        """Which entries of a position are log C (at most one)."""
        return self.free == 0

    @property
    def groups(self) -> list[Indices]:
        """The entries of a position that belong together: each of C, k0 and koff alone, and all length scales."""
        together = [np.flatnonzero(np.isin(self.free, group)) for group in self.model.groups]
        alone = np.setdiff1d(np.arange(self.size), np.concatenate([*together, []]))
        return [*alone[:, None], *together]

    @property
    def start(self) -> Array:
        """The position of the hyperparameters that the space was made around."""
        return self.origin[self.free]

    def at(self, position: Array) -> Model:
        """Return the model at a position."""
        logs = self.origin.copy()
        logs[self.free] = position
        return self.model.with_vector(logs)

    def clip(self, position: Array) -> Array:
        """Return the nearest position within the bounds."""
        return np.clip(position, self.lower, self.upper)

    def normalised(self, gradient: Array) -> Array:
        """Return the gradient with the largest entry of each of :attr:`groups` scaled to one, by a positive factor.

        Far from an optimum the derivatives of the groups differ by orders of magnitude, which says how flat the score
        is in each and not how far to go: with inputs so many that no two points are alike, all that a step along the
        gradient does is to lower C and k0 until nothing depends on the length scales any more.
        """
        scaled = np.zeros_like(gradient)
        for part in self.groups:
            largest = np.abs(gradient[part]).max()
            if largest > 0:
                scaled[part] = gradient[part] / largest
        return scaled

    def projected(self, position: Array, gradient: Array) -> Array:
        """Return the gradient without the components that push a position out of the box."""
        pushes_out = ((position <= self.lower) & (gradient < 0)) | ((position >= self.upper) & (gradient > 0))
        return np.where(pushes_out, 0.0, gradient)


@dataclass(frozen=True, eq=False)
class Point:
    """What was found at a position.

    Attributes
    ----------
    position : array
        Free logarithms of the hyperparameters.
    value : float
        The criterion; NaN where it has none.
    score : float
        What the search makes large: the criterion, its sign turned if smaller is better, plus log prior / n.
    gradient : array or None
        Derivatives of the score.
    noise : array or None
        Standard errors of ``gradient``, where it is estimated.
    status : Status
        Not ok when the criterion failed here: there is nothing else to read then.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "span", isotropic=True, max_evaluations=5)
    >>> point = found.trace[0].point
    >>> point.status.ok, point.position.shape, point.gradient.shape
    (True, (3,), (3,))
    """

    position: Array
    value: float
    score: float
    gradient: Array | None = None
    noise: Array | None = None
    status: Status = CONVERGED

    __repr__ = summary


@dataclass(frozen=True, eq=False)
class Step:
    """What a search made of a point.

    Attributes
    ----------
    accepted : bool
        Whether the search moved to the point.
    rates : array or None
        Step sizes or learning rates, one for each free hyperparameter.

    Examples
    --------
    >>> from marginwise import load_benchmark, tune
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "span", isotropic=True, max_evaluations=5)
    >>> found.trace[0].step.accepted
    True
    """

    accepted: bool
    rates: Array | None = None

    __repr__ = summary


class Search(ABC, Generic[State]):
    """A way to move. Subclasses are final frozen dataclasses of settings; what changes is in their states.

    Each method is a function of its arguments alone (and of the draws from ``rng``): a search that is told
    the same points again proposes the same positions again, which is how the driver continues one that was
    killed.

    Attributes
    ----------
    name : str
        The name where a string is taken.
    needs_value, needs_gradient : bool
        What a point must have for this search to use it.

    See Also
    --------
    marginwise.search.drive : the one loop that asks and tells.

    Examples
    --------
    ``docs/searches.md`` writes one.

    >>> from marginwise.search import SEARCHES
    >>> [(name, kind.needs_value, kind.needs_gradient) for name, kind in SEARCHES.items()][:2]
    [('quasi-newton', True, True), ('gradient-ascent', False, True)]
    """

    name: ClassVar[str]
    needs_value: ClassVar[bool]
    needs_gradient: ClassVar[bool]

    @abstractmethod
    def init(self, space: Space, start: Point) -> State:
        """Return the state of a search that begins at ``start``."""

    @abstractmethod
    def propose(self, state: State, rng: np.random.Generator) -> Array:
        """Return the position to look at next."""

    @abstractmethod
    def step(self, state: State, point: Point) -> tuple[State, Step]:
        """Return the state after the proposed ``point`` was looked at, and what became of it."""

    @abstractmethod
    def terminate(self, state: State) -> Status | None:
        """Return how the search ended, or None if it goes on."""


def lacks(search: type[Search[Any]], point: Point) -> str:
    """Return what ``point`` lacks for this kind of search: "value", "gradient" or nothing."""
    if search.needs_value and np.isnan(point.score):
        return "value"
    return "gradient" if search.needs_gradient and point.gradient is None else ""
