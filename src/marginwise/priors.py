"""Priors on the hyperparameters: weak normal priors on their logarithms, and how far length scales may differ.

A search that maximises a criterion over many length scales overfits at the level of the hyperparameters (section
overfitting of Gold & Sollich 2003); a prior keeps them close together unless the data say otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TypeVar

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.kernels.base import Hyperparameter, Normal
from marginwise.kernels.constant import KOFF_PRIOR
from marginwise.kernels.rbf import K0_PRIOR
from marginwise.model import Model

AnyModel = TypeVar("AnyModel", bound=Model)

#: Largest mean of a logarithm: beyond it hyperparameters overflow.
_FARTHEST = 100.0

#: The least and the largest standard deviation of a logarithm; beyond, nothing is left of one of the two.
_SHARPEST, _WIDEST = 1e-6, 1e6

DEVIATION = f"from {_SHARPEST:g} to {_WIDEST:g}, or infinite"


def is_deviation(value: object) -> bool:
    """Return whether this is a standard deviation that the prior of a logarithm can have."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and (_SHARPEST <= float(value) <= _WIDEST or value == math.inf)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Prior:
    """Independent normal priors on ln C, ln k0 and ln koff, and a prior on the length scales.

    Parameters
    ----------
    C, k0, koff : (mean, standard deviation)
        Normal priors on the logarithms. An infinite standard deviation means no prior.
    length_scale : (mean, standard deviation), optional
        Normal prior on ln l. By default its mean is ½ ln 2d, the length scale at which two standardised rows of d
        inputs are at an average scaled distance of one, and its standard deviation is 1.
    spread : float or None
        s in ln l_a = ln l + δ_a, δ_a ~ N(0, s²): from one shared length scale (s → 0) to free ones (s → ∞).
        None gives each ln l_a the prior of ``length_scale`` independently, without a shared part. A kernel with one
        length scale has no δ_a, and its ln l has the prior of ``length_scale`` for any s.
    laws : dict of (mean, standard deviation), optional
        Priors on other hyperparameters by name, instead of the defaults of their kernels.

    Examples
    --------
    >>> prior = Prior(spread=0.3)
    >>> start = prior.mean(n_inputs=2)
    >>> [round(value, 3) for value in (start.C, start.k0, start.koff, *start.length_scales)]
    [1.0, 3.0, 0.3, 2.0, 2.0]
    """

    C: Normal = (0.0, 1.0)
    k0: Normal = K0_PRIOR
    koff: Normal = KOFF_PRIOR
    length_scale: Normal | None = None
    spread: float | None = 0.3
    laws: Mapping[str, Normal] | None = None

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in ("C", "k0", "koff", "length_scale")} | dict(self.laws or {})
        for name, law in named.items():
            if law is not None and not (len(law) == 2 and abs(law[0]) <= _FARTHEST and is_deviation(law[1])):
                raise InvalidInputError(
                    name, law, f"a mean from {-_FARTHEST:g} to {_FARTHEST:g}, and a standard deviation {DEVIATION}"
                )
        if self.spread is not None and not is_deviation(self.spread):
            raise InvalidInputError(
                "spread",
                self.spread,
                f"a positive number {DEVIATION} (for one shared length scale use isotropic=True) or None",
            )

    def mean(self, n_inputs: int, *, isotropic: bool = False) -> Hyperparameters:
        """Return the hyperparameters of the paper's model at which the prior is largest."""
        return self.mean_of(paper_start(n_inputs, isotropic=isotropic), n_inputs)

    def mean_of(self, model: AnyModel, n_inputs: int) -> AnyModel:
        """Return the model of this form at which the prior is largest, a good start for a search."""
        return model.with_vector(self._laws(model, n_inputs)[0])

    def log_density(self, model: Model, n_inputs: int) -> tuple[float, Array]:
        """Return the logarithm of the density relative to its largest value, and its gradient.

        Relative, so that it is 0 at the mean and stays finite in both limits of ``spread``. The gradient is
        in the order of ``Model.to_vector``.
        """
        means, deviations = self._laws(model, n_inputs)
        r = model.to_vector() - means
        pull = -r / deviations**2
        if self.spread is not None:
            for group in model.groups:
                if len(group) > 1:
                    pull[group] = _hierarchical_pull(r[group], self.spread**2, float(deviations[group[0]]))
        return 0.5 * float(pull @ r), pull

    def _laws(self, model: Model, n_inputs: int) -> tuple[Array, Array]:
        """Return mean and standard deviation of each logarithm."""
        laws = [self.C]
        n_columns = model.kernel.n_columns(n_inputs)
        for h in model.kernel.hyperparameters:
            laws += [self._law(h, n_columns)] * len(h.values)
        means, deviations = np.array(laws).T
        return means, deviations

    def _law(self, h: Hyperparameter, n_columns: int) -> Normal:
        own = {"k0": self.k0, "koff": self.koff, "l": self.length_scale} | dict(self.laws or {})
        law = own.get(h.name)
        return h.prior_for(n_columns) if law is None else law


def _hierarchical_pull(r: Array, s2: float, deviation: float) -> Array:
    """Return the gradient of the log density of length scales that share a part.

    With r_a = ln l_a - μ, r̄ their mean and ln l ~ N(μ, σ²), integrating ln l out leaves r ~ N(0, s²I + σ²11ᵀ):
        -½ [Σ_a (r_a - r̄)²/s² + d r̄²/(s² + dσ²)].
    Setting ln l to its best value instead (profiling) gives the same function, because everything is
    normal. s → 0 leaves r̄²/σ², the law of one shared length scale; s → ∞ leaves nothing.
    """
    d, average = len(r), r.mean()
    return -(r - average) / s2 - average / (s2 + d * deviation**2)
