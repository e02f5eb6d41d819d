"""A Gaussian that stands near the posterior: the prior times one Gaussian factor for each example.

    N(m, Σ),  Σ⁻¹ = K⁻¹ + diag(τ),  m = Σν

Site parameters τ ≥ 0, ν from expectation propagation put it close to the posterior; τ = ν = 0 is the prior. The
samplers are exact for every choice, which only decides how fast they are. K is never inverted: it is factorised with
pivots up to its numerical rank, so that repeated rows and smooth kernels need no jitter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack, solve_triangular

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

#: Directions in which the prior variance is below this fraction of the kernel's range are left out. A latent value
#: moves by less than 1e-6 of its prior standard deviation, and triangular solves keep more than half their digits.
_RANK_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class GaussianReference:
    """The Gaussian N(mean, covariance) of the sites ``tau``, ``nu``. Build it with :func:`gaussian_reference`.

    Attributes
    ----------
    tau, nu : arrays of shape (n,)
        The sites.
    mean, dual_mean : arrays of shape (n,)
        m, and b with Kb = m.
    variance : array of shape (n,)
        The diagonal of Σ.
    factor : array of shape (n, r)
        F with FFᵀ = Σ, where r is the numerical rank of K.
    covariance : array of shape (n, n) or None
        Σ, kept where it is the cheaper form of the product with Σ.
    log_normaliser : float
        ln ∫ N(θ; 0, K) exp(-½ θᵀ diag(τ) θ + νᵀθ) dθ.
    """

    tau: Array
    nu: Array
    mean: Array
    dual_mean: Array
    variance: Array
    factor: Array
    covariance: Array | None
    log_normaliser: float
    _pivots: Indices
    _cholesky: Array

    @property
    def rank(self) -> int:
        """Numerical rank of K: the number of dimensions the latent values really have."""
        return self.factor.shape[1]

    def draw(self, rng: np.random.Generator, n_draws: int) -> Array:
        """Return draws from N(0, Σ), one in each column."""
        return self.factor @ rng.standard_normal((self.rank, n_draws))

    def times_covariance(self, columns: Array, out: Array | None = None) -> Array:
        """Return Σ times these columns."""
        if self.covariance is not None:
            return np.matmul(self.covariance, columns, out=out)
        return np.matmul(self.factor, self.factor.T @ columns, out=out)

    def dual(self, centred: Array) -> Array:
        """Return b + K⁻¹x for columns x = θ - m of the range of K: the dual latent values θ̃, with Kθ̃ = θ.

        Only the pivots of K carry K⁻¹x; where K has full rank that is all of them, and θ̃ is unique.
        """
        right = np.asfortranarray(centred[self._pivots].T)  # one chain in each row: no copy inside BLAS
        for transposed in (1, 0):
            right = blas.dtrsm(
                1.0, self._cholesky, right, side=1, lower=1, trans_a=transposed, overwrite_b=1
            )
        dual = np.repeat(self.dual_mean[:, None], centred.shape[1], axis=1)
        dual[self._pivots] += right.T
        return dual


def gaussian_reference(gram: Array, tau: Array, nu: Array) -> GaussianReference:
    """Return the Gaussian with these sites."""
    n = len(gram)
    tolerance = _RANK_TOLERANCE * float(np.ptp(gram)) + 4.0 * n * np.finfo(float).eps * float(gram.max())
    packed, pivots, rank, _ = lapack.dpstrf(gram, tol=tolerance, lower=1)
    order = (pivots - 1).astype(np.intp)
    L = np.empty((n, rank))
    L[order] = np.tril(packed)[:, :rank]

    # Σ = L (I + LᵀTL)⁻¹ Lᵀ, so that F = L R⁻ᵀ with RRᵀ = I + LᵀTL.
    A = np.sqrt(tau)[:, None] * L
    R = np.linalg.cholesky(np.eye(rank) + A.T @ A)
    F = solve_triangular(R, L.T, lower=True, check_finite=False).T.copy()
    mean = F @ (F.T @ nu)
    return GaussianReference(
        tau=tau,
        nu=nu,
        mean=mean,
        dual_mean=nu - tau * mean,  # K⁻¹Σ = I - TΣ
        variance=np.einsum("ij,ij->i", F, F),
        factor=F,
        covariance=F @ F.T if 2 * rank > n else None,
        log_normaliser=float(0.5 * nu @ mean - np.log(np.diag(R)).sum()),
        _pivots=order[:rank],
        _cholesky=np.asfortranarray(np.tril(packed[:rank, :rank])),
    )
