"""A Gram matrix factorised with pivots up to its numerical rank: repeated rows and smooth kernels need no jitter.

With the rows in the order of the pivots, K = LLᵀ to rounding, L of shape (n, r), and its first r rows are a triangle.
A vector x in the range of K is then Kx̃ for an x̃ that is zero but at the pivots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from marginwise._arrays import Array, Indices
from marginwise.covariance.gaussian import Sites
from marginwise.inference.sampling.prior import PosteriorFactor, SampledPrior

#: Directions in which the prior variance is below this fraction of the kernel's range are left out: they move a latent
#: value by less than 1e-6 of its prior standard deviation, and triangular solves keep more than half their digits.
_RANK_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class PivotedGram(SampledPrior):
    """K ≈ LLᵀ. Build it with :func:`pivoted_gram`.

    Attributes
    ----------
    factor : array of shape (n, r)
        L, its rows in the order of the examples.
    pivots : array of int of shape (r,)
        The examples whose rows of L are the triangle, in its order.
    triangle : array of shape (r, r)
        Those rows, lower triangular, in Fortran order.
    """

    factor: Array
    pivots: Indices
    triangle: Array

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def with_sites(self, tau: Array) -> PosteriorFactor:
        """Σ = L (I + LᵀTL)⁻¹ Lᵀ, so that F = L R⁻ᵀ with RRᵀ = I + LᵀTL."""
        A = np.sqrt(tau)[:, None] * self.factor
        R = np.linalg.cholesky(np.eye(self.rank) + A.T @ A)
        F = np.ascontiguousarray(solve_triangular(R, self.factor.T, lower=True, check_finite=False).T)
        return PosteriorFactor(F, None, float(np.log(np.diag(R)).sum()))

    def solve(self, columns: Array) -> Array:
        """Zero but at the pivots."""
        right = np.asfortranarray(columns[self.pivots].T)  # one column in each row: BLAS takes it as it is
        right = blas.dtrsm(1.0, self.triangle, right, side=1, lower=1, trans_a=1, overwrite_b=1)
        right = blas.dtrsm(1.0, self.triangle, right, side=1, lower=1, overwrite_b=1)
        solved = np.zeros_like(columns)
        solved[self.pivots] = right.T
        return solved

    def sites_of_latent(self, sites: Sites) -> Sites:
        """Replace negative precisions, which EP may leave, by 0: samplers are exact for any sites."""
        return Sites(np.maximum(sites.tau, 0.0), sites.nu)

    def coefficients(self, dual: Array) -> Array:
        return dual

    def conditional_variance(self, cross: Array, prior_variance: Array) -> Array:
        known = blas.dtrsm(1.0, self.triangle, np.asfortranarray(cross[self.pivots]), lower=1, overwrite_b=1)
        return np.maximum(prior_variance - np.einsum("ij,ij->j", known, known), 0.0)


def pivoted_gram(gram: Array) -> PivotedGram:
    """Factorise a positive semidefinite matrix."""
    n = len(gram)
    tolerance = _RANK_TOLERANCE * float(np.ptp(gram)) + 4.0 * n * np.finfo(float).eps * float(gram.max())
    packed, order, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
    order = (order - 1).astype(np.intp)
    lower = np.tril(packed)[:, :rank]
    factor = np.empty((n, rank))
    factor[order] = lower
    return PivotedGram(factor, order[:rank], np.asfortranarray(lower[:rank]))
