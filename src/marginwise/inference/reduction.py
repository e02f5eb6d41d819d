"""Variances at new points from a factor of few columns, where these are enough.

Nearly all of a prediction's time goes into k(x)ᵀWk(x) with a W of shape (m, m). With B = KQ for columns Q that span
what KWK does most, FFᵀ = WB(BᵀWB)⁻¹BᵀW is the projection of W on them: never larger than W, so that variances are
never too small. Q is found by random columns and one step of the power method (Halko, Martinsson & Tropp 2011). How
many columns are enough is tried: probabilities at training points, and at points with cells of several of them, may not
differ. Smooth kernels need few; where a kernel has corners, as the Laplacian, mostly all stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from marginwise._arrays import Array
from marginwise.inference.prediction import LatentPredictor

AnyPredictor = TypeVar("AnyPredictor", bound=LatentPredictor)

#: Largest difference of a probability.
TOLERANCE = 1e-4

#: Points below which W is kept: there is nothing to gain.
_FEW = 200

#: Columns that are tried first, as a part of the points; then half as many, and so on.
_MOST = 0.25

#: Points of each kind at which probabilities are compared.
_COMPARED = 200

#: Directions that W hardly sees, in units of the largest, are left out.
_LEAST = 1e-12


def reduced(predictor: AnyPredictor) -> AnyPredictor:
    """Return the predictor with a factor in the place of its gain, or itself where that would change probabilities."""

    def probability(mean: Array, variance: Array) -> Array:
        return np.exp(predictor.log_proba_of(mean, variance))

    Z, W = predictor.points, predictor.gain
    m = len(Z)
    if m < _FEW or W.shape[1] < m:  # a factor already
        return predictor
    rng = np.random.default_rng(0)
    X = _compared(Z, rng)
    cross = predictor.kernel.cross(X, Z)
    exact = probability(*predictor.moments_of(X, cross))
    gram = predictor.kernel.gram(Z)
    best, columns = predictor, int(_MOST * m)
    while columns > 1:
        trial = replace(predictor, gain=_factor(gram, W, rng.standard_normal((m, columns))))
        if np.abs(probability(*trial.moments_of(X, cross)) - exact).max() > TOLERANCE:
            break
        best, columns = trial, columns // 2
    return best


def _compared(Z: Array, rng: np.random.Generator) -> Array:
    """Return some of the points, and as many with the cells of several."""
    own = Z[:: -(-len(Z) // _COMPARED)]
    mixed = np.column_stack([rng.permutation(column)[: len(own)] for column in Z.T])
    return np.vstack([own, mixed])


def _factor(gram: Array, W: Array, start: Array) -> Array:
    """Return F with FFᵀ ≈ W."""
    Q = start
    for _ in range(2):
        Q = np.linalg.qr(gram @ (W @ (gram @ Q)))[0]
    B = gram @ Q
    image = W @ B
    values, vectors = np.linalg.eigh(B.T @ image)
    kept = values > _LEAST * values[-1]
    return (image @ vectors[:, kept]) / np.sqrt(values[kept])
