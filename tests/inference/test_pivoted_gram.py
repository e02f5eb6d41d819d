"""The pivoted factor of the Gram matrix against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.pivoted import pivoted_gram
from zoo import blobs, hard_problems

HARD = {name: (problem, h) for name, problem, h in hard_problems()}


@pytest.mark.parametrize("name", HARD)
def test_factor_gives_the_matrix_back(name: str) -> None:
    problem, h = HARD[name]
    K = h.kernel.gram(problem.X)
    prior = pivoted_gram(K)
    assert 1 <= prior.rank <= problem.n
    np.testing.assert_allclose(prior.factor @ prior.factor.T, K, rtol=0, atol=1e-10 * K.max())
    np.testing.assert_array_equal(prior.factor[prior.pivots], prior.triangle)
    assert np.all(np.triu(prior.triangle, 1) == 0)


def test_rank_is_the_number_of_different_rows() -> None:
    base = blobs(8, 2)
    K = Hyperparameters(1, 1, 0.1, 1).kernel.gram(np.repeat(base.X, 5, axis=0))
    assert pivoted_gram(K).rank == 8
    assert pivoted_gram(np.full((6, 6), 2.0)).rank == 1


@pytest.mark.parametrize("repeat", [1, 3])
def test_solve_finds_a_vector_that_K_maps_back(repeat: int) -> None:
    base = blobs(20, 2)
    K = Hyperparameters(1, 2, 0.1, 0.5).kernel.gram(np.repeat(base.X, repeat, axis=0))
    prior = pivoted_gram(K)
    columns = prior.factor @ np.random.default_rng(0).normal(size=(prior.rank, 7))
    before = columns.copy()
    solved = prior.solve(columns)
    np.testing.assert_allclose(K @ solved, columns, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(columns, before)
    off = np.setdiff1d(np.arange(len(K)), prior.pivots)
    assert np.all(solved[off] == 0)
    if repeat == 1:
        np.testing.assert_allclose(solved, np.linalg.solve(K, columns), rtol=1e-7, atol=1e-9)


def test_conditional_variance_is_the_schur_complement() -> None:
    h = Hyperparameters(1, 2, 0.3, [0.8, 1.1])
    problem = blobs(30, 2)
    new = np.concatenate([np.random.default_rng(1).normal(size=(5, 2)), problem.X[:2]])
    both = h.kernel.gram(np.concatenate([problem.X, new]))
    prior = pivoted_gram(both[:30, :30])
    left = prior.conditional_variance(both[:30, 30:], np.diag(both)[30:])
    expected = np.diag(both[30:, 30:] - both[30:, :30] @ np.linalg.solve(both[:30, :30], both[:30, 30:]))
    np.testing.assert_allclose(left, expected, rtol=1e-6, atol=1e-9)
    assert np.all(left[5:] < 1e-9)  # known points
