"""The blend against the sum of its terms, and what it leaves out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, Kernel, Laplacian, Linear

BLEND = Blend(k0=2.0, koff=0.3, klin=1.5, k1=0.7, lam=2.5, length_scales=(0.5, 1.0, 4.0))
ALL = replace(BLEND, k2=0.9, lam2=1.7)


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
            each = 0.9 / 3 * np.sum((mean / l) ** 2 * np.exp(-np.abs(a - b) / 1.7))
            K[i, j] = 0.3 + line + curve + step + each
    np.testing.assert_allclose(ALL.cross(A, B), K, rtol=1e-13)


def test_is_the_sum_of_its_terms(rng: np.random.Generator) -> None:
    X = rng.normal(size=(8, 3))
    assert [type(term) for term in BLEND.terms] == [RBF, Constant, Linear, Laplacian]
    assert [type(term) for term in ALL.terms] == [RBF, Constant, Linear, Laplacian, AdditiveLaplacian]
    np.testing.assert_allclose(ALL.gram(X), sum(term.gram(X) for term in ALL.terms), rtol=1e-14)


def test_terms_are_made_once_and_checked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ALL.terms is ALL.terms
    assert replace(ALL, k2=0.0).terms == BLEND.terms
    checks: list[Kernel] = []
    for kind in (RBF, Constant, Linear, Laplacian, AdditiveLaplacian, Blend):
        monkeypatch.setattr(kind, "__post_init__", checks.append)
    other = ALL.with_values(1.5 * ALL.values)
    assert len(other.terms) == 5
    assert checks == []
    with pytest.raises(ValueError, match="zip"):
        ALL.with_values(np.ones(3))


@pytest.mark.parametrize(("place", "name"), [(0, "k0"), (4, "lam"), (6, "lam2"), (8, r"length_scales\[1\]")])
def test_values_that_are_none_are_refused_by_name(place: int, name: str) -> None:
    values = ALL.values
    values[place] = np.nan
    with pytest.raises(InvalidInputError, match=name):
        ALL.with_values(values)


def test_a_term_left_out_has_no_hyperparameters(rng: np.random.Generator) -> None:
    assert BLEND.names == ("k0", "koff", "klin", "k1", "lam", "l_1", "l_2", "l_3")
    plain = BLEND.without("k1").without("klin")
    assert plain.names == ("k0", "koff", "l_1", "l_2", "l_3")
    X = rng.normal(size=(5, 3))
    np.testing.assert_allclose(plain.gram(X), (RBF(2.0, plain.length_scales) + Constant(0.3)).gram(X), rtol=1e-15)
    assert plain.with_values(plain.values) == plain
    assert ALL.names == ("k0", "koff", "klin", "k1", "lam", "k2", "lam2", "l_1", "l_2", "l_3")


def test_single_terms_have_the_constant_beside_them() -> None:
    for kernel in (BLEND, ALL):
        alone = kernel.single_terms()
        assert [one.present for one in alone] == [("k0", "koff"), ("koff", "klin"), ("koff", "k1")]
        assert all(one.length_scales == kernel.length_scales and one.koff == kernel.koff for one in alone)
        assert [one.single_terms() for one in alone] == [(), (), ()]
    assert [one.present for one in BLEND.without("k1").single_terms()] == [("k0", "koff"), ("koff", "klin")]


def test_terms_that_carry_nothing_are_pruned() -> None:
    small = Blend(k0=1e-4, koff=1e-6, klin=5.0, k1=0.5)
    assert small.pruned().present == ("koff", "klin", "k1")  # the constant stays, however small
    assert BLEND.pruned() is BLEND
    assert replace(ALL, k2=1e-3).pruned().present == BLEND.present


@pytest.mark.parametrize("wrong", [{"k0": -1.0}, {"lam": 0.0}, {"length_scales": (1.0, 0.0)}, {"klin": np.nan}])
def test_refuses_what_is_not_positive(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Blend(**wrong)
