"""The Gram matrix as K ≈ VVᵀ + blockdiag(K - VVᵀ): exact within blocks of neighbouring rows, of low rank between them.

The features V = K_nm L⁻ᵀ of few inducing inputs carry what is far, and what they leave open is kept within each block,
where most of it is (the partially independent conditional, PIC: Snelson & Ghahramani 2007). A new row is predicted
with the block that it falls into. O(n(m² + B²)) time and O(n(m + B)) memory for n rows, m inducing inputs and blocks of
B rows; with one block the matrix is exact.

Blocks may be of single precision: half the memory, and half the time of what takes O(n(m² + B²)). What features leave
open is found in double precision, where it would cancel, and sums over blocks are, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, lapack

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import RowCovariance, SiteCovariance
from marginwise.covariance.blocks import MemoryBlocks
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.features import Features
from marginwise.covariance.local_gaussian import LocalGaussian, local_gaussian
from marginwise.covariance.partition import Partition
from marginwise.covariance.rows import add_rows_and_sizes
from marginwise.kernels.base import Kernel

#: Smallest variance that features leave open, in units of K(x, x): below, it is rounding, and may be negative.
_LEAST_OPEN = 1e-10

#: New rows of a block at a time, and rows of the matrix that are in memory at a time.
_AT_ONCE = 2048


class Block(NamedTuple):
    """Neighbouring rows, their features, and the covariance of what these leave open there."""

    X: Array
    V: Array
    open: DenseCovariance


class MeanWeights(NamedTuple):
    """What a latent mean is: k_bᵀ ``own`` + vᵀ ``features`` in a block, vᵀ ``alone`` where no block has rows."""

    alone: Array
    own: list[Array]
    features: list[Array]


class Located(NamedTuple):
    """New rows that fall into one block: their numbers, and if it has rows, the block's and K between both."""

    rows: Indices
    block: int | None
    cross: Array

    def mean(self, V: Array, by: MeanWeights) -> Array:
        """Return the latent means at these rows, V their features."""
        if self.block is None:
            return V @ by.alone
        return self.cross @ by.own[self.block] + V @ by.features[self.block]

    def open(self, leading: Array, others: Array, V: Array) -> Array:
        """Return r = k_b - V_b v, V_b the block's features; the precision of v may differ after the leading ones."""
        n = leading.shape[1]
        r = others @ V[:, n:].T
        return np.subtract(self.cross - leading @ V[:, :n].T, r, out=r, casting="same_kind")


class LocalCovariance(RowCovariance, SiteCovariance):
    """VVᵀ + blockdiag(K - VVᵀ) for the rows of a table, as a function of the hyperparameters.

    Attributes
    ----------
    kernel : Kernel
    partition : Partition
        The blocks. They are held fixed when derivatives are taken, and so are the inducing inputs.
    features : Features
        What the inducing inputs know of a row.
    blocks : MemoryBlocks
        The rows block by block, as :class:`Block`.
    order : array of shape (n,)
        The rows in this order, that of the blocks.
    dtype : dtype
        The precision of the blocks.
    """

    is_dense = False

    def __init__(
        self, kernel: Kernel, X: Array, inducing: Array, partition: Partition, *, single: bool = False
    ) -> None:
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.kernel, self.partition, self.features = kernel, partition, Features(kernel, inducing)
        self.rank = len(inducing)
        numbers = partition.assign(X)
        self.order = np.argsort(numbers, kind="stable")
        self._places = np.argsort(self.order)
        present, sizes = np.unique(numbers, return_counts=True)
        self._present: dict[int, int] = {int(number): k for k, number in enumerate(present)}
        self._ends = np.cumsum(sizes)
        parts = np.split(X[self.order], self._ends[:-1])
        rows = MemoryBlocks(parts, tuple(sizes.tolist()), X.shape[1])
        self.blocks = rows.keep(_with_residual, 0, self.features, self.dtype)
        self.diagonal = kernel.diagonal(X)

    def with_blocks(self, blocks: Sequence[Block]) -> LocalCovariance:
        """Return the same with other :class:`Block` of the same rows."""
        same = copy(self)
        same.blocks = MemoryBlocks(blocks, self.blocks.sizes, self.blocks.shape[1])
        return same

    @property
    def residual(self) -> None:
        return None

    def to_blocks(self, x: Array) -> Array:
        """Return a column, or columns, in the order and the precision of the blocks."""
        return x[self.order].astype(self.dtype, copy=False)

    def from_blocks(self, x: Array) -> Array:
        """Return what is in the order of the blocks in that of the rows."""
        return x[self._places].astype(float, copy=False)

    def shared(self, x: Array) -> Array:
        """Return what all blocks need, in their precision."""
        return x.astype(self.dtype, copy=False)

    def split(self, x: Array) -> list[Array]:
        """Return each block's part of a column, or of columns."""
        return np.split(self.to_blocks(x), self._ends[:-1])

    def times(self, x: Array) -> Array:
        columns = [self.to_blocks(x)]
        known = self.blocks.total(_project, columns=columns)
        return self.from_blocks(self.blocks.rows(_times, self.shared(known), columns=columns))

    def block(self, rows: Indices) -> Array:
        V, owners, own = self._gathered(rows)
        matrix = V @ V.T
        for k in np.unique(owners):
            mine = np.flatnonzero(owners == k)
            gram = self.blocks.blocks[k].open.gram
            matrix[np.ix_(mine, mine)] += gram[np.ix_(own[mine], own[mine])]
        return matrix

    def combine(self, rows: Indices, coefficients: Array) -> tuple[Array, Array]:
        total, size = np.zeros((2, self.n))
        starts = self._ends - self.blocks.sizes
        for begin in range(0, len(rows), _AT_ONCE):
            safe_point()
            part = slice(begin, begin + _AT_ONCE)
            V, owners, own = self._gathered(rows[part])
            for k, (start, end) in enumerate(zip(starts, self._ends, strict=True)):
                block = self.blocks.blocks[k]
                made = V @ block.V.T
                mine = np.flatnonzero(owners == k)
                made[mine] += block.open.gram[own[mine]]
                add_rows_and_sizes(made, np.arange(len(made)), coefficients[part], total[start:end], size[start:end])
        return self.from_blocks(total), self.from_blocks(size)

    def whereabouts(self, rows: Indices) -> tuple[Indices, Indices]:
        """Return the blocks that some rows are in, and their places there."""
        places = self._places[rows]
        owners = np.searchsorted(self._ends, places, side="right")
        return owners, places - (self._ends - self.blocks.sizes)[owners]

    def _gathered(self, rows: Indices) -> tuple[Array, Indices, Indices]:
        """Return the features of some rows, the blocks that they are in, and their places there."""
        owners, own = self.whereabouts(rows)
        V = np.empty((len(rows), self.rank))
        for k in np.unique(owners):
            mine = owners == k
            V[mine] = self.blocks.blocks[k].V[own[mine]]
        return V, owners, own

    def function_at(self, X_new: Array, coefficients: Array) -> Array:
        weights = self.blocks.total(_project, columns=[self.to_blocks(coefficients)])
        return self.means_at(X_new, self.features.at(X_new), self.mean_weights(coefficients, weights))

    def mean_weights(self, dual: Array, weights: Array) -> MeanWeights:
        """Return what the mean vᵀu + rᵀb is made of: with r = k_b - V_b v it is k_bᵀb + vᵀ(u - V_bᵀb).

        u are the ``weights`` of the features, b the ``dual`` of the block's own rows. So a mean takes no product of
        matrices, and is of double precision, also where V_b v is much larger than r.
        """
        own = [part.astype(float, copy=False) for part in self.split(dual)]
        pairs = zip(self.blocks.blocks, own, strict=True)
        return MeanWeights(weights, own, [weights - block.V.T @ part for block, part in pairs])

    def means_at(self, X_new: Array, V: Array, by: MeanWeights) -> Array:
        """Return the latent means at new rows with the features V."""
        means = np.empty((len(X_new), *by.alone.shape[1:]))
        for found in self.located(X_new):
            means[found.rows] = found.mean(V[found.rows], by)
        return means

    def expansions(self, dual: Array, weights: Array) -> Iterator[tuple[Indices, Array, Array, Array]]:
        """Yield the numbers and rows of each block, points and c: the means there, vᵀu + rᵀb, are Σ_j c_jK(x, z_j).

        The points are the inducing inputs and the block's rows, c = L⁻ᵀ(u - V_bᵀb) and b.
        """
        starts = self._ends - self.blocks.sizes
        for block, start, end in zip(self.blocks.blocks, starts, self._ends, strict=True):
            safe_point()
            numbers = self.order[start:end]
            yield numbers, block.X, *self._expansion(block, dual[numbers], weights)

    def expansions_at(self, X_new: Array, dual: Array, weights: Array) -> Iterator[tuple[Indices, Array, Array, Array]]:
        """Yield the same for the blocks that new rows fall into: their numbers and rows, points and c."""
        numbers = self.partition.assign(X_new)
        starts = self._ends - self.blocks.sizes
        for number in np.unique(numbers):
            safe_point()
            rows = np.flatnonzero(numbers == number)
            k = self._present.get(int(number))
            if k is None:
                yield rows, X_new[rows], self.features.inducing, self.features.dual(weights)
            else:
                own = dual[self.order[starts[k] : self._ends[k]]]
                yield rows, X_new[rows], *self._expansion(self.blocks.blocks[k], own, weights)

    def _expansion(self, block: Block, own: Array, weights: Array) -> tuple[Array, Array]:
        """Return the points of a block's function and their coefficients, from the dual of its own rows."""
        c = np.concatenate([self.features.dual(weights - block.V.T @ own), own])
        return np.concatenate([self.features.inducing, block.X]), c

    def located(self, X_new: Array) -> Iterator[Located]:
        """Yield new rows by the blocks that they fall into, not too many at a time."""
        numbers = self.partition.assign(X_new)
        order = np.argsort(numbers, kind="stable")
        present, starts = np.unique(numbers[order], return_index=True)
        for number, every in zip(present, np.split(order, starts)[1:], strict=True):
            k = self._present.get(int(number))
            for start in range(0, len(every), _AT_ONCE):
                safe_point()
                rows = every[start : start + _AT_ONCE]
                if k is None:
                    yield Located(rows, None, np.empty((len(rows), 0)))
                else:
                    yield Located(rows, k, self.kernel.cross(X_new[rows], self.blocks.blocks[k].X))

    def gaussian(self, tau: Array, nu: Array) -> LocalGaussian | None:
        return local_gaussian(self, tau, nu)

    def dual_solver(self, tau: Array) -> Callable[[Array], Array]:
        """b = Pν - PTV C⁻¹ VᵀPν with P = (I + TR)⁻¹, R = blockdiag(K - VVᵀ), and C = I + VᵀPTV.

        Where no τ is negative, VᵀPTV = HᵀH and PTVu = T^½L⁻ᵀHu block by block, with L the factor of I + T^½RT^½.
        """
        solvers = self.blocks.map(_rooted if tau.min() >= 0.0 else _unrooted, columns=[self.to_blocks(tau)])
        solved = MemoryBlocks(solvers, self.blocks.sizes, self.rank)
        C = solved.total(_capacitance)
        C[np.diag_indices_from(C)] += 1.0
        factor, failed = lapack.dpotrf(C, lower=1, clean=0, overwrite_a=1)

        def dual(nu: Array) -> Array:
            if failed:
                return np.full_like(nu, np.nan)
            own = solved.rows(_solve, columns=[self.to_blocks(nu)])
            u = lapack.dpotrs(factor, self.blocks.total(_project, columns=[own]), lower=1)[0]
            return self.from_blocks(own - solved.rows(_pulled, self.shared(u.reshape(self.rank, *nu.shape[1:]))))

        return dual


class _Solver(NamedTuple):
    """P of a block, as a function, the function from u to PTVu, and the lower triangle of VᵀPTV."""

    solve: Callable[[Array], Array]
    pull: Callable[[Array], Array]
    C: Array


def _with_residual(X: Array, features: Features, dtype: np.dtype[Any]) -> Block:
    """Return a block of rows: what features leave open is exact, but for a diagonal that is positive."""
    V = features.at(X)
    gram = features.kernel.gram(X)
    least = _LEAST_OPEN * gram.diagonal()
    gram -= V @ V.T
    diagonal = np.maximum(gram.diagonal(), least)
    np.fill_diagonal(gram, diagonal)
    gram, diagonal, V = (part.astype(dtype, copy=False) for part in (gram, diagonal, V))
    return Block(X, V, DenseCovariance(gram, features.kernel, X, diagonal))


def _project(block: Block, x: Array) -> Array:
    return block.V.T @ x


def _times(block: Block, known: Array, x: Array) -> Array:
    return block.V @ known + block.open.gram @ x


def _rooted(block: Block, tau: Array) -> _Solver:
    solver = block.open.root_solver(tau)
    H = solver.half(block.V)
    return _Solver(solver, lambda u: solver.other_half(H @ u), get_blas_funcs("syrk", (H,))(1.0, H.T, lower=1))


def _unrooted(block: Block, tau: Array) -> _Solver:
    solve = block.open.dual_solver(tau)
    N = solve(tau[:, None] * block.V)
    return _Solver(solve, lambda u: N @ u, np.asfortranarray(block.V.T @ N))


def _capacitance(solver: _Solver) -> Array:
    return solver.C


def _solve(solver: _Solver, x: Array) -> Array:
    return solver.solve(x)


def _pulled(solver: _Solver, u: Array) -> Array:
    return solver.pull(u)
