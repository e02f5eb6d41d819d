"""A Gram matrix in memory, and the Gaussian of sites over it.

With B = I + T^½KT^½ = LLᵀ (Rasmussen & Williams 2006, eq. 3.26), Σ_ij = -(B⁻¹)_ij/√(τ_iτ_j) off the diagonal and
1 - τ_iΣ_ii = (B⁻¹)_ii: the whole covariance comes from one Cholesky factor and its inverse, without cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, solve

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.jit import compiled_vector
from marginwise._runtime.memory import keep_freed_blocks
from marginwise.covariance.base import ExpandingCovariance, RowCovariance, SiteCovariance
from marginwise.covariance.correlations import Correlations, DenseCorrelations
from marginwise.covariance.cotangents import evidence_cotangent, groups_cotangent, marginals_cotangent
from marginwise.covariance.gaussian import ExpandingGaussian, marginals
from marginwise.covariance.groups import BlockDiagonal, Members
from marginwise.covariance.rows import add_rows_and_sizes, principal_block
from marginwise.covariance.triangles import QuadraticForm, inverse_triangle, mirrored, scaled, weighted_gram
from marginwise.kernels.base import Kernel
from marginwise.kernels.precomputed import Precomputed

keep_freed_blocks()

#: Smallest precision that enters B: its square root divides, and its effect on the rest is far below rounding.
_TAU_FLOOR = {"d": 1e-100, "f": 1e-30}

#: Below this share of the prior precision a site's precision is not divided by.
_WEAK = 1e-4


@dataclass(frozen=True, eq=False)
class DenseCovariance(RowCovariance, SiteCovariance, ExpandingCovariance):
    """The Gram matrix of a kernel at the rows of X, in memory, of double or single precision. Build it with :meth:`of`.

    Next to its factorisation, the products that Newton's method needs cost nothing.
    """

    gram: Array
    kernel: Kernel
    X: Array
    diagonal: Array  # K(x_i, x_i), together in memory
    is_dense = True

    @classmethod
    def of(cls, kernel: Kernel, X: Array) -> DenseCovariance:
        """Return the covariance of the rows of X."""
        gram = kernel.gram(X)
        return cls(gram, kernel, X, gram.diagonal().copy())

    @classmethod
    def of_matrix(cls, gram: Array) -> DenseCovariance:
        """Return a covariance that is given as a matrix."""
        return cls(gram, Precomputed(gram), np.arange(float(len(gram)))[:, None], gram.diagonal().copy())

    @property
    def residual(self) -> None:
        return None

    def times(self, x: Array) -> Array:
        return self.gram @ x

    def block(self, rows: Indices) -> Array:
        return self.gram if len(rows) == self.n else principal_block(self.gram, rows, self.diagonal)

    def principal(self, rows: Indices) -> DenseCovariance:
        """Return the covariance of these rows alone, ascending: this one if they are all."""
        if len(rows) == self.n:
            return self
        gram = self.gram.take(rows, axis=0).take(rows, axis=1)
        return DenseCovariance(gram, self.kernel, self.X[rows], self.diagonal[rows])

    def combine(self, rows: Indices, coefficients: Array) -> tuple[Array, Array]:
        total, size = np.zeros(self.n), np.zeros(self.n)
        add_rows_and_sizes(self.gram, rows, coefficients, total, size)
        return total, size

    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        support = np.flatnonzero(coefficients)
        return self.X[support], coefficients[support]

    def contract(self, G: Array) -> Array:
        """Return Σ_ij G_ij ∂K_ij/∂log h for each hyperparameter h of the kernel, for symmetric G."""
        return self.kernel.contract(G, self.gram, self.X, self.X)

    def contract_product(self, left: Array, right: Array, diagonal: Array | None = None) -> Array:
        """Return the derivatives of ⟨left rightᵀ + diag, K⟩, with K alone variable; columns as many as there are."""
        G = left @ right.T
        G = 0.5 * (G + G.T)
        if diagonal is not None:
            G[np.diag_indices_from(G)] += diagonal
        return self.contract(G)

    def gaussian(self, tau: Array, nu: Array) -> DenseGaussian | None:
        gram = self.gram
        if not (np.isfinite(tau).all() and np.isfinite(nu).all()):
            return None
        if tau.min() >= 0.0:
            root, factor, failed = self._rooted(tau)
            if failed:
                return None
            log_det = 2.0 * float(np.log(factor.diagonal()).sum(dtype=float))
            covariance, _ = get_lapack_funcs("lauum", (factor,))(inverse_triangle(factor), lower=1, overwrite_c=1)
            free = covariance.diagonal().copy()
            variance = np.zeros_like(root)
            _to_covariance(covariance, gram, root, 1.0 / root, variance)
        else:  # some likelihoods are not log-concave: no square root, Σ = K(I + TK)⁻¹
            mixed = tau[:, None] * gram
            mixed[np.diag_indices_from(mixed)] += 1.0
            sign, log_det = np.linalg.slogdet(mixed)
            inverse = np.linalg.inv(mixed) if sign > 0 else mixed
            free = inverse.diagonal().copy()
            covariance = np.asfortranarray(gram @ inverse)
            variance = covariance.diagonal().copy()
            if sign <= 0 or np.linalg.eigvalsh(covariance)[0] < -1e-9 * variance.max():
                return None
        if not (variance.min() > 0.0 and free.min() > 0.0):
            return None
        mean = get_blas_funcs("symv", (covariance,))(1.0, covariance, nu, lower=1)
        return DenseGaussian(
            **marginals(tau, nu, mean, variance, free), log_det=float(log_det), prior=self, covariance=covariance
        )

    def _rooted(self, tau: Array) -> tuple[Array, Array, int]:
        """Return T^½, the lower Cholesky factor of I + T^½KT^½, in Fortran order, and whether there is none."""
        root = np.sqrt(np.maximum(tau, _TAU_FLOOR[self.gram.dtype.char]))
        inner = scaled(self.gram.T, root, mirror=False)  # the same matrix, in Fortran order
        diagonal = np.einsum("ii->i", inner)  # a view
        diagonal += 1.0
        return root, *get_lapack_funcs("potrf", (inner,))(inner, lower=1, clean=0, overwrite_a=1)

    def dual_solver(self, tau: Array) -> Callable[[Array], Array]:
        """At a third of the cost of all moments."""
        if tau.min() >= 0.0:
            return self.root_solver(tau)
        mixed = np.eye(len(tau)) + tau[:, None] * self.gram
        return lambda nu: solve(mixed, nu, check_finite=False)

    def root_solver(self, tau: Array) -> RootSolver:
        """Return the same for τ that are not negative, which has square roots as well."""
        root, factor, _ = self._rooted(tau)
        return RootSolver(self.gram, root[:, None], factor, (tau * self.diagonal < _WEAK)[:, None])


@dataclass(frozen=True, eq=False)
class RootSolver:
    """From ν to b = (I + TK)⁻¹ν, with the lower Cholesky factor L of B = I + T^½KT^½; ``root`` is T^½.

    ``is_weak`` are the rows whose τ is too small to be divided by.
    """

    gram: Array
    root: Array
    factor: Array
    is_weak: Mask

    def __call__(self, nu: Array) -> Array:
        """Return b = T^½B⁻¹T^-½ν, or ν - T^½B⁻¹T^½Kν where τ is weak."""
        columns = nu.reshape(len(self.root), -1)
        weak = np.where(self.is_weak, columns, 0.0)
        right = (columns - weak) / self.root
        if self.is_weak.any():
            right -= self.root * (self.gram @ weak)
        solution, _ = get_lapack_funcs("potrs", (self.factor,))(self.factor, right, lower=1, overwrite_b=1)
        return (weak + self.root * solution).reshape(nu.shape)

    def half(self, V: Array) -> Array:
        """Return H = L⁻¹T^½V, with HᵀH = VᵀT(I + KT)⁻¹V."""
        trsm = get_blas_funcs("trsm", (self.factor,))
        return trsm(1.0, self.factor, (self.root * V).T, side=1, lower=1, trans_a=1, overwrite_b=1).T

    def other_half(self, h: Array) -> Array:
        """Return T^½L⁻ᵀh for a vector or columns: of h = Hu it is (I + TK)⁻¹TVu."""
        columns = h.reshape(len(self.root), -1)
        trsm = get_blas_funcs("trsm", (self.factor,))
        return np.reshape(self.root * trsm(1.0, self.factor, columns, lower=1, trans_a=1), h.shape)


@dataclass(frozen=True, eq=False)
class DenseGaussian(ExpandingGaussian):
    """The Gaussian with ``covariance`` in memory: only the lower triangle is filled, in Fortran order."""

    prior: DenseCovariance
    covariance: Array

    def times_covariance(self, x: Array) -> Array:
        product = get_blas_funcs("symv" if x.ndim == 1 else "symm", (self.covariance,))
        return np.asarray(product(1.0, self.covariance, x, lower=1))

    def times_squared(self, x: Array | BlockDiagonal) -> Array:
        sigma = self.full_covariance()
        if isinstance(x, BlockDiagonal):
            return np.einsum("ij,ij->j", sigma, x.times(sigma))
        return np.square(sigma, out=sigma) @ x

    def coefficients(self, nu: Array) -> Array:
        return nu - (self.tau * self.times_covariance(nu).T).T

    def correlations(self, own: float) -> Correlations:
        return DenseCorrelations.of(self.covariance, np.sqrt(self.variance), own)

    def full_covariance(self) -> Array:
        return mirrored(self.covariance)

    def group_covariances(self, members: Members) -> list[Array]:
        lower = self.covariance
        pairs = ((rows[:, :, None], rows[:, None]) for rows in members)
        return [lower[np.maximum(i, j), np.minimum(i, j)] for i, j in pairs]

    @property
    def points(self) -> Array:
        return self.prior.X

    def predictor(self) -> tuple[Array, Array]:
        """Return b = K⁻¹μ and W (Rasmussen & Williams 2006, eqs. 3.60, 3.61)."""
        return self.dual_mean, self.precision_gain()

    def precision_gain(self) -> Array:
        """Return W = (K + T⁻¹)⁻¹ = T - TΣT."""
        W = self.full_covariance()
        W *= self.tau
        W *= -self.tau[:, None]
        np.fill_diagonal(W, self.tau * self.free)
        return W

    @cached_property
    def explained(self) -> QuadraticForm:
        """The form of W, in the precision of Σ: what the rows explain of the variance at new points."""
        return QuadraticForm.of(self.precision_gain()).astype(self.covariance.dtype)

    def contract_evidence(self, residual_bar: Array) -> Array:
        return self.prior.contract(evidence_cotangent(self.covariance, self.dual_mean, self.tau, self.free))

    def contract_marginals(
        self, mean_bar: Array, variance_bar: Array | BlockDiagonal, residual_bar: Array, nu: Array | None = None
    ) -> Array:
        b = self.dual_mean if nu is None else self.coefficients(nu)
        sigma = self.full_covariance().T  # symmetric, with its rows together in memory
        tau = self.tau if mean_bar.ndim == 1 else self.tau[:, None]
        pulled = mean_bar - tau * (sigma @ mean_bar)
        if isinstance(variance_bar, BlockDiagonal):
            half = sigma * -self.tau
            half[np.diag_indices_from(half)] += 1.0
            half = variance_bar.times(half)
            return self.prior.contract(groups_cotangent(half - self.tau[:, None] * (sigma @ half), b, pulled))
        square = weighted_gram(sigma, variance_bar)  # Σ diag(σ̄²) Σ
        return self.prior.contract(marginals_cotangent(square, sigma, self.tau, b, pulled, variance_bar))


@compiled_vector
def _to_covariance(inverse: Array, gram: Array, root: Array, inverse_root: Array, variance: Array) -> None:
    """Turn the lower triangle of B⁻¹ into that of Σ, and add its diagonal to ``variance``, which holds zeros.

    (1 - β)/τ cancels where τ is small, and there Σ = T^-½B⁻¹T^½K serves.
    """
    n = len(root)
    for j in range(n):
        scale = -inverse_root[j]
        down = 0.0
        for i in range(j + 1, n):
            product = inverse[i, j] * gram[j, i]
            down += product * root[i]
            variance[i] += product * root[j]
            inverse[i, j] *= scale * inverse_root[i]
        variance[j] += down
    for i in range(n):
        tau, free = root[i] * root[i], inverse[i, i]
        exact = tau * gram[i, i] > 1.0
        variance[i] = (1.0 - free) / tau if exact else variance[i] * inverse_root[i] + free * gram[i, i]
        inverse[i, i] = variance[i]
