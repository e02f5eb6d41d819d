"""The derivative of the solution, against differences of the solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from differences import differences
from marginwise.criteria.training import DenseTrainedSVM, solution_cotangent, train
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.problem import Problem, as_problem
from zoo import blobs

PROBLEM = Problem(blobs(30, 2, shift=0.5).X, blobs(30, 2).y, np.random.default_rng(5).uniform(0.5, 2.0, size=30))
H = Hyperparameters(1.2, 1.5, 0.3, [0.9, 1.3])


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_gradient_of_a_function_of_alpha_and_latent(slack: str, rng: np.random.Generator) -> None:
    """V = a·β + b·θ with random a, b: all that a criterion can feel to first order."""
    a, b = rng.normal(size=(2, PROBLEM.n))

    def trained(logs: np.ndarray) -> DenseTrainedSVM:
        return train(PROBLEM, Hyperparameters.from_vector(logs), as_slack(slack))

    def value(logs: np.ndarray) -> float:
        at = trained(logs)
        return float(a @ at.signed_alpha + b @ at.solution.latent)

    at = trained(H.to_vector())
    cotangent = solution_cotangent(at, a + at.gram @ b)
    # b reaches beyond the support vectors, so the contraction is over all points.
    G = np.outer(cotangent.direction + b, at.signed_alpha)
    gradient = [cotangent.log_C, *at.covariance.contract(0.5 * (G + G.T))]
    np.testing.assert_allclose(gradient, differences(value, H.to_vector(), 1e-5), rtol=1e-6, atol=1e-8)


def test_no_marginal_support_vectors() -> None:
    """All α at the bound: the solution moves with C alone."""
    problem = blobs(20, 2)
    at = train(problem, Hyperparameters(1e-3, 1, 0.1, [1, 1]), as_slack("linear"))
    assert len(at.solution.marginal) == 0
    cotangent = solution_cotangent(at, problem.y)  # V = Σα = nC
    assert cotangent.status.ok
    assert not cotangent.direction.any()
    assert cotangent.log_C == pytest.approx(20 * 1e-3)


def test_a_singular_block_has_no_derivative_and_says_so() -> None:
    """Two points that can't be told apart, both at the margin."""
    problem = as_problem([[0.0], [1e-9], [1.0], [1.0 + 1e-9]], [1, 1, -1, -1])
    at = train(problem, Hyperparameters(1e3, 1, 0.1, 1.0), as_slack("linear"))
    everyone = np.arange(4)
    both = replace(at, solution=replace(at.solution, support=everyone, marginal=everyone, bound=everyone[:0]))
    cotangent = solution_cotangent(both, np.ones(4))
    assert not cotangent.status.ok
    assert "singular" in cotangent.status.message
