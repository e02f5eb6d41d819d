"""The blend against the sum of its terms, and what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, Blend, Constant, Laplacian, Linear

BLEND = Blend(k0=2.0, koff=0.3, klin=1.5, k1=0.7, lam=2.5, length_scales=(0.5, 1.0, 4.0))


def test_is_the_formula(rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    l = np.array(BLEND.length_scales)  # noqa: E741
    mean = l.prod() ** (1 / 3)
    K = np.empty((6, 4))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            line = 1.5 / 3 * np.sum((mean / l) ** 2 * a * b)
            curve = 2.0 * np.exp(-0.5 * np.sum((a - b) ** 2 / l**2))
            step = 0.7 * np.exp(-np.sum(np.abs(a - b) / (2.5 * l / mean)))
            K[i, j] = 0.3 + line + curve + step
    np.testing.assert_allclose(BLEND.cross(A, B), K, rtol=1e-13)


def test_is_the_sum_of_its_terms(rng: np.random.Generator) -> None:
    X = rng.normal(size=(8, 3))
    assert [type(term) for term in BLEND.terms] == [RBF, Constant, Linear, Laplacian]
    np.testing.assert_allclose(BLEND.gram(X), sum(term.gram(X) for term in BLEND.terms), rtol=1e-14)


def test_a_term_left_out_has_no_hyperparameters(rng: np.random.Generator) -> None:
    assert BLEND.names == ("k0", "koff", "klin", "k1", "lam", "l_1", "l_2", "l_3")
    plain = BLEND.without("k1").without("klin")
    assert plain.names == ("k0", "koff", "l_1", "l_2", "l_3")
    X = rng.normal(size=(5, 3))
    np.testing.assert_allclose(plain.gram(X), (RBF(2.0, plain.length_scales) + Constant(0.3)).gram(X), rtol=1e-15)
    assert plain.with_values(plain.values) == plain


def test_terms_that_carry_nothing_are_pruned() -> None:
    small = Blend(k0=1e-4, koff=1e-6, klin=5.0, k1=0.5)
    assert small.pruned().present == ("koff", "klin", "k1")  # the constant stays, however small
    assert BLEND.pruned() is BLEND


@pytest.mark.parametrize("wrong", [{"k0": -1.0}, {"lam": 0.0}, {"length_scales": (1.0, 0.0)}, {"klin": np.nan}])
def test_refuses_what_is_not_positive(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Blend(**wrong)
