"""The ARD radial basis function kernel, eq. (rbf) of Gold & Sollich (2003), and its derivatives.

K(x, x') = k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²] + koff
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled
from marginwise.hyperparameters import Hyperparameters

Array = npt.NDArray[np.float64]

#: Rows of the Gram matrix made at a time; a block and its temporaries fit the second-level cache up to n ≈ 3000.
_BLOCK = 64


def gram(X: Array, hyperparameters: Hyperparameters) -> Array:
    """Return the symmetric matrix K(x_i, x_j), shape (n, n)."""
    return cross_gram(X, X, hyperparameters)


def cross_gram(A: Array, B: Array, hyperparameters: Hyperparameters) -> Array:
    """Return K(a_i, b_j), shape (len(A), len(B))."""
    centre = _centre(B)
    return _kernel(_scaled(A, centre, hyperparameters), _scaled(B, centre, hyperparameters), hyperparameters)


def diagonal(n: int, hyperparameters: Hyperparameters) -> Array:
    """Return K(x_i, x_i), the same for every point."""
    return np.full(n, hyperparameters.k0 + hyperparameters.koff)


def contract(G: Array, K: Array, X: Array, hyperparameters: Hyperparameters) -> Array:
    """Return Σ_ij G_ij ∂K_ij/∂log h for each hyperparameter h, in the order of ``to_vector`` (0 for C).

    ``G`` is symmetric and ``K`` the Gram matrix of ``X`` (or both are the same principal block, with the rows of
    ``X`` that belong to it). With W = G∘(K - koff) and w = W1 the derivative for log l_a is
    [2 Σ_i w_i x_ia² - 2 Σ_i x_ia (WX)_ia]/l_a²: O(n²d) time in one matrix product, O(n²) memory.
    """
    return contract_cross(G, K, X, X, hyperparameters)


def contract_cross(G: Array, K: Array, A: Array, B: Array, hyperparameters: Hyperparameters) -> Array:
    """Return Σ_ij G_ij ∂K(a_i, b_j)/∂log h, as :func:`contract` does, for any G and K = K(A, B)."""
    W = G * (K - hyperparameters.koff)
    centre = _centre(B)
    a, b = _scaled(A, centre, hyperparameters), _scaled(B, centre, hyperparameters)
    by_input = W.sum(axis=1) @ a**2 + W.sum(axis=0) @ b**2 - 2.0 * np.einsum("ia,ia->a", a, W @ b)
    if hyperparameters.is_isotropic:
        by_input = by_input.sum(keepdims=True)
    return np.concatenate([[0.0, W.sum(), hyperparameters.koff * G.sum()], by_input])


def _centre(X: Array) -> Array:
    """Return the mean of the rows, 0 if there are none: an origin near the points, which their distances don't see."""
    return X.sum(axis=0) / max(1, len(X))


def _scaled(X: Array, centre: Array, hyperparameters: Hyperparameters) -> Array:
    """Return (x_a - centre_a)/l_a. Taking the centre off first is exact where dividing first would round."""
    return (X - centre) / hyperparameters.scales_for(X.shape[1])


def _kernel(A: Array, B: Array, hyperparameters: Hyperparameters) -> Array:
    """Return k0 exp(-½|a_i - b_j|²) + koff for scaled inputs, in blocks of rows that stay in the cache."""
    columns = np.ascontiguousarray(B.T)
    K = np.empty((len(A), len(B)))
    for start in range(0, len(A), _BLOCK):
        block = K[start : start + _BLOCK]
        _squared_distances(A[start : start + _BLOCK], columns, block)
        block *= -0.5
        np.exp(block, out=block)
        block *= hyperparameters.k0
        block += hyperparameters.koff
    return K


@compiled
def _squared_distances(A: Array, columns: Array, squared: Array) -> None:
    """Fill ``squared`` with |a_i - b_j|², where ``columns`` holds one input of all b_j in each row.

    Differences, input after input, rather than |a|² + |b|² - 2ab: nothing cancels, and repeated points get the same
    bits wherever they stand, which no matrix product promises. Up to 60 inputs it is the faster way, too.
    """
    for i in range(len(A)):
        row = squared[i]
        row[:] = 0.0
        for a in range(len(columns)):
            here, there = A[i, a], columns[a]
            for j in range(len(row)):
                difference = here - there[j]
                row[j] += difference * difference
