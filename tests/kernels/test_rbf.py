"""The paper's kernel, RBF + constant, against its formula written out, and its derivatives against differences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from differences import differences
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Kernel
from peak_memory import peak_memory
from zoo import random_hyperparameters

#: Sizes on both sides of the blocks in which the matrix is made.
SIZES = (1, 2, 3, 7, 63, 64, 65, 66, 128, 129, 200)


def written_out(A: np.ndarray, B: np.ndarray, h: Hyperparameters) -> np.ndarray:
    """Return eq. (rbf) in a triple loop."""
    K = np.empty((len(A), len(B)))
    scales = h.as_ard(A.shape[1]).length_scales
    for i in range(len(A)):
        for j in range(len(B)):
            squared = 0.0
            for a in range(A.shape[1]):
                squared += (A[i, a] - B[j, a]) ** 2 / scales[a] ** 2
            K[i, j] = h.k0 * math.exp(-0.5 * squared) + h.koff
    return K


def in_fractions(A: np.ndarray, B: np.ndarray, h: Hyperparameters) -> np.ndarray:
    """Return eq. (rbf) with distances in exact arithmetic."""
    scales = [Fraction(scale) for scale in h.as_ard(A.shape[1]).length_scales]

    def value(a: np.ndarray, b: np.ndarray) -> float:
        squared = sum(
            ((Fraction(s) - Fraction(t)) / u) ** 2 for s, t, u in zip(a.tolist(), b.tolist(), scales, strict=True)
        )
        return h.k0 * math.exp(-0.5 * float(squared)) + h.koff

    return np.array([[value(a, b) for b in B] for a in A])


@pytest.mark.parametrize("isotropic", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_gram_is_the_formula(n: int, isotropic: bool, rng: np.random.Generator) -> None:
    X = rng.normal(size=(n, 3))
    h = Hyperparameters(1.0, 1.7, 0.3, 0.8 if isotropic else [0.5, 1.0, 3.0])
    K = h.kernel.gram(X)
    np.testing.assert_allclose(K, written_out(X, X, h), rtol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K, h.kernel.cross(X, X.copy()))  # half of it copied, or all computed
    np.testing.assert_array_equal(K.diagonal(), h.kernel.diagonal(X))
    assert (h.kernel.diagonal(X) == h.k0 + h.koff).all()


@pytest.mark.parametrize("m", [0, 1, 5, 65])
@pytest.mark.parametrize("n", [1, 4, 130])
def test_cross_gram_is_the_formula(m: int, n: int, rng: np.random.Generator) -> None:
    A, B = rng.normal(size=(m, 4)), rng.normal(size=(n, 4))
    h = random_hyperparameters(rng, 4)
    K = h.kernel.cross(A, B)
    assert K.shape == (m, n)
    np.testing.assert_allclose(K, written_out(A, B, h), rtol=1e-14)


def test_no_rows() -> None:
    """A working set can be empty, and the criteria's sets of support vectors as well."""
    h, none = Hyperparameters(length_scales=[1, 2]), np.empty((0, 2))
    assert h.kernel.gram(none).shape == (0, 0)
    assert h.kernel.cross(np.ones((3, 2)), none).shape == (3, 0)
    np.testing.assert_array_equal(h.kernel.contract(np.empty((0, 0)), np.empty((0, 0)), none, none), np.zeros(4))


def test_memory_layout_does_not_matter(rng: np.random.Generator) -> None:
    X, h = rng.normal(size=(70, 3)), Hyperparameters(1, 2, 0.1, [1, 2, 3])
    K = h.kernel.gram(X)
    np.testing.assert_allclose(h.kernel.gram(np.asfortranarray(X)), K, rtol=1e-14)
    np.testing.assert_allclose(h.kernel.gram(np.repeat(X, 2, axis=0)[::2]), K, rtol=1e-14)


@given(st.integers(0, 2**32 - 1), st.sampled_from(SIZES), st.integers(1, 9))
def test_repeated_rows_are_repeated_to_the_last_bit(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, max(1, n // 2), size=n)
    X = (rng.normal(size=(n, d)) + rng.choice([0, 10, 1e4]))[source]
    h = random_hyperparameters(rng, d)
    K = h.kernel.gram(X)
    first = np.array([np.flatnonzero(source == k)[0] for k in source])
    np.testing.assert_array_equal(K, K[first])
    np.testing.assert_array_equal(K, K[:, first])
    assert (K[np.arange(n), first] == h.k0 + h.koff).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4), st.floats(-3, 3), st.floats(-3, 3))
def test_gram_is_positive_semidefinite(seed: int, n: int, d: int, log_k0: float, log_scale: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))[rng.integers(0, n, size=n)]
    h = Hyperparameters(1.0, 10**log_k0, 0.1, 10**log_scale)
    K = h.kernel.gram(X)
    assert np.linalg.eigvalsh(K)[0] >= -1e-14 * np.trace(K)


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6, 1e9])
def test_an_offset_of_the_inputs_costs_no_digits(offset: float, rng: np.random.Generator) -> None:
    """The rounding of the inputs themselves is not the kernel's: the distances are those of the rounded inputs."""
    X = rng.normal(size=(20, 3)) + offset
    h = Hyperparameters(1, 1.3, 0.1, [0.37, 1.1, 2.9])
    exact = in_fractions(X, X, h)
    np.testing.assert_allclose(h.kernel.gram(X), exact, rtol=1e-14)
    np.testing.assert_allclose(h.kernel.cross(X[:4], X), exact[:4], rtol=1e-14)


@pytest.mark.parametrize(("offset", "digits"), [(1e3, 1e-12), (3e3, 1e-11), (1e6, 1e-9)])
def test_two_far_clusters(offset: float, digits: float, rng: np.random.Generator) -> None:
    """No origin is near to both: only the rounding of x - centre remains, offset · 1e-16."""
    X = rng.normal(size=(20, 2)) + offset * np.repeat([[1.0], [-1.0]], 10, axis=0)
    h = Hyperparameters(1, 1, 0.1, [0.7, 1.3])
    np.testing.assert_allclose(h.kernel.gram(X), in_fractions(X, X, h), rtol=digits)


def test_extreme_length_scales() -> None:
    X = np.array([[0.0], [1.0], [1.0]])
    short, long = (Hyperparameters(1, 2, 0.5, scale).kernel.gram(X) for scale in (1e-50, 1e50))
    np.testing.assert_array_equal(short, [[2.5, 0.5, 0.5], [0.5, 2.5, 2.5], [0.5, 2.5, 2.5]])
    np.testing.assert_array_equal(long, np.full((3, 3), 2.5))


def test_the_wrong_number_of_length_scales_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="X has 2 columns"):
        Hyperparameters(length_scales=[1, 1, 1]).kernel.gram(np.ones((3, 2)))


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("isotropic", [False, True])
def test_contraction_is_the_derivative(isotropic: bool, offset: float, rng: np.random.Generator) -> None:
    """Σ_ij G_ij ∂K_ij/∂log h, by differences of Σ_ij G_ij K_ij."""
    X = rng.normal(size=(15, 4)) + offset
    for _ in range(5):
        h = random_hyperparameters(rng, 1 if isotropic else 4, spread=0.5)
        G = rng.normal(size=(15, 15))
        G += G.T
        gradient = h.kernel.contract(G, h.kernel.gram(X), X, X)

        def value(logs: np.ndarray, G: np.ndarray = G, kernel: Kernel = h.kernel) -> float:
            return float((G * kernel.with_values(np.exp(logs)).gram(X)).sum())

        logs = np.log(h.kernel.values)
        assert gradient.shape == logs.shape
        np.testing.assert_allclose(gradient, differences(value, logs, 1e-5), atol=1e-8 * np.abs(G).sum())


def test_contraction_is_the_formula(rng: np.random.Generator) -> None:
    """∂K_ij/∂log l_a = k0 exp(…) (x_ia - x_ja)²/l_a², element by element; no differences, so to rounding."""
    X, h = rng.normal(size=(9, 2)) + 1e4, Hyperparameters(1, 2.5, 0.3, [0.6, 2.0])
    G = rng.normal(size=(9, 9))
    G += G.T
    K = h.kernel.gram(X)
    expected = [(G * (K - h.koff)).sum(), h.koff * G.sum()]
    for a, scale in enumerate(h.length_scales):
        expected.append((G * (K - h.koff) * np.subtract.outer(X[:, a], X[:, a]) ** 2 / scale**2).sum())
    np.testing.assert_allclose(h.kernel.contract(G, K, X, X), expected, rtol=1e-11)
    isotropic = Hyperparameters(1, 2.5, 0.3, 1.4)
    ard = isotropic.as_ard(2).kernel.contract(G, isotropic.kernel.gram(X), X, X)
    one = isotropic.kernel.contract(G, isotropic.kernel.gram(X), X, X)
    np.testing.assert_allclose(one, [*ard[:2], ard[2:].sum()], rtol=1e-13)


def test_contraction_on_a_principal_block(rng: np.random.Generator) -> None:
    """G that vanishes outside some rows: the block alone gives the same."""
    X, h, rows = rng.normal(size=(20, 3)), Hyperparameters(1, 2, 0.3, [1, 2, 0.5]), np.array([3, 4, 11, 19])
    block = rng.normal(size=(4, 4))
    block += block.T
    G = np.zeros((20, 20))
    G[np.ix_(rows, rows)] = block
    K = h.kernel.gram(X)
    np.testing.assert_allclose(
        h.kernel.contract(block, K[np.ix_(rows, rows)], X[rows], X[rows]), h.kernel.contract(G, K, X, X), rtol=1e-12
    )


def test_no_array_of_all_differences(rng: np.random.Generator) -> None:
    """n² d numbers would take 256 MB here; a few n² and n d are allowed, 1.3 MB each."""
    n, d = 400, 200
    X, h = rng.normal(size=(n, d)), Hyperparameters(1, 1, 0.1, np.full(d, 14.0))
    K, G = h.kernel.gram(X), np.ones((n, n))
    allowed = 8 * (2 * n * n + 5 * n * d)
    assert peak_memory(lambda: h.kernel.gram(X)) < allowed
    assert peak_memory(lambda: h.kernel.gram(np.zeros((n, d)))) < allowed  # all pairs near
    assert peak_memory(lambda: h.kernel.contract(G, K, X, X)) < allowed
