"""The ARD radial basis function kernel, eq. (rbf) of Gold & Sollich (2003), and its derivatives.

    K(x, x') = k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²] + koff
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise.hyperparameters import Hyperparameters

Array = npt.NDArray[np.float64]

#: Below this fraction of |a|² + |b|² the product form of |a-b|² has lost half its digits; differences are taken.
_NEAR = 1e-8

#: Rows of the Gram matrix made at a time; a block and its temporaries fit the second-level cache up to n ≈ 3000.
_BLOCK = 64

#: Numbers held at a time while distances of near pairs are taken by differences (8 MB).
_DIFFERENCES = 2**20


def gram(X: Array, hyperparameters: Hyperparameters) -> Array:
    """Return the symmetric matrix K(x_i, x_j), shape (n, n)."""
    scaled = _scaled(X, hyperparameters)
    K = _kernel(scaled, scaled, hyperparameters)
    np.fill_diagonal(K, hyperparameters.k0 + hyperparameters.koff)
    return K


def cross_gram(A: Array, B: Array, hyperparameters: Hyperparameters) -> Array:
    """Return K(a_i, b_j), shape (len(A), len(B))."""
    return _kernel(_scaled(A, hyperparameters), _scaled(B, hyperparameters), hyperparameters)


def diagonal(n: int, hyperparameters: Hyperparameters) -> Array:
    """Return K(x_i, x_i), the same for every point."""
    return np.full(n, hyperparameters.k0 + hyperparameters.koff)


def contract(G: Array, K: Array, X: Array, hyperparameters: Hyperparameters) -> Array:
    """Return Σ_ij G_ij ∂K_ij/∂log h for each hyperparameter h, in the order of ``to_vector`` (0 for C).

    ``G`` is symmetric and ``K`` the Gram matrix of ``X`` (or both are the same principal block, with the rows of
    ``X`` that belong to it). With W = G∘(K - koff) and w = W1 the derivative for log l_a is
    [2 Σ_i w_i x_ia² - 2 Σ_i x_ia (WX)_ia]/l_a²: O(n²d) time in one matrix product, O(n²) memory.
    """
    W = G * (K - hyperparameters.koff)
    # Distances do not change with the origin; small coordinates keep the difference of the two sums exact.
    scaled = _scaled(X - X.mean(axis=0), hyperparameters)
    by_input = 2.0 * (W.sum(axis=1) @ scaled**2 - np.einsum("ia,ia->a", scaled, W @ scaled))
    if hyperparameters.is_isotropic:
        by_input = by_input.sum(keepdims=True)
    return np.concatenate([[0.0, W.sum(), hyperparameters.koff * G.sum()], by_input])


def _scaled(X: Array, hyperparameters: Hyperparameters) -> Array:
    return X / hyperparameters.scales_for(X.shape[1])


def _kernel(A: Array, B: Array, hyperparameters: Hyperparameters) -> Array:
    """Return k0 exp(-½|a_i - b_j|²) + koff for scaled inputs, in blocks of rows that stay in the cache.

    |a - b|² comes from one matrix product, and from differences for pairs so near that the product form has lost
    half its digits: repeated rows have distance exactly 0, and equal rows in the Gram matrix.
    """
    centre = A.mean(axis=0)
    A, B = A - centre, B - centre
    a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    K = np.empty((len(A), len(B)))
    for start in range(0, len(A), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = K[rows]
        np.matmul(A[rows], B.T, out=block)
        sums = a[rows, None] + b
        block *= -2.0
        block += sums
        sums *= _NEAR
        _replace_near(block, block <= sums, A[rows], B)
        block *= -0.5
        np.exp(block, out=block)
        block *= hyperparameters.k0
        block += hyperparameters.koff
    return K


def _replace_near(squared: Array, near: npt.NDArray[np.bool_], A: Array, B: Array) -> None:
    """Replace the marked entries of ``squared`` by |a_i - b_j|² from differences, a bounded number at a time."""
    i, j = np.nonzero(near)
    step = max(1, _DIFFERENCES // A.shape[1])
    for start in range(0, len(i), step):
        rows, columns = i[start : start + step], j[start : start + step]
        difference = A[rows] - B[columns]
        squared[rows, columns] = np.einsum("ij,ij->i", difference, difference)
