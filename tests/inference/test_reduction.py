"""Variances from a factor of few columns: against all of W."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.inference.reduction import TOLERANCE, reduced
from marginwise.kernels import RBF
from marginwise.multiclass import ClassPredictor, SoftmaxLink

RNG = np.random.default_rng(0)


def _predictor(n: int, d: int, length: float) -> ClassPredictor:
    X = RNG.normal(size=(n, d))
    kernel = RBF(2.0, length)
    gain = np.linalg.inv(kernel.gram(X) + 0.5 * np.eye(n))
    b = gain @ np.sign(X[:, 0])
    link = SoftmaxLink(1.5, 1.0, 1e-12)  # expit(3m/√(1 + v)) for two opposite latent functions
    return ClassPredictor(X, np.column_stack([-b, b]), gain, kernel, np.zeros(2), 1.0, link)


@pytest.mark.parametrize(("n", "d", "length"), [(300, 2, 1.0), (400, 5, 4.0), (250, 8, 10.0)])
def test_probabilities_are_the_same_at_new_points(n, d, length):
    whole = _predictor(n, d, length)
    few = reduced(whole)
    assert few.gain.shape[1] <= n / 4
    new = RNG.normal(size=(500, d))
    one, other = (np.exp(p.log_proba(new)) for p in (whole, few))
    assert np.abs(one - other).max() < 3.0 * TOLERANCE


def test_variances_are_never_too_small():
    whole = _predictor(300, 2, 1.0)
    few = reduced(whole)
    new = RNG.normal(size=(500, 2))
    assert (few.latent_mean_and_variance(new)[1] >= whole.latent_mean_and_variance(new)[1] - 1e-9).all()


def test_where_no_few_columns_do_all_stay():
    whole = _predictor(300, 12, 0.7)  # all points far from each other
    assert reduced(whole) is whole


def test_few_points_stay_as_they_are():
    whole = _predictor(50, 2, 1.0)
    assert reduced(whole) is whole
