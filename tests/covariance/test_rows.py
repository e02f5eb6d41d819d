"""Rows of the Gram matrix on demand are the rows of the Gram matrix, and stay within their memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise.covariance import DenseCovariance, OnDemandCovariance, RowCovariance
from marginwise.hyperparameters import Hyperparameters
from zoo import blobs

H = Hyperparameters(1.0, 1.5, 0.2, [0.7, 1.0, 2.0])
PROBLEM = blobs(300, 3)
GRAM = H.kernel.gram(PROBLEM.X)


def sources(cached_rows: int = 5) -> list[RowCovariance]:
    return [
        DenseCovariance.of(H.kernel, PROBLEM.X),
        OnDemandCovariance(H.kernel, PROBLEM.X, cached_rows * 8 * PROBLEM.n),
    ]


@pytest.mark.parametrize("indices", [[], [7], [0, 1, 299], list(range(300)), list(range(0, 300, 2))])
def test_blocks_and_combinations(indices: list[int], rng: np.random.Generator) -> None:
    chosen = np.array(indices, dtype=np.intp)
    coefficients = rng.normal(size=len(chosen)) * 10.0 ** rng.uniform(-3, 3, size=len(chosen))
    for source in sources():
        np.testing.assert_array_equal(source.diagonal, GRAM.diagonal())
        np.testing.assert_allclose(source.block(chosen), GRAM[np.ix_(chosen, chosen)], rtol=1e-14)
        for _ in range(2):  # the second time, partly from the cache
            total, size = source.combine(chosen, coefficients)
            terms = coefficients[:, None] * GRAM[chosen]
            np.testing.assert_allclose(size, np.abs(terms).sum(axis=0), rtol=1e-12)
            np.testing.assert_allclose(total, terms.sum(axis=0), rtol=0, atol=1e-13 * size.max(initial=1e-300))


def test_the_gram_matrix_is_not_changed(rng: np.random.Generator) -> None:
    gram = GRAM.copy()
    source = DenseCovariance.of_matrix(gram)
    source.block(np.arange(10))
    source.combine(np.arange(300), rng.normal(size=300))
    np.testing.assert_array_equal(gram, GRAM)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.lists(st.integers(1, 299), min_size=1, max_size=8))
def test_the_cache_holds_no_more_than_it_may(seed: int, capacity: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    source = OnDemandCovariance(H.kernel, PROBLEM.X, capacity * 8 * PROBLEM.n + 7)
    assert source.capacity == capacity
    for size in sizes:
        chosen = np.sort(rng.permutation(PROBLEM.n)[:size])
        coefficients = rng.normal(size=size)
        total, _ = source.combine(chosen, coefficients)
        np.testing.assert_allclose(total, coefficients @ GRAM[chosen], rtol=0, atol=1e-12)
        held = source._rows
        assert len(held) <= capacity
        assert sum(row.nbytes for row in held.values()) <= capacity * 8 * PROBLEM.n
        assert all(row.base is None for row in held.values())  # no view that keeps a larger array alive


def test_rows_in_the_cache_are_not_made_again() -> None:
    source = OnDemandCovariance(H.kernel, PROBLEM.X, 20 * 8 * PROBLEM.n)
    rows, ones = np.arange(20), np.ones(20)
    first, _ = source.combine(rows, ones)
    assert source.computed == 20
    second, _ = source.combine(rows, ones)
    assert source.computed == 20
    np.testing.assert_array_equal(first, second)
    source.combine(np.arange(15, 25), np.ones(10))
    assert source.computed == 25


def test_one_row_is_kept_even_when_none_fits() -> None:
    source = OnDemandCovariance(H.kernel, PROBLEM.X, 0)
    assert source.capacity == 1
    for _ in range(3):
        source.combine(np.array([4]), np.ones(1))
    assert source.computed == 1


def test_memory_is_bounded(rng: np.random.Generator) -> None:
    """All 2000 rows pass through a cache of 10: 32 MB of kernel, in a few chunks of 128 rows, 2 MB each."""
    n = 2000
    X = rng.normal(size=(n, 3))
    source = OnDemandCovariance(H.kernel, X, 10 * 8 * n)
    source.combine(np.arange(3), np.ones(3))
    tracemalloc.start()
    source.combine(np.arange(n), np.ones(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 128 * 8 * n
