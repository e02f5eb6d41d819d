"""Run a sampler until its estimates are precise enough, and keep what predictions and diagnostics need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.errors import InvalidInputError
from marginwise.inference.sampling.diagnostics import split_rhat
from marginwise.inference.sampling.gradient import GradientEstimate, GradientRecorder
from marginwise.inference.sampling.sampler import Sampler

State = TypeVar("State")

#: A potential scale reduction above this means chains that do not agree yet.
MAX_RHAT = 1.1

#: Bytes that the draws kept for predictions may take: enough for all 40,960 of 64 chains on 200 examples.
KEPT_BYTES = 2**26

#: Parts of a chain that is alone, long enough for their means to be independent.
_STRETCHES = 32


@dataclass(frozen=True)
class Precision:
    """When to stop sampling. Predictions are averages over all draws, and are more precise if there are more.

    Parameters
    ----------
    tolerance : float or array, optional
        Standard error that every component of the gradient must reach, one for all or one for each. By default, the
        norm of the standard errors must be below ``relative`` times that of the gradient, or below ``floor``.
    relative, floor : float
        See above.
    min_steps, max_steps : int
        Least and largest number of steps, rounded up to whole blocks of the recorder.
    max_leapfrogs : int
        Largest number of leapfrog steps, which limits sampling with very long trajectories.
    rung_steps : int
        Number of moves at each temperature of the evidence estimate; four times as many halve its standard error.

    Examples
    --------
    >>> from marginwise import Hyperparameters, posterior
    >>> data = [[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2)
    >>> result = posterior(*data, method="sample", precision=Precision(tolerance=1e-2), seed=1)
    >>> bool((result.gradient_se <= 1e-2).all())
    True
    """

    tolerance: float | Array | None = None
    relative: float = 0.1
    floor: float = 1e-4
    min_steps: int = 32
    max_steps: int = 640
    max_leapfrogs: int = 25_000
    rung_steps: int = 40

    def __post_init__(self) -> None:
        if self.tolerance is not None and not np.all(np.asarray(self.tolerance) > 0.0):
            raise InvalidInputError("tolerance", self.tolerance, "a positive number, or None")
        if not 0 < self.min_steps <= self.max_steps:
            raise InvalidInputError("min_steps", self.min_steps, "at least 1 and at most max_steps")
        if self.rung_steps < 1:
            raise InvalidInputError("rung_steps", self.rung_steps, "a positive number")

    def reached(self, estimate: GradientEstimate) -> bool:
        """Whether the estimate is precise enough."""
        if self.tolerance is not None:
            return bool((estimate.standard_error <= self.tolerance).all())
        error, norm = (float(np.linalg.norm(x)) for x in (estimate.standard_error, estimate.gradient))
        return error <= max(self.relative * norm, self.floor)


@dataclass(frozen=True, eq=False)
class Collection:
    """What a run of a sampler left.

    Attributes
    ----------
    gradient : GradientEstimate
    latent_mean, latent_variance, dual_mean : arrays of shape (n,)
        Moments over all draws of the latent values, and the mean of the dual latent values.
    duals : array of shape (n, kept)
        Dual latent values of the draws kept for predictions: all chains, at all steps or at some evenly spread ones.
    names, terms : tuple, and array of shape (2 or 3, steps, chains)
        The summands of each draw that are computed alone: of log C, log k0 and log koff, or log C and all the rest.
    acceptance, energy_error : arrays of shape (steps, chains)
    mean_leapfrog : float
        Leapfrog steps for each trajectory.
    rhat : float
        The largest potential scale reduction of the terms.
    precise : bool
        Whether the asked-for precision was reached.
    """

    gradient: GradientEstimate
    latent_mean: Array
    latent_variance: Array
    dual_mean: Array
    duals: Array
    names: tuple[str, ...]
    terms: Array
    acceptance: Array
    energy_error: Array
    mean_leapfrog: float
    rhat: float
    precise: bool

    @property
    def groups(self) -> Indices:
        """The group of each draw kept, whose means are independent: its chain, or a stretch of the only chain."""
        chains, kept = self.acceptance.shape[1], self.duals.shape[1]
        numbers = np.arange(kept)
        return numbers % chains if chains > 1 else numbers * min(_STRETCHES, kept) // kept


class _Moments:
    """Mean and variance over columns, taken around the first batch's mean so that nothing cancels."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, columns: Array) -> None:
        if not self._count:
            self._origin = columns.mean(axis=1)
            self._sum, self._squares = np.zeros((2, len(columns)))
        shifted = columns - self._origin[:, None]
        self._count += columns.shape[1]
        self._sum += shifted.sum(axis=1)
        self._squares += np.einsum("ij,ij->i", shifted, shifted)

    def mean(self) -> Array:
        return self._origin + self._sum / self._count

    def variance(self) -> Array:
        return self._squares / self._count - (self._sum / self._count) ** 2


class _Kept:
    """The draws of all steps, or of every second, fourth … if they would take more bytes; of one step at least."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._stride, self._offered = most_bytes, 1, 0
        self._steps: list[Array] = []

    def offer(self, draws: Array) -> None:
        if self._offered % self._stride == 0:
            self._steps.append(draws.copy())
        self._offered += 1
        while len(self._steps) > 1 and len(self._steps) * draws.nbytes > self._most_bytes:
            self._steps = self._steps[::2]
            self._stride *= 2

    def columns(self) -> Array:
        return np.hstack(self._steps)


def collect(
    sampler: Sampler[State],
    rng: np.random.Generator,
    state: State,
    recorder: GradientRecorder,
    precision: Precision,
    *,
    kept_bytes: int = KEPT_BYTES,
) -> Collection:
    """Sample in blocks until the chains agree and the gradient is precise enough, or the limits are reached."""
    if kept_bytes < 0:
        raise InvalidInputError("kept_bytes", kept_bytes, "0 or more bytes for the draws that predictions need")
    latent, dual, kept = _Moments(), _Moments(), _Kept(kept_bytes)
    acceptance, energy_error, leapfrogs = [], [], []
    while True:
        for _ in range(recorder.block):
            safe_point()
            state, info = sampler.step(rng, state)
            draws = sampler.draws(state)
            recorder.record(draws)
            latent.add(draws.latent)
            dual.add(draws.dual_latent)
            kept.offer(draws.dual_latent)
            acceptance.append(info.acceptance)
            energy_error.append(info.energy_error)
            leapfrogs.append(info.n_leapfrog)
        steps = len(leapfrogs)
        if steps < precision.min_steps:
            continue
        estimate = recorder.estimate()
        rhat = max(split_rhat(series) for series in recorder.terms)
        precise = precision.reached(estimate) and rhat <= MAX_RHAT
        if precise or steps >= precision.max_steps or sum(leapfrogs) >= precision.max_leapfrogs:
            break
    return Collection(
        gradient=estimate,
        latent_mean=latent.mean(),
        latent_variance=latent.variance(),
        dual_mean=dual.mean(),
        duals=kept.columns(),
        names=recorder.names,
        terms=recorder.terms,
        acceptance=np.array(acceptance),
        energy_error=np.array(energy_error),
        mean_leapfrog=float(np.mean(leapfrogs)),
        rhat=rhat,
        precise=precise,
    )
