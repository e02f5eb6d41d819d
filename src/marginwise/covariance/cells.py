"""Features of two levels: inducing inputs for all rows, and in each cell of the inputs more of them for its rows.

    K ≈ VVᵀ + blockdiag(UUᵀ) + D,   D = diag(K - VVᵀ - UUᵀ)

V are the features of the shared inducing inputs, and U those that the inducing inputs of a cell give to what V leaves
open of its rows (the multi-resolution approximation with two levels: Katzfuss 2017, J. Am. Stat. Assoc. 112, 201).
Both come from one Cholesky factor of the Gram matrix of shared and own inducing inputs: its first columns are those of
the shared ones. A latent function is then linear in the shared weights and in those of the cell, all N(0, 1) at first,
and their precision after n rows is a sum over rows, wherever these are, with the shape of an arrow: nothing but the
shared weights couples the cells. O(nm²) time for m features of a row, whatever the number of cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.covariance.blocks import MemoryBlocks
from marginwise.covariance.features import Features
from marginwise.covariance.inducing import choose_inducing
from marginwise.covariance.partition import Partition
from marginwise.covariance.triangles import inverse_triangle, symmetric
from marginwise.kernels.base import Kernel

#: Rows that the inducing inputs of a cell are chosen from, for each of them.
ROWS_EACH = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of the inputs and the inducing inputs of each. Build it with :meth:`of`.

    Attributes
    ----------
    partition : Partition
        Its blocks are the cells.
    points : tuple of arrays of shape (number, d)
        The inducing inputs of each cell, in addition to those of all.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.covariance.cells import Cells
    >>> from marginwise.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> cells = Cells.of(X, RBF(3.0, 0.5), number=4, rank=10)
    >>> cells.partition.n_blocks, [len(points) for points in cells.points]
    (4, [10, 10, 10, 10])
    """

    partition: Partition
    points: tuple[Array, ...]

    __repr__ = summary

    @classmethod
    def of(cls, X: Array, kernel: Kernel, number: int, rank: int, seed: int = 0) -> Cells:
        """Return about so many cells with equal numbers of these rows, and ``rank`` inducing inputs in each."""
        partition = Partition.of(X, kernel.lengths(X.shape[1]), -(-len(X) // number))
        own = partition.assign(X)
        points = (choose_inducing(X[own == cell], kernel, rank, seed=seed) for cell in range(partition.n_blocks))
        return cls(partition, tuple(points))


class Part(NamedTuple):
    """Rows of one cell, by their numbers, and their features: the shared ones first."""

    cell: int
    rows: Indices
    features: Array


class CellFeatures:
    """The features of rows by cells; without cells there is one, with the shared features alone.

    Attributes
    ----------
    kernel : Kernel
    inducing : array of shape (m, d)
        The shared inducing inputs.
    cells : Cells or None
    own : tuple of Features
        Those of each cell, of the shared inducing inputs and its own.
    """

    def __init__(self, kernel: Kernel, inducing: Array, cells: Cells | None) -> None:
        self.kernel, self.inducing, self.cells = kernel, inducing, cells
        points = [inducing] if cells is None else [np.vstack([inducing, own]) for own in cells.points]
        self.own = tuple(Features(kernel, z) for z in points)

    @property
    def layout(self) -> Layout:
        """Where the weights of each cell are among all."""
        return Layout(len(self.inducing), tuple(len(one.inducing) - len(self.inducing) for one in self.own))

    def sorted_rows(self, X: Array, most: int) -> tuple[Indices, MemoryBlocks]:
        """Return an order of rows in memory in which those of a cell lie together, and blocks of at most so many."""
        numbers = np.zeros(len(X), dtype=np.intp) if self.cells is None else self.cells.partition.assign(X)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers))
        cells = np.split(X[order], ends[:-1])
        blocks = [part for own in cells if len(own) for part in np.array_split(own, -(-len(own) // most))]
        return order, MemoryBlocks(blocks, tuple(map(len, blocks)), X.shape[1])

    def cells_of(self, X: Array) -> Iterator[tuple[int, Indices]]:
        """Yield the cells that rows fall into, and the numbers of these rows."""
        if self.cells is None:
            yield 0, np.arange(len(X))
            return
        numbers = self.cells.partition.assign(X)
        for cell in np.unique(numbers):
            yield int(cell), np.flatnonzero(numbers == cell)

    def at(self, X: Array) -> Iterator[Part]:
        """Yield the features of rows."""
        for cell, rows in self.cells_of(X):
            yield Part(cell, rows, self.own[cell].at(X[rows]))


@dataclass(frozen=True)
class Layout:
    """The order of the weights: those that cells share, then those of each cell.

    Attributes
    ----------
    shared : int
        Number of the former.
    sizes : tuple of int
        Numbers of the latter.
    """

    shared: int
    sizes: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of all weights."""
        return self.shared + sum(self.sizes)

    def places(self, cell: int) -> Indices:
        """Return where the weights are that a row of a cell is linear in."""
        begin = self.shared + sum(self.sizes[:cell])
        return np.concatenate([np.arange(self.shared), np.arange(begin, begin + self.sizes[cell])])


class CellPrecision:
    """I + Σ_c F_cᵀT_cF_c, the precision of all weights, from the lower triangles of the normal matrices F_cᵀT_cF_c.

    Cells without a matrix have no rows.

    With A_c, B_c the own part and the one below the shared part, L_cL_cᵀ = A_c and D_c = L_c⁻¹B_c, the precision of the
    shared weights alone is S = I + Σ_c N_c - D_cᵀD_c, N_c the shared parts; and that of those that a cell's rows see is
    Q_c = [[S + D_cᵀD_c, B_cᵀ], [B_c, A_c]]. ``failed`` says whether one is not positive definite.
    """

    def __init__(self, layout: Layout, normals: Mapping[int, Array]) -> None:
        self.layout = layout
        m = layout.shared
        shared, self._own = np.eye(m), []
        self.failed = False
        for cell, size in enumerate(layout.sizes):
            lower = normals.get(cell)
            if lower is None:
                self._own.append((np.zeros((size, m)), np.eye(size)))
                continue
            shared += symmetric(lower[:m, :m])
            A = lower[m:, m:].copy(order="F")
            A[np.diag_indices_from(A)] += 1.0
            self._own.append((lower[m:, :m], self._factor(A) if len(A) else A))
        self._D = [_solved(L, B) for B, L in self._own]
        for D in self._D:
            shared -= D.T @ D
        self._shared, self._shared_factor = shared, self._factor(shared)

    def _factor(self, A: Array) -> Array:
        L, failed = lapack.dpotrf(np.asfortranarray(A), lower=1, clean=1)
        self.failed |= bool(failed)
        return np.asarray(L)

    def solve(self, right: Array) -> Array:
        """Return the inverse times columns, all weights in order."""
        m, layout, left = self.layout.shared, self.layout, np.empty_like(right)
        top = right[:m].copy()
        own = []
        for cell, ((_, L), D) in enumerate(zip(self._own, self._D, strict=True)):
            own.append(_solved(L, right[layout.places(cell)[m:]]))
            top -= D.T @ own[-1]
        left[:m] = lapack.dpotrs(self._shared_factor, top, lower=1)[0]
        for cell, ((_, L), D, part) in enumerate(zip(self._own, self._D, own, strict=True)):
            left[layout.places(cell)[m:]] = _solved(L, part - D @ left[:m], transposed=True)
        return left

    def root(self, cell: int) -> Array:
        """Return Γ, lower triangular with ΓᵀΓ = Q_c⁻¹, the covariance of the weights that a cell's rows see."""
        (B, L), D, m = self._own[cell], self._D[cell], self.layout.shared
        Q = np.empty((m + len(L), m + len(L)), order="F")
        Q[:m, :m] = self._shared + D.T @ D
        Q[m:, :m], Q[m:, m:] = B, L @ L.T
        return np.tril(inverse_triangle(self._factor(Q)))


def _solved(L: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return L⁻¹ or L⁻ᵀ times columns; there may be no rows."""
    if not len(right):
        return right
    return np.asarray(lapack.dtrtrs(L, right, lower=1, trans=int(transposed))[0])
