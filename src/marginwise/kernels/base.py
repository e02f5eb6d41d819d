"""What a kernel is: a covariance function K(x, x') with positive hyperparameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.kernels.values import Ties, checked_ties, per_input

if TYPE_CHECKING:
    from marginwise.kernels.sum import Sum

#: Mean and standard deviation of a normal distribution.
Normal = tuple[float, float]

#: Rows of a diagonal that are contracted at a time where a kernel has no quicker way.
_DIAGONAL_BLOCK = 64

#: Step of the differences that slopes are taken from where a kernel has no quicker way, for standardised inputs.
_STEP = 1e-5


@dataclass(frozen=True)
class Hyperparameter:
    """One positive hyperparameter of a kernel, or one for each input.

    Attributes
    ----------
    name : str
        Its name in traces, messages and priors; ``l`` becomes ``l_1 … l_d`` if there is one for each input.
    values : tuple of float
        Its value, or values. With ``per_input`` there is one for each input, or one for all.
    bounds : (float, float)
        The lowest and the highest value that a search may reach.
    start : (float, float)
        The range of the logarithm in which random searches begin.
    prior : (float, float), or a function of the number of inputs
        Mean and standard deviation of the logarithm under the default prior, for standardised inputs.
    per_input : bool
        Whether each input may have its own.

    Examples
    --------
    >>> from marginwise.kernels import RBF
    >>> for h in RBF(2.0, [1.0, 3.0]).hyperparameters:
    ...     print(h.name, h.values, h.bounds, h.per_input)
    k0 (2.0,) (0.001, 100000.0) False
    l (1.0, 3.0) (0.01, 1000.0) True
    """

    name: str
    values: tuple[float, ...]
    bounds: tuple[float, float]
    start: tuple[float, float]
    prior: Normal | Callable[[int], Normal]
    per_input: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each value."""
        if len(self.values) == 1:
            return (self.name,)
        return tuple(f"{self.name}_{a}" for a in range(1, len(self.values) + 1))

    def prior_for(self, n_inputs: int) -> Normal:
        """Return mean and standard deviation of the logarithm under the default prior."""
        return self.prior(n_inputs) if callable(self.prior) else self.prior


class Kernel(ABC):
    """A covariance function with its hyperparameters. It is immutable: :meth:`with_values` makes another one.

    A new kernel defines its ``hyperparameters``, :meth:`with_values`, :meth:`cross`, :meth:`diagonal` and
    :meth:`contract`. Everything else follows from these; override what can be computed faster.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import RBF, Constant
    >>> kernel = RBF(2.0) + Constant(0.5)
    >>> kernel.gram(np.zeros((1, 1))), kernel.with_values(np.array([1.0, 0.1, 3.0])).values.tolist()
    (array([[2.5]]), [1.0, 0.1, 3.0])
    """

    #: What functions drawn from it look like, in a word that users see.
    shape: ClassVar[str] = "other"

    #: Whether the first hyperparameter is a factor of the whole kernel.
    has_amplitude: ClassVar[bool] = False

    #: Whether :meth:`contract` looks at the values.
    needs_values: ClassVar[bool] = True

    #: How :meth:`of_column` makes up the kernel: "product" or "sum" over columns, None if nothing is known of it.
    composition: ClassVar[Literal["product", "sum"] | None] = None

    def __repr__(self) -> str:
        """Return what it is made with, numbers with four digits; parts that are left out are not shown."""
        names = (field.name for field in fields(self)) if is_dataclass(self) else ()
        return summary(self, *filter(self._is_part, names))

    def _is_part(self, name: str) -> bool:
        """Return whether a field belongs to what the kernel is, and not to the table that it is for."""
        return name != "columns" and getattr(self, name) is not None

    @property
    @abstractmethod
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The hyperparameters: first those with a single value, then those with one for each input."""

    @abstractmethod
    def with_values(self, values: Array) -> Self:
        """Return the kernel with these values, in the order of ``hyperparameters``.

        There may be one for each input where there was one for all, and vice versa.
        """

    @abstractmethod
    def cross(self, A: Array, B: Array) -> Array:
        """Return K(a_i, b_j), shape (len(A), len(B))."""

    @abstractmethod
    def diagonal(self, X: Array) -> Array:
        """Return K(x_i, x_i), shape (len(X),)."""

    @abstractmethod
    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        """Return Σ_ij G_ij ∂K(a_i, b_j)/∂log h for each hyperparameter h; ``K`` is ``cross(A, B)``.

        No array of shape (len(A), len(B), d) is made.
        """

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        """Return Σ_i g_i ∂K(x_i, x_i)/∂log h for each hyperparameter h."""
        total = np.zeros(len(self.values))
        for start in range(0, len(X), _DIAGONAL_BLOCK):
            rows = X[start : start + _DIAGONAL_BLOCK]
            total += self.contract(np.diag(g[start : start + _DIAGONAL_BLOCK]), self.cross(rows, rows), rows, rows)
        return total

    def slopes(self, X: Array, points: Array, coefficients: Array) -> Array:
        """Return the derivatives of Σ_j c_j K(x, z_j) in each input at the rows x of X, shape (len(X), d)."""
        columns = []
        for a in range(X.shape[1]):
            step = np.zeros(X.shape[1])
            step[a] = _STEP
            difference = self.cross(X + step, points) - self.cross(X - step, points)
            columns.append(difference @ coefficients / (2.0 * _STEP))
        return np.column_stack(columns)

    def of_column(self, column: int, A: Array, B: Array) -> Array:
        """Return the part of a column in K(a_i, b_j): a factor from 0 to 1, or a summand (:attr:`composition`).

        The product of all factors is K in units of K(x, x); the sum of all summands is K up to a constant.
        """
        raise NotImplementedError

    def inputs_of(self, column: int) -> Indices:
        """Return the inputs that belong to a column."""
        return np.array([column]) if self.ties is None else np.flatnonzero(np.array(self.ties) == column)

    def lengths(self, n_inputs: int) -> Array:
        """Return the distance over which K changes in each input: inducing inputs are spread in these units."""
        return np.ones(n_inputs)

    def tied(self, columns: Sequence[int]) -> Self:
        """Return the kernel for inputs of which several belong to one column: input a to ``columns[a]``, from 0.

        All inputs of a column share what otherwise each could have its own of.
        """
        if self.groups:
            raise InvalidInputError("kernel", self, "a kernel of marginwise.kernels where a column has several inputs")
        return self

    @property
    def ties(self) -> Ties | None:
        """The column of each input, None where each input is a column of its own."""
        return None

    def n_columns(self, n_inputs: int) -> int:
        """Return how many length scales so many inputs may have: one for each column."""
        return n_inputs if self.ties is None else max(self.ties) + 1

    @property
    def offset(self) -> float:
        """The part of K that is the same for every pair of points: the prior variance of a bias."""
        return 0.0

    def pruned(self) -> Kernel:
        """Return the kernel without terms that carry nothing."""
        return self

    def single_terms(self) -> tuple[Kernel, ...]:
        """Return kernels with one of its terms alone, which may suit a table as well; none if it has only one."""
        return ()

    @property
    def terms(self) -> tuple[Kernel, ...]:
        """The kernels that this one is the sum of."""
        return (self,)

    def scaled(self, factor: float) -> Self | None:
        """Return ``factor`` times the kernel, None if that is not of this form."""
        if not self.has_amplitude:
            return None
        values = self.values
        values[0] *= factor
        return self.with_values(values)

    def gram(self, X: Array) -> Array:
        """Return the symmetric matrix K(x_i, x_j), shape (n, n)."""
        return self.cross(X, X)

    def with_points(self, points: Array) -> Callable[[Array], Array]:
        """Return the function A → ``cross(A, points)``; what depends on the points alone is computed once.

        What it returns may not be written to.
        """
        return lambda A: self.cross(A, points)

    def add_to(self, K: Array, A: Array, B: Array) -> None:
        """Add K(a_i, b_j) to a matrix, in place."""
        K += self.cross(A, B)

    def peel(self, G: Array, K: Array, A: Array, B: Array) -> tuple[Array, Array]:
        """Return the contraction of this term of the sum ``K``, and the sum without it."""
        own = self.cross(A, B)
        return self.contract(G, own, A, B), np.subtract(K, own, out=own)

    def contract_anew(self, G: Array, A: Array, B: Array) -> Array:
        """Return :meth:`contract` where the values are not at hand: they are computed only if they are needed."""
        return self.contract(G, self.cross(A, B) if self.needs_values else G, A, B)

    def __add__(self, other: Kernel) -> Sum:
        from marginwise.kernels.sum import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(*self.terms, *other.terms)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the kernel from its fields, which checks them: a file may hold anything."""
        if is_dataclass(self):
            self.__init__(**state)
        else:
            self.__dict__.update(state)

    # What follows from the hyperparameters

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each value."""
        return tuple(name for h in self.hyperparameters for name in h.names)

    @property
    def values(self) -> Array:
        """The values of the hyperparameters, one after the other: searches move their logarithms."""
        return np.array([value for h in self.hyperparameters for value in h.values])

    @property
    def bounds(self) -> Array:
        """The lowest and the highest value of each, shape (2, k)."""
        return self._spread([h.bounds for h in self.hyperparameters])

    @property
    def start_ranges(self) -> Array:
        """The range of each logarithm in which random searches begin, shape (2, k)."""
        return self._spread([h.start for h in self.hyperparameters])

    @property
    def groups(self) -> tuple[Indices, ...]:
        """The places of the values of each hyperparameter that each input may have its own of."""
        ends = np.cumsum([len(h.values) for h in self.hyperparameters])
        return tuple(
            np.arange(end - len(h.values), end)
            for h, end in zip(self.hyperparameters, ends, strict=True)
            if h.per_input
        )

    @property
    def n_shared(self) -> int:
        """The number of values of hyperparameters that each input may have its own of: the last ones of all values."""
        return sum(map(len, self.groups))

    @property
    def is_isotropic(self) -> bool:
        """Whether all inputs share what each could have its own of."""
        return all(len(group) == 1 for group in self.groups)

    def for_inputs(self, n_inputs: int) -> Self:
        """Return the same kernel with one hyperparameter for each input written out."""
        self.check_inputs(n_inputs)
        values = [
            np.full(self.n_columns(n_inputs), h.values[0]) if h.per_input and len(h.values) == 1 else np.array(h.values)
            for h in self.hyperparameters
        ]
        return self.with_values(np.concatenate(values))

    def check_inputs(self, n_inputs: int) -> None:
        """Raise unless the kernel fits inputs of this many columns."""
        for h in self.hyperparameters:
            if h.per_input:
                per_input("length_scales" if h.name == "l" else h.name, h.values, n_inputs, self.ties)

    def _spread(self, pairs: list[tuple[float, float]]) -> Array:
        sizes = np.array([len(h.values) for h in self.hyperparameters], dtype=np.intp)  # there may be none
        return np.repeat(np.array(pairs).reshape(-1, 2), sizes, axis=0).T


class OfColumns(Kernel):
    """A kernel with a field for the column of each input: those of one column share what each could have its own of."""

    columns: Ties | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_ties(self.columns))

    @property
    def ties(self) -> Ties | None:
        return self.columns

    def n_columns(self, n_inputs: int) -> int:
        return n_inputs if self.columns is None else max(self.columns) + 1

    def tied(self, columns: Sequence[int]) -> Self:
        return replace(self, columns=tuple(columns))  # type: ignore[type-var]


AnyKernel = TypeVar("AnyKernel", bound=Kernel)


def from_checked(kind: type[AnyKernel], **fields: Any) -> AnyKernel:
    """Return a kernel with these fields, all of them, without another check: a search makes hundreds of kernels."""
    kernel = object.__new__(kind)
    kernel.__dict__.update(fields)
    return kernel
