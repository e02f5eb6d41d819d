"""Quadratic forms by a triangular root, and without one."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.covariance.triangles import QuadraticForm, by_triangle


@pytest.mark.parametrize("n_rows", [0, 1, 7])
@pytest.mark.parametrize("least", [0.3, -0.3], ids=["definite", "indefinite"])
def test_values_are_those_of_the_matrix(rng: np.random.Generator, n_rows: int, least: float) -> None:
    vectors = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    W = vectors @ np.diag([least, *np.linspace(0.5, 4.0, 8)]) @ vectors.T
    rows = rng.normal(size=(n_rows, 9))
    form = QuadraticForm.of(0.5 * (W + W.T))
    assert form.is_root == (least > 0.0)
    np.testing.assert_allclose(form(rows), [row @ W @ row for row in rows], rtol=1e-12, atol=1e-12)


def test_the_matrix_stays_as_it_is(rng: np.random.Generator) -> None:
    A = rng.normal(size=(5, 5))
    W = A @ A.T + np.eye(5)
    before = W.copy()
    QuadraticForm.of(W)(rng.normal(size=(3, 5)))
    np.testing.assert_array_equal(W, before)


def test_a_matrix_of_single_precision_is_computed_with_in_double(rng: np.random.Generator) -> None:
    W = np.exp(-2.0 * np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0)))).astype(np.float32)
    rows = rng.normal(size=(4, 60))
    for one in (QuadraticForm.of(W), QuadraticForm.of(-W)):
        assert one.matrix.dtype == np.float64
        np.testing.assert_allclose(np.abs(one(rows)), [row @ W.astype(float) @ row for row in rows], rtol=1e-12)


def test_single_precision_is_taken_where_it_is_asked_for(rng: np.random.Generator) -> None:
    A, rows = rng.normal(size=(9, 20)), rng.normal(size=(4, 9))
    W = A @ A.T
    for one in (QuadraticForm.of(W), QuadraticForm.of(-W)):
        single = one.astype(np.dtype(np.float32))
        found = single(rows.astype(np.float32))
        assert found.dtype == single.matrix.dtype == np.float32
        np.testing.assert_allclose(found, one(rows), rtol=1e-5)


@pytest.mark.parametrize("n_rows", [0, 1, 5])
@pytest.mark.parametrize("types", [("f", "f"), ("f", "d"), ("d", "f"), ("d", "d")])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_a_triangle(
    rng: np.random.Generator, n_rows: int, types: tuple[str, str], transposed: bool
) -> None:
    L, rows = np.asfortranarray(np.tril(rng.normal(size=(6, 6)))).astype(types[0]), rng.normal(size=(n_rows, 6))
    rows = rows.astype(types[1])
    before = rows.copy()
    found = by_triangle(rows, L, transposed=transposed)
    assert found.dtype.char == min(types)  # "d" before "f"
    np.testing.assert_allclose(found, rows @ (L if transposed else L.T), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(rows, before)
