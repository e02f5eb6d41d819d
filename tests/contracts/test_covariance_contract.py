"""What everyone may ask of a covariance, however it is kept: the answers are those of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import dask.array as da
import numpy as np
import pytest

from differences import differences
from marginwise.covariance import (
    Covariance,
    DenseCovariance,
    ExpandingCovariance,
    ExpandingGaussian,
    LocalCovariance,
    LowRankCovariance,
    OnDemandCovariance,
    Partition,
    RowCovariance,
    SiteCovariance,
    as_blocks,
)
from marginwise.kernels import RBF, Constant, Kernel, Linear

N, M = 30, 8
X = np.random.default_rng(0).normal(size=(N, 3))
INDUCING = X[:M] + 0.05
PARTITION = Partition.of(X, np.ones(3), 12)
ONE_BLOCK = Partition.of(X, np.ones(3), N)
TAU = np.exp(np.random.default_rng(1).normal(size=N))
NU = np.random.default_rng(2).normal(size=N)

KERNELS = {
    "the paper's": RBF(1.5, (0.7, 1.0, 2.0)) + Constant(0.2),
    "K(x, x) not constant": RBF(1.5, 1.3) + Linear(2.0) + Constant(0.2),
}


@dataclass(frozen=True)
class Kept:
    """A way to keep a covariance, and the matrix that it stands for, by the textbook."""

    make: Callable[[Kernel], Covariance]
    matrix: Callable[[Kernel], np.ndarray]


def gram(kernel: Kernel) -> np.ndarray:
    return kernel.gram(X)


def nystroem(kernel: Kernel) -> np.ndarray:
    cross, inner = kernel.cross(X, INDUCING), kernel.gram(INDUCING)
    return cross @ np.linalg.solve(inner + 1e-9 * np.diag(inner.diagonal()), cross.T)


def local(kernel: Kernel) -> np.ndarray:
    """Exact within the blocks, Nyström's matrix between them."""
    numbers = PARTITION.assign(X)
    return np.where(numbers[:, None] == numbers, gram(kernel), nystroem(kernel))


WAYS = {
    "dense": Kept(lambda kernel: DenseCovariance.of(kernel, X), gram),
    "on demand": Kept(lambda kernel: OnDemandCovariance(kernel, X, 5 * 8 * N), gram),
    "low rank": Kept(lambda kernel: LowRankCovariance(kernel, as_blocks(X), INDUCING), nystroem),
    "low rank on Dask": Kept(
        lambda kernel: LowRankCovariance(kernel, as_blocks(da.from_array(X, chunks=(7, 3))), INDUCING), nystroem
    ),
    "local": Kept(lambda kernel: LocalCovariance(kernel, X, INDUCING, PARTITION), local),
    "one block": Kept(lambda kernel: LocalCovariance(kernel, X, INDUCING, ONE_BLOCK), gram),
}
SITES = {name: way for name, way in WAYS.items() if name != "on demand"}

every = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
with_sites = pytest.mark.parametrize("way", SITES.values(), ids=SITES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.covariance.blocks.ROWS", 11)


def made(way: Kept, kernel: Kernel) -> SiteCovariance:
    covariance = way.make(kernel)
    assert isinstance(covariance, SiteCovariance)
    return covariance


@every
@every_kernel
def test_diagonal_products_and_blocks(way: Kept, kernel: Kernel, rng: np.random.Generator) -> None:
    covariance, K = way.make(kernel), way.matrix(kernel)
    assert covariance.n == N
    np.testing.assert_allclose(covariance.diagonal, K.diagonal(), rtol=1e-9)
    x = np.where(rng.random(N) < 0.3, 0.0, rng.normal(size=N))
    np.testing.assert_allclose(covariance.times(x), K @ x, atol=1e-8)
    for rows in ([], [4], [0, 3, 17, 29], list(range(N))):
        chosen = np.array(rows, dtype=np.intp)
        np.testing.assert_allclose(covariance.block(chosen), K[np.ix_(chosen, chosen)], atol=1e-8)


@every
@every_kernel
def test_functions_and_their_expansions(way: Kept, kernel: Kernel, rng: np.random.Generator) -> None:
    covariance, K = way.make(kernel), way.matrix(kernel)
    coefficients = np.where(np.arange(N) % 3 == 0, rng.normal(size=N), 0.0)
    np.testing.assert_allclose(covariance.function_at(X, coefficients), K @ coefficients, atol=1e-6)
    if isinstance(covariance, ExpandingCovariance):
        points, c = covariance.expansion(coefficients)
        assert len(points) == len(c) <= 10
        np.testing.assert_allclose(kernel.cross(X, points) @ c, K @ coefficients, atol=1e-6)


@every
@every_kernel
def test_combinations_of_rows(way: Kept, kernel: Kernel, rng: np.random.Generator) -> None:
    covariance, K = way.make(kernel), way.matrix(kernel)
    assert isinstance(covariance, RowCovariance) == (way not in (WAYS["low rank"], WAYS["low rank on Dask"]))
    if isinstance(covariance, RowCovariance):
        rows, c = np.array([2, 5, 6, 20]), rng.normal(size=4)
        total, size = covariance.combine(rows, c)
        np.testing.assert_allclose(total, c @ K[rows], atol=1e-13)
        np.testing.assert_allclose(size, np.abs(c) @ np.abs(K[rows]), rtol=1e-13)


@with_sites
@every_kernel
def test_gaussian_of_sites(way: Kept, kernel: Kernel) -> None:
    covariance, K = made(way, kernel), way.matrix(kernel)
    gaussian = covariance.gaussian(TAU, NU)
    assert gaussian is not None
    sigma = np.linalg.solve(np.eye(N) + K * TAU, K)
    np.testing.assert_allclose(gaussian.full_covariance(), sigma, atol=1e-8)
    np.testing.assert_allclose(gaussian.variance, sigma.diagonal(), rtol=1e-7)
    np.testing.assert_allclose(gaussian.mean, sigma @ NU, atol=1e-8)
    np.testing.assert_allclose(gaussian.times_covariance(NU), sigma @ NU, atol=1e-8)
    np.testing.assert_allclose(gaussian.dual_mean, NU - TAU * (sigma @ NU), atol=1e-8)
    np.testing.assert_allclose(covariance.dual_mean(TAU, NU), gaussian.dual_mean, atol=1e-9)
    assert gaussian.log_det == pytest.approx(np.linalg.slogdet(np.eye(N) + K * TAU)[1], rel=1e-9)


@with_sites
@every_kernel
def test_predictions_are_the_textbook_s(way: Kept, kernel: Kernel, rng: np.random.Generator) -> None:
    """At the rows themselves: mean and variance with K and the residual, which the sites don't know of."""
    covariance, K = made(way, kernel), way.matrix(kernel)
    gaussian = covariance.gaussian(TAU, NU)
    assert gaussian is not None
    if not isinstance(gaussian, ExpandingGaussian):
        return  # see tests/covariance/test_local.py
    b, W = gaussian.predictor()
    k = kernel.cross(X, gaussian.points)
    np.testing.assert_allclose(k @ b, gaussian.mean, atol=1e-6)
    explained = np.einsum("ij,ij->i", k @ W, k)
    np.testing.assert_allclose(K.diagonal() - explained, gaussian.variance, atol=1e-6)


@with_sites
@every_kernel
def test_residual_is_what_is_left_out(way: Kept, kernel: Kernel) -> None:
    covariance = made(way, kernel)
    left_out = kernel.diagonal(X) - way.matrix(kernel).diagonal()
    residual = np.zeros(N) if covariance.residual is None else covariance.residual
    np.testing.assert_allclose(residual, left_out, atol=1e-8)
    assert (residual >= 0.0).all()


@with_sites
@every_kernel
def test_contractions_are_derivatives(way: Kept, kernel: Kernel, rng: np.random.Generator) -> None:
    mean_bar, variance_bar, residual_bar = rng.normal(size=(3, N))

    def both(logs: np.ndarray) -> tuple[float, float]:
        covariance = made(way, kernel.with_values(np.exp(logs)))
        gaussian = covariance.gaussian(TAU, NU)
        assert gaussian is not None
        blur = 0.0 if covariance.residual is None else float(residual_bar @ covariance.residual)
        evidence = 0.5 * float(NU @ gaussian.mean) - 0.5 * gaussian.log_det
        return evidence + blur, float(mean_bar @ gaussian.mean + variance_bar @ gaussian.variance) + blur

    gaussian = made(way, kernel).gaussian(TAU, NU)
    assert gaussian is not None
    contracted = (
        gaussian.contract_evidence(residual_bar),
        gaussian.contract_marginals(mean_bar, variance_bar, residual_bar),
    )
    for k, ours in enumerate(contracted):
        expected = differences(lambda logs, k=k: both(logs)[k], np.log(kernel.values), 1e-5)
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6)


@every_kernel
def test_contraction_of_a_matrix(kernel: Kernel, rng: np.random.Generator) -> None:
    G = rng.normal(size=(N, N))
    G += G.T

    def value(logs: np.ndarray) -> float:
        return float(np.vdot(G, kernel.with_values(np.exp(logs)).gram(X)))

    expected = differences(value, np.log(kernel.values), 1e-5)
    covariance = DenseCovariance.of(kernel, X)
    np.testing.assert_allclose(covariance.contract(G), expected, rtol=1e-7, atol=1e-7)
    rows = np.array([1, 4, 9])
    block = np.zeros((N, N))
    block[np.ix_(rows, rows)] = G[np.ix_(rows, rows)]
    np.testing.assert_allclose(
        covariance.principal(rows).contract(G[np.ix_(rows, rows)]), covariance.contract(block), rtol=1e-11, atol=1e-12
    )


@every_kernel
def test_contraction_of_the_prior_variance(kernel: Kernel, rng: np.random.Generator) -> None:
    g = rng.normal(size=N)
    expected = differences(
        lambda logs: float(g @ kernel.with_values(np.exp(logs)).diagonal(X)), np.log(kernel.values), 1e-5
    )
    ours = LowRankCovariance(kernel, as_blocks(X), INDUCING).contract_prior_variance(g)
    np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-8)


def test_a_given_matrix_has_nothing_to_differentiate() -> None:
    K = KERNELS["the paper's"].gram(X)
    covariance = DenseCovariance.of_matrix(K)
    np.testing.assert_array_equal(covariance.gram, K)
    assert covariance.contract(np.ones((N, N))).shape == (0,)
    rows = np.array([3, 8])
    np.testing.assert_array_equal(covariance.kernel.cross(covariance.X[rows], covariance.X), K[rows])
