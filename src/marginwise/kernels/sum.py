"""Sums of kernels: the latent function is a sum of independent functions, one for each term."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from typing import Any, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError
from marginwise.kernels.base import Hyperparameter, Kernel
from marginwise.kernels.values import Ties


class SumOfTerms(Kernel):
    """K = Σ_t K_t, whatever the hyperparameters of the terms depend on."""

    @property
    @abstractmethod
    def terms(self) -> tuple[Kernel, ...]:
        """The kernels that this one is the sum of, always the same objects."""

    @abstractmethod
    def _joined(self, parts: list[Array]) -> Array:
        """Return the derivatives in the order of ``hyperparameters`` from those of each term in its own."""

    @property
    def offset(self) -> float:
        return sum(term.offset for term in self.terms)

    def cross(self, A: Array, B: Array) -> Array:
        K = self.terms[0].cross(A, B)
        for term in self.terms[1:]:
            term.add_to(K, A, B)
        return K

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        functions = [term.with_points(points) for term in self.terms]
        if len(functions) == 1:
            return functions[0]

        def cross(A: Array) -> Array:
            K = functions[0](A) + functions[1](A)
            for function in functions[2:]:
                K += function(A)
            return K

        return cross

    def diagonal(self, X: Array) -> Array:
        return reduce(np.add, (term.diagonal(X) for term in self.terms))

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """All terms but the dearest are taken off the sum, which leaves that one without computing it again."""
        dearest = max(range(len(self.terms)), key=lambda t: self.terms[t].n_shared)
        parts = {}
        for t, term in enumerate(self.terms):
            if t != dearest:
                parts[t], K = term.peel(G, K, A, B)
        parts[dearest] = self.terms[dearest].contract(G, K, A, B)
        return self._joined([parts[t] for t in range(len(self.terms))])

    def contract_anew(self, G: Array, A: Array, B: Array) -> Array:
        """Half of the terms need no values, and none has to be taken off the sum."""
        return self._joined([term.contract_anew(G, A, B) for term in self.terms])

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return self._joined([term.contract_diagonal(g, X) for term in self.terms])

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        return reduce(np.add, (term.slopes(X, points, coefficients) for term in self.terms))


@dataclass(frozen=True, init=False, repr=False)
class Sum(SumOfTerms):
    """K = Σ_t K_t. Made with ``+``.

    Its hyperparameters are those of the terms that stand alone, term by term, and then those that each input may have
    its own of. A name that occurs again gets a number.

    Parameters
    ----------
    *terms : Kernel
        The kernels to add; sums among them are taken apart.

    Examples
    --------
    >>> from marginwise.kernels import RBF, Constant
    >>> (RBF(2.0) + Constant(0.5)).names
    ('k0', 'koff', 'l')
    """

    _terms: tuple[Kernel, ...]

    def __init__(self, *terms: Kernel) -> None:
        if not terms or not all(isinstance(term, Kernel) for term in terms):
            raise InvalidInputError("terms", terms, "one or more kernels")
        object.__setattr__(self, "_terms", tuple(part for term in terms for part in term.terms))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["_terms"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    @property
    def terms(self) -> tuple[Kernel, ...]:
        return self._terms

    @property
    def ties(self) -> Ties | None:
        """Those of the first term that has any: :meth:`tied` gives all the same."""
        return next((term.ties for term in self.terms if term.ties is not None), None)

    def tied(self, columns: Sequence[int]) -> Self:
        return type(self)(*(term.tied(columns) for term in self.terms))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = [h for term in self.terms for h in term.hyperparameters]
        taken = {h.name for h in own}
        seen: set[str] = set()
        named = []
        for h in own:
            numbered = (f"{h.name}{number}" for number in count(2))
            name = next(name for name in numbered if name not in taken) if h.name in seen else h.name
            seen.add(name)
            taken.add(name)
            named.append(h if name == h.name else replace(h, name=name))
        return tuple(sorted(named, key=lambda h: h.per_input))  # sorting keeps the order of equals

    def with_values(self, values: Array) -> Self:
        alone = [sum(not h.per_input for h in term.hyperparameters) for term in self.terms]
        shared = self._shared_sizes(len(values) - sum(alone))
        parts, place, scale_place = [], 0, sum(alone)
        for term, n_alone, n_shared in zip(self.terms, alone, shared, strict=True):
            scales = values[scale_place : scale_place + n_shared]
            parts.append(term.with_values(np.concatenate([values[place : place + n_alone], scales])))
            place, scale_place = place + n_alone, scale_place + n_shared
        return type(self)(*parts)

    def scaled(self, factor: float) -> Self | None:
        parts = [term.scaled(factor) for term in self.terms]
        return type(self)(*(part for part in parts if part is not None)) if None not in parts else None

    def _shared_sizes(self, total: int) -> list[int]:
        """Return how many of so many values each term takes: as many as it has, or the same number for each input."""
        present = [term.n_shared for term in self.terms]
        if total == sum(present):
            return present
        shared = [len(term.groups) for term in self.terms]
        if sum(shared) == 0 or total <= 0 or total % sum(shared):
            n_values = len(self.values) + total - sum(present)
            raise InvalidInputError(
                "values", Finding(f"has {n_values} values"), f"{', '.join(self.names)}, or one for each input"
            )
        return [n * (total // sum(shared)) for n in shared]

    def lengths(self, n_inputs: int) -> Array:
        """Return those of the first term that has any."""
        return next((term for term in self.terms if term.groups), self.terms[0]).lengths(n_inputs)

    def _joined(self, parts: list[Array]) -> Array:
        """Return the entries that belong to the terms in the order of ``hyperparameters``."""
        alone = [part[: len(part) - term.n_shared] for term, part in zip(self.terms, parts, strict=True)]
        shared = [part[len(part) - term.n_shared :] for term, part in zip(self.terms, parts, strict=True)]
        return np.concatenate([*alone, *shared])
