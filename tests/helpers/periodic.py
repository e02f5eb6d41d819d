"""A kernel that the library does not have: what a user writes to add one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from marginwise.kernels import Hyperparameter, Kernel, Normal
from marginwise.kernels.values import per_input, positive, positives


@dataclass(frozen=True)
class Periodic(Kernel):
    """K(x, x') = k exp[-2 Σ_a sin²(π(x_a - x'_a)/p)/l_a²] (MacKay 1998), for functions that repeat themselves."""

    has_amplitude: ClassVar[bool] = True

    k: float = 1.0
    period: float = 3.0
    length_scales: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive("k", self.k))
        object.__setattr__(self, "period", positive("period", self.period))
        object.__setattr__(self, "length_scales", positives("length_scales", self.length_scales))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (
            Hyperparameter("k", (self.k,), (1e-3, 1e5), (-1.0, 1.0), (0.0, 1.5)),
            Hyperparameter("p", (self.period,), (0.1, 100.0), (0.0, 2.0), (1.0, 1.0)),
            Hyperparameter("l", self.length_scales, (1e-2, 1e3), (-1.0, 1.0), _length_scale_prior, per_input=True),
        )

    def with_values(self, values: np.ndarray) -> Self:
        return type(self)(float(values[0]), float(values[1]), np.asarray(values[2:], dtype=float))  # type: ignore[arg-type]

    def cross(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        exponent = np.zeros((len(A), len(B)))
        for a, scale in enumerate(per_input("length_scales", self.length_scales, A.shape[1])):
            exponent -= 2.0 * np.sin(self._angles(A, B, a)) ** 2 / scale**2
        return self.k * np.exp(exponent)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.k)

    def contract(self, G: np.ndarray, K: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        W, by_period, by_input = G * K, 0.0, []
        for a, scale in enumerate(per_input("length_scales", self.length_scales, A.shape[1])):
            angles = self._angles(A, B, a)
            by_period += 2.0 * np.vdot(W, angles * np.sin(2.0 * angles)) / scale**2
            by_input.append(4.0 * np.vdot(W, np.sin(angles) ** 2) / scale**2)
        return np.array([W.sum(), by_period, *([sum(by_input)] if self.is_isotropic else by_input)])

    def _angles(self, A: np.ndarray, B: np.ndarray, a: int) -> np.ndarray:
        return np.subtract.outer(A[:, a], B[:, a]) * (math.pi / self.period)


def _length_scale_prior(n_inputs: int) -> Normal:
    return 0.5 * math.log(n_inputs), 1.0
