"""GACV against its formula; its jumps are tested with the support changes."""

from __future__ import annotations

import numpy as np
import pytest

from differences import repeated
from marginwise.criteria import as_criterion
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import LINEAR
from marginwise.svm import solve_problem
from zoo import blobs, random_hyperparameters


def wahba(margin: np.ndarray) -> np.ndarray:
    """Return f of eq. (gacv), with the margin of a marginal support vector, 1 but for rounding, counted as 1."""
    return np.where(margin < -1, 2.0, np.where(margin <= 1 + 1e-8, 1.0, 0.0))


def test_formula(rng: np.random.Generator) -> None:
    problem = blobs(50, 2, shift=0.3)
    doubled = 0
    for _ in range(8):
        h = random_hyperparameters(rng, 2)
        solution = solve_problem(problem, h, LINEAR)
        margin = problem.y * solution.latent
        terms = np.maximum(1 - margin, 0) + solution.alpha * (h.k0 + h.koff) * wahba(margin)
        evaluation = as_criterion("gacv").evaluate(problem, h)
        assert evaluation.value == pytest.approx(terms.mean(), rel=1e-10)
        doubled += evaluation.info["below_minus_one"]
    assert doubled > 0


def test_a_weight_is_a_number_of_copies() -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 0.9])
    solution = solve_problem(copies, h, LINEAR)
    margin = copies.y * solution.latent
    terms = np.maximum(1 - margin, 0) + solution.alpha * (h.k0 + h.koff) * wahba(margin)
    for problem in (copies, weights):
        assert as_criterion("gacv").evaluate(problem, h).value == pytest.approx(terms.mean(), rel=1e-9)


def test_it_is_for_linear_slack() -> None:
    with pytest.raises(InvalidInputError, match="slack is 'quadratic'; expected linear for 'gacv'"):
        as_criterion("gacv", "quadratic")
