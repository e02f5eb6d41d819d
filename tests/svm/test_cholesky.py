"""Factors that gain and lose rows, against factors made anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise.svm.cholesky import append, remove, solve_in_place

#: What the unused part of the factor holds; it would spoil every result that it entered.
GARBAGE = 1e200


def definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a positive definite matrix of modest condition."""
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * n * np.eye(n)


def assert_is_factor(L: np.ndarray, order: np.ndarray, m: int, Q: np.ndarray, rtol: float = 1e-10) -> None:
    members = order[:m]
    expected = np.linalg.cholesky(Q[np.ix_(members, members)])
    np.testing.assert_allclose(np.tril(L[:m, :m]), expected, rtol=0, atol=rtol * np.sqrt(Q.diagonal().max()))


@pytest.mark.parametrize("n", [1, 2, 3, 17, 60])
def test_append_builds_the_factor(n: int, rng: np.random.Generator) -> None:
    Q = definite(rng, n)
    L, order = np.full((n + 3, n + 3), GARBAGE), np.full(n + 3, -1)
    for m, index in enumerate(rng.permutation(n)):
        assert append(L, order, m, Q, index, Q[index, index])
        assert order[m] == index
        assert_is_factor(L, order, m + 1, Q)


def test_append_takes_the_given_diagonal(rng: np.random.Generator) -> None:
    """Quadratic slack and ridges are added to the diagonal only."""
    Q, extra = definite(rng, 5), np.array([0.3, 2.0, 0.0, 1e3, 0.1])
    L, order = np.full((5, 5), GARBAGE), np.zeros(5, dtype=np.intp)
    for m in range(5):
        assert append(L, order, m, Q, m, Q[m, m] + extra[m])
    assert_is_factor(L, order, 5, Q + np.diag(extra))


def test_append_refuses_a_dependent_row(rng: np.random.Generator) -> None:
    A = rng.normal(size=(6, 3))
    Q = A @ A.T
    L, order = np.full((6, 6), GARBAGE), np.zeros(6, dtype=np.intp)
    for m in range(3):
        assert append(L, order, m, Q, m, Q[m, m])
    before = np.tril(L[:3, :3]).copy()
    for index in (3, 0, 5):  # a combination of the others, a repeated row, another combination
        assert not append(L, order, 3, Q, index, Q[index, index])
    np.testing.assert_array_equal(np.tril(L[:3, :3]), before)
    assert append(L, order, 3, Q, 3, Q[3, 3] * (1 + 1e-6))


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_remove_each_row(n: int, rng: np.random.Generator) -> None:
    Q = definite(rng, n)
    for k in range(n):
        L, order = np.full((n, n), GARBAGE), np.arange(n)
        L[np.tril_indices(n)] = np.linalg.cholesky(Q)[np.tril_indices(n)]
        remove(L, order, n, k)
        np.testing.assert_array_equal(order[: n - 1], np.delete(np.arange(n), k))
        if n > 1:
            assert_is_factor(L, order, n - 1, Q)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**16), min_size=1, max_size=120))
def test_any_sequence_of_changes(seed: int, moves: list[int]) -> None:
    """Each move names a row: out if it is in, in if it is out."""
    rng = np.random.default_rng(seed)
    n = 25
    Q = definite(rng, n)
    L, order, m = np.full((n, n), GARBAGE), np.zeros(n, dtype=np.intp), 0
    inside: list[int] = []
    for move in moves:
        index = move % n
        if index in inside:
            remove(L, order, m, inside.index(index))
            inside.remove(index)
            m -= 1
        else:
            assert append(L, order, m, Q, index, Q[index, index])
            inside.append(index)
            m += 1
        assert order[:m].tolist() == inside
    if m:
        assert_is_factor(L, order, m, Q)
        x = rng.normal(size=n)
        expected = np.r_[np.linalg.solve(Q[np.ix_(inside, inside)], x[:m]), x[m:]]
        solve_in_place(L, m, x)
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-11)


def test_removal_does_not_amplify_rounding(rng: np.random.Generator) -> None:
    """Half the rows of an ill-conditioned factor go; what remains is as good as a factor made anew."""
    n = 40
    X = rng.normal(size=(n, 2))
    Q = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) + 1e-9 * np.eye(n)
    L, order, m = np.zeros((n, n)), np.arange(n), n
    L[:] = np.linalg.cholesky(Q)
    for k in rng.permutation(n)[: n // 2]:
        remove(L, order, m, int(np.flatnonzero(order[:m] == k)[0]))
        m -= 1
    factor, members = np.tril(L[:m, :m]), order[:m]
    np.testing.assert_allclose(factor @ factor.T, Q[np.ix_(members, members)], rtol=0, atol=1e-14)
    assert (factor.diagonal() > 0).all()
