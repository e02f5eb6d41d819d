"""Moments of a table: exact to the last bit, so that they are the same however its rows are held."""

from __future__ import annotations

import math

import numpy as np
import pytest

from marginwise.estimators._scaling import Scaling, sum_of, twofold_sums


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 4097])
def test_sums_are_rounded_once_whatever_the_blocks(n: int, rng: np.random.Generator) -> None:
    terms = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-8, 8, size=(n, 3))
    expected = [math.fsum(column) for column in terms.T]
    for pieces in (1, 2, 7, min(n, 500)):
        ends = np.sort(rng.integers(0, n + 1, pieces - 1))
        parts = [part for part in np.split(rng.permutation(terms), ends) if len(part)]
        np.testing.assert_array_equal(sum_of([twofold_sums(part) for part in parts]), expected)


def test_columns_have_mean_0_and_variance_1_under_their_weights(rng: np.random.Generator) -> None:
    X = rng.normal(size=(5000, 4)) * [1e-300, 1.0, 1e150, 0.0] + [0.0, 1e6, 0.0, 7.0]
    weights = rng.uniform(0.1, 3.0, 5000)
    scaled = Scaling.of(X, weights)(X)
    mean = np.average(scaled, axis=0, weights=weights)
    np.testing.assert_allclose(mean, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.average((scaled - mean) ** 2, axis=0, weights=weights), [1, 1, 1, 0], atol=1e-9)


def test_the_order_of_rows_does_not_matter(rng: np.random.Generator) -> None:
    X, weights, order = rng.normal(size=(9000, 5)), rng.uniform(0.1, 3.0, 9000), rng.permutation(9000)
    a, b = Scaling.of(X, weights), Scaling.of(X[order], weights[order])
    for name in ("unit", "centre", "spread"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
