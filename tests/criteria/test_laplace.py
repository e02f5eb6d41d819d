"""The Laplace evidence: its formulas, its limits, and the integral that it approximates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from differences import repeated
from marginwise.criteria import as_criterion, evaluate
from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack, as_slack
from marginwise.problem import Problem, as_problem
from marginwise.svm import solve_problem
from zoo import blobs, random_hyperparameters


def log_evidence(problem: Problem, h: Hyperparameters, slack: Slack, points: int = 24) -> float:
    """Return ln Q(Y|X) of eq. (pyx1) for n ≤ 3 by Gauss–Legendre on pieces between the kinks yθ = 1.

    It is taken over a box that the prior leaves with a probability below 1e-15, with ``points`` on each piece of
    an axis: exact as long as the points are not so near to each other that the prior is much narrower than them.
    """
    K = h.kernel.gram(problem.X)
    n = problem.n
    reach = 8.5 * np.sqrt(K[0, 0])
    axes = []
    nodes, weights = np.polynomial.legendre.leggauss(points)
    for i in range(n):
        cuts = np.unique(np.clip([-reach, -0.5 * reach, problem.y[i], 0.5 * reach, reach], -reach, reach))
        x = np.concatenate([0.5 * (b - a) * nodes + 0.5 * (a + b) for a, b in itertools.pairwise(cuts)])
        w = np.concatenate([0.5 * (b - a) * weights for a, b in itertools.pairwise(cuts)])
        axes.append((x, w))
    grids = np.meshgrid(*(x for x, _ in axes), indexing="ij")
    measure = np.ones_like(grids[0])
    for i, (_, w) in enumerate(axes):
        measure = measure * w.reshape([-1 if k == i else 1 for k in range(n)])
    theta = np.stack([g.ravel() for g in grids])
    exponent = -0.5 * np.einsum("ik,ik->k", theta, np.linalg.solve(K, theta))
    for i in range(n):
        exponent -= h.C * problem.weights[i] * slack.loss(problem.y[i] * theta[i])
    integral = measure.ravel() @ np.exp(exponent)
    norm = 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    return float(np.log(integral) - norm + problem.weights.sum() * slack.log_kappa(h.C))


def formula(problem: Problem, h: Hyperparameters, slack: Slack, a: float) -> float:
    """Return eq. (lapnv) or (laplace_qu) as they stand, with whole matrices."""
    solution = solve_problem(problem, h, slack)
    K, z, alpha, C = h.kernel.gram(problem.X), problem.y * solution.latent, solution.alpha, problem.penalties(h.C)
    maximum = -0.5 * alpha @ z - C @ slack.loss(z) + problem.weights.sum() * slack.log_kappa(h.C)
    if slack is LINEAR:
        rows = solution.marginal
        L = 2 * np.pi * (alpha[rows] * (C - alpha)[rows] / C[rows]) ** 2
    else:
        rows = solution.support
        L = C[rows] * np.exp(-a / (1 - z[rows]))
    determinant = np.linalg.slogdet(np.eye(len(rows)) + L[:, None] * K[np.ix_(rows, rows)])
    return float((maximum - 0.5 * determinant[1]) / problem.weights.sum())


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=["linear", "quadratic"])
def test_formula(slack: Slack, rng: np.random.Generator) -> None:
    problem = Problem(blobs(40, 2).X, blobs(40, 2).y, rng.uniform(0.5, 2.0, size=40))
    for a in (0.1, 0.5):
        for _ in range(3):
            h = random_hyperparameters(rng, 2)
            value = LaplaceEvidence(slack, a=a).evaluate(problem, h).value
            assert value == pytest.approx(formula(problem, h, slack, a), rel=1e-9)


def test_smoothing_vanishes_with_a() -> None:
    """a → 0 is l_2'' = 1 on the support vectors: ln det(I + CK_SV)."""
    problem, h = blobs(50, 2, shift=1.2), Hyperparameters(3.0, 2.0, 0.2, [1.2, 1.2])
    exact = LaplaceEvidence("quadratic", a=0.0).evaluate(problem, h).value
    solution = solve_problem(problem, h, QUADRATIC)
    K = h.kernel.gram(problem.X)[np.ix_(solution.support, solution.support)]
    determinant = np.linalg.slogdet(np.eye(len(K)) + h.C * K)[1]
    z = problem.y * solution.latent
    maximum = -0.5 * solution.alpha @ z - h.C * QUADRATIC.loss(z).sum() + 50 * QUADRATIC.log_kappa(h.C)
    assert exact == pytest.approx((maximum - 0.5 * determinant) / 50, rel=1e-10)
    errors = [abs(LaplaceEvidence("quadratic", a=a).evaluate(problem, h).value - exact) for a in (1e-1, 1e-2, 1e-3)]
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 1e-2 * abs(exact)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_exact_where_the_likelihood_is_gaussian(n: int) -> None:
    """A narrow prior holds all θ below the margin, where l_2 is a parabola: there Laplace is exact."""
    problem, h = as_problem([[0.0], [1.0], [2.5]][:n], [1.0, -1.0, 1.0][:n]), Hyperparameters(5.0, 0.02, 0.005, 1.0)
    value = LaplaceEvidence("quadratic", a=0.0).evaluate(problem, h).value
    assert n * value == pytest.approx(log_evidence(problem, h, QUADRATIC), abs=1e-6)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_within_its_accuracy_of_the_integral(slack: str, rng: np.random.Generator) -> None:
    """For few points and moderate C the approximation is good to a fraction of a nat for each point."""
    for n in (1, 2, 3):
        for _ in range(4):
            problem = as_problem(rng.normal(size=(n, 1)), rng.choice([-1.0, 1.0], size=n))
            h = Hyperparameters(*np.exp(0.5 * rng.normal(size=4)))
            value = as_criterion("laplace-evidence", slack).evaluate(problem, h).value
            assert value == pytest.approx(log_evidence(problem, h, as_slack(slack)) / n, abs=0.35)


def test_quadrature_is_right() -> None:
    """The tests' own integral, where it is known: C → 0 leaves the prior's norm, and one point has a closed form."""
    problem = as_problem([[0.0], [1.0], [0.4]], [1, -1, 1])
    h = Hyperparameters(1e-9, 1.0, 0.1, 1.0)
    assert log_evidence(problem, h, LINEAR) == pytest.approx(3 * LINEAR.log_kappa(1e-9), abs=1e-6)
    one, C, v = as_problem([[0.0]], [1]), 1.3, 1.1
    h = Hyperparameters(C, 1.0, 0.1, 1.0)
    s = np.sqrt(v)
    exact = norm.cdf(-1 / s) + np.exp(-C + C**2 * v / 2) * norm.cdf((1 - C * v) / s)
    assert log_evidence(one, h, LINEAR) == pytest.approx(np.log(exact) + LINEAR.log_kappa(C), abs=1e-10)


def test_without_marginal_support_vectors() -> None:
    """All points at the bound: no determinant, the maximum alone."""
    problem, h = blobs(20, 2), Hyperparameters(1e-3, 1.0, 0.1, [1.0, 1.0])
    evaluation = as_criterion("laplace-evidence", "linear").evaluate(problem, h)
    assert evaluation.info["curved"] == 0
    assert evaluation.status.ok
    z = problem.y * (h.kernel.gram(problem.X) @ (h.C * problem.y))
    expected = -0.5 * h.C * z.sum() - h.C * (1 - z).sum() + 20 * LINEAR.log_kappa(h.C)
    assert evaluation.value == pytest.approx(expected / 20, rel=1e-12)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_a_weight_is_a_number_of_copies(slack: str) -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    h = Hyperparameters(2.0, 1.5, 0.2, [0.7, 0.9])
    one = as_criterion("laplace-evidence", slack).evaluate(copies, h)
    other = as_criterion("laplace-evidence", slack).evaluate(weights, h)
    assert one.value == pytest.approx(other.value, rel=1e-10)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-7, atol=1e-9)
    if slack == "quadratic":  # α is unique even for copies, and the formula on them gives the same
        assert one.value == pytest.approx(formula(copies, h, QUADRATIC, 0.1), rel=1e-9)


def test_a_is_checked() -> None:
    with pytest.raises(InvalidInputError, match="a is -1"):
        LaplaceEvidence(a=-1)


def test_evaluate_takes_arrays() -> None:
    problem, h = blobs(20, 2), Hyperparameters(1.0, 1.0, 0.1, [1.0, 2.0])
    by_arrays = evaluate("laplace-evidence", problem.X, problem.y, h, "quadratic")
    by_problem = LaplaceEvidence("quadratic").evaluate(problem, h)
    assert by_arrays.value == by_problem.value
