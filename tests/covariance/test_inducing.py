"""Inducing inputs: enough of them, where the rows are."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.covariance.inducing import choose_inducing, mean_residual
from marginwise.hyperparameters import Hyperparameters
from zoo import blobs

H = Hyperparameters(1.0, 2.0, 0.3, [1.0, 3.0])


def test_their_number_grows_until_the_residual_is_small() -> None:
    X = blobs(1500, 2).X
    found = choose_inducing(X, H.kernel)
    assert mean_residual(X, H.kernel, found) <= 0.02
    few = choose_inducing(X, Hyperparameters(1.0, 2.0, 0.3, [10.0, 30.0]).kernel)
    many = choose_inducing(X, Hyperparameters(1.0, 2.0, 0.3, [0.1, 0.3]).kernel, most=200)
    assert len(few) <= len(found) < len(many) == 200


def test_they_are_better_than_random_rows(rng: np.random.Generator) -> None:
    X = rng.standard_t(4, size=(1000, 2))
    chosen = mean_residual(X, H.kernel, choose_inducing(X, H.kernel, 20))
    assert chosen < min(mean_residual(X, H.kernel, X[rng.choice(1000, 20, replace=False)]) for _ in range(10))


def test_all_different_rows_where_there_are_few(rng: np.random.Generator) -> None:
    places = rng.normal(size=(13, 2))
    X = places[rng.integers(13, size=500)]
    found = choose_inducing(X, H.kernel)
    assert sorted(map(tuple, found)) == sorted(map(tuple, np.unique(X, axis=0)))
    assert mean_residual(X, H.kernel, found) == pytest.approx(0.0, abs=1e-6)


def test_the_seed_decides() -> None:
    X = blobs(400, 2).X
    np.testing.assert_array_equal(choose_inducing(X, H.kernel, 30, seed=3), choose_inducing(X, H.kernel, 30, seed=3))
    assert not np.array_equal(choose_inducing(X, H.kernel, 30, seed=3), choose_inducing(X, H.kernel, 30, seed=4))
