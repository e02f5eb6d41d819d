"""posterior(): every method through the one entry, its gradients, predictions and messages."""

from __future__ import annotations

import numpy as np
import pytest

from differences import differences
from known_laws import few, quadrature
from marginwise.criteria import evaluate
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import METHODS, Posterior, posterior
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.inference.laplace import laplace_posterior
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods import LIKELIHOODS, SLACKS, Likelihood, as_slack
from marginwise.problem import Problem
from marginwise.svm import solve_problem
from zoo import blobs, hard_problems

PROBLEM = blobs(40, 2, shift=0.8)
H = Hyperparameters(0.8, 2.0, 0.3, [0.9, 1.5])
NEW = np.random.default_rng(4).normal(size=(7, 2))
GAUSSIAN = ("ep", "variational", "laplace")
OPTIONS = {"hmc": {"n_samples": 400, "n_discarded": 200}}

every_slack = pytest.mark.parametrize("slack", SLACKS)
every_method = pytest.mark.parametrize("method", METHODS)


def make(method: str, slack: str = "linear", **options: object) -> Posterior:
    return posterior(PROBLEM.X, PROBLEM.y, H, slack, method, **OPTIONS.get(method, {}), **options)


@every_slack
@every_method
def test_every_method_keeps_the_contract(method: str, slack: str) -> None:
    ours = make(method, slack)
    assert ours.latent_mean.shape == ours.latent_variance.shape == (40,)
    assert (ours.latent_variance > 0).all()
    assert ours.log_evidence is None or np.isfinite(ours.log_evidence)
    assert ours.gradient is None or ours.gradient.shape == (5,)
    assert isinstance(ours.diagnostics, dict)
    mean, variance = ours.latent_mean_and_variance(NEW)
    assert mean.shape == variance.shape == (7,)
    assert (variance > 0).all()
    probability = ours.predict_proba(NEW)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert ((probability > 0) & (probability < 1)).all()
    assert ((ours.dont_know(NEW) >= 0) & (ours.dont_know(NEW) < 1)).all()


@every_slack
@pytest.mark.parametrize("method", GAUSSIAN)
def test_training_points_are_new_points_too(method: str, slack: str) -> None:
    ours = make(method, slack)
    mean, variance = ours.latent_mean_and_variance(PROBLEM.X)
    np.testing.assert_allclose(mean, ours.latent_mean, atol=1e-8)
    np.testing.assert_allclose(variance, ours.latent_variance, rtol=1e-8)


@every_slack
@every_method
def test_methods_agree_roughly(method: str, slack: str) -> None:
    """With little penalty all of them are close to the exact posterior."""
    problem, h = few(3), Hyperparameters(0.5, 1.0, 0.4, [0.8, 1.5])
    exact = quadrature(problem, h, as_slack(slack))
    options = {"n_samples": 20_000, "n_discarded": 1000} if method == "hmc" else {}
    ours = posterior(problem.X, problem.y, h, slack, method, **options)
    mean = exact.mean(exact.latent)
    np.testing.assert_allclose(ours.latent_mean, mean, atol=0.35 if method == "laplace" else 0.08)
    if method in ("ep", "variational"):
        assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=0.02)


@pytest.mark.parametrize("method", ["ep", "variational"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient(method: str, likelihood: Likelihood, weighted: bool) -> None:
    problem = blobs(25, 2, shift=0.5)
    weights = np.random.default_rng(1).uniform(0.4, 2.0, size=25) if weighted else problem.weights
    problem = Problem(problem.X, problem.y, weights)

    def value(logs: np.ndarray) -> float:
        made = site_posterior(problem, Hyperparameters.from_vector(logs), likelihood, method, start=ours)
        assert made.log_evidence is not None
        return made.log_evidence / weights.sum()

    ours = None
    ours = site_posterior(problem, H, likelihood, method, tolerance=1e-10)
    assert ours.gradient is not None
    slopes = differences(value, H.to_vector(), 1e-4)
    np.testing.assert_allclose(ours.gradient, slopes, atol=1e-6 * max(1e-1, np.abs(slopes).max()))


@every_slack
def test_label_probabilities_against_quadrature(slack: str) -> None:
    """Q(y|x, D) is the ratio of the evidence with the new example to that without."""
    problem, h = few(2), Hyperparameters(1.3, 2.0, 0.4, [0.8, 1.5])
    ours = posterior(problem.X, problem.y, h, slack)
    x = np.array([[0.3, -0.2]])
    without = quadrature(problem, h, as_slack(slack)).log_evidence
    log_q = []
    for y in (-1.0, 1.0):
        joint = Problem(np.vstack([problem.X, x]), np.append(problem.y, y), np.ones(3))
        log_q.append(quadrature(joint, h, as_slack(slack)).log_evidence - without)
    np.testing.assert_allclose(ours.log_label_probability(x)[0], log_q, atol=0.03)
    np.testing.assert_allclose(ours.predict_proba(x)[0], np.exp(log_q) / np.exp(log_q).sum(), atol=0.01)
    np.testing.assert_allclose(ours.dont_know(x)[0], 1 - np.exp(log_q).sum(), atol=0.01)


def test_a_normalised_model_always_knows() -> None:
    for likelihood in ("normalised-linear", "normalised-quadratic", "probit", "logistic"):
        ours = make("ep", likelihood)
        np.testing.assert_allclose(ours.dont_know(NEW), 0.0, atol=1e-9)


def test_far_away_nothing_is_known() -> None:
    ours = make("ep")
    probability = ours.predict_proba([[1e3, 1e3]])[0]
    _, variance = ours.latent_mean_and_variance([[1e3, 1e3]])
    assert variance[0] > 0.9 * H.k0
    assert abs(probability[0] - 0.5) < 0.2


def test_sites_are_a_start() -> None:
    ours = make("ep")
    again = make("ep", start=ours)
    assert again.diagnostics["sweeps"] == 0
    assert again.log_evidence == pytest.approx(ours.log_evidence)
    assert make("variational", start=ours).status.ok
    assert make("sample", start=ours).status.ok
    for wrong in (posterior(PROBLEM.X[:10], PROBLEM.y[:10], H), make("hmc"), "ep"):
        with pytest.raises(InvalidInputError, match="start"):
            make("ep", start=wrong)


@every_slack
def test_laplace_is_around_the_svm(slack: str) -> None:
    ours = make("laplace", slack)
    solution = solve_problem(PROBLEM, H, as_slack(slack))
    np.testing.assert_allclose(ours.latent_mean, solution.latent, atol=1e-7)
    assert ours.gradient is None
    curved = ours.diagnostics["curved"]
    assert curved == (len(solution.marginal) if slack == "linear" else len(solution.support))


def test_laplace_without_smoothing_is_the_usual_one() -> None:
    """Quadratic slack, a = 0: L = C on the support vectors; ln Q* and the determinant spelt out."""
    slack = as_slack("quadratic")
    ours = laplace_posterior(PROBLEM, H, slack, a=0.0)
    solution = solve_problem(PROBLEM, H, slack)
    K, support = H.kernel.gram(PROBLEM.X), solution.support
    inverse = np.linalg.inv(K)
    exponent = -0.5 * solution.latent @ inverse @ solution.latent - H.C * slack.loss(PROBLEM.y * solution.latent).sum()
    block = np.eye(len(support)) + H.C * K[np.ix_(support, support)]
    log_evidence = exponent + 40 * slack.log_kappa(H.C) - 0.5 * np.linalg.slogdet(block)[1]
    assert ours.log_evidence == pytest.approx(log_evidence, abs=1e-6)
    W = np.zeros(40)
    W[support] = H.C
    np.testing.assert_allclose(ours.latent_variance, np.diag(np.linalg.inv(inverse + np.diag(W))), rtol=1e-6)


@every_slack
def test_laplace_evidence_is_that_of_the_criterion(slack: str) -> None:
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=40)
    ours = posterior(PROBLEM.X, PROBLEM.y, H, slack, "laplace", sample_weight=weights)
    criterion = evaluate("laplace-evidence", PROBLEM.X, PROBLEM.y, H, slack, sample_weight=weights)
    assert ours.log_evidence / weights.sum() == pytest.approx(criterion.value, abs=1e-9)


@every_slack
def test_laplace_takes_repeated_rows_as_weights(slack: str) -> None:
    problem = blobs(12, 2)
    times = np.array([1, 2, 3] * 4)
    twice = problem.subset(np.repeat(np.arange(12), times))
    weighted = Problem(problem.X, problem.y, times.astype(float))
    a, b = (laplace_posterior(p, H, as_slack(slack)) for p in (twice, weighted))
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-8)
    np.testing.assert_allclose(a.latent_mean, np.repeat(b.latent_mean, times), atol=1e-8)
    np.testing.assert_allclose(a.latent_variance, np.repeat(b.latent_variance, times), rtol=1e-7)


@every_slack
@pytest.mark.parametrize(("name", "problem", "h"), list(hard_problems()), ids=[name for name, *_ in hard_problems()])
def test_laplace_on_hard_problems(slack: str, name: str, problem: Problem, h: Hyperparameters) -> None:
    ours = laplace_posterior(problem, h, as_slack(slack))
    assert ours.log_evidence is not None
    assert np.isfinite(ours.log_evidence)
    assert (ours.latent_variance > 0).all()


def test_wrong_names_are_answered_with_the_right_ones() -> None:
    with pytest.raises(InvalidInputError, match="method is 'magic'; expected one of 'ep'"):
        make("magic")
    with pytest.raises(InvalidInputError, match="likelihood is 'cauchit'"):
        make("ep", "cauchit")
    with pytest.raises(InvalidInputError, match="expected linear or quadratic for the method 'laplace'"):
        make("laplace", "probit")
    with pytest.raises(InvalidInputError, match="X_new"):
        make("ep").predict_proba([[np.nan, 0.0]])


def test_what_it_is() -> None:
    assert isinstance(make("ep"), GaussianPosterior)


def test_squared_slopes_are_those_of_the_latent_mean(rng):
    X, y = rng.normal(size=(15, 3)), np.where(np.arange(15) % 2, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, 15)
    predictor = posterior(X, y, Hyperparameters(2.0, 3.0, 0.5, [0.7, 1.5, 4.0]), sample_weight=weights).predictor
    slow = np.zeros((15, 3))
    for a in range(3):
        move = 1e-5 * (np.arange(3) == a)
        ends = [predictor.latent_mean_and_variance(X + sign * move)[0] for sign in (1, -1)]
        slow[:, a] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(
        predictor.squared_slopes(weights), np.average(slow**2, axis=0, weights=weights), rtol=1e-6
    )
