"""A constant, straight lines, smooth curves and steps in one kernel, with one vector of relative length scales.

K(x, x') = koff + (klin/d) Σ_a r_a x_a x'_a + k0 exp[-½ Σ_a Δ_a²/l_a²] + k1 exp[-Σ_a |Δ_a|/λ_a]
           + (k2/d) Σ_a r_a exp[-|Δ_a|/λ2],

Δ = x - x', l̄ the geometric mean of the l_a, r_a = (l̄/l_a)², λ_a = λ l_a/l̄: an input that matters little does so in
every term. Five amplitudes say how much of each there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.additive import AdditiveLaplacian
from marginwise.kernels.base import Hyperparameter, Kernel, OfColumns, from_checked
from marginwise.kernels.constant import Constant
from marginwise.kernels.laplacian import Laplacian
from marginwise.kernels.linear import Linear
from marginwise.kernels.rbf import RBF
from marginwise.kernels.sum import SumOfTerms
from marginwise.kernels.values import Ties, all_positive, per_input, positive, positives

#: The terms by the names of their amplitudes, in the order of the hyperparameters.
TERMS = ("k0", "koff", "klin", "k1", "k2")

#: Terms that can be a model by themselves. Curves of columns are not tried: few rows seldom call for them at all.
_ALONE = ("k0", "klin", "k1")

#: The overall length scale of a term that has its own.
_OVERALL = {"k1": "lam", "k2": "lam2"}

#: Share of the prior variance below which a term is dropped from a fitted model: it moves no probability visibly.
_CARRIES_NOTHING = 1e-3

#: The hyperparameters of the terms, by name, with their bounds and priors.
_OWN = {
    h.name: h for term in (RBF(), Constant(), Linear(), Laplacian(), AdditiveLaplacian()) for h in term.hyperparameters
}


@dataclass(frozen=True, repr=False)
class Blend(SumOfTerms, OfColumns):
    """The sum of kernels that share their relative length scales: constant, linear, RBF, Laplacian, additive Laplacian.

    Parameters
    ----------
    k0, koff, klin, k1, k2 : float
        Amplitudes of the RBF, the constant, the linear, the Laplacian and the additive Laplacian term. A term with
        amplitude 0 is left out, also by searches.
    lam : float
        λ, the overall length scale of the Laplacian.
    lam2 : float
        λ2, the length scale of the additive Laplacian in all inputs.
    length_scales : float or sequence of float
        l: one positive length scale for all inputs, or one for each.
    columns : sequence of int, optional
        The number of each input's column, where columns have several inputs: these share l_a in every term, and d
        and l̄ are those of columns.

    Examples
    --------
    >>> from marginwise.kernels import Blend
    >>> kernel = Blend(k0=2.0, koff=0.3, klin=1.0, k1=0.0, length_scales=[1.0, 2.0])
    >>> kernel.present, kernel.names
    (('k0', 'koff', 'klin'), ('k0', 'koff', 'klin', 'l_1', 'l_2'))
    """

    k0: float = 1.0
    koff: float = 0.1
    klin: float = 1.0
    k1: float = 1.0
    lam: float = 1.0
    k2: float = field(default=0.0, kw_only=True)
    lam2: float = field(default=1.0, kw_only=True)
    length_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in TERMS:
            value = getattr(self, name)
            object.__setattr__(self, name, 0.0 if value == 0.0 else positive(name, value))
        for name in _OVERALL.values():
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        object.__setattr__(self, "length_scales", positives("length_scales", self.length_scales))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without the terms that were made from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _is_part(self, name: str) -> bool:
        """Leave out terms that are not there, and their length scales."""
        of_term = {overall: amplitude for amplitude, overall in _OVERALL.items()}.get(name, name)
        return super()._is_part(name) and (of_term not in TERMS or of_term in self.present)

    @cached_property
    def present(self) -> tuple[str, ...]:
        """The terms that are there, by the names of their amplitudes."""
        return tuple(name for name in TERMS if getattr(self, name) > 0.0)

    def without(self, name: str) -> Self:
        """Return the kernel without a term, given by the name of its amplitude."""
        amplitudes: dict[str, Any] = {name: 0.0}
        return replace(self, **amplitudes)

    def pruned(self) -> Self:
        """Return the kernel without the terms whose prior variance is below a thousandth of all but the constant's."""
        amplitudes = {name: getattr(self, name) for name in self.present if name != "koff"}
        least = _CARRIES_NOTHING * sum(amplitudes.values())
        dropped: dict[str, Any] = {name: 0.0 for name, amplitude in amplitudes.items() if amplitude < least}
        return replace(self, **dropped) if dropped else self

    def single_terms(self) -> tuple[Self, ...]:
        """Return the RBF, the lines and the Laplacian, each with the constant alone, if there are several terms."""
        terms = [name for name in self.present if name != "koff"]
        if len(terms) < 2:
            return ()
        others: list[dict[str, Any]] = [
            {name: 0.0 for name in terms if name != term} for term in _ALONE if term in terms
        ]
        return tuple(replace(self, **amplitudes) for amplitudes in others)

    @property
    def _alone(self) -> list[str]:
        """The names of the hyperparameters that stand alone, term by term."""
        return [name for term in self.present for name in (term, _OVERALL.get(term)) if name is not None]

    @cached_property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        alone = [replace(_OWN[name], values=(getattr(self, name),), per_input=False) for name in self._alone]
        return (*alone, replace(_OWN["l"], values=self.length_scales))

    @property
    def n_shared(self) -> int:
        return len(self.length_scales)

    def with_values(self, values: Array) -> Self:
        names = self._alone
        alone = dict(zip(names, values[: len(names)].tolist(), strict=True))
        scales = tuple(values[len(names) :].tolist())
        if not (scales and all_positive(values)):
            return replace(self, **alone, length_scales=scales)  # says what is wrong
        return from_checked(type(self), **(self.__getstate__() | alone | {"length_scales": scales}))

    @cached_property
    def terms(self) -> tuple[Kernel, ...]:
        return tuple(self._term(name) for name in self.present)

    def _term(self, name: str) -> Kernel:
        l, columns = self.length_scales, self.columns  # noqa: E741
        match name:
            case "k0":
                return from_checked(RBF, k0=self.k0, length_scales=l, columns=columns)
            case "koff":
                return from_checked(Constant, koff=self.koff)
            case "klin":
                return from_checked(Linear, klin=self.klin, relative_scales=l, columns=columns)
            case "k2":
                own = {"k2": self.k2, "lam2": self.lam2}
                return from_checked(AdditiveLaplacian, **own, relative_scales=l, columns=columns)
        logs = np.log(l)
        scales = self.lam * np.exp(logs - logs.mean())  # λ_a = λ l_a/l̄
        return from_checked(Laplacian, k1=self.k1, length_scales=tuple(scales.tolist()), columns=columns)

    def scaled(self, factor: float) -> Self | None:
        return replace(self, **{name: factor * getattr(self, name) for name in self.present})

    def lengths(self, n_inputs: int) -> Array:
        return per_input("length_scales", self.length_scales, n_inputs, self.columns)

    def _joined(self, parts: list[Array]) -> Array:
        """Return the derivatives from those of the terms in their own hyperparameters.

        λ_a = λ l_a/l̄, so that with h_a that for log λ_a, Σh is that for log λ, and h_a - mean h goes to log l_a.
        """
        alone, by_scale = [], np.zeros(len(self.length_scales))
        for name, term, part in zip(self.present, self.terms, parts, strict=True):
            own, shared = np.split(part, [len(part) - term.n_shared])
            alone.append(own)
            if name == "k1":
                alone.append(shared.sum(keepdims=True))
                shared = shared - shared.mean()
            if term.n_shared > 0:
                by_scale = by_scale + shared
        return np.concatenate([*alone, by_scale])
