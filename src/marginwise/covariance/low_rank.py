"""The Gram matrix as K ≈ VVᵀ + diag(residual), made of the rows' covariances with few inducing inputs.

V = K_nm L⁻ᵀ with LLᵀ = K_mm, so that VVᵀ = K_nm K_mm⁻¹ K_mn (Nyström); the residual makes the diagonal exact (the
fully independent training conditional, FITC: Snelson & Ghahramani 2006; Quiñonero-Candela & Rasmussen 2005). Nothing
larger than n×m is ever made, and V only in blocks of rows.

V may be kept in single precision: half the memory, and half the time of the two products that take O(nm²),
Vᵀdiag(x)V and the variances, which are then made in single precision, too. Sums over blocks and everything else are
of double precision, so that what is computed is the model whose features are rounded by a part in 10⁷.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from marginwise._arrays import Array, Indices, Mask
from marginwise.covariance.base import ExpandingCovariance, SiteCovariance
from marginwise.covariance.blocks import Blocks
from marginwise.covariance.features import Features
from marginwise.covariance.low_rank_gaussian import LowRankGaussian, low_rank_gaussian, posterior_factor
from marginwise.covariance.triangles import symmetric, weighted_gram
from marginwise.kernels.base import Kernel


class _Block(NamedTuple):
    """Rows of the table and their features."""

    X: Array
    V: Array


class LowRankCovariance(SiteCovariance, ExpandingCovariance):
    """VVᵀ for the rows of a table, as a function of the hyperparameters; the residual goes into the likelihood's blur.

    Attributes
    ----------
    inducing : array of shape (m, d)
        The inducing inputs. They are held fixed when derivatives are taken.
    factor : array of shape (m, m)
        L, lower triangular, with LLᵀ = K_mm but for the jitter.
    single : bool
        Whether features are kept in single precision.
    prior_variance : array of shape (n,)
        K(x_i, x_i).
    diagonal : array of shape (n,)
        |v_i|².
    residual : array of shape (n,)
        K(x_i, x_i) - |v_i|², what the inducing inputs do not know of the latent value of row i; never negative.
    """

    is_dense = False

    def __init__(self, kernel: Kernel, rows: Blocks, inducing: Array, *, single: bool = False) -> None:
        self.kernel, self.inducing, self.rank, self.single = kernel, inducing, len(inducing), single
        self._features = Features(kernel, inducing)
        self.factor = self._features.factor
        self._blocks = rows.keep(_with_features, (4 if single else 8) * self.rank, self._features, single)
        self.diagonal, self.prior_variance = self._blocks.rows(_variances, kernel).T.copy()
        self._residual = np.maximum(self.prior_variance - self.diagonal, 0.0)

    @property
    def residual(self) -> Array:
        return self._residual

    def times(self, x: Array) -> Array:
        return self.expand(self.project(x))

    def block(self, rows: Indices) -> Array:
        V = self.features_of(rows)
        return V @ V.T

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        return self.inducing, self.dual(self.project(coefficients))

    def gaussian(self, tau: Array, nu: Array) -> LowRankGaussian | None:
        return low_rank_gaussian(self, tau, nu)

    def dual_solver(self, tau: Array) -> Callable[[Array], Array]:
        """ν - τ∘Vu, u the posterior mean of the weights of the features."""
        factor, _ = posterior_factor(self, tau, np.zeros_like(tau))

        def dual(nu: Array) -> Array:
            if factor is None:
                return np.full_like(nu, np.nan)
            return nu - (tau * self.expand(lapack.dpotrs(factor, self.project(nu), lower=1)[0]).T).T

        return dual

    def project(self, x: Array) -> Array:
        """Return Vᵀx for a vector or for columns."""
        return self._blocks.total(_project, columns=[x])

    def expand(self, u: Array) -> Array:
        """Return Vu for a vector or for columns."""
        return self._blocks.rows(_expand, u)

    def weighted(self, x: Array) -> Array:
        """Return Vᵀdiag(x)V."""
        return symmetric(self._blocks.total(_weighted, columns=[x]))

    def normal_equations(self, x: Array, right: Array) -> tuple[Array, Array]:
        """Return Vᵀdiag(x)V and Vᵀright in one pass over the rows."""
        lower, projected = self._blocks.total(_normal_equations, columns=[x, right])
        return symmetric(lower), projected

    def quadratic(self, M: Array) -> Array:
        """Return v_iᵀMv_i for each row."""
        return self._blocks.rows(_quadratic, M)

    def moments(self, u: Array, R: Array) -> tuple[Array, Array]:
        """Return v_iᵀu and |Rv_i|² for each row, R lower triangular in Fortran order, in one pass over the rows."""
        both = self._blocks.rows(_moments, u, R)
        return both[:, 0], both[:, 1]

    def features_of(self, rows: Indices) -> Array:
        """Return the features of a few rows, given by ascending numbers."""
        mask = np.zeros(self.n, dtype=bool)
        mask[rows] = True
        return np.concatenate(self._blocks.map(_taken, columns=[mask]))

    def features(self, X: Array) -> Array:
        """Return V for other rows."""
        return self._features.at(X)

    def dual(self, u: Array) -> Array:
        """Return L⁻ᵀu: the coefficients w with v(x)ᵀu = Σ_j w_j K(x, z_j), for a vector or for columns."""
        return self._features.dual(u)

    def contract(self, left: Array, right: Array, weights: Array, matrices: Array, residual_bar: Array) -> Array:
        """Return the derivatives in the logarithms of the hyperparameters of a function with these cotangents.

        The cotangent of v_i is V̄_i = Σ_k left_ik right_k + Σ_l weights_il M_l v_i, with left (n, k), right (k, m),
        weights (n, l), matrices (l, m, m), all symmetric; that of the residual is ``residual_bar``, and as the residual
        is K(x, x) - |v|², it adds -2 residual_bar_i v_i to V̄_i. See :meth:`Features.contract`.
        """
        by_rows, overlap = self._blocks.total(
            _contract, self._features, right, matrices, columns=[left, weights, residual_bar]
        )
        return by_rows + self._features.contract_inner(overlap) + self.contract_prior_variance(residual_bar)

    def contract_product(self, left: Array, right: Array, diagonal: Array | None = None) -> Array:
        """Return the derivatives of ⟨left rightᵀ + diag, VVᵀ + D⟩ with D the residual: V̄ = ABᵀV + BAᵀV + 2 diag V."""
        own = np.zeros(self.n) if diagonal is None else diagonal
        return self.contract(
            np.column_stack([left, right]),
            np.vstack([self.project(right).T, self.project(left).T]),
            2.0 * own[:, None],
            np.eye(self.rank)[None],
            np.einsum("ij,ij->i", left, right) + own,
        )

    @property
    def unit(self) -> float:
        """The mean prior variance."""
        return float(self.prior_variance.mean())

    def contract_prior_variance(self, g: Array) -> Array:
        """Return Σ_i g_i ∂K(x_i, x_i)/∂log h for each hyperparameter h of the kernel."""
        return self._blocks.total(_contract_diagonal, self.kernel, columns=[g])


def _with_features(X: Array, features: Features, single: bool) -> _Block:
    V = features.at(X)
    return _Block(X, V.astype(np.float32) if single else V)


def _taken(block: _Block, mask: Mask) -> Array:
    return block.V[mask]


def _project(block: _Block, x: Array) -> Array:
    return block.V.T @ x


def _expand(block: _Block, u: Array) -> Array:
    return block.V @ u


def _weighted(block: _Block, x: Array) -> Array:
    return weighted_gram(block.V, x)


def _quadratic(block: _Block, M: Array) -> Array:
    return np.einsum("ij,ij->i", block.V @ M, block.V)


def _variances(block: _Block, kernel: Kernel) -> Array:
    """Return |v_i|² and K(x_i, x_i)."""
    return np.column_stack([np.einsum("ij,ij->i", block.V, block.V, dtype=float), kernel.diagonal(block.X)])


def _contract_diagonal(block: _Block, kernel: Kernel, g: Array) -> Array:
    return kernel.contract_diagonal(g, block.X)


def _moments(block: _Block, u: Array, R: Array) -> Array:
    V = block.V
    image = blas.get_blas_funcs("trmm", (V,))(1.0, R, V.T, lower=1).T
    return np.column_stack([V @ u, np.einsum("ij,ij->i", image, image, dtype=float)])


def _normal_equations(block: _Block, x: Array, right: Array) -> tuple[Array, Array]:
    return _weighted(block, x), block.V.T @ right


def _contract(
    block: _Block,
    features: Features,
    right: Array,
    matrices: Array,
    left: Array,
    weights: Array,
    residual_bar: Array,
) -> tuple[Array, Array]:
    """Return the block's part of the derivatives through K_nm, and V̄ᵀV."""
    V = block.V
    V_bar = left @ right
    V_bar -= (2.0 * residual_bar)[:, None] * V
    for column, M in zip(weights.T, matrices, strict=True):
        V_bar += column[:, None] * (V @ M)
    return features.contract(block.X, V, V_bar)
