"""What everyone asks of the covariance K of the latent values, however it is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from marginwise._arrays import Array, Indices
from marginwise.covariance.gaussian import SiteGaussian
from marginwise.kernels.base import Kernel


class Covariance(ABC):
    """The prior covariance of the latent values at the rows of a table.

    Attributes
    ----------
    diagonal : array of shape (n,)
        K(x_i, x_i), or what the approximation has there.
    """

    diagonal: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.diagonal)

    @abstractmethod
    def times(self, x: Array) -> Array:
        """Return Kx for a vector or for columns."""

    @abstractmethod
    def block(self, rows: Indices) -> Array:
        """Return the rows and columns ``rows`` of K, as a matrix that is not written to."""

    @abstractmethod
    def function_at(self, X_new: Array, coefficients: Array) -> Array:
        """Return Σ_i coefficients_i K(x, x_i) at new rows x."""


class ExpandingCovariance(Covariance):
    """One whose functions are sums over one set of points, wherever they are looked at."""

    kernel: Kernel

    @abstractmethod
    def expansion(self, coefficients: Array) -> tuple[Array, Array]:
        """Return points z_j and c_j with Σ_i coefficients_i K(x, x_i) = Σ_j c_j K(x, z_j), as few as there are."""

    def function_at(self, X_new: Array, coefficients: Array) -> Array:
        points, c = self.expansion(coefficients)
        return self.kernel.cross(X_new, points) @ c


class RowCovariance(Covariance):
    """One that gives whole rows: what the working-set solver of the SVM needs."""

    @abstractmethod
    def combine(self, rows: Indices, coefficients: Array) -> tuple[Array, Array]:
        """Return Σ_k c_k K[i_k], and the sum Σ_k |c_k K[i_k]| that its rounding errors are proportional to."""


class SiteCovariance(Covariance):
    """One that Gaussian factors for each row, called sites, can be multiplied to.

    Attributes
    ----------
    residual : array of shape (n,) or None
        Variance of the latent values that K leaves out and the likelihood is blurred by; None is nothing.
    is_dense : bool
        Whether the covariances of its Gaussians are matrices in memory: then sites can be updated one at a time.
    near : float
        Residual of expectation propagation below which a step of Newton's method costs less than the updates of all
        sites that it saves.
    relaxed : float
        Error of the means below which updates of all sites are mixed with earlier ones.
    accuracy : float
        Residual below which going on would be pointless.
    """

    is_dense: bool
    near: float
    relaxed: float
    accuracy: float

    @property
    @abstractmethod
    def residual(self) -> Array | None:
        """Variance of the latent values that K leaves out."""

    @abstractmethod
    def gaussian(self, tau: Array, nu: Array) -> SiteGaussian | None:
        """Return the Gaussian of these sites, or None if its precision is not positive definite."""

    @abstractmethod
    def dual_solver(self, tau: Array) -> Callable[[Array], Array]:
        """Return the function from ν, a vector or columns, to b = K⁻¹μ = (I + TK)⁻¹ν alone: one factorisation."""

    def dual_mean(self, tau: Array, nu: Array) -> Array:
        """Return b alone."""
        return self.dual_solver(tau)(nu)
