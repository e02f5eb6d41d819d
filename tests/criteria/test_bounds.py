"""The two cheap bounds: their formulas, and that they are bounds."""

from __future__ import annotations

import numpy as np
import pytest

from differences import repeated
from marginwise.criteria import as_criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.problem import as_problem
from marginwise.svm import solve_problem
from zoo import blobs, random_hyperparameters

SLACKS = ["linear", "quadratic"]


@pytest.mark.parametrize("slack", SLACKS)
def test_formulas(slack: str, rng: np.random.Generator) -> None:
    problem = blobs(50, 2, shift=0.6)
    for _ in range(5):
        h = random_hyperparameters(rng, 2)
        solution = solve_problem(problem, h, as_slack(slack))
        margin = problem.y * solution.latent
        fraction = np.mean(margin <= 0) + np.mean(solution.alpha > 0)
        assert as_criterion("sv-fraction", slack).evaluate(problem, h).value == pytest.approx(fraction)
        bound = np.mean(solution.alpha * (h.k0 + h.koff) >= margin - 1e-9)
        assert as_criterion("jaakkola-haussler", slack).evaluate(problem, h).value == pytest.approx(bound)


@pytest.mark.parametrize("slack", SLACKS)
def test_each_is_a_bound_on_the_next(slack: str, rng: np.random.Generator) -> None:
    problem = blobs(40, 2, shift=0.6)
    for _ in range(5):
        h = random_hyperparameters(rng, 2)
        loose, tight, exact = (
            as_criterion(name, slack).evaluate(problem, h).value for name in ("sv-fraction", "jaakkola-haussler", "loo")
        )
        assert exact <= tight <= loose


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("name", ["sv-fraction", "jaakkola-haussler"])
def test_a_weight_is_a_number_of_copies(name: str, slack: str) -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 0.9])
    criterion = as_criterion(name, slack)
    assert criterion.evaluate(copies, h).value == pytest.approx(criterion.evaluate(weights, h).value)


@pytest.mark.parametrize("name", ["sv-fraction", "jaakkola-haussler"])
def test_one_point_alone(name: str) -> None:
    """It is a support vector, classified correctly, and left out it is a tie: an error."""
    value = as_criterion(name).evaluate(as_problem([[0.0]], [1]), Hyperparameters(C=10)).value
    assert value == 1.0
