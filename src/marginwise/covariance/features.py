"""What few inducing inputs know of a row: features v(x) with v(x)·v(x') = k(x)ᵀ K_mm⁻¹ k(x'), and their derivatives."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from marginwise._arrays import Array
from marginwise.errors import NotConvergedError
from marginwise.kernels.base import Kernel

#: Added to the diagonal of K_mm in units of K(x, x), so that inducing inputs may lie close together.
JITTER = 1e-9


class Features:
    """v(x) = L⁻¹k(x) with k(x) the covariances with the inducing inputs and LLᵀ = K_mm but for the jitter.

    Attributes
    ----------
    kernel : Kernel
    inducing : array of shape (m, d)
        The inducing inputs. They are held fixed when derivatives are taken.
    factor : array of shape (m, m)
        L, lower triangular.
    """

    def __init__(self, kernel: Kernel, inducing: Array) -> None:
        self.kernel, self.inducing = kernel, inducing
        self._inner = kernel.gram(inducing)
        shifted = self._inner.copy()
        shifted[np.diag_indices_from(shifted)] += JITTER * self._inner.diagonal()
        factor, failed = lapack.dpotrf(np.asfortranarray(shifted), lower=1, clean=1, overwrite_a=1)
        if failed:
            raise NotConvergedError(
                "the Gram matrix of the inducing inputs is singular to rounding; fewer of them, or shorter length "
                "scales, help"
            )
        self.factor: Array = factor

    def at(self, X: Array) -> Array:
        """Return V = K_nm L⁻ᵀ, the features of the rows of X."""
        cross = self.kernel.cross(X, self.inducing)
        return blas.dtrsm(1.0, self.factor, cross.T, lower=1, overwrite_b=1).T

    def dual(self, u: Array) -> Array:
        """Return L⁻ᵀu: the coefficients w with v(x)ᵀu = Σ_j w_j K(x, z_j), for a vector or for columns."""
        return blas.dtrsm(1.0, self.factor, u.reshape(len(u), -1), lower=1, trans_a=1).reshape(u.shape)

    @cached_property
    def _inverse(self) -> Array:
        return lapack.dtrtri(self.factor, lower=1)[0]

    def contract(self, X: Array, V: Array, V_bar: Array) -> tuple[Array, Array]:
        """Return the part of the derivatives that goes through K_nm at these rows, and V̄ᵀV for the rest.

        They are in the logarithms of the hyperparameters, of a function with the cotangent V̄ of V that does not depend
        on the basis, i.e. on which square root of K_mm is taken. Then with dL = ½ dK_mm L⁻ᵀ

            dV = dK_nm L⁻ᵀ - ½ V L⁻¹ dK_mm L⁻ᵀ,   K̄_nm = V̄L⁻¹,   K̄_mm = -½ L⁻ᵀ(V̄ᵀV)L⁻¹.
        """
        cross_bar = blas.dtrmm(1.0, self._inverse, V_bar.T, lower=1, trans_a=1).T
        return self.kernel.contract_anew(cross_bar, X, self.inducing), V_bar.T @ V

    def contract_inner(self, overlap: Array) -> Array:
        """Return the part that goes through K_mm, from the sum of V̄ᵀV over all rows."""
        inverse = self._inverse
        inner_bar = -0.25 * inverse.T @ (overlap + overlap.T) @ inverse
        by_inducing = self.kernel.contract(inner_bar, self._inner, self.inducing, self.inducing)
        return by_inducing + self.kernel.contract_diagonal(JITTER * inner_bar.diagonal(), self.inducing)
