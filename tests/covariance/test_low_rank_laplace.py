"""The Laplace evidence with a Gram matrix of low rank: against the dense formulas, and by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from differences import gradient_error
from marginwise.covariance import DenseCovariance, LowRankCovariance, as_blocks
from marginwise.criteria.factor import determinant
from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.training import principal_block, solve_distinct
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.problem import Problem
from marginwise.svm.low_rank import positive_residual
from zoo import blobs

H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5])


def problem(rank: int, n: int = 60) -> Problem:
    base = blobs(n, 3, shift=0.6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n)
    return replace(base, weights=weights, inducing=base.X[:rank] + 0.02)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("rank", [3, 20])
def test_is_the_dense_formula_on_the_approximate_matrix(slack: str, rank: int) -> None:
    at = problem(rank)
    covariance = LowRankCovariance(H.kernel, as_blocks(at.X), at.inducing)
    V = covariance.features(at.X)
    K = DenseCovariance.of_matrix(V @ V.T + np.diag(positive_residual(covariance)))
    trained = solve_distinct(at, np.arange(at.n), H, as_slack(slack), K, None)
    curved = trained.curvature(0.1)
    spread = determinant(principal_block(trained.support_gram, curved.inside), curved.root)
    assert spread is not None
    expected = (trained.log_maximum - 0.5 * spread.log_det) / at.weights.sum()
    ours = LaplaceEvidence(slack).evaluate(at, H)
    assert ours.status.ok
    assert ours.value == pytest.approx(expected, abs=1e-8)
    assert LaplaceEvidence(slack).evaluate(at, H, with_gradient=False).value == ours.value


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("rank", [3, 20])
def test_gradients_agree_with_differences(slack: str, rank: int) -> None:
    assert gradient_error(LaplaceEvidence(slack), problem(rank), H) < 1e-5


@pytest.mark.parametrize("slack", SLACKS)
def test_converges_to_the_dense_criterion(slack: str) -> None:
    base = replace(problem(1), inducing=None)
    dense = LaplaceEvidence(slack).evaluate(base, H)
    ours = LaplaceEvidence(slack).evaluate(replace(base, inducing=base.X), H)
    assert ours.value == pytest.approx(dense.value, abs=1e-5)
    np.testing.assert_allclose(ours.gradient, dense.gradient, atol=1e-4)
