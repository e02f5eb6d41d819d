"""Shares of straight, smooth and stepwise parts: against the parts themselves, and where one opposes another."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.kernels import RBF, Constant, Kernel, Laplacian, Linear
from marginwise.multiclass import ClassPredictor


def predictor(kernel: Kernel, X: np.ndarray, coefficients: np.ndarray) -> ClassPredictor:
    b = coefficients if coefficients.ndim == 2 else np.column_stack([-coefficients, coefficients])
    return ClassPredictor(X, b, np.zeros((len(X), 1)), kernel, np.zeros(b.shape[1]), 1.0)


def test_shares_are_those_of_the_variances_of_the_parts(rng: np.random.Generator) -> None:
    X, weights = rng.normal(size=(40, 2)), rng.uniform(0.5, 2.0, size=40)
    coefficients = rng.normal(size=(40, 3))  # three latent functions
    terms = {"straight": [Linear(2.0)], "smooth": [RBF(1.0), RBF(0.5, 0.3)], "stepwise": [Laplacian(0.7)]}
    kernel = Constant(3.0) + Linear(2.0) + RBF(1.0) + Laplacian(0.7) + RBF(0.5, 0.3)
    variances = {}
    for shape, own in terms.items():
        part = sum(term.cross(X, X) @ coefficients for term in own)
        variances[shape] = sum(np.cov(column, aweights=weights, ddof=0) for column in part.T)
    shares = predictor(kernel, X, coefficients).term_shares(weights)
    assert shares == pytest.approx({shape: v / sum(variances.values()) for shape, v in variances.items()})


def test_parts_that_work_against_each_other_have_no_negative_share() -> None:
    X = np.linspace(-2.0, 2.0, 30)[:, None]
    straight, smooth = Linear(1.0), RBF(1.0, 0.8)
    # Coefficients whose straight part rises by 0.3 and whose smooth part falls by 1.
    b = np.linalg.pinv(np.column_stack([X, smooth.cross(X, X) @ X]).T) @ [0.3 / (X.T @ X).item(), -1.0]
    parts = [term.cross(X, X) @ b for term in (straight, smooth)]
    total = sum(parts)
    assert np.cov(parts[0], total)[0, 1] < 0.0 < np.cov(parts[1], total)[0, 1]
    shares = predictor(straight + smooth, X, b).term_shares(np.ones(30))
    assert all(0.0 <= share <= 1.0 for share in shares.values())
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["straight"] == pytest.approx(parts[0].var() / (parts[0].var() + parts[1].var()))


def test_a_latent_function_without_variance_has_equal_shares() -> None:
    X = np.zeros((5, 1))
    assert predictor(Linear(1.0) + RBF(1.0), X, np.ones(5)).term_shares(np.ones(5)) == {"straight": 0.5, "smooth": 0.5}
