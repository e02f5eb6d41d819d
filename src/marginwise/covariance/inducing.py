"""Where the inducing inputs lie, and how many are needed.

They are the centres that k-means finds in the scaled inputs x_a/l_a, where the kernel sees distances (Zhang, Tsang &
Kwok 2008), from the start of k-means++ (Arthur & Vassilvitskii 2007). Of random rows, pivoted Cholesky with greedy and
with random pivots, and k-means, this left the smallest residual for a given number on the two tables tried.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise._runtime.jit import compiled
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.kernels.base import Kernel

#: Mean residual at which there are enough inducing inputs: what they leave open of a latent value has then a standard
#: deviation of a seventh, where the margin is 1.
TOLERANCE = 0.02

#: The first number tried; the next is twice as large.
_FIRST = 64

#: Rows that the centres are found from, for each of them, and those that the residual is measured on.
_ROWS_EACH, _CHECKED = 20, 2000

#: Digits of the scaled inputs that count: which centre is nearest should not depend on the order of a sum, or a table
#: in several blocks would have other ones.
_DECIMALS = 8

#: Points whose distances from all centres are in memory at a time.
_AT_ONCE = 10_000

#: Rounds of Lloyd's algorithm. The residual falls by less than 2 % after the first ten.
_ROUNDS = 10


def choose_inducing(
    X: Array,
    kernel: Kernel,
    rank: int | None = None,
    *,
    tolerance: float = TOLERANCE,
    most: int = 1024,
    seed: int = 0,
) -> Array:
    """Return inducing inputs for the rows of X: ``rank`` of them, or as many as leave no more than ``tolerance``.

    Without ``rank`` the number is doubled until the mean residual of the rows is at most ``tolerance``, or the number
    is ``most``. Where X has fewer different rows, these are the inducing inputs.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    kernel : Kernel
        The kernel, whose length scales say how near two rows are.
    rank : int, optional
        Number of inducing inputs; by default as many as ``tolerance`` asks for.
    tolerance : float
        Mean variance that may be left open, in squared units of the margin.
    most : int, default=1024
        Largest number of inducing inputs.
    seed : int, default=0
        Draws the first centres.

    Returns
    -------
    array of shape (m, d)

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> choose_inducing(X, RBF(3.0, 2.0), rank=10).shape
    (10, 2)
    """
    rng = np.random.default_rng(seed)
    if rank is not None:
        return _centres(X, kernel, rank, rng)
    number = min(_FIRST, most)
    while True:
        inducing = _centres(X, kernel, number, rng)
        if number >= most or len(inducing) < number or mean_residual(X, kernel, inducing) <= tolerance:
            return inducing
        number = min(2 * number, most)


def mean_residual(X: Array, kernel: Kernel, inducing: Array) -> float:
    """Return the mean of K(x, x) - |v(x)|² over rows of X, at most a few thousand."""
    rows = X[np.linspace(0, len(X) - 1, min(len(X), _CHECKED)).astype(np.intp)]
    return float(LowRankCovariance(kernel, as_blocks(rows), inducing).residual.mean())


def _centres(X: Array, kernel: Kernel, number: int, rng: np.random.Generator) -> Array:
    """Return the centres of k-means, in the inputs as they are; fewer where there are fewer different rows."""
    scales = kernel.lengths(X.shape[1])
    some = X
    if len(X) > _ROWS_EACH * number:
        some = X[np.sort(rng.choice(len(X), _ROWS_EACH * number, replace=False))]
    points = np.round(some / scales, _DECIMALS)
    starts = _spread_out(points, rng.random(min(number, len(points))))
    centres = points[starts]
    if len(starts) < number:
        return some[starts]
    for _ in range(_ROUNDS):
        safe_point()
        nearest = _nearest(points, centres)
        counts = np.bincount(nearest, minlength=len(centres))
        sums = np.column_stack([np.bincount(nearest, column, minlength=len(centres)) for column in points.T])
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return centres * scales


def _nearest(points: Array, centres: Array) -> Indices:
    """Return the number of the nearest centre of each point, from products of matrices."""
    sizes = np.einsum("ij,ij->i", centres, centres)[:, None]
    nearest = []
    for part in np.array_split(points, -(-len(points) // _AT_ONCE)):
        products = blas.dgemm(-2.0, centres.T, part.T, trans_a=1)
        products += sizes
        nearest.append(products.argmin(axis=0))
    return np.concatenate(nearest)


@compiled
def _spread_out(points: Array, draws: Array) -> Indices:
    """Return different rows, each drawn with probability ∝ the squared distance from those drawn before."""
    n, d = points.shape
    chosen = np.empty(len(draws), dtype=np.intp)
    squared = np.full(n, np.inf)
    row = min(int(draws[0] * n), n - 1)
    for k in range(len(draws)):
        if k > 0:
            total = squared.sum()
            if total == 0.0:
                return chosen[:k]
            goal, running, row = draws[k] * total, 0.0, -1
            for i in range(n):
                running += squared[i]
                if squared[i] > 0.0:
                    row = i
                    if running > goal:
                        break
        chosen[k] = row
        for i in range(n):
            distance = 0.0
            for a in range(d):
                difference = points[i, a] - points[row, a]
                distance += difference * difference
            squared[i] = min(squared[i], distance)
    return chosen
