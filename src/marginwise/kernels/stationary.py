"""Base of kernels that are an amplitude times a function of scaled differences, which is 1 at 0."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, Self

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled
from marginwise.kernels._symmetry import mirror_lower
from marginwise.kernels.base import OfColumns
from marginwise.kernels.values import by_column, per_input, positives

#: Rows of the matrix made at a time; a block and its temporaries fit the second-level cache up to n ≈ 3000.
_BLOCK = 64


class Stationary(OfColumns):
    """K(x, x') = amplitude · exp(-Σ_a |(x_a - x'_a)/l_a|^p/p). The amplitude comes first among the fields."""

    has_amplitude: ClassVar[bool] = True
    composition: ClassVar[Literal["product"]] = "product"

    #: p, 1 or 2.
    exponent: ClassVar[int]

    length_scales: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length_scales", positives("length_scales", self.length_scales))

    @property
    @abstractmethod
    def amplitude(self) -> float:
        """K(x, x)."""

    @property
    def n_shared(self) -> int:
        return len(self.length_scales)

    def with_values(self, values: Array) -> Self:
        scales = np.asarray(values[1:], dtype=float)
        return type(self)(float(values[0]), scales, self.columns)  # type: ignore[call-arg]

    def of_column(self, column: int, A: Array, B: Array) -> Array:
        inputs = self.inputs_of(column)
        scales = self.lengths(A.shape[1])[inputs]
        centre = B[:1, inputs]  # taking it off first is exact where dividing first would round
        return exponentials((A[:, inputs] - centre) / scales, (B[:, inputs] - centre) / scales, self.exponent, 1.0)

    def diagonal(self, X: Array) -> Array:
        return np.full(len(X), self.amplitude)

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        gradient = np.zeros(1 + self.n_shared)
        gradient[0] = self.amplitude * g.sum()
        return gradient

    def lengths(self, n_inputs: int) -> Array:
        return per_input("length_scales", self.length_scales, n_inputs, self.columns)

    def _by_hyperparameter(self, W: Array, by_input: Array) -> Array:
        """Return the derivatives from W = G∘K and those for the logarithm of each input's own length scale."""
        alone = self.n_shared == 1
        return np.concatenate([[W.sum()], by_input.sum(keepdims=True) if alone else by_column(by_input, self.columns)])


def exponentials(A: Array, B: Array, exponent: int, amplitude: float) -> Array:
    """Return amplitude · exp(-Σ_a |a_ia - b_ja|^p/p) for p = 1 or 2, in blocks of rows that stay in the cache.

    If B is A, what stands above the diagonal's blocks is copied.
    """
    K = exponentials_with(A, np.ascontiguousarray(B.T), exponent, amplitude, lower=B is A)
    if B is A:
        mirror_lower(K)
    return K


def exponentials_with(A: Array, columns: Array, exponent: int, amplitude: float, lower: bool = False) -> Array:
    """Return the same for the columns of B, or those of its blocks that reach below the diagonal."""
    n = columns.shape[1]
    K = np.empty((len(A), n))
    for start in range(0, len(A), _BLOCK):
        stop = start + _BLOCK
        width = min(stop, n) if lower else n
        _fill_distances(A[start:stop], columns, exponent, K[start:stop], width)
        block = K[start:stop, :width]
        block *= -1.0 / exponent
        np.exp(block, out=block)
        block *= amplitude
    return K


@compiled
def _fill_distances(A: Array, columns: Array, exponent: int, distances: Array, width: int) -> None:
    """Fill the first columns of ``distances``, this many, with Σ_a |a_ia - b_ja|^p; row a of ``columns`` is b_·a.

    Differences, input after input, rather than |a|² + |b|² - 2ab: nothing cancels, and repeated points get the same
    bits wherever they stand, which no matrix product guarantees. Up to 60 inputs it is also faster.
    """
    for i in range(len(A)):
        row = distances[i]
        row[:width] = 0.0
        for a in range(len(columns)):
            here, there = A[i, a], columns[a]
            if exponent == 1:
                for j in range(width):
                    row[j] += abs(here - there[j])
            else:
                for j in range(width):
                    difference = here - there[j]
                    row[j] += difference * difference
