"""Moments of latent functions, routes to blocks, and probabilities from moments, against what predictors say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.covariance.cells import Cells
from marginwise.covariance.partition import Partition
from marginwise.export import links
from marginwise.export.graph import concat
from marginwise.export.predictors import block_numbers, moments
from marginwise.inference.prediction import GaussianPredictor
from marginwise.kernels import Blend, Constant
from marginwise.likelihoods import LINEAR, QUADRATIC, Logistic
from marginwise.model import Model
from marginwise.multiclass import ClassPredictor, OrderedLink, SoftmaxLink
from marginwise.multiclass.linear import linear_least_squares
from marginwise.multiclass.posterior import least_squares
from marginwise.problem import labelled_problem
from onnx_values import evaluated

KERNEL = Blend(k0=2.0, koff=0.3, klin=1.0, k1=0.5, k2=0.3)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def both(predictor, rows):
    return evaluated(lambda x: concat(list(moments(predictor, x)), axis=1), rows)


def check_moments(predictor, rows, *, single=False):
    """Compare; predictors whose blocks are of single precision round more than the file does."""
    mean, variance = predictor.latent_mean_and_variance(rows)
    got = both(predictor, rows)
    np.testing.assert_allclose(got[:, :-1], mean.reshape(len(rows), -1), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(got[:, -1], variance, rtol=1e-5 if single else 1e-8, atol=1e-6 if single else 1e-11)


def test_exact_and_low_rank():
    X, labels = table()
    rows = 2.0 * table(25, 1)[0]
    for inducing in (None, X[:15]):
        problem = labelled_problem(X, labels, np.ones(len(X)), 3)
        problem = replace(problem, inducing=inducing)
        check_moments(least_squares(problem, Model(3.0, KERNEL)).predictor, rows)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("size", [9, 60])
def test_local_blocks(size, single):
    """Blocks of unequal sizes, one that no training row is in, and one only; in both precisions that they may have."""
    X, labels = table()
    outside = X[:1] + np.array([9.0, 0.0, 0.0])
    partition = Partition.of(np.vstack([X, outside]), np.ones(3), size)
    problem = labelled_problem(X, labels, np.ones(len(X)), 3)
    problem = replace(problem, inducing=X[::6], partition=partition, single=single)
    predictor = least_squares(problem, Model(3.0, KERNEL)).predictor
    assert type(predictor).__name__ == "LocalClassPredictor"
    rows = np.vstack([2.0 * table(40, 1)[0], X[:5], outside])
    check_moments(predictor, rows, single=single)
    check_moments(predictor, rows[:1], single=single)


def test_cells():
    """Cells with unequal numbers of inducing inputs, and one that no new row is in."""
    X, labels = table()
    cells = Cells.of(X, KERNEL, 5, 7)
    cells = Cells(cells.partition, (cells.points[0][:2], *cells.points[1:]))
    problem = labelled_problem(X, labels, np.ones(len(X)), 3)
    problem = replace(problem, inducing=X[::6], cells=cells)
    predictor = linear_least_squares(problem, Model(3.0, KERNEL)).predictor
    rows = 2.0 * table(40, 1)[0]
    check_moments(predictor, rows)
    check_moments(predictor, rows[:1])


def test_rows_on_thresholds_go_the_same_way():
    """Cells of few values put many rows exactly onto cuts, where one rounding more sends them elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 5)) / 3.0
    partition = Partition.of(X, np.array([1.0, 0.7, 0.3, 1.0, 1.0]), 10)
    rows = np.vstack([X, rng.integers(0, 3, (400, 5)) / 3.0])
    got = evaluated(lambda x: block_numbers(partition, x), rows)
    np.testing.assert_array_equal(got, partition.assign(rows))


def test_one_block_takes_all():
    partition = Partition.of(np.zeros((4, 2)), np.ones(2), 10)
    assert evaluated(lambda x: block_numbers(partition, x), np.ones((3, 2))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_probabilities_of_the_slack_likelihood(slack, C):
    """At ordinary moments, and where the margin is millions of standard deviations away."""
    rng = np.random.default_rng(0)
    mean = np.concatenate([rng.normal(0.0, 3.0, 300), [0.0, 1.0, -1.0, 1.0, 40.0, -40.0]])
    variance = np.concatenate([np.exp(rng.normal(0.0, 2.0, 300)), [1e-14, 1e-14, 1.0, 1e-12, 1e-12, 1e4]])
    one = GaussianPredictor(np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), Constant(), slack.weighted(C, np.ones(1)))
    got = evaluated(lambda m, v: links.log_proba(one, m, v), mean[:, None], variance[:, None])
    expected = one.log_proba_of(mean, variance)
    np.testing.assert_allclose(np.exp(got), np.exp(expected), atol=1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-11)


def test_probabilities_of_a_softmax_link():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(50, 3)), rng.random(50)
    link = SoftmaxLink(3.0, 0.3, 0.01)
    empty = (np.zeros((1, 1)), np.zeros((1, 3)), np.zeros((1, 1)), Constant())
    one = ClassPredictor(*empty, np.array([0.1, 0.2, 0.3]), 2.0, link)
    got = evaluated(lambda m, v: links.log_proba(one, m, v), mean, variance[:, None])
    np.testing.assert_allclose(got, one.log_proba_of(mean, variance), rtol=1e-13)


def test_probabilities_of_a_link_with_thresholds():
    rng = np.random.default_rng(0)
    mean, variance = 3.0 * rng.normal(size=(50, 1)), rng.random(50)
    link = OrderedLink((-1.0, 0.5, 0.7), 2.0, 0.8, 1e-3, (2, 0, 1, 3))
    empty = (np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), Constant())
    one = ClassPredictor(*empty, np.zeros(1), 2.0, link)
    got = evaluated(lambda m, v: links.log_proba(one, m, v), mean, variance[:, None])
    np.testing.assert_allclose(got, one.log_proba_of(mean, variance), rtol=1e-10)


def test_other_likelihoods_are_refused():
    one = GaussianPredictor(
        np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1)), Constant(), Logistic().weighted(1.0, np.ones(1))
    )
    with pytest.raises(ValueError, match="logistic"):
        evaluated(lambda m, v: links.log_proba(one, m, v), np.zeros((1, 1)), np.ones((1, 1)))
