"""Priors on the hyperparameters: weak normal laws on their logarithms, with one knob for the freedom of ARD.

A search that maximises a criterion over many length scales over-fits at the level of the hyperparameters
(section overfitting of Gold & Sollich 2003); a prior holds them together as far as the data do not pull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters

Vector = npt.NDArray[np.float64]

#: Mean and standard deviation of a normal law.
Normal = tuple[float, float]


@dataclass(frozen=True)
class Prior:
    """Independent normal laws on ln C, ln k0, ln koff, and a law on the length scales.

    Parameters
    ----------
    C, k0, koff : (mean, standard deviation)
        Normal laws of the logarithms. An infinite standard deviation is no prior at all.
    length_scale : (mean, standard deviation), optional
        Normal law of ln l. By default its mean is ½ ln 2d, the length at which two standardised rows in d
        inputs are on average at scaled distance one, and its standard deviation 1.
    spread : float or None
        s in ln l_a = ln l + δ_a, δ_a ~ N(0, s²): from one shared length scale (s → 0) to free ones (s → ∞).
        None gives each ln l_a the normal law of ``length_scale`` by itself, without a shared part.
        A kernel with one length scale has no δ_a, and its ln l has the law of ``length_scale`` whatever s.

    Examples
    --------
    >>> prior = Prior(spread=0.3)
    >>> start = prior.mean(n_inputs=2)
    >>> [round(value, 3) for value in (start.C, start.k0, start.koff, *start.length_scales)]
    [1.0, 3.0, 0.3, 2.0, 2.0]
    """

    C: Normal = (0.0, 1.0)
    k0: Normal = (math.log(3.0), 1.5)
    koff: Normal = (math.log(0.3), 2.0)
    length_scale: Normal | None = None
    spread: float | None = 0.3

    def __post_init__(self) -> None:
        for name in ("C", "k0", "koff", "length_scale"):
            law = getattr(self, name)
            if law is not None and not (len(law) == 2 and math.isfinite(law[0]) and law[1] > 0):
                raise InvalidInputError(name, law, "a finite mean and a positive standard deviation")
        if self.spread is not None and not self.spread > 0:
            raise InvalidInputError(
                "spread",
                self.spread,
                "a positive number (for one shared length scale use isotropic=True) or None",
            )

    def mean(self, n_inputs: int, *, isotropic: bool = False) -> Hyperparameters:
        """Return the hyperparameters at which the prior is largest, a good start for a search."""
        centre = self._length_scale(n_inputs)[0]
        logs = [self.C[0], self.k0[0], self.koff[0], *[centre] * (1 if isotropic else n_inputs)]
        return Hyperparameters.from_vector(logs)

    def log_density(self, hyperparameters: Hyperparameters, n_inputs: int) -> tuple[float, Vector]:
        """Return the logarithm of the density relative to its largest value, and its gradient.

        Relative, so that it is 0 at the mean and stays finite in both limits of ``spread``. The gradient is
        in the order of ``Hyperparameters.to_vector``.
        """
        logs = hyperparameters.to_vector()
        means, deviations = np.array([self.C, self.k0, self.koff]).T
        pull = (means - logs[:3]) / deviations**2
        value = 0.5 * float(pull @ (logs[:3] - means))
        length_value, length_pull = self._length_scales(logs[3:], n_inputs)
        return value + length_value, np.concatenate([pull, length_pull])

    def _length_scales(self, logs: Vector, n_inputs: int) -> tuple[float, Vector]:
        """Return log density and gradient of the length scales' part.

        With r_a = ln l_a - μ, r̄ their mean and ln l ~ N(μ, σ²), integrating ln l out leaves r ~ N(0, s²I +
        σ²11ᵀ):
            -½ [Σ_a (r_a - r̄)²/s² + d r̄²/(s² + dσ²)].
        Setting ln l to its best value instead (profiling) gives the same function, because everything is
        normal. s → 0 leaves r̄²/σ², the law of one shared length scale; s → ∞ leaves nothing.
        """
        mean, deviation = self._length_scale(n_inputs)
        r = logs - mean
        if self.spread is None or len(logs) == 1:
            pull = -r / deviation**2
        else:
            d, s2, average = len(r), self.spread**2, r.mean()
            pull = -(r - average) / s2 - average / (s2 + d * deviation**2)
        return 0.5 * float(pull @ r), pull

    def _length_scale(self, n_inputs: int) -> Normal:
        return (0.5 * math.log(2.0 * n_inputs), 1.0) if self.length_scale is None else self.length_scale
