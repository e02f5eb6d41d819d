"""Latent functions that are linear in few features: the same as with a covariance of n rows, by sums over blocks."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

from marginwise.covariance.cells import CellFeatures, CellPrecision, Cells, Layout
from marginwise.kernels import Blend
from marginwise.model import Model
from marginwise.multiclass.linear import linear_least_squares, linear_softmax
from marginwise.multiclass.posterior import least_squares, softmax_map
from marginwise.problem import MulticlassProblem

RNG = np.random.default_rng(0)
N = 150
X = RNG.normal(size=(N, 2))
NEW = RNG.normal(size=(40, 2))
MODEL = Model(2.0, Blend(k0=1.0, k1=0.5, k2=0.3, length_scales=[0.8, 1.2]))
PAIRS = [(least_squares, linear_least_squares), (softmax_map, linear_softmax)]


def problem(n_classes: int, **options) -> MulticlassProblem:
    centres = np.array([-0.5, 0.6])[: n_classes - 1]
    labels = (X[:, :1] + 0.4 * RNG.normal(size=(N, 1)) > centres).sum(axis=1).astype(float)
    weights, examples = RNG.integers(1, 4, N).astype(float), RNG.integers(1, 3, N).astype(float)
    return MulticlassProblem(X, labels, weights, X[:20], examples, n_classes=n_classes, **options)


def cells(rank: int = 6) -> Cells:
    return Cells.of(X, MODEL.kernel, 4, rank)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("by_rows", "by_weights"), PAIRS)
def test_without_cells_it_is_the_posterior_of_low_rank(by_rows, by_weights, n_classes: int) -> None:
    at = problem(n_classes)
    accuracy = {"tolerance": 1e-9} if by_weights is linear_softmax else {}
    there, here = by_rows(at, MODEL, **accuracy), by_weights(at, MODEL, **accuracy)
    for a, b in zip(here.left_out, there.left_out, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    for a, b in zip(here.predictor.moments(NEW), there.predictor.moments(NEW), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def dense(features: CellFeatures, rows: np.ndarray) -> np.ndarray:
    """The features of rows with a column for each weight."""
    whole = np.zeros((len(rows), features.layout.total))
    for part in features.at(rows):
        whole[np.ix_(part.rows, features.layout.places(part.cell))] = part.features
    return whole


def test_features_of_cells_are_of_the_shared_inducing_inputs_first() -> None:
    own = cells()
    features, shared = CellFeatures(MODEL.kernel, X[:20], own), CellFeatures(MODEL.kernel, X[:20], None)
    np.testing.assert_allclose(dense(features, NEW)[:, :20], dense(shared, NEW), atol=1e-6)
    assert features.layout == Layout(20, tuple(map(len, own.points)))
    exact = CellFeatures(MODEL.kernel, X[:20], Cells.of(X, MODEL.kernel, 4, N))  # every row is one in its cell
    F = dense(exact, X)
    same = np.equal.outer(*[exact.cells.partition.assign(X)] * 2)
    np.testing.assert_allclose((F @ F.T)[same], MODEL.kernel.gram(X)[same], atol=1e-5)


def test_least_squares_with_cells_is_regression_with_their_covariance() -> None:
    at = problem(3, cells=cells())
    posterior = linear_least_squares(at, MODEL)
    F, G = dense(posterior.features, X), dense(posterior.features, NEW)
    gram = F @ F.T + np.diag(MODEL.kernel.diagonal(X) - np.einsum("ij,ij->i", F, F))
    noise = 1.0 / (MODEL.C * at.weights)
    offset = posterior.sites.offset
    targets = 2.0 * np.eye(3)[at.labels] - offset
    solved = np.linalg.solve(gram + np.diag(noise), np.column_stack([targets, F @ G.T]))
    mean, variance = posterior.predictor.latent_mean_and_variance(NEW)
    np.testing.assert_allclose(mean, G @ F.T @ solved[:, :3], atol=1e-7)
    explained = np.einsum("ij,ji->i", G @ F.T, solved[:, 3:])
    np.testing.assert_allclose(variance, MODEL.kernel.diagonal(NEW) - explained, atol=1e-6)
    for i in (0, 17):  # without one of the row's examples
        weights = at.weights.copy()
        weights[i] *= 1.0 - 1.0 / at.examples[i]
        kept = weights > 0.0
        K = gram[np.ix_(kept, kept)] + np.diag(1.0 / (MODEL.C * weights[kept]))
        # what features leave open of the row's latent value is new to the others, not to its other examples
        expected = gram[i, kept] @ np.linalg.solve(K, targets[kept]) + offset
        np.testing.assert_allclose(posterior.left_out.mean[i], expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_softmax_mode_with_cells_is_stationary(n_classes: int) -> None:
    posterior = linear_softmax(problem(n_classes, cells=cells()), MODEL, tolerance=1e-9)
    at, F = posterior.problem, dense(posterior.features, X)
    u = np.zeros((F.shape[1], n_classes))
    for cell, own in enumerate(posterior.sites.mode):
        u[posterior.features.layout.places(cell)] = own
    p = np.exp(log_softmax(F @ u, axis=1))
    gradient = F.T @ (at.weights[:, None] * (np.eye(n_classes)[at.labels] - p)) - u
    assert np.abs(gradient).max() < 1e-5


def test_variances_of_sums_know_that_cells_share_weights() -> None:
    posterior = linear_least_squares(problem(2, cells=cells()), MODEL)
    predictor = posterior.predictor
    F, G = dense(posterior.features, X), dense(posterior.features, NEW)
    left = MODEL.kernel.diagonal(X) - np.einsum("ij,ij->i", F, F)
    tau = 1.0 / (1.0 / (MODEL.C * posterior.problem.weights) + left)
    covariance = np.linalg.inv(np.eye(F.shape[1]) + (F.T * tau) @ F)
    same = np.equal.outer(*[predictor.cells.partition.assign(NEW)] * 2)
    joint = G @ covariance @ G.T + same * (MODEL.kernel.gram(NEW) - G @ G.T)
    w = RNG.normal(size=len(NEW))
    assert predictor.variance_of_sum(NEW, w) == pytest.approx(w @ joint @ w, rel=1e-5)


def test_precisions_with_the_shape_of_an_arrow() -> None:
    layout, rng = Layout(3, (2, 0, 4, 90)), np.random.default_rng(1)
    whole, normals = np.eye(layout.total), {}
    for cell, size in enumerate(layout.sizes):
        F, places = rng.normal(size=(95, 3 + size)), layout.places(cell)
        whole[np.ix_(places, places)] += F.T @ F
        normals[cell] = np.asfortranarray(np.tril(F.T @ F))
    precision, right = CellPrecision(layout, normals), rng.normal(size=(layout.total, 2))
    np.testing.assert_allclose(precision.solve(right), np.linalg.solve(whole, right), atol=1e-10)
    for cell in range(len(layout.sizes)):
        root, places = precision.root(cell), layout.places(cell)
        np.testing.assert_allclose(root.T @ root, np.linalg.inv(whole)[np.ix_(places, places)], atol=1e-10)
    assert CellPrecision(layout, {cell: -10.0 * one for cell, one in normals.items()}).failed


def test_the_mode_is_the_same_after_a_look_at_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.multiclass.linear._ROWS", 5)
    at = problem(3, cells=cells())
    whole = linear_softmax(at, MODEL, tolerance=1e-8)
    monkeypatch.setattr("marginwise.multiclass.linear._STEP", 3)
    monkeypatch.setattr("marginwise.multiclass.linear._ROWS_EACH", 0)
    after = linear_softmax(at, MODEL, tolerance=1e-8)
    np.testing.assert_allclose(after.predictor.latent_mean(NEW), whole.predictor.latent_mean(NEW), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_search_can_begin_at_sites_of_other_features(n_classes: int) -> None:
    """It ends at the same mode; begun where it has ended, the first step leads there."""
    at = problem(n_classes, cells=cells())
    cold = linear_softmax(at, MODEL, tolerance=1e-9)
    other = linear_softmax(replace(at, cells=Cells.of(X, MODEL.kernel, 2, 9)), MODEL, tolerance=1e-9)
    warm = linear_softmax(at, MODEL, other.row_sites, 1e-9)
    for a, b in zip(warm.predictor.moments(NEW), cold.predictor.moments(NEW), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    sites = cold.row_sites
    F = dense(cold.features, X)
    mean = np.linalg.solve(np.eye(F.shape[1]) + (F.T * sites.tau) @ F, F.T @ sites.nu)
    modes = np.zeros_like(mean)
    for cell, own in enumerate(cold.sites.mode):
        modes[cold.features.layout.places(cell)] = own
    if n_classes == 2:  # otherwise the curvature of a row is a mean one
        np.testing.assert_allclose(mean, modes, atol=1e-5)


def test_rows_of_a_cell_lie_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks that are not too large; what is said of rows is in their own order."""
    features = CellFeatures(MODEL.kernel, X[:20], cells())
    order, blocks = features.sorted_rows(X, 10)
    np.testing.assert_array_equal(np.concatenate(blocks.blocks), X[order])
    assert max(blocks.sizes) <= 10
    assert all(len(np.unique(features.cells.partition.assign(rows))) == 1 for rows in blocks.blocks)
    at = problem(3, cells=cells())
    moments = linear_least_squares(at, MODEL).left_out
    turned = np.random.default_rng(3).permutation(N)
    again = linear_least_squares(at.subset(turned), MODEL).left_out
    for a, b in zip(again, moments, strict=True):
        np.testing.assert_allclose(a, b[turned], atol=1e-9)


def test_a_triangle_of_each_cell_is_kept() -> None:
    """All else follows from these, to the last bit."""
    predictor = linear_least_squares(problem(2, cells=cells(60)), MODEL).predictor
    sizes = [len(mean) for mean in predictor.means]
    expected = [part.latent_mean_and_variance(NEW) for part in predictor.parts]
    stored = pickle.dumps(predictor)
    numbers = sum(size * (size + 1) // 2 + 2 * size for size in sizes) + 4 * (20 + sum(sizes))
    assert len(stored) < 8 * numbers + 5000
    again = pickle.loads(stored)
    for part, moments in zip(again.parts, expected, strict=True):
        for a, b in zip(part.latent_mean_and_variance(NEW), moments, strict=True):
            np.testing.assert_array_equal(a, b)
