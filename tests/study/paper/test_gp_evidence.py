"""The evidence of previous work's classifiers: against scikit-learn, and gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from differences import gradient_error
from marginwise.criteria.ep import EPEvidence
from marginwise.errors import NotConvergedError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import posterior
from marginwise.study.paper import gp_evidence
from marginwise.study.paper.gp_evidence import LaplaceGPEvidence, SiteEvidence
from zoo import blobs

SETTINGS = (
    Hyperparameters(1.0, 1.0, 0.1, (1.0, 1.0, 1.0)),
    Hyperparameters(1.0, 30.0, 1.0, (0.7, 2.0, 5.0)),
    Hyperparameters(1.0, 1e4, 1e-3, (3.0, 10.0, 1e2)),
    Hyperparameters(1.0, 5.0, 0.5, 1.5),
)
SITES = [("ep", "probit"), ("variational", "logistic"), ("variational", "linear"), ("ep", "linear")]


def classifier(h: Hyperparameters) -> GaussianProcessClassifier:
    """Return scikit-learn's classifier with the same kernel and the same likelihood."""
    kernel = ConstantKernel(h.k0) * RBF(h.length_scales) + ConstantKernel(h.koff)
    return GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000)


@pytest.mark.parametrize("h", SETTINGS)
def test_laplace_is_that_of_scikit_learn(h):
    problem = blobs(40, 3, shift=0.7)
    ours = LaplaceGPEvidence().evaluate(problem, h)
    assert ours.status.ok
    theirs = classifier(h).fit(problem.X, problem.y)
    value, gradient = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    assert ours.value * problem.n == pytest.approx(value, rel=1e-5)
    k0, *lengths, koff = gradient  # in the order of scikit-learn's sum and product
    np.testing.assert_allclose(ours.gradient * problem.n, [0.0, k0, koff, *lengths], rtol=1e-2, atol=1e-3)
    new = blobs(30, 3, seed=1).X
    # scikit-learn averages the logistic function by five error functions, the library by quadrature
    np.testing.assert_allclose(
        LaplaceGPEvidence().probability(problem, h, new), theirs.predict_proba(new)[:, 1], atol=5e-3
    )


@pytest.mark.parametrize("h", SETTINGS)
@pytest.mark.parametrize("names", [None, *SITES], ids=str)
def test_gradients_agree_with_differences(names, h):
    criterion = LaplaceGPEvidence() if names is None else SiteEvidence(*names)
    assert gradient_error(criterion, blobs(25, 3, shift=0.7), h) < 1e-5


def test_a_start_near_by_changes_nothing():
    problem = blobs(40, 3)
    criterion = LaplaceGPEvidence()
    start = criterion.evaluate(problem, SETTINGS[1]).state
    cold, warm = (criterion.evaluate(problem, SETTINGS[2], state) for state in (None, start))
    assert warm.value == pytest.approx(cold.value, abs=1e-10)
    np.testing.assert_allclose(warm.gradient, cold.gradient, atol=1e-7)


def test_value_alone_is_the_same():
    problem = blobs(30, 3)
    found = LaplaceGPEvidence().evaluate(problem, SETTINGS[0], with_gradient=False)
    assert found.gradient is None
    assert found.value == LaplaceGPEvidence().evaluate(problem, SETTINGS[0]).value


def test_sites_with_the_slack_are_those_of_the_criterion():
    problem, h = blobs(30, 3), SETTINGS[0]
    assert SiteEvidence("ep", "linear").evaluate(problem, h).value == pytest.approx(
        EPEvidence("linear").evaluate(problem, h).value, abs=1e-8
    )


def test_sites_predict_like_their_posterior():
    problem, h, new = blobs(30, 3), SETTINGS[0], blobs(20, 3, seed=1).X
    expected = posterior(problem.X, problem.y, h, likelihood="probit").predict_proba(new)[:, 1]
    np.testing.assert_array_equal(SiteEvidence("ep", "probit").probability(problem, h, new), expected)


def test_a_mode_that_is_not_found_is_said(monkeypatch):
    monkeypatch.setattr(gp_evidence, "_STEPS", 1)
    problem = blobs(20, 3)
    assert not LaplaceGPEvidence().evaluate(problem, SETTINGS[1]).status.ok
    with pytest.raises(NotConvergedError, match="the mode was not found"):
        LaplaceGPEvidence().probability(problem, SETTINGS[1], problem.X)
