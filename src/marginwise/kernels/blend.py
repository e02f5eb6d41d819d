"""A constant, straight lines, smooth curves and steps in one kernel, with one vector of relative length scales.

K(x, x') = koff + (klin/d) Σ_a r_a x_a x'_a + k0 exp[-½ Σ_a Δ_a²/l_a²] + k1 exp[-Σ_a |Δ_a|/λ_a],

Δ = x - x', l̄ the geometric mean of the l_a, r_a = (l̄/l_a)², λ_a = λ l_a/l̄: an input that matters little does so in
every term. Four amplitudes say how much of each there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.kernels.base import Hyperparameter, Kernel, OfColumns, Ties, positive, positives
from marginwise.kernels.constant import Constant
from marginwise.kernels.laplacian import Laplacian
from marginwise.kernels.linear import Linear
from marginwise.kernels.rbf import RBF

#: The terms by the names of their amplitudes, in the order of the hyperparameters.
TERMS = ("k0", "koff", "klin", "k1")

#: Share of the prior variance below which a term is dropped from a fitted model: it moves no probability visibly.
_CARRIES_NOTHING = 1e-3

#: The hyperparameters of the terms, by name, with their bounds and laws.
_OWN = {h.name: h for term in (RBF(), Constant(), Linear(), Laplacian()) for h in term.hyperparameters}


@dataclass(frozen=True)
class Blend(OfColumns):
    """The sum of a constant, a linear, an RBF and a Laplacian kernel that share their relative length scales.

    Parameters
    ----------
    k0, koff, klin, k1 : float
        Amplitudes of the RBF, the constant, the linear and the Laplacian term. 0 leaves a term out for good.
    lam : float
        λ, the overall length scale of the Laplacian.
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
    length_scales: tuple[float, ...] = (1.0,)
    columns: Ties | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in TERMS:
            value = getattr(self, name)
            object.__setattr__(self, name, 0.0 if value == 0.0 else positive(name, value))
        object.__setattr__(self, "lam", positive("lam", self.lam))
        object.__setattr__(self, "length_scales", positives("length_scales", self.length_scales))

    @property
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

    def simpler(self) -> Self | None:
        """Return the paper's kernel, an RBF and a constant, if there are other terms beside the RBF."""
        return replace(self, klin=0.0, k1=0.0) if self.k0 > 0.0 and self.klin + self.k1 > 0.0 else None

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        values: dict[str, tuple[float, ...]] = {name: (getattr(self, name),) for name in self.present}
        if self.k1 > 0.0:
            values["lam"] = (self.lam,)
        values["l"] = self.length_scales
        return tuple(replace(_OWN[name], values=value, per_input=name == "l") for name, value in values.items())

    @property
    def n_shared(self) -> int:
        return len(self.length_scales)

    def with_values(self, values: Array) -> Self:
        names = [h.name for h in self.hyperparameters if not h.per_input]
        alone = dict(zip(names, values[: len(names)].tolist(), strict=True))
        return replace(self, **alone, length_scales=tuple(values[len(names) :].tolist()))

    @property
    def terms(self) -> tuple[Kernel, ...]:
        return tuple(self._term(name) for name in self.present)

    def _term(self, name: str) -> Kernel:
        match name:
            case "k0":
                return RBF(self.k0, self.length_scales, self.columns)
            case "koff":
                return Constant(self.koff)
            case "klin":
                return Linear(self.klin, self.length_scales, self.columns)
        logs = np.log(self.length_scales)
        scales = self.lam * np.exp(logs - logs.mean())  # λ_a = λ l_a/l̄
        return Laplacian(self.k1, tuple(scales.tolist()), self.columns)

    @property
    def offset(self) -> float:
        return self.koff

    def scaled(self, factor: float) -> Self | None:
        return replace(self, **{name: factor * getattr(self, name) for name in self.present})

    def cross(self, A: Array, B: Array) -> Array:
        terms = self.terms
        K = terms[0].cross(A, B)
        for term in terms[1:]:
            term.add_to(K, A, B)
        return K

    def diagonal(self, X: Array) -> Array:
        return reduce(np.add, (term.diagonal(X) for term in self.terms))

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """Take off all terms but one, which leaves it without computing it again."""
        terms = dict(zip(self.present, self.terms, strict=True))
        last = self.present[0]
        parts = {}
        for name, term in terms.items():
            if name != last:
                parts[name], K = term.peel(G, K, A, B)
        parts[last] = terms[last].contract(G, K, A, B)
        return self._joined(parts)

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        terms = zip(self.present, self.terms, strict=True)
        return self._joined({name: term.contract_diagonal(g, X) for name, term in terms})

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        return reduce(np.add, (term.slopes(X, points, coefficients) for term in self.terms))

    def lengths(self, n_inputs: int) -> Array:
        return RBF(1.0, self.length_scales, self.columns).lengths(n_inputs)

    def _joined(self, parts: dict[str, Array]) -> Array:
        """Return the derivatives from those of the terms in their own hyperparameters, amplitude first.

        λ_a = λ l_a/l̄, so that with h_a that for log λ_a, Σh is that for log λ, and h_a - mean h goes to log l_a.
        """
        by_scale = np.zeros(len(self.length_scales))
        alone = [parts[name][0] for name in self.present]
        for name in ("k0", "klin"):
            by_scale = by_scale + parts[name][1:] if name in parts else by_scale
        if "k1" in parts:
            h = parts["k1"][1:]
            alone.append(h.sum())
            by_scale = by_scale + (h - h.mean())
        return np.concatenate([alone, by_scale])
