"""The Gaussian of sites over a prior that is of low rank between blocks of rows and exact within them.

With K = VVᵀ + R, R = blockdiag(K - VVᵀ), a latent value is v·u + r, u ~ N(0, I), r ~ N(0, R). Given u the sites leave
each block a Gaussian of its own, with covariance Σ_R = (R⁻¹ + T)⁻¹ and M = (I + RT)⁻¹V for the influence of u; and u is
normal with precision C = I + VᵀTM and mean C⁻¹Mᵀν. So

    Σ = Σ_R + JJᵀ,   J = MΓᵀ,   C⁻¹ = ΓᵀΓ,   Γ lower triangular,   ln|I + KT| = Σ_b ln|I + R_bT_b| + ln|C|,

and with P = (I + TK)⁻¹ = I - TΣ also PᵀV = MC⁻¹ = JΓ, from which the derivatives follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, lapack

from marginwise._arrays import Array
from marginwise.covariance.blocks import BlockFunction, MemoryBlocks
from marginwise.covariance.correlations import Correlations, ImplicitCorrelations
from marginwise.covariance.cotangents import evidence_cotangent, groups_cotangent, marginals_cotangent
from marginwise.covariance.dense import DenseGaussian
from marginwise.covariance.gaussian import SiteGaussian, marginals
from marginwise.covariance.groups import BlockDiagonal, Members, same_part
from marginwise.covariance.triangles import by_triangle, symmetric, weighted_gram

if TYPE_CHECKING:
    from marginwise.covariance.features import Features
    from marginwise.covariance.local import Block, LocalCovariance, MeanWeights


#: Features that V_b v is summed over in double precision: a constant and straight lines are in the first few, may be a
#: thousand times as large as r, and would leave their rounding there.
_LEADING = 32

#: Prior variance of new rows from which squares of covariances may be too large for single precision: they, and those
#: that are predicted with them, take double precision.
_FAR = 1e20


class Part(NamedTuple):
    """A block given the sites: the Gaussian of what features leave open, Σ_R, and J; in derivatives its part of S̄."""

    block: Block
    open: DenseGaussian
    J: Array
    joint: Array | None = None


@dataclass(frozen=True, eq=False)
class LocalGaussian(SiteGaussian):
    """The Gaussian of the latent values.

    Attributes
    ----------
    prior : LocalCovariance
    parts : MemoryBlocks
        The blocks, as :class:`Part`.
    root : array of shape (m, m)
        Γ.
    """

    prior: LocalCovariance
    parts: MemoryBlocks
    root: Array

    def times_covariance(self, x: Array) -> Array:
        columns = [self.prior.to_blocks(x)]
        projected = self.prior.shared(self.parts.total(_project, columns=columns))
        return self.prior.from_blocks(self.parts.rows(_times, projected, columns=columns))

    def times_squared(self, x: Array | BlockDiagonal) -> Array:
        """Σ∘Σ is Σ_R∘(Σ_R + 2JJᵀ) within the blocks and (JJᵀ)∘(JJᵀ), whose product is diag(J(JᵀXJ)Jᵀ), X = diag(x)."""
        if isinstance(x, BlockDiagonal):
            whole, Y, H = self._with_joint(x)
            columns = [self.prior.to_blocks(Y)]
            return self.prior.from_blocks(whole.parts.rows(_joint_squared, self.prior.shared(H), columns=columns))
        x = self.prior.to_blocks(x)
        H = self._weighted(x)
        within = self._squares.rows(_product, columns=[x])
        return self.prior.from_blocks(within + self.parts.rows(_quadratic, self.prior.shared(H)))

    @cached_property
    def _squares(self) -> MemoryBlocks:
        return self.parts.keep(_squared, 0)

    def _weighted(self, x: Array) -> Array:
        """Return Jᵀdiag(x)J, x in the order of the blocks."""
        return symmetric(self.parts.total(_weighted, columns=[x]))

    def correlations(self, own: float) -> Correlations:
        return ImplicitCorrelations(self.times_covariance, self.times_squared, np.sqrt(self.variance), own)

    def full_covariance(self) -> Array:
        return self.times_covariance(np.eye(len(self.tau)))

    def coefficients(self, nu: Array) -> tuple[Array, Array]:
        """Return b = ν - τμ, and the mean of u, for other ν, or for columns of them."""
        mean = self.times_covariance(nu)
        return nu - (self.tau * mean.T).T, self._weight_mean(self.prior.to_blocks(nu))

    def _weight_mean(self, nu: Array) -> Array:
        """Return C⁻¹Mᵀν = ΓᵀJᵀν, ν in the order of the blocks."""
        return self.root.T @ self.parts.total(_project, columns=[nu])

    def group_covariances(self, members: Members) -> list[Array]:
        J = self.prior.from_blocks(self.parts.rows(_features))
        owner, place = self.prior.whereabouts(np.arange(len(self.tau)))
        stacks = []
        for rows in members:
            stack = J[rows] @ J[rows].transpose(0, 2, 1)
            for k, one, i, j in same_part(rows, owner):
                lower, own = self.parts.blocks[k].open.covariance, place[rows[one]]
                stack[one][i, j] += lower[np.maximum(own[i], own[j]), np.minimum(own[i], own[j])]
            stacks.append(stack)
        return stacks

    def moments_at(self, X_new: Array, V: Array, by: MeanWeights) -> tuple[Array, Array]:
        """Return means as :meth:`LocalCovariance.means_at` does, and the variances

            K(x, x) - |v|² - rᵀ(R + T⁻¹)⁻¹r + |Γv - Jᵀ(τ∘r)|²,   r = k_b - V_b v the open covariances with the block:

        the variance of r(x) given the block and u, and what the uncertainty of u adds. The difference of the first two
        may be much smaller than both, and is of double precision. What is taken from it is not larger than it, so that
        products of matrices are in the precision of the blocks, but for that of the leading features in r.
        """
        mean, before = np.empty((len(X_new), *by.alone.shape[1:])), self.prior.kernel.diagonal(X_new)
        variance = before - np.einsum("ij,ij->i", V, V)
        features = V if before.max(initial=0.0) > _FAR else self.prior.shared(V)
        rest = by_triangle(features, self._shared_root)
        for found in self.prior.located(X_new):
            rows, v = found.rows, V[found.rows]
            mean[rows] = found.mean(v, by)
            if found.block is not None:
                part = self.parts.blocks[found.block]
                r = found.open(v[:, :_LEADING], features[rows, _LEADING:], part.block.V)
                variance[rows] -= part.open.explained(r)
                rest[rows] -= (r * part.open.tau) @ part.J
        return mean, variance + np.einsum("ij,ij->i", rest, rest)

    @cached_property
    def _shared_root(self) -> Array:
        """Γ in the precision of the blocks."""
        return self.prior.shared(self.root)

    def variance_of_sum(self, X_new: Array, weights: Array) -> float:
        """Return the variance of Σ_i w_i f(x_i) at new rows: as in :meth:`moments_at`, with covariances."""
        rest, variance = np.zeros(self.prior.rank), 0.0
        for found in self.prior.located(X_new):
            w, rows = weights[found.rows], X_new[found.rows]
            own = w @ self.prior.features.at(rows)
            rest += own @ self.root.T
            variance += float(w @ self.prior.kernel.gram(rows) @ w - own @ own)
            if found.block is not None:
                part = self.parts.blocks[found.block]
                r = w @ found.cross - part.block.V @ own
                variance -= float(part.open.explained(r[None])[0])
                rest -= (r * part.open.tau) @ part.J
        return variance + float(rest @ rest)

    def for_new_rows(self) -> LocalGaussian:
        """Return the same without the covariances of its own rows before their labels: a quarter of the memory.

        Predictions do not need them; products with the prior and derivatives do.
        """
        parts = [_without_gram(part) for part in self.parts.blocks]
        prior = self.prior.with_blocks([part.block for part in parts])
        return replace(self, prior=prior, parts=MemoryBlocks(parts, self.parts.sizes, prior.rank))

    def contract_evidence(self, residual_bar: Array) -> Array:
        """With G = ½(bbᵀ - W) the cotangent of K: 2GV = buᵀ - TJΓ."""
        u = self._weight_mean(self.prior.to_blocks(self.nu))
        return self._contracted(_evidence, self.root, u, columns=[self.dual_mean, self.free])

    def contract_marginals(
        self, mean_bar: Array, variance_bar: Array | BlockDiagonal, residual_bar: Array, nu: Array | None = None
    ) -> Array:
        """With G = sym[pbᵀ] + PS̄Pᵀ, p = Pμ̄, S̄ = diag(σ̄²), q = Vᵀp = ΓᵀJᵀμ̄: 2GV = puᵀ + bqᵀ + 2PS̄JΓ.

        Columns of u, b, μ̄ add up.
        """
        n, nu = len(self.tau), self.nu if nu is None else nu
        nu, mean_bar = nu.reshape(n, -1), mean_bar.reshape(n, -1)
        b, u = self.coefficients(nu)
        p, q = self.coefficients(mean_bar)
        if isinstance(variance_bar, BlockDiagonal):
            return self._contracted_groups(variance_bar, u, q, p, b)
        H = self._weighted(self.prior.to_blocks(variance_bar))
        return self._contracted(_marginals, self.root, H, u, q, columns=[p, b, variance_bar])

    def _contracted_groups(self, S: BlockDiagonal, u: Array, q: Array, p: Array, b: Array) -> Array:
        """The same with blocks of groups in the place of S̄: Y = S̄J has rows in all blocks, and H = JᵀY."""
        whole, Y, H = self._with_joint(S)
        return whole._contracted(_groups, self.root, H, u, q, columns=[p, b, Y])

    def _with_joint(self, S: BlockDiagonal) -> tuple[LocalGaussian, Array, Array]:
        """Return the same with the blocks' parts of S̄, Y and H."""
        Y = S.times(self.prior.from_blocks(self.parts.rows(_features)))
        H = self.parts.total(_project, columns=[self.prior.to_blocks(Y)])
        joint = S.within(*self.prior.whereabouts(np.arange(S.n)), self.parts.sizes)
        blocks = [part._replace(joint=own) for part, own in zip(self.parts.blocks, joint, strict=True)]
        return replace(self, parts=MemoryBlocks(blocks, self.parts.sizes, self.prior.rank)), Y, H

    def _contracted(self, cotangents: BlockFunction, *shared: Array, columns: list[Array]) -> Array:
        """Return the derivatives from the cotangents that a function says of each block."""
        features = self.prior.features
        given = tuple(map(self.prior.shared, shared))
        by_rows, overlap = self.parts.total(
            _contract, features, cotangents, given, columns=[self.prior.to_blocks(column) for column in columns]
        )
        return by_rows + features.contract_inner(overlap)


def local_gaussian(prior: LocalCovariance, tau: Array, nu: Array) -> LocalGaussian | None:
    """Return the Gaussian of these sites, or None if its precision is not positive definite."""
    if not (np.isfinite(tau).all() and np.isfinite(nu).all()):
        return None
    columns = [prior.to_blocks(tau), prior.to_blocks(nu)]
    given = prior.blocks.map(_given_weights, columns=columns)
    if any(part is None for part in given):
        return None
    parts = MemoryBlocks(given, prior.blocks.sizes, prior.rank)
    C = parts.total(_capacitance)
    C[np.diag_indices_from(C)] += 1.0
    factor, failed = lapack.dpotrf(np.asfortranarray(C), lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    root, _ = lapack.dtrtri(factor, lower=1)
    parts = parts.keep(_with_root, 0, prior.shared(root))
    pull = prior.shared(parts.total(_project, columns=columns[1:]))
    mean, variance, free = (prior.from_blocks(part) for part in parts.rows(_moments, pull).T)
    if not (variance.min() > 0.0 and free.min() > 0.0):
        return None
    log_det = 2.0 * float(np.log(factor.diagonal()).sum()) + sum(part.open.log_det for part in parts.blocks)
    return LocalGaussian(
        **marginals(tau, nu, mean, variance, free), log_det=log_det, prior=prior, parts=parts, root=root
    )


def _given_weights(block: Block, tau: Array, nu: Array) -> Part | None:
    """Return the block's Gaussian given u, and M = (I - Σ_RT)V in the place of J; where 1 - τσ² cancels, β is exact."""
    gaussian = block.open.gaussian(tau, nu)
    if gaussian is None:
        return None
    sigma = gaussian.covariance
    np.fill_diagonal(sigma, 0.0)
    M = gaussian.free[:, None] * block.V
    M -= get_blas_funcs("symm", (sigma,))(1.0, sigma, (tau[:, None] * block.V).T, side=1, lower=1).T
    np.fill_diagonal(sigma, gaussian.variance)
    return Part(block, gaussian, M)


def _capacitance(part: Part) -> Array:
    """Return VᵀTM."""
    return part.block.V.T @ (part.open.tau[:, None] * part.J)


def _with_root(part: Part, root: Array) -> Part:
    """Return the part with J = MΓᵀ in the place of M."""
    return part._replace(J=by_triangle(part.J, root))


def _without_gram(part: Part) -> Part:
    """Return the part without K - VVᵀ."""
    prior = replace(part.block.open, gram=np.empty((0, 0), part.block.V.dtype))
    return part._replace(block=part.block._replace(open=prior), open=replace(part.open, prior=prior))


def _moments(part: Part, pull: Array) -> Array:
    """Return mean, variance, and 1 - τσ²."""
    own, extra = part.open, np.einsum("ij,ij->i", part.J, part.J)
    return np.column_stack([own.mean + part.J @ pull, own.variance + extra, own.free - own.tau * extra])


def _features(part: Part) -> Array:
    return part.J


def _project(part: Part, x: Array) -> Array:
    return part.J.T @ x


def _times(part: Part, projected: Array, x: Array) -> Array:
    return part.open.times_covariance(x) + part.J @ projected


def _squared(part: Part) -> Array:
    sigma = part.open.full_covariance()
    product = part.J @ part.J.T
    product *= 2.0
    product += sigma
    product *= sigma
    return product


def _product(matrix: Array, x: Array) -> Array:
    return matrix @ x


def _weighted(part: Part, x: Array) -> Array:
    return weighted_gram(part.J, x)


def _quadratic(part: Part, M: Array) -> Array:
    return np.einsum("ij,ij->i", part.J @ M, part.J)


def _with_features(part: Part) -> Array:
    """Return the lower triangle of Σ within the block, Σ_R + JJᵀ."""
    sigma = part.open.covariance
    return np.asarray(get_blas_funcs("syrk", (sigma,))(1.0, part.J.T, beta=1.0, c=sigma, trans=1, lower=1))


def _evidence(part: Part, root: Array, u: Array, b: Array, free: Array) -> tuple[Array, Array]:
    """Return the cotangent G of K within the block, and 2GV, of all of G."""
    tau, J = part.open.tau, part.J
    sigma = _with_features(part)
    return evidence_cotangent(sigma, b, tau, free), np.outer(b, u) - _times_triangle(tau[:, None] * J, root)


def _marginals(
    part: Part, root: Array, H: Array, u: Array, q: Array, p: Array, b: Array, variance_bar: Array
) -> tuple[Array, Array]:
    """Return the same. With H = JᵀS̄J of all rows, (ΣS̄Σ)_b = Σ_RS̄_bΣ_R + YJ_bᵀ + J_bYᵀ, Y = Σ_RS̄_bJ_b + ½J_bH."""
    tau, J = part.open.tau, part.J
    own = part.open.full_covariance()
    scaled = variance_bar[:, None] * J
    near, far = own @ scaled, J @ H
    square = weighted_gram(own, variance_bar)  # which is symmetric: its rows are its columns
    syr2k = get_blas_funcs("syr2k", (square,))
    syr2k(1.0, (near + 0.5 * far).T, J.T, beta=1.0, c=square, trans=1, lower=1, overwrite_c=1)
    G = marginals_cotangent(square, _with_features(part), tau, b, p, variance_bar)
    return G, p @ u.T + b @ q.T + _times_triangle(2.0 * (scaled - tau[:, None] * (near + far)), root)


def _joint_squared(part: Part, H: Array, Y: Array) -> Array:
    """Return the diagonal of ΣS̄Σ = Σ_RS̄_bΣ_R + Σ_RYJᵀ + JYᵀΣ_R + JHJᵀ."""
    assert part.joint is not None
    own, J = part.open.full_covariance(), part.J
    left = own @ part.joint.astype(own.dtype, copy=False)
    return np.einsum("ij,ij->i", left, own) + np.einsum("ij,ij->i", 2.0 * own @ Y + J @ H, J)


def _groups(part: Part, root: Array, H: Array, u: Array, q: Array, p: Array, b: Array, Y: Array) -> tuple[Array, Array]:
    """Return the same for S̄ with blocks of groups, Y = S̄J. With Z = PY and M = (S̄Pᵀ)_b, (PS̄Pᵀ)_b is

    M - T(Σ_RM + J_bZ_bᵀ), because JᵀS̄Pᵀ = Zᵀ; and PS̄PᵀV = ZΓ.
    """
    assert part.joint is not None
    tau, J, own = part.open.tau[:, None], part.J, part.open.full_covariance()
    joint = part.joint.astype(own.dtype, copy=False)
    Z = Y - tau * (own @ Y + J @ H)
    M = joint - (joint @ own + Y @ J.T) * part.open.tau
    G = groups_cotangent(M - tau * (own @ M + J @ Z.T), b, p)
    return G, p @ u.T + b @ q.T + _times_triangle(2.0 * Z, root)


def _times_triangle(rows: Array, root: Array) -> Array:
    """Return rows times a lower triangle, which is overwritten: the rows are."""
    return get_blas_funcs("trmm", (root,))(1.0, root, rows.T, lower=1, trans_a=1, overwrite_b=1).T


def _contract(
    part: Part, features: Features, cotangents: BlockFunction, shared: tuple[Array, ...], *columns: Array
) -> tuple[Array, Array]:
    """Return the part of the derivatives that goes through this block and K_nm, and V̄ᵀV.

    The cotangent of K_b is that of K within the block, and V has the rest: V̄ = 2(G - blockdiag G)V.
    """
    X, V, _ = part.block
    G, V_bar = cotangents(part, *shared, *columns)
    # From here on in double precision: what goes through the block's own values and through features nearly cancels,
    # and the inverse of K_mm magnifies rounding.
    G, V, V_bar = (matrix.astype(float, copy=False) for matrix in (G, V, V_bar))
    V_bar -= 2.0 * G @ V
    by_rows, overlap = features.contract(X, V, V_bar)
    return by_rows + features.kernel.contract_anew(G, X, X), overlap
