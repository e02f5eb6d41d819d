"""Inputs of one column share a length scale: the same kernel as with that length scale written out for each input."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise import Prior
from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, Blend, Constant, Laplacian, Linear
from marginwise.model import Model
from periodic import Periodic

TIES = (0, 2, 2, 1, 2)
X = np.random.default_rng(0).normal(size=(9, len(TIES)))
BY_COLUMN = np.array([0.7, 1.5, 3.0])
BY_INPUT = BY_COLUMN[list(TIES)]


@pytest.mark.parametrize("kind", [RBF, Laplacian])
def test_shared_length_scales_are_those_written_out(kind) -> None:
    tied, written_out = kind(1.3, BY_COLUMN).tied(TIES), kind(1.3, BY_INPUT)
    np.testing.assert_array_equal(tied.gram(X), written_out.gram(X))
    G = np.random.default_rng(1).normal(size=(9, 9))
    by_input = written_out.contract(G, written_out.gram(X), X, X)[1:]
    ours = tied.contract(G, tied.gram(X), X, X)
    np.testing.assert_allclose(ours[1:], [by_input[[a for a, c in enumerate(TIES) if c == k]].sum() for k in range(3)])
    np.testing.assert_array_equal(tied.lengths(5), BY_INPUT)


def test_linear_terms_count_columns() -> None:
    """(klin/d) Σ_a r_a x_a x'_a with d = 3 columns and the geometric mean of three length scales."""
    r = np.prod(BY_COLUMN) ** (2 / 3) / BY_INPUT**2
    np.testing.assert_allclose(Linear(0.6, BY_COLUMN).tied(TIES).gram(X), 0.2 * (X * r) @ X.T, rtol=1e-13)


def test_a_blend_ties_all_its_terms() -> None:
    blend = Blend(1.2, 0.2, 0.6, 0.5, 2.5, tuple(BY_COLUMN)).tied(TIES)
    lam = 2.5 * BY_INPUT / np.prod(BY_COLUMN) ** (1 / 3)
    parts = RBF(1.2, BY_INPUT), Constant(0.2), Linear(0.6, BY_COLUMN).tied(TIES), Laplacian(0.5, lam)
    np.testing.assert_allclose(blend.gram(X), sum(part.gram(X) for part in parts), rtol=1e-13)


def test_one_length_scale_becomes_one_for_each_column() -> None:
    model = Model(1.0, (RBF(1.0) + Constant(0.1)).tied(TIES))
    free = model.as_ard(len(TIES))
    assert free.names == ("C", "k0", "koff", "l_1", "l_2", "l_3")
    np.testing.assert_array_equal(free.kernel.gram(X), model.kernel.gram(X))
    # Priors see three inputs.
    start = Prior().mean_of(Model(1.0, Blend().tied(TIES)), len(TIES))
    assert start.kernel == Prior().mean_of(Model(1.0, Blend()), 3).kernel.tied(TIES)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="expected 5, those that the kernel was tied for"):
        RBF(1.0, BY_COLUMN).tied(TIES).gram(np.ones((2, 4)))
    with pytest.raises(InvalidInputError, match="because X has 3 columns"):
        RBF(1.0, BY_INPUT).tied(TIES).check_inputs(5)
    with pytest.raises(InvalidInputError, match="without a gap"):
        RBF().tied((0, 2))
    with pytest.raises(InvalidInputError, match=r"a kernel of marginwise\.kernels"):
        Periodic(1.0, 1.0, 1.0).tied(TIES)
