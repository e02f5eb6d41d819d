"""SVMs of pairs, against those in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.export import machines
from marginwise.kernels import RBF
from marginwise.likelihoods import LINEAR, QUADRATIC
from marginwise.model import Model
from marginwise.svm.pairs import couple, train_pairs
from onnx_values import evaluated


@pytest.mark.parametrize("n_classes", [3, 4, 9])
def test_coupled_probabilities(n_classes):
    """Of pairs that agree, that contradict each other, and that are sure."""
    rng = np.random.default_rng(0)
    n_pairs = n_classes * (n_classes - 1) // 2
    second = np.vstack([rng.random((50, n_pairs)), rng.integers(0, 2, (20, n_pairs)), np.full((1, n_pairs), 1e-300)])
    got = evaluated(lambda x: machines.couple(x, n_classes), second)
    np.testing.assert_allclose(got, couple(second, n_classes), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_votes_and_probabilities(n_classes, slack):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    codes = np.arange(40) % n_classes
    trained, _ = train_pairs(X + codes[:, None], codes, n_classes, np.ones(40), Model(2.0, RBF(2.0)), slack)
    rows = 2.0 * rng.normal(size=(30, 2)) + 1.0
    got = evaluated(lambda x: machines.decision(trained, x), rows)
    np.testing.assert_allclose(got, trained.decision(rows), rtol=1e-10, atol=1e-12)
    logs = evaluated(lambda x: machines.log_proba(trained, x, 2.0, slack), rows)
    np.testing.assert_allclose(np.exp(logs), np.exp(trained.log_proba(rows, 2.0, slack)), atol=1e-12)


def test_inducing_inputs_have_their_coefficients_by_pairs():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 2)), np.arange(40) % 2
    trained, _ = train_pairs(X + codes[:, None], codes, 2, np.ones(40), Model(2.0, RBF(2.0)), LINEAR, inducing=X[:8])
    got = evaluated(lambda x: machines.decision(trained, x), X)
    np.testing.assert_allclose(got, trained.decision(X), rtol=1e-10, atol=1e-12)
