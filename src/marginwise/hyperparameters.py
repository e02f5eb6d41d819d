"""The hyperparameters of the model and their logarithms, in which every search moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError

Vector = npt.NDArray[np.float64]

#: (lowest, highest) value a search may reach. Beyond them every criterion is flat: the classifier is constant,
#: the nearest neighbour's label, or blind to the input, and random walks "get stuck in a plateau" (section ztmc).
C_BOUNDS = (1e-3, 1e3)
K0_BOUNDS = (1e-3, 1e5)
KOFF_BOUNDS = (1e-4, 1e3)
LENGTH_SCALE_BOUNDS = (1e-2, 1e3)


@dataclass(frozen=True)
class Hyperparameters:
    """Slack penalty, kernel amplitude, kernel offset and length scales: all that the model leaves open.

    One length scale stands for all inputs (isotropic kernel); otherwise there is one for each input (ARD).

    Parameters
    ----------
    C : float
        Slack penalty, positive.
    k0 : float
        Kernel amplitude, positive.
    koff : float
        Kernel offset, positive: the prior variance of the bias.
    length_scales : float or sequence of float
        One positive length scale for all inputs, or one for each.

    Examples
    --------
    >>> Hyperparameters(C=1, k0=1, koff=0.1, length_scales=[1, 2]).to_vector().round(3)
    array([ 0.   ,  0.   , -2.303,  0.   ,  0.693])
    """

    C: float = 1.0
    k0: float = 1.0
    koff: float = 0.1
    length_scales: tuple[float, ...] = (1.0,)

    def __init__(
        self,
        C: float = 1.0,
        k0: float = 1.0,
        koff: float = 0.1,
        length_scales: float | Sequence[float] | Vector = 1.0,
    ) -> None:
        for name, value in (("C", C), ("k0", k0), ("koff", koff)):
            object.__setattr__(self, name, _positive(name, value))
        if _all_positive(length_scales):  # thousands of numbers are not looked at one by one
            object.__setattr__(self, "length_scales", tuple(length_scales.tolist()))  # type: ignore[union-attr]
            return
        scales = np.atleast_1d(np.asarray(length_scales, dtype=object))
        if scales.ndim != 1 or scales.size == 0:
            raise InvalidInputError(
                "length_scales",
                length_scales,
                "one positive number, or one for each input in a flat sequence",
            )
        object.__setattr__(
            self,
            "length_scales",
            tuple(_positive(f"length_scales[{a}]", value) for a, value in enumerate(scales)),
        )

    def __getstate__(self) -> dict[str, Vector]:
        """Return one array, which is stored more compactly than thousands of numbers one by one."""
        return {"values": np.array([self.C, self.k0, self.koff, *self.length_scales])}

    def __setstate__(self, state: dict[str, Vector]) -> None:
        C, k0, koff = state["values"][:3].tolist()
        self.__init__(C, k0, koff, state["values"][3:])  # type: ignore[misc]

    @property
    def is_isotropic(self) -> bool:
        """Whether one length scale serves all inputs."""
        return len(self.length_scales) == 1

    def to_vector(self) -> Vector:
        """Return log C, log k0, log koff, log l_1 … log l_d: the order of every gradient in the library."""
        return np.log(np.array([self.C, self.k0, self.koff, *self.length_scales]))

    @classmethod
    def from_vector(cls, vector: Sequence[float] | Vector) -> Hyperparameters:
        """Return the hyperparameters with these logarithms, in the order of :meth:`to_vector`."""
        logs = np.asarray(vector)
        if logs.ndim != 1 or logs.size < 4 or logs.dtype.kind not in "iuf":
            raise InvalidInputError("vector", vector, "log C, log k0, log koff and at least one log length scale")
        with np.errstate(over="ignore"):  # an infinite value is refused by name below
            values = np.exp(logs.astype(float))
        C, k0, koff = values[:3].tolist()
        return cls(C, k0, koff, values[3:])

    @classmethod
    def from_values(cls, value: Hyperparameters | Sequence[float]) -> Hyperparameters:
        """Return ``value`` as Hyperparameters: itself, or from C, k0, koff, l_1 … l_d (not logarithms)."""
        if isinstance(value, cls):
            return value
        values = np.asarray(value, dtype=object)
        if values.ndim != 1 or values.size < 4:
            raise InvalidInputError("hyperparameters", value, "C, k0, koff and at least one length scale")
        C, k0, koff, *length_scales = values
        return cls(C, k0, koff, length_scales)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of :meth:`to_vector`, without the logarithm."""
        if self.is_isotropic:
            return ("C", "k0", "koff", "l")
        return ("C", "k0", "koff", *(f"l_{a}" for a in range(1, len(self.length_scales) + 1)))

    def scales_for(self, n_inputs: int) -> Vector:
        """Return one length scale for each of ``n_inputs`` inputs."""
        if self.is_isotropic:
            return np.full(n_inputs, self.length_scales[0])
        if len(self.length_scales) != n_inputs:
            raise InvalidInputError(
                "length_scales",
                f"{len(self.length_scales)} values",
                f"1 or {n_inputs} values, because X has {n_inputs} columns",
            )
        return np.array(self.length_scales)

    def as_ard(self, n_inputs: int) -> Hyperparameters:
        """Return the same kernel with one length scale for each input written out."""
        return Hyperparameters(self.C, self.k0, self.koff, self.scales_for(n_inputs))


def paper_start(n_inputs: int, *, isotropic: bool = False) -> Hyperparameters:
    """Return the fixed start of the paper's random walks (section ztmc): C=1, l_a=1, k0=1, koff=0.1."""
    return Hyperparameters(1.0, 1.0, 0.1, np.ones(1 if isotropic else n_inputs))


def random_start(n_inputs: int, rng: np.random.Generator, *, isotropic: bool = False) -> Hyperparameters:
    """Draw a start of the paper's gradient ascents (section gradient_ascent).

    C is uniform in [0.4, 0.8], ln l_a in [-1, 2], ln k0 in [-1, 1], ln koff in [-2, -1].
    """
    C = rng.uniform(0.4, 0.8)
    k0, koff = np.exp(rng.uniform(-1, 1)), np.exp(rng.uniform(-2, -1))
    return Hyperparameters(C, k0, koff, np.exp(rng.uniform(-1, 2, size=1 if isotropic else n_inputs)))


def log_bounds(n_length_scales: int) -> tuple[Vector, Vector]:
    """Return the lowest and the highest vector of logarithms that a search may reach."""
    rows = np.log([C_BOUNDS, K0_BOUNDS, KOFF_BOUNDS, *([LENGTH_SCALE_BOUNDS] * n_length_scales)])
    return rows[:, 0], rows[:, 1]


def _all_positive(values: object) -> bool:
    """Return whether this is an array of positive finite numbers."""
    if not isinstance(values, np.ndarray) or values.dtype != float or values.ndim != 1 or values.size == 0:
        return False
    return bool((values > 0).all() and np.isfinite(values).all())


def _positive(name: str, value: object) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InvalidInputError(name, value, "a positive finite number")
    return number
