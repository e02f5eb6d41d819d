"""The mode of the posterior of a multinomial model: latent functions of one kernel, and the softmax likelihood.

It minimises ψ = -Σ_i w_i ln p_i(y_i) + ½ Σ_k θ_kᵀK⁻¹θ_k, which is convex (Rasmussen & Williams 2006, section 3.5). The
curvature diag(p) - ppᵀ of each row is replaced by a multiple of the identity, so that one factorisation serves all
classes and many steps; Anderson's acceleration (Walker & Ni 2011) makes up for what that costs in steps. The latent
functions of two classes are opposite, and along (1, -1) the curvature is a multiple: there the steps are Newton's.

:func:`found` takes the steps, in whatever the latent functions are expressed: in their values at the rows here, in the
weights of few features in ``linear.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.problem import Problem

#: The multiple, in units of max_k p_k(1 - p_k). The largest eigenvalue of the curvature is 1 to 2 times that
#: (Gershgorin), and 2 of two classes; with a smaller one steps go too far.
_CURVATURE, _EXACT = 1.4, 2.0

#: Least curvature of a row, in units of its weight: a row beyond doubt says nothing, but is divided by.
LEAST_CURVATURE = 1e-10

#: Largest change of a probability in a step at which the mode is reached, and most steps towards it.
TOLERANCE, _MAX_STEPS = 1e-4, 200

#: How much farther from the mode of two classes its search may end in single precision.
_EARLIER = 10.0

#: Steps after which the curvature is looked at again, at first and where the mode is nearly known, and earlier steps
#: that a step is combined with.
_REFRESH, _WARM_REFRESH, _DEPTH = 10, 30, 6

#: Largest change of a probability in a step up to which Newton's next one takes the same curvature.
_NEAR = 0.2

#: Factor by which a step that leads far is made longer as long as that is better.
_FARTHER = 1.5

#: Part of ψ that is rounding where the covariance is of single precision, and the shortest part of a step.
_ROUNDING, _SHORTEST = 1e-6, 1e-3


class State(NamedTuple):
    """A position, ψ there, what else is known of it, and how much a probability has changed since the one before."""

    position: Array
    loss: float
    known: Any
    moved: float


class ModeSearch(ABC):
    """What the way to the mode asks of a table: ψ and steps, for positions of any kind."""

    #: Whether steps of two classes are combined, too: that costs another look at all rows.
    combines_two: bool = True

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        #: Whether the curvature of a row is exact, as that of two classes is: θ_1 + θ_2 = 0 there.
        self.is_exact = n_classes == 2

    @property
    def multiple(self) -> float:
        """The multiple of max_k p_k(1 - p_k) that is the curvature of a row."""
        return _EXACT if self.is_exact else _CURVATURE

    @abstractmethod
    def state(self, position: Array, before: State | None = None) -> State:
        """Return what there is to know of a position."""

    @abstractmethod
    def refresh(self, here: State) -> None:
        """Take the curvature here for the steps to come."""

    @abstractmethod
    def step(self, here: State) -> Array:
        """Return the change of position that the curvature and what is left of the gradient ask for."""

    @abstractmethod
    def values(self, position: Array) -> Array:
        """Return the part of a position in which changes are compared."""


def found(search: ModeSearch, start: Array, tolerance: float, *, warm: bool, ready: bool = False) -> State:
    """Return the mode, or where the last step led.

    ``warm`` says that the start is near it, ``ready`` that there is a curvature to begin with.
    """
    here, every, early = search.state(start), _WARM_REFRESH if warm else _REFRESH, _NEAR if search.is_exact else 1.0
    moved = 0.0 if ready else np.inf
    history: list[tuple[State, State]] = []
    for step in range(_MAX_STEPS):
        safe_point()
        first = step < 3 and not warm  # the curvature changes fast
        if first or (step > 0 and step % every == 0) or moved > early:
            search.refresh(here)
            history.clear()
        # Newton's step from what is left of the gradient: its rounding gets smaller with the steps.
        change, length = search.step(here), 1.0
        there = search.state(here.position + change, here)
        while there.loss > here.loss + _ROUNDING * abs(here.loss) and length > _SHORTEST:
            length *= 0.5
            there = search.state(here.position + length * change, here)
        if length == 1.0 and there.moved > early:
            length, there = _farther(search, here, change, there)
        history.append((here, there))
        del history[:-_DEPTH]
        mixed = _mixed(search, history) if search.combines_two or not search.is_exact else None
        better = None if mixed is None else search.state(mixed, here)
        moved = there.moved
        if better is not None and better.loss <= there.loss:
            here = better
        else:
            here = there
            del history[:-1]
        if moved < tolerance * length:  # a step that had to be shortened says little
            break
    return here


def _farther(search: ModeSearch, here: State, change: Array, there: State) -> tuple[float, State]:
    """Return how many times a step is taken, and where it then leads: farther as long as that is better.

    From latent values of 0 Newton's steps are too short, and another look costs much less than another curvature.
    """
    length = 1.0
    while True:
        beyond = search.state(here.position + _FARTHER * length * change, here)
        if not beyond.loss < there.loss:
            return length, there
        length, there = _FARTHER * length, beyond


def before_gaussian(problem: Problem, tolerance: float) -> float:
    """Return the tolerance of a mode before a Gaussian: that of two classes has one more Newton step for its mean."""
    return _EARLIER * tolerance if problem.single and problem.n_classes == 2 else tolerance


def softmax_mode(
    problem: Problem, covariance: SiteCovariance, start: Sites | None = None, tolerance: float = TOLERANCE
) -> tuple[Array, Array]:
    """Return θ and p at the mode, both of shape (n, K).

    ``start`` are sites near by, with columns ν for the classes: those of a mode of the same labels under another
    covariance, or, of no precision, K⁻¹θ itself, which is 0 for rows that are new there.
    """
    search, ready = _RowSearch(problem, covariance), False
    position = np.zeros((2, problem.n, problem.n_classes))
    if start is not None:
        b = start.nu
        if start.tau.any():  # one step of Newton's method from where these sites were found
            b = search.solved(start.tau, b)
            ready = search.is_exact  # otherwise their curvature is too small for steps
        position = np.array([covariance.times(b), b])
    mode = found(search, position, tolerance, warm=start is not None, ready=ready)
    return mode.position[0], mode.known


class _RowSearch(ModeSearch):
    """Positions are the latent values θ = Kb and b, shape (2, n, K); known are the probabilities."""

    def __init__(self, problem: Problem, covariance: SiteCovariance) -> None:
        super().__init__(problem.n_classes)
        self._covariance, self._weights = covariance, problem.weights
        self._rows, self._labels = np.arange(problem.n), problem.labels
        self._indicators = np.zeros((problem.n, problem.n_classes))
        self._indicators[self._rows, self._labels] = 1.0
        self._dual: Callable[[Array], Array] | None = None

    def solved(self, tau: Array, nu: Array) -> Array:
        """Return b = (I + TK)⁻¹ν, and take this curvature for the steps to come."""
        self._dual = None  # before another one is in memory
        self._dual = self._covariance.dual_solver(tau)
        return self._dual(nu)

    def state(self, position: Array, before: State | None = None) -> State:
        theta, b = position
        logs = log_softmax(theta, axis=1)
        p = np.exp(logs)
        loss = 0.5 * float(np.vdot(b, theta)) - float(self._weights @ logs[self._rows, self._labels])
        return State(position, loss, p, np.inf if before is None else float(np.abs(p - before.known).max()))

    def refresh(self, here: State) -> None:
        self._dual = None
        self._dual = self._covariance.dual_solver(rough_curvature(here.known, self._weights, self.multiple))

    def step(self, here: State) -> Array:
        assert self._dual is not None
        change = self._dual(self._weights[:, None] * (self._indicators - here.known) - here.position[1])
        return np.array([self._covariance.times(change), change])

    def values(self, position: Array) -> Array:
        return position[0]


def rough_curvature(p: Array, weights: Array, multiple: float) -> Array:
    """Return the curvature of rows with class probabilities p."""
    return weights * np.maximum(multiple * (p * (1.0 - p)).max(axis=1), LEAST_CURVATURE)


def softmax_sites(theta: Array, p: Array, labels: Indices, weights: Array) -> tuple[Array, Array]:
    """Return the precision, one for all classes, and η of sites that are the likelihood at θ to second order."""
    # the mean of the K - 1 eigenvalues of diag(p) - ppᵀ that are not 0
    mean_curvature = (1.0 - np.einsum("ij,ij->i", p, p)) / (p.shape[1] - 1)
    precision = weights * np.maximum(mean_curvature, LEAST_CURVATURE)
    slope = -weights[:, None] * p
    slope[np.arange(len(labels)), labels] += weights
    return precision, precision[:, None] * theta + slope


def _mixed(search: ModeSearch, history: list[tuple[State, State]]) -> Array | None:
    """Return the combination of the last steps that would have changed least; None after the first."""
    if len(history) < 2:
        return None
    changes = np.array([search.values(there.position - here.position).ravel() for here, there in history])
    turns = np.diff(changes, axis=0)
    gram = turns @ turns.T
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10
    try:
        shares = np.linalg.solve(gram, turns @ changes[-1])
    except np.linalg.LinAlgError:
        return None
    ends = [there.position for _, there in history]
    position = ends[-1].copy()
    for share, earlier, later in zip(shares, ends[:-1], ends[1:], strict=True):
        position -= share * (later - earlier)
    return position
