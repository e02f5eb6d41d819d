"""Sparse features of the additive Laplacian: a few non-zeros for each row and column, whatever the number of rows.

The Laplacian of one input is the covariance of a Markov process (Ornstein & Uhlenbeck). Given its values f at knots
t_1 < t_2 < …, the value at x depends on those at the two knots around it alone, and the precision of f is tridiagonal.
So with B the conditional means and Q the precision (Rasmussen & Williams 2006, appendix B.2.1),

    K(x, x') ≈ B(x) Q⁻¹ B(x')ᵀ,    B(x) = [sinh((t_{k+1} - x)/λ), sinh((x - t_k)/λ)]/sinh((t_{k+1} - t_k)/λ)

is exact for pairs of rows with a knot between them or at one of them. What the knots leave open of K(x, x) is known,
too. A column of several inputs has some of its rows as knots, all of them if they are few, as the values of a category
are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.sparse.linalg import spsolve_triangular

from marginwise._arrays import Array, Indices
from marginwise.errors import InvalidInputError
from marginwise.kernels.additive import AdditiveLaplacian
from marginwise.kernels.base import Ties, check_tied

#: Conditional means below this are rounding errors: that knot is screened off by nearer ones.
_SCREENED = 1e-12

#: Rows whose conditional means are computed at a time in columns of several inputs.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Knots:
    """Where the functions of the columns are represented. Build it with :meth:`of`; no hyperparameter is needed.

    Attributes
    ----------
    points : tuple of arrays of shape (number of knots, inputs of the column)
        The knots of each column; those of a single input are ascending.
    inputs : tuple of arrays of int
        The inputs of each column.
    ties : tuple of int or None
        The column of each input, None where each input is a column of its own.
    """

    points: tuple[Array, ...]
    inputs: tuple[Indices, ...]
    ties: Ties | None

    @classmethod
    def of(cls, X: Array, ties: Ties | None = None, n_knots: int = 128) -> Knots:
        """Return at most ``n_knots`` knots for each input of X, its extreme values among them."""
        if n_knots < 2:
            raise InvalidInputError("n_knots", n_knots, "2 or more")
        check_tied(X.shape[1], ties)
        columns = np.arange(X.shape[1]) if ties is None else np.array(ties)
        inputs = tuple(np.flatnonzero(columns == c) for c in range(columns.max() + 1))
        return cls(tuple(_knots(X[:, own], n_knots) for own in inputs), inputs, ties)


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """K ≈ B Q⁻¹ Bᵀ with sparse B and Q = LLᵀ: the function is B f, and f is normal with precision Q.

    Attributes
    ----------
    B : sparse matrix of shape (n, number of knots)
        The conditional means given the values at the knots: one or two non-zeros for each row and column.
    L : sparse matrix
        The lower Cholesky factor of the precision of these values, a block for each column.
    residual : array of shape (n,)
        K(x, x) without what the knots explain.
    """

    B: sparse.csr_array
    L: sparse.csr_array
    residual: Array

    @property
    def precision(self) -> sparse.csr_array:
        """Q = LLᵀ."""
        return (self.L @ self.L.T).tocsr()

    def dense(self) -> Array:
        """Return Φ = B L⁻ᵀ, whose product ΦΦᵀ is the covariance. Dense: for tests and few rows."""
        return spsolve_triangular(self.L, self.B.T.toarray(), lower=True).T


def sparse_features(kernel: AdditiveLaplacian, X: Array, knots: Knots) -> SparseFeatures:
    """Return the sparse features of the rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import AdditiveLaplacian
    >>> from marginwise.kernels.sparse_features import Knots, sparse_features
    >>> X, kernel = np.random.default_rng(0).normal(size=(500, 3)), AdditiveLaplacian(1.0, 3.0)
    >>> features = sparse_features(kernel, X, Knots.of(X, n_knots=64))
    >>> features.B.shape, int(np.diff(features.B.indptr).max())
    ((500, 182), 6)
    >>> float(np.abs(features.dense() @ features.dense().T - kernel.gram(X)).max().round(2))
    0.03
    """
    if kernel.columns != knots.ties:
        raise InvalidInputError("knots", knots.ties, f"knots for the kernel's columns, {kernel.columns}")
    weights = kernel.column_weights(X.shape[1])
    blocks, factors, residual = [], [], np.zeros(len(X))
    for weight, points, own in zip(weights, knots.points, knots.inputs, strict=True):
        scaled, at = points / kernel.lam2, X[:, own] / kernel.lam2
        single = len(own) == 1
        means, left = _between(at[:, 0], scaled[:, 0]) if single else _conditional(at, scaled)
        blocks.append(means)
        factors.append((_chain_factor(scaled[:, 0]) if single else _dense_factor(scaled)) / np.sqrt(weight))
        residual += weight * left
    return SparseFeatures(sparse.hstack(blocks, "csr"), sparse.block_diag(factors, "csr"), residual)


def _between(x: Array, t: Array) -> tuple[sparse.csr_array, Array]:
    """Return the conditional means given the values at ascending knots, and the variances that these leave.

    With u and v the distances to the knots below and above, and h = u + v, the weights are sinh(v)/sinh(h) and
    sinh(u)/sinh(h), and 2 sinh(u) sinh(v)/sinh(h) is left. Beyond the last knot it is exp(-u), and 1 - exp(-2u).
    """
    n, k = len(x), len(t)
    upper = np.searchsorted(t, x, side="right")
    below, above = np.maximum(upper - 1, 0), np.minimum(upper, k - 1)
    u, v = np.abs(x - t[below]), np.abs(t[above] - x)
    inside = (upper > 0) & (upper < k)
    span = np.where(inside, np.expm1(-2.0 * (u + v)), -1.0)
    weight_below = np.exp(-u) * np.where(inside, np.expm1(-2.0 * v) / span, 1.0)
    weight_above = np.where(inside, np.exp(-v) * np.expm1(-2.0 * u) / span, 0.0)
    left = np.where(inside, np.expm1(-2.0 * u) * np.expm1(-2.0 * v) / -span, -np.expm1(-2.0 * u))
    rows = np.arange(n)
    entries = np.concatenate([weight_below, weight_above])
    places = (np.concatenate([rows, rows]), np.concatenate([below, above]))
    means = sparse.coo_array((entries, places), shape=(n, k)).tocsr()
    means.eliminate_zeros()
    return means, left


def _chain_factor(t: Array) -> sparse.csr_array:
    """Return the lower Cholesky factor of the precision of the process at ascending knots.

    f_k = ρ_k f_{k+1} + √(1 - ρ_k²) z_k with ρ_k = exp(-(t_{k+1} - t_k)), backwards from the last one, and z = Lᵀf.
    """
    steps = np.diff(t)
    root = np.sqrt(-np.expm1(-2.0 * steps))
    return sparse.diags_array([np.append(1.0 / root, 1.0), -np.exp(-steps) / root], offsets=[0, -1]).tocsr()


def _conditional(at: Array, points: Array) -> tuple[sparse.csr_array, Array]:
    """Return the conditional means given the values at any points, and the variances that these leave."""
    factor = cho_factor(_laplacian(points, points), lower=True)
    blocks, left = [], np.empty(len(at))
    for start in range(0, len(at), _ROWS):
        rows = slice(start, start + _ROWS)
        cross = _laplacian(at[rows], points)
        means = cho_solve(factor, cross.T).T
        left[rows] = np.maximum(1.0 - np.einsum("ij,ij->i", means, cross), 0.0)
        means[np.abs(means) < _SCREENED] = 0.0
        blocks.append(sparse.csr_array(means))
    return sparse.vstack(blocks, "csr"), left


def _dense_factor(points: Array) -> Array:
    """Return the lower Cholesky factor of the precision at any points."""
    K = _laplacian(points, points)
    return cholesky(cho_solve(cho_factor(K, lower=True), np.eye(len(K))), lower=True)


def _laplacian(A: Array, B: Array) -> Array:
    distance = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        distance += np.abs(np.subtract.outer(a, b))
    return np.exp(-distance)


def _knots(cells: Array, n_knots: int) -> Array:
    """Return knots among the rows of a column: all that differ, if they are few enough."""
    points = np.unique(cells, axis=0)
    if len(points) <= n_knots:
        return points
    if cells.shape[1] == 1:
        return _spread(cells[:, 0], n_knots)[:, None]
    # A number with an input that marks gaps: knots for the number wherever the other inputs stand, and where those at
    # other places meet its axis, so that the process at the rest of the rows is screened off from theirs.
    others, place = np.unique(cells[:, 1:], axis=0, return_inverse=True)
    groups = [cells[place == g, 0] for g in range(len(others))]
    chosen = [_spread(group, n_knots) for group in groups]
    largest = int(np.argmax([len(group) for group in groups]))
    feet = [values for g, values in enumerate(chosen) if g != largest]
    chosen[largest] = np.unique(np.concatenate([chosen[largest], *feet]))
    return np.vstack([np.column_stack([t, np.tile(rest, (len(t), 1))]) for t, rest in zip(chosen, others, strict=True)])


def _spread(values: Array, n_knots: int) -> Array:
    """Return at most so many of the values, the extreme ones included: half of them follow the rows, half the range.

    Quantiles alone leave the tails of skewed columns without a knot. A value that many rows have counts as one knot.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= n_knots:
        return distinct
    mass = np.cumsum(np.minimum(counts, len(values) / n_knots))
    by_rows = (mass - mass[0]) / (mass[-1] - mass[0])
    by_range = (distinct - distinct[0]) / (distinct[-1] - distinct[0])
    measure = 0.5 * (by_rows + by_range)
    return distinct[np.unique(np.searchsorted(measure, np.linspace(0.0, 1.0, n_knots) * measure[-1]))]
