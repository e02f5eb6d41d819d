"""What everyone asks of the covariance K of the latent values, however it is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from marginwise._arrays import Array, Indices
from marginwise.kernels.base import Kernel

if TYPE_CHECKING:
    from marginwise.covariance.gaussian import SiteGaussian


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
    single : bool
        Whether it is kept in single precision.
    """

    is_dense: bool
    single: bool = False

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
