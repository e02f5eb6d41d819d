"""The additive Laplacian against its formula written out, where its products of exponentials would overflow, too."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from differences import differences
from marginwise import Prior
from marginwise.errors import InvalidInputError
from marginwise.kernels import AdditiveLaplacian, Blend, Laplacian
from marginwise.kernels._column_loops import _TILE, _WIDE
from marginwise.model import Model

SCALES = (0.5, 1.0, 4.0)
TIES = (0, 2, 2, 1, 2)

#: On both sides of the tiles of rows.
SIZES = (1, 2, _TILE - 1, _TILE, _TILE + 1, 3 * _TILE + 5)


def exponentials(A: np.ndarray, B: np.ndarray, kernel: AdditiveLaplacian) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the exponential and the distance of each column for all pairs of rows."""
    ties = np.arange(A.shape[1]) if kernel.columns is None else np.array(kernel.columns)
    distances = [
        np.abs(A[:, None, ties == c] - B[None, :, ties == c]).sum(axis=2) / kernel.lam2 for c in range(ties.max() + 1)
    ]
    return [np.exp(-distance) for distance in distances], distances


def written_out(A: np.ndarray, B: np.ndarray, kernel: AdditiveLaplacian) -> np.ndarray:
    """Return (k2/D) Σ_c r_c exp(-Σ_{a∈c} |Δ_a|/λ2)."""
    e, _ = exponentials(A, B, kernel)
    m = np.broadcast_to(np.array(kernel.relative_scales), len(e))
    r = m.prod() ** (2 / len(e)) / m**2
    return kernel.k2 / len(e) * sum(r_c * e_c for r_c, e_c in zip(r, e, strict=True))


KERNELS = {
    "one scale": AdditiveLaplacian(1.3, 2.0),
    "per column": AdditiveLaplacian(1.3, 0.7, SCALES),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("n", SIZES)
def test_is_the_formula(n: int, kernel: AdditiveLaplacian, rng: np.random.Generator) -> None:
    X, others = rng.normal(size=(n, 3)), rng.normal(size=(7, 3))
    K = kernel.gram(X)
    np.testing.assert_allclose(K, written_out(X, X, kernel), rtol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.cross(others, X), written_out(others, X, kernel), rtol=1e-14)
    np.testing.assert_allclose(kernel.cross(X, X.copy()), K, rtol=1e-14)  # by half, or as a whole


def test_the_inputs_of_a_column_are_one_exponential(rng: np.random.Generator) -> None:
    kernel = AdditiveLaplacian(1.3, 2.0, SCALES).tied(TIES)
    X = rng.normal(size=(20, 5))
    np.testing.assert_allclose(kernel.gram(X), written_out(X, X, kernel), rtol=1e-14)
    assert AdditiveLaplacian(1.0, 2.0).tied((0, 0)).gram(X[:, :2]) == pytest.approx(Laplacian(1.0, 2.0).gram(X[:, :2]))
    with pytest.raises(InvalidInputError, match="expected 5, those that the kernel was tied for"):
        kernel.gram(X[:, :4])


@pytest.mark.parametrize("ties", [None, (0, 1, 1), (1, 0, 1)])
@pytest.mark.parametrize("far", [0.9, 1.1, 1e3, 1e9])
def test_ranges_whose_exponentials_overflow(far: float, ties: tuple[int, ...] | None, rng: np.random.Generator) -> None:
    """One input reaches over more length scales than exp() over numbers; near pairs are there, far out as well."""
    X = rng.normal(size=(40, 3))
    X[:20, 1] += far * _WIDE * 0.5
    X[0, 1] = -far * _WIDE * 0.5
    kernel = AdditiveLaplacian(1.3, 1.0, SCALES if ties is None else SCALES[:2], ties)
    G = rng.normal(size=(40, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K, ours, slopes = kernel.gram(X), kernel.contract(G, G, X, X), kernel.slopes(X[:5] + 0.1, X, G[0])
    np.testing.assert_allclose(K, written_out(X, X, kernel), rtol=1e-12, atol=1e-15)

    def value(logs: np.ndarray) -> float:
        return float(np.vdot(G, written_out(X, X, kernel.with_values(np.exp(logs)))))

    np.testing.assert_allclose(ours, differences(value, np.log(kernel.values), 1e-5), rtol=1e-6, atol=1e-7)
    e, _ = exponentials(X[:5] + 0.1, X, kernel)
    m = np.array(kernel.relative_scales)
    for a, c in enumerate(range(3) if ties is None else ties):
        weight = 1.3 / len(e) * m.prod() ** (2 / len(e)) / m[c] ** 2
        expected = (e[c] * np.sign(X[:, a] - X[:5, a, None] - 0.1)) @ G[0] * weight
        np.testing.assert_allclose(slopes[:, a], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("ties", [None, (1, 0, 1)])
@pytest.mark.parametrize("n", SIZES)
def test_contraction_is_the_formula(n: int, ties: tuple[int, ...] | None, rng: np.random.Generator) -> None:
    """Element by element, to rounding; of a matrix that is not symmetric, by half and as a whole."""
    kernel = AdditiveLaplacian(1.3, 0.7, SCALES if ties is None else SCALES[:2], ties)
    X, G = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    e, distances = exponentials(X, X, kernel)
    m = np.array(kernel.relative_scales)
    w = 1.3 / len(e) * m.prod() ** (2 / len(e)) / m**2
    q = w * [np.vdot(G, part) for part in e]
    by_lam2 = sum(w_c * np.vdot(G, part * distance) for w_c, part, distance in zip(w, e, distances, strict=True))
    expected = [q.sum(), by_lam2, *(2.0 * (q.mean() - q))]
    for B in (X, X.copy()):
        np.testing.assert_allclose(kernel.contract(G, G, X, B), expected, rtol=1e-11, atol=1e-12)


def test_a_row_far_away_leaves_the_others_as_they_are(rng: np.random.Generator) -> None:
    """Whatever else is in a table, a row's covariances are its own."""
    kernel, A, B = AdditiveLaplacian(2.0, 1.5), rng.normal(size=(6, 3)), rng.normal(size=(9, 3))
    with_stranger = np.vstack([A, np.full(3, 1e100)])
    np.testing.assert_allclose(kernel.cross(with_stranger, B)[:-1], kernel.cross(A, B), rtol=1e-13)
    assert (kernel.cross(with_stranger, B)[-1] == 0.0).all()


def test_repeated_rows_are_repeated_to_the_last_bit(rng: np.random.Generator) -> None:
    source = rng.integers(0, 15, size=40)
    K = AdditiveLaplacian(1.3, 0.7, SCALES).gram(rng.normal(size=(15, 3))[source])
    first = np.array([np.flatnonzero(source == k)[0] for k in source])
    np.testing.assert_array_equal(K, K[first])
    np.testing.assert_array_equal(K, K[:, first])


def test_counts_columns_and_starts_at_its_prior() -> None:
    start = Prior().mean_of(Model(1.0, Blend(k2=1.0)), 4).kernel
    assert (start.k2, start.lam2) == (pytest.approx(0.3), pytest.approx(3.0))
    assert AdditiveLaplacian(2.0, 1.0).diagonal(np.zeros((1, 7))) == pytest.approx([2.0])


def test_names_in_a_sum_are_different() -> None:
    """The second length scale of two Laplacians would have the name of this kernel's."""
    names = (Laplacian() + Laplacian() + AdditiveLaplacian()).names
    assert names == ("k1", "k12", "k2", "lam2", "lam", "lam3", "m")


@pytest.mark.parametrize("wrong", [{"k2": 0.0}, {"lam2": -1.0}, {"relative_scales": (1.0, np.inf)}])
def test_refuses_what_is_not_positive(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        AdditiveLaplacian(**wrong)
