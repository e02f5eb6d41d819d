"""Shapley values of products against the sum over all coalitions, and the number of nodes against the exact one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from coalitions import enumerated
from marginwise.shapley.nodes import enough_nodes, most_nodes, rules
from marginwise.shapley.products import LEAST, add_values, interactions


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_products_against_all_coalitions(d: int, rng: np.random.Generator) -> None:
    here, there, shares = rng.random((d, 32)), rng.random((4, d, 32)), rng.random(4)
    here[0, :3], there[:, -1, 2:5] = LEAST, LEAST
    same = np.zeros((4, d), dtype=bool)
    same[1, 0], there[1, 0] = True, here[0]
    same[2], there[2] = True, here  # the row itself
    total, c = np.zeros((d, 32)), rng.normal(size=(32, 2))
    add_values(here, there, shares, same, total)
    first, pairs = enumerated(lambda S: np.where(S[:, None], here, there).prod(axis=1).T @ shares, d)
    np.testing.assert_allclose(total, first, rtol=0, atol=1e-14)
    found = interactions(here, there, shares, c)
    off = ~np.eye(d, dtype=bool)
    np.testing.assert_allclose(found[:, off], np.einsum("jli,ik->kjl", pairs, c)[:, off], rtol=0, atol=1e-13)


@pytest.mark.parametrize("n_players", [3, 10, 30, 70, 100, 300])
def test_the_most_nodes_are_enough_for_any_product(n_players: int) -> None:
    """Members of Bernstein's basis are the worst: their relative error bounds that of all positive products."""
    starts, times, weights = rules(n_players)
    t, w = times[starts[-2] :], weights[starts[-2] :]
    assert len(t) == most_nodes(n_players) <= math.ceil(n_players / 2)
    basis = binom.pmf(np.arange(n_players)[:, None], n_players - 1, t)
    assert np.abs(n_players * (basis @ w) - 1.0).max() < 2e-12


@pytest.mark.parametrize("slope", [1e-6, 0.01, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("n_players", [2, 7, 30, 200])
def test_fewer_nodes_are_enough_for_flat_lines(n_players: int, slope: float, rng: np.random.Generator) -> None:
    epsilon = rng.random((20, n_players)) ** 3
    epsilon = np.minimum(epsilon * slope / epsilon.mean(axis=1, keepdims=True), 0.999)
    epsilon[0] = slope  # the worst case: all slopes alike, and of one sign
    signs = np.where(rng.random(epsilon.shape) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0
    n = enough_nodes(n_players, slope)
    starts, times, weights = rules(n_players)

    def integral(nodes: int) -> np.ndarray:
        part = slice(starts[nodes], starts[nodes + 1])
        s = 2.0 * times[part] - 1.0
        return (1.0 + (signs * epsilon)[:, :, None] * s).prod(axis=1) @ weights[part]

    exact = integral(len(starts) - 2)
    np.testing.assert_allclose(integral(n), exact, rtol=2e-12)


def test_flat_lines_need_few_nodes() -> None:
    assert [enough_nodes(30, slope) for slope in (0.001, 0.02, 0.1, 0.9)] == [4, 6, 9, 15]
