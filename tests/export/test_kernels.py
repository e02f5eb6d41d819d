"""Kernels as nodes, against the kernels themselves."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.export.kernels import Points, cross, diagonal
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, Laplacian, Linear, Precomputed
from onnx_values import evaluated

TIES = (0, 1, 1, 1, 2)
KERNELS = [
    Constant(0.3),
    Linear(2.0, (1.0, 2.0, 0.5, 1.0, 3.0)),
    Linear(2.0, (1.0, 2.0, 0.5), TIES),
    RBF(2.0, (0.5,)),
    RBF(2.0, (0.5, 1.0, 3.0), TIES),
    RBF(2.0, (1e-4, 1.0, 3.0, 1.0, 2.0)),  # whose first column is far wider than its length scale
    Laplacian(2.0, (0.5, 1.0, 3.0, 1.0, 2.0)),
    AdditiveLaplacian(2.0, 1.5, (0.5, 1.0, 3.0, 1.0, 2.0)),
    AdditiveLaplacian(2.0, 1.5, (0.5, 1.0, 3.0), TIES),
    AdditiveLaplacian(2.0, 1e-3),  # columns of thousands of length scales
    Constant(0.1) + Constant(0.2),
    RBF(2.0) + Constant(0.5) + Linear(1.0) + Laplacian(0.5),
    Blend(k0=2.0, koff=0.3, klin=1.0, k1=0.5, k2=0.7, length_scales=(1.0, 2.0, 0.5), columns=TIES),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels_are_the_same(kernel):
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(30, 5)), rng.normal(size=(20, 5))
    rows[:5] = points[:5]
    rows[5], rows[6] = 1e100, -1e50  # as far as scaled inputs go
    got = evaluated(lambda x: cross(kernel, x, Points.of(x.graph, points)), rows)
    expected = kernel.cross(rows, points)
    np.testing.assert_allclose(got[:5], expected[:5], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-13)
    variances = evaluated(lambda x: x.sum(1, keep=True) * 0.0 + diagonal(kernel, x, 5), rows)
    np.testing.assert_allclose(variances[:, 0], kernel.diagonal(rows), rtol=1e-13)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize(
    "kernel", [Linear(2.1), RBF(2.1), Laplacian(2.1), AdditiveLaplacian(2.1), Constant(2.1)], ids=lambda k: k.names[0]
)
def test_sums_over_points_are_double(kernel, width):
    """A runtime that joins an amplitude and a product of matrices to one operator leaves single precision."""
    rng = np.random.default_rng(0)
    points, rows, c = rng.normal(size=(30, width)), rng.normal(size=(20, width)), rng.normal(size=(30, 2))
    got = evaluated(lambda x: cross(kernel, x, Points.of(x.graph, points)) @ c, rows)
    np.testing.assert_allclose(got, kernel.cross(rows, points) @ c, rtol=1e-12, atol=1e-13)


def test_rows_far_from_the_origin_keep_their_distances():
    """A training row a million length scales away is still the nearest to itself, and to none beside it."""
    kernel = RBF(1.0, (1e-6,))
    points = np.array([[0.0], [1.0], [1.0 + 2e-6]])
    got = evaluated(lambda x: cross(kernel, x, Points.of(x.graph, points)), points)
    np.testing.assert_allclose(got, kernel.gram(points), rtol=1e-8, atol=1e-15)


def test_a_given_matrix():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    kernel = Precomputed(root @ root.T)
    points, rows = np.array([[0.0], [4.0]]), np.array([[5.0], [0.0], [2.0]])
    got = evaluated(lambda x: cross(kernel, x, Points.of(x.graph, points)), rows)
    np.testing.assert_array_equal(got, kernel.cross(rows, points))
    np.testing.assert_array_equal(evaluated(lambda x: diagonal(kernel, x, 1), rows)[:, 0], kernel.diagonal(rows))


def test_other_kernels_are_refused():
    """Those of users, also where they inherit from one of ours: they may compute something else."""

    class Doubled(RBF):
        def cross(self, A, B):
            return 2.0 * super().cross(A, B)

    for kernel in (Doubled(), Doubled() + Constant()):
        with pytest.raises(InvalidInputError, match="kernel Doubled, which has no ONNX form; expected a model with"):
            evaluated(lambda x, k=kernel: cross(k, x, Points.of(x.graph, np.zeros((1, 1)))), np.zeros((1, 1)))
