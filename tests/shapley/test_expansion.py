"""Contributions to sums over points, where a kernel sees rows by a view."""

from __future__ import annotations

import numpy as np
import pytest

from coalitions import enumerated
from marginwise.errors import InvalidInputError
from marginwise.fitting.views import NormalScores, Selection
from marginwise.kernels import Blend, Precomputed
from marginwise.shapley import Expansion, contributions
from marginwise.shapley.expansion import Background

COLUMNS = np.array([0, 1, 1, 2])  # of four inputs


@pytest.mark.parametrize("kind", ["scores", "selection", "all"])
def test_views_against_all_coalitions(kind: str, rng: np.random.Generator) -> None:
    X = np.exp(rng.normal(size=(40, 4)))
    view = {
        "scores": NormalScores.of(X, np.ones(40)),
        "selection": Selection(np.array([1, 3]), np.array([0.7, 1.3])),
        "all": None,
    }[kind]
    kernel = Blend(1.0, 0.2, 0.8, 0.5, 2.0, k2=0.4, lam2=1.5)
    seen = X if view is None else view(X)
    inputs = None if view is None else view.inputs
    function = Expansion(kernel, seen, rng.normal(size=(40, 2)), np.array([0.3, -1.0]), view, inputs)
    rows, background = X[:3] * 1.1, Background(X[5:9], np.array([0.1, 0.2, 0.3, 0.4]))
    found = contributions(function, rows, background, COLUMNS, pairs=True)
    for i, row in enumerate(rows):

        def value(S: np.ndarray, row=row) -> np.ndarray:
            return background.shares @ function(np.where(S[COLUMNS], row, background.rows))

        first, pairs = enumerated(value, 3)
        np.testing.assert_allclose(found.values[i], first, atol=1e-12)
        off = ~np.eye(3, dtype=bool)
        np.testing.assert_allclose(found.interactions[i][off], 0.5 * pairs[off], atol=1e-12)
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), function(rows), atol=1e-12)


def test_functions_with_the_same_points_are_added(rng: np.random.Generator) -> None:
    X = rng.normal(size=(6, 2))
    one, two = (Expansion(Blend(), X, rng.normal(size=(6, 1)), np.ones(1)) for _ in range(2))
    joined = one.joined(two)
    np.testing.assert_allclose(joined(X), one(X) + two(X))
    assert one.joined(Expansion(Blend(k0=2.0), X, two.coefficients, two.offset)) is None
    assert one.joined(Expansion(Blend(), X + 1.0, two.coefficients, two.offset)) is None
    seen = Expansion(Blend(), X, two.coefficients, two.offset, NormalScores.of(X, np.ones(6)), np.arange(2))
    assert one.joined(seen) is None


def test_a_kernel_that_says_nothing_of_columns_is_refused() -> None:
    function = Expansion(Precomputed(np.eye(3)), np.arange(3.0)[:, None], np.ones((3, 1)), np.zeros(1))
    with pytest.raises(InvalidInputError, match="composition"):
        contributions(function, np.zeros((1, 1)), Background(np.ones((1, 1)), np.ones(1)), np.zeros(1, dtype=int))
