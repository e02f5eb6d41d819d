"""Groups of rows that are left out together: symmetric matrices with one block for each group, and joint cavities.

The values of a group's rows have the joint posterior N(μ_g, Σ_gg). Without the group's own sites it is

    V = (Σ_gg⁻¹ - T_g)⁻¹ = (I - Σ_ggT_g)⁻¹Σ_gg,   m = μ_g - Vb_g,

the distribution given all other groups, exactly so for Gaussian likelihoods: with G = (K + T⁻¹)⁻¹ and targets y,
y_g - m = G_gg⁻¹(Gy)_g (Rasmussen & Williams 2006, section 5.4.2, for one row). A group of g rows costs O(g³).
Groups of equal size are treated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from marginwise._arrays import Array, Indices

if TYPE_CHECKING:
    from marginwise.covariance.gaussian import SiteGaussian

#: Entry i, j, k of a stack is the number of row k of group j among those of the i-th size.
Members = Sequence[Indices]


def members_of(groups: Indices) -> list[Indices]:
    """Return the rows of the groups, for each size a matrix with one group in each line."""
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


@dataclass(frozen=True, eq=False)
class BlockDiagonal:
    """A symmetric matrix that is zero between groups: for each size a stack of blocks."""

    members: Members
    blocks: Sequence[Array]

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return sum(rows.size for rows in self.members)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal."""
        values = np.empty(self.n)
        for rows, block in zip(self.members, self.blocks, strict=True):
            values[rows] = np.einsum("ijj->ij", block)
        return values

    def times(self, x: Array) -> Array:
        """Return the product with a vector or with columns."""
        product = np.empty_like(x, dtype=float)
        for rows, block in zip(self.members, self.blocks, strict=True):
            product[rows] = np.einsum("ijk,ik->ij", block, x[rows]) if x.ndim == 1 else block @ x[rows]
        return product

    def times_squared(self, x: Array) -> Array:
        """Return the product of the matrix of squared entries with a vector."""
        return BlockDiagonal(self.members, [block**2 for block in self.blocks]).times(x)

    def plus(self, diagonal: Array) -> BlockDiagonal:
        """Return the matrix with a diagonal added."""
        blocks = [block.copy() for block in self.blocks]
        for rows, block in zip(self.members, blocks, strict=True):
            np.einsum("ijj->ij", block)[...] += diagonal[rows]
        return BlockDiagonal(self.members, blocks)

    def within(self, owner: Indices, place: Indices, sizes: Sequence[int]) -> list[Array]:
        """Return the parts of the matrix within sets of rows, of these sizes, from each row's set and place there."""
        matrices = [np.zeros((size, size)) for size in sizes]
        for rows, block in zip(self.members, self.blocks, strict=True):
            for k, one, i, j in same_part(rows, owner):
                own = place[rows[one]]
                matrices[k][own[i], own[j]] = block[one][i, j]
        return matrices


def same_part(rows: Indices, owner: Indices) -> list[tuple[int, int, Indices, Indices]]:
    """Return for each group and each part that it has rows in: the part, the group, and the pairs of these rows."""
    found = []
    for one, parts in enumerate(owner[rows]):
        for k in np.unique(parts):
            mine = np.flatnonzero(parts == k)
            found.append((int(k), one, mine[:, None], mine[None]))
    return found


@dataclass(frozen=True, eq=False)
class GroupCavities:
    """The Gaussian of each group's values without its own sites; see the module.

    Attributes
    ----------
    covariance : BlockDiagonal
        V.
    tau : array of shape (n,)
        Precisions of the sites.
    """

    covariance: BlockDiagonal
    tau: Array

    @classmethod
    def of(cls, gaussian: SiteGaussian, groups: Indices) -> GroupCavities:
        """Return those of a Gaussian; the diagonal of I - ΣT is the one that it has, without cancellation."""
        members = members_of(groups)
        blocks = []
        for rows, sigma in zip(members, gaussian.group_covariances(members), strict=True):
            sigma = sigma.astype(float)  # blocks may be of single precision
            free = -sigma * gaussian.tau[rows][:, None]
            np.einsum("ijj->ij", free)[...] = gaussian.free[rows]
            blocks.append(np.linalg.solve(free, sigma))
        return cls(BlockDiagonal(members, [0.5 * (V + V.transpose(0, 2, 1)) for V in blocks]), gaussian.tau)

    @property
    def variance(self) -> Array:
        """The diagonal of V."""
        return self.covariance.diagonal

    def mean(self, mean: Array, dual_mean: Array) -> Array:
        """Return m = μ - Vb, of vectors or of columns."""
        return mean - self.covariance.times(dual_mean)

    def cotangents(self, mean_bar: Array, variance_bar: Array, dual_mean: Array) -> tuple[Array, BlockDiagonal]:
        """Return the cotangents of μ and of Σ at fixed sites, from those of m and of the diagonal of V.

        With A = VΣ_gg⁻¹ = I + VT: dV = A dΣ Aᵀ and dm = A dμ - dV b, so that μ̄ = Aᵀm̄ and
        Σ̄ = Aᵀ[diag(v̄) - sym(m̄bᵀ)]A; columns add up.
        """
        n = len(variance_bar)
        to_mean = _column(self.tau, mean_bar) * self.covariance.times(mean_bar) + mean_bar
        left, right = mean_bar.reshape(n, -1), dual_mean.reshape(n, -1)
        blocks = []
        for rows, V in zip(self.covariance.members, self.covariance.blocks, strict=True):
            A = V * self.tau[rows][:, None] + np.eye(rows.shape[1])
            inner = -left[rows] @ right[rows].transpose(0, 2, 1)
            inner = 0.5 * (inner + inner.transpose(0, 2, 1))
            np.einsum("ijj->ij", inner)[...] += variance_bar[rows]
            blocks.append(A.transpose(0, 2, 1) @ inner @ A)
        return to_mean, BlockDiagonal(self.covariance.members, blocks)

    def to_sites(self, mean_bar: Array, variance_bar: Array, dual_mean: Array) -> tuple[Array, Array]:
        """Return the derivatives in τ and in e = dν - μdτ at fixed Σ and μ, columns of m̄ and b being one each.

        dV = V dT V and dm = -V(dν - dT m), with μ - m = Vb: ē = -Vm̄ and τ̄ = (V∘V)v̄ - (Vm̄)∘(Vb).
        """
        pulled = self.covariance.times(mean_bar)
        shift = pulled * self.covariance.times(dual_mean)
        by_tau = self.covariance.times_squared(variance_bar) - (shift if shift.ndim == 1 else shift.sum(axis=1))
        return by_tau, -pulled


def _column(x: Array, like: Array) -> Array:
    return x if like.ndim == 1 else x[:, None]
