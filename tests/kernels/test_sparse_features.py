"""Sparse features against the Gram matrix of the additive Laplacian, and their precision against its inverse."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.kernels import AdditiveLaplacian
from marginwise.kernels.sparse_features import Knots, sparse_features

KERNEL = AdditiveLaplacian(1.3, 0.8, (0.5, 1.0, 4.0))


def covariance(kernel: AdditiveLaplacian, X: np.ndarray, knots: Knots) -> np.ndarray:
    Phi = sparse_features(kernel, X, knots).dense()
    return Phi @ Phi.T


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.normal(size=n), np.exp(1.5 * rng.normal(size=n)), rng.integers(0, 5, size=n)])


def test_error_vanishes_with_the_knots(rng: np.random.Generator) -> None:
    X = skewed(rng, 300)
    K = KERNEL.gram(X)
    errors = [np.abs(covariance(KERNEL, X, Knots.of(X, n_knots=m)) - K).max() for m in (8, 32, 128, 300)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.2 * errors[0]
    assert errors[3] < 1e-12  # all rows are knots


def test_exact_but_for_rows_between_the_same_knots(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 1))
    kernel = AdditiveLaplacian(1.3, 0.8)
    knots = Knots.of(X, n_knots=16)
    cell = np.searchsorted(knots.points[0][:, 0], X[:, 0])
    apart = cell[:, None] != cell
    error = np.abs(covariance(kernel, X, knots) - kernel.gram(X))
    assert error[apart].max() < 1e-13
    assert error[~apart].max() > 1e-3


def test_residual_is_what_the_diagonal_lacks(rng: np.random.Generator) -> None:
    """At new rows, too, beyond the knots and far beyond."""
    X = skewed(rng, 100)
    new = np.vstack([skewed(rng, 30), [[-50.0, -50.0, -50.0], [50.0, 500.0, 1e4], X[0]]])
    knots = Knots.of(X, n_knots=10)
    features = sparse_features(KERNEL, new, knots)
    explained = (features.dense() ** 2).sum(axis=1)
    np.testing.assert_allclose(explained + features.residual, KERNEL.diagonal(new), rtol=1e-13)
    assert (features.residual >= 0).all()
    assert features.residual[:30].max() < features.residual[30:32].min()


def test_precision_is_the_inverse_and_all_is_sparse(rng: np.random.Generator) -> None:
    X = skewed(rng, 500)
    knots = Knots.of(X, n_knots=20)
    features = sparse_features(KERNEL, X, knots)
    assert np.diff(features.B.indptr).max() <= 2 * 3
    Q, L = features.precision.toarray(), features.L.toarray()
    np.testing.assert_array_equal(L, np.tril(L))
    start = 0
    for weight, points in zip(KERNEL.column_weights(3), knots.points, strict=True):
        own = slice(start, start := start + len(points))
        expected = weight * np.exp(-np.abs(points - points.T) / 0.8)
        np.testing.assert_allclose(Q[own, own] @ expected, np.eye(len(points)), atol=1e-11)
        assert np.count_nonzero(Q[own]) == 3 * len(points) - 2  # tridiagonal, and nothing between columns


def test_categories_and_gaps(rng: np.random.Generator) -> None:
    """A category of four values, a number with gaps, and a number: as encoded tables have them."""
    n = 120
    gap = rng.random(n) < 0.2
    number = np.where(gap, 0.1, rng.normal(size=n))
    levels = 1.2 * (rng.integers(0, 4, size=n)[:, None] == np.arange(4))
    X, ties = np.column_stack([levels, number, gap, rng.normal(size=n)]), (0, 0, 0, 0, 1, 1, 2)
    kernel = AdditiveLaplacian(1.3, 0.8, (0.5, 1.0, 4.0), ties)
    np.testing.assert_allclose(covariance(kernel, X, Knots.of(X, ties, n)), kernel.gram(X), atol=1e-11)
    knots = Knots.of(X, ties, n_knots=32)
    features = sparse_features(kernel, X, knots)
    assert len(knots.points[0]) == 4
    assert 25 <= len(knots.points[2]) <= 32
    gapped = knots.points[1]
    assert (gapped == [0.1, 1.0]).all(axis=1).sum() == 1
    assert (gapped == [0.1, 0.0]).all(axis=1).sum() == 1  # where it meets the axis of the number
    assert np.diff(features.B.indptr).max() <= 1 + 2 + 2
    explained = (features.dense() ** 2).sum(axis=1)
    np.testing.assert_allclose(explained + features.residual, kernel.diagonal(X), rtol=1e-11)
    error = np.abs(features.dense() @ features.dense().T - kernel.gram(X))
    bound = np.sqrt(np.outer(features.residual, features.residual))  # what is left is a covariance as well
    assert (error <= bound + 1e-7).all()
    assert features.residual.mean() < 0.02 * kernel.diagonal(X).mean()


def test_knots_reach_into_tails(rng: np.random.Generator) -> None:
    """A column of which nine rows in ten are zero, and one in a thousand far out."""
    x = np.where(rng.random(5000) < 0.9, 0.0, np.exp(2.0 * rng.normal(size=5000)))
    (points,) = Knots.of(x[:, None], n_knots=64).points
    t = points[:, 0]
    assert 40 <= len(t) <= 64
    assert (t[0], t[-1]) == (x.min(), x.max())
    assert 0.0 in t
    between = np.diff(np.searchsorted(np.sort(x[x > 0]), t[t > 0]))
    assert between.max() < 60  # of 500 rows that are not zero


def test_knots_of_other_columns_are_refused(rng: np.random.Generator) -> None:
    X = rng.normal(size=(9, 3))
    with pytest.raises(InvalidInputError, match="knots for the kernel's columns"):
        sparse_features(KERNEL, X, Knots.of(X, (0, 0, 1)))
    with pytest.raises(InvalidInputError, match="n_knots"):
        Knots.of(X, n_knots=1)
