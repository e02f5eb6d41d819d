"""Kernels from elsewhere: those of ``sklearn.gaussian_process.kernels``, and functions K(A, B).

scikit-learn is not imported: its kernels are known by what they can do. They have gradients for K(X, X) alone, as an
array of n × n × p; where that is large, or two sets of points are given, derivatives in the logarithms are central
differences,

    ∂K/∂log h ≈ [K(h e^ε) - K(h e^-ε)]/2ε,

with an error of order ε² ≈ 1e-9 of K. They take two kernel matrices for each hyperparameter.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError
from marginwise.kernels.base import Hyperparameter, Kernel
from marginwise.kernels.constant import Constant
from marginwise.kernels.values import LARGEST, positive

#: ε: the error of the difference, ε²/6, and that of rounding, 1e-16/ε, are both about 1e-11 near 1e-5.
_STEP = 1e-5

#: Numbers up to which scikit-learn's own gradient is taken.
_LARGEST_GRADIENT = 2**24

#: Standard deviation of a logarithm under the default prior: a factor of 4.5 up or down.
_PRIOR_SD = 1.5

#: Rows of a diagonal at a time, where a function gives matrices only.
_BLOCK = 64


@dataclass(frozen=True, eq=False, repr=False)
class GPKernel(Kernel):
    """A kernel of ``sklearn.gaussian_process.kernels``, or one with the same interface.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Its free hyperparameters are tuned within its bounds, and fixed ones are kept. The default prior is centred at
        the given values.
    centre : tuple of float, optional
        The logarithms at which the prior is centred, by default those of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from marginwise.kernels import GPKernel
    >>> GPKernel(Matern(length_scale=2.0, nu=1.5)).names
    ('length-scale',)
    """

    kernel: Any
    centre: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not is_gp_kernel(self.kernel):
            raise InvalidInputError("kernel", self.kernel, "a kernel of sklearn.gaussian_process.kernels")
        parts = [self.kernel, *self.kernel.get_params().values()]
        if any(type(part).__name__ == "WhiteKernel" for part in parts):
            found = Finding("has a WhiteKernel")
            raise InvalidInputError("kernel", found, "one without it: noise of the labels belongs to the likelihood")
        if self.centre is None:
            object.__setattr__(self, "centre", tuple(np.asarray(self.kernel.theta, dtype=float).tolist()))

    def __repr__(self) -> str:
        return f"GPKernel({self.kernel})"

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        found, start = [], 0
        for h in self.kernel.hyperparameters:
            if h.fixed:
                continue
            end = start + h.n_elements
            values = np.exp(self.kernel.theta[start:end])
            low, high = (float(f(limits)) for f, limits in zip((np.min, np.max), np.transpose(h.bounds), strict=True))
            centre = float(np.mean(np.asarray(self.centre)[start:end]))
            found.append(
                Hyperparameter(
                    h.name.replace("__", "-").replace("_", "-"),
                    tuple(values.tolist()),
                    (max(low, 1.0 / LARGEST), min(high, LARGEST)),
                    (max(centre - 1.0, math.log(low)), min(centre + 1.0, math.log(high))),
                    (centre, _PRIOR_SD),
                )
            )
            start = end
        return tuple(found)

    def with_values(self, values: Array) -> Self:
        return type(self)(self.kernel.clone_with_theta(np.log(np.asarray(values, dtype=float))), self.centre)

    def cross(self, A: Array, B: Array) -> Array:
        return np.asarray(self.kernel(A, B), dtype=float)

    def diagonal(self, X: Array) -> Array:
        return np.asarray(self.kernel.diag(X), dtype=float)

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        n_values = len(self.kernel.theta)
        if B is A and n_values * A.shape[0] ** 2 <= _LARGEST_GRADIENT:
            return np.einsum("ij,ijp->p", G, self.kernel(A, eval_gradient=True)[1])
        return self._by_differences(lambda kernel: float(np.vdot(G, kernel(A, B))))

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return self._by_differences(lambda kernel: float(g @ kernel.diag(X)))

    def _by_differences(self, value: Callable[[Any], float]) -> Array:
        """Return the derivatives of a number in the logarithms of the hyperparameters."""
        _tell_of_differences()
        derivatives = []
        for step in _STEP * np.eye(len(self.kernel.theta)):
            up, down = (value(self.kernel.clone_with_theta(self.kernel.theta + sign * step)) for sign in (1.0, -1.0))
            derivatives.append((up - down) / (2.0 * _STEP))
        return np.array(derivatives)


@dataclass(frozen=True, eq=False, repr=False)
class FunctionKernel(Kernel):
    """K(A, B) = k · function(A, B), for any function of two sets of points that returns a covariance matrix.

    Parameters
    ----------
    function : callable
        Takes two arrays of shapes (n, d) and (m, d) and returns one of shape (n, m), as for scikit-learn's ``SVC``.
    k : float
        Its amplitude, which is tuned.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import polynomial_kernel
    >>> from marginwise.kernels import FunctionKernel
    >>> FunctionKernel(polynomial_kernel, k=2.0).diagonal(np.zeros((1, 3)))
    array([2.])
    """

    has_amplitude: ClassVar[bool] = True

    function: Callable[[Array, Array], Any]
    k: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidInputError("function", self.function, "a function of two arrays of points")
        object.__setattr__(self, "k", positive("k", self.k))

    def __repr__(self) -> str:
        return f"FunctionKernel({getattr(self.function, '__name__', self.function)}, k={self.k:.4g})"

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return (Hyperparameter("k", (self.k,), (1e-5, 1e5), (-1.0, 1.0), (0.0, _PRIOR_SD)),)

    def with_values(self, values: Array) -> Self:
        return type(self)(self.function, float(values[0]))

    def cross(self, A: Array, B: Array) -> Array:
        K = np.asarray(self.function(A, B), dtype=float)
        if K.shape != (len(A), len(B)):
            found = Finding(f"returned an array of shape {K.shape}")
            raise InvalidInputError("kernel", found, f"({len(A)}, {len(B)}): a row for each of the first points")
        return self.k * K

    def diagonal(self, X: Array) -> Array:
        blocks = [X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK)]
        return np.concatenate([np.diag(self.cross(rows, rows)) for rows in blocks])

    def contract(self, G: Array, K: Array, A: Array, B: Array) -> Array:
        return np.array([np.vdot(G, K)])

    def contract_diagonal(self, g: Array, X: Array) -> Array:
        return np.array([g @ self.diagonal(X)])


def as_kernel(kernel: Any) -> Any:
    """Return a kernel from elsewhere as one of ours, plus a constant for the bias; anything else as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if is_gp_kernel(kernel):
        return GPKernel(kernel) + Constant()
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel) + Constant()
    return kernel


def is_gp_kernel(kernel: Any) -> bool:
    """Return whether this can do what kernels of scikit-learn's Gaussian processes can."""
    needed = ("theta", "hyperparameters", "clone_with_theta", "diag", "get_params")
    return callable(kernel) and not isinstance(kernel, type | Kernel) and all(hasattr(kernel, name) for name in needed)


@cache
def _tell_of_differences() -> None:
    """Tell users once in a process, through the logger ``marginwise``."""
    logging.getLogger("marginwise").warning(
        "GP kernels of scikit-learn have gradients for K(X, X) only: others are taken by differences"
    )
