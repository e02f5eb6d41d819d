"""The criteria of expectation propagation: gradients, meaning, warm starts."""

from __future__ import annotations

import numpy as np
import pytest

from differences import gradient_error
from known_laws import few, quadrature
from marginwise.criteria import as_criterion
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.inference import posterior
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.ep.run import run_ep
from marginwise.likelihoods import SLACKS, as_likelihood, as_slack
from marginwise.problem import Problem
from zoo import blobs, random_hyperparameters, twonorm

CRITERIA = [
    pytest.param(kind(slack, tolerance=1e-11), id=f"{kind.name}-{slack}")
    for kind in (EPEvidence, EPLeaveOneOut)
    for slack in SLACKS
]
PROBLEMS = {"blobs": blobs(50, 3), "noise": blobs(40, 2, shift=0.2, seed=3), "twonorm": twonorm(60)}

every_slack = pytest.mark.parametrize("slack", SLACKS)


def weighted(problem: Problem) -> Problem:
    return Problem(problem.X, problem.y, np.random.default_rng(7).uniform(0.3, 3.0, size=problem.n))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_at_the_papers_start(criterion, name: str) -> None:
    problem = PROBLEMS[name]
    assert gradient_error(criterion, problem, paper_start(problem.X.shape[1])) < 1e-6


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_at_random_points(criterion, name: str, full: bool) -> None:
    rng = np.random.default_rng(11)
    problem = PROBLEMS[name]
    for _ in range(20 if full else 3):
        h = random_hyperparameters(rng, problem.X.shape[1])
        assert gradient_error(criterion, problem, h) < 1e-6, h


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gradient_with_weights_and_one_length_scale(criterion) -> None:
    problem = weighted(PROBLEMS["blobs"])
    assert gradient_error(criterion, problem, Hyperparameters(1.4, 3.0, 0.2, 1.3)) < 1e-6


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gradient_with_repeated_rows_and_mixed_labels(criterion) -> None:
    base = blobs(12, 2, shift=0.3)
    rng = np.random.default_rng(0)
    problem = Problem(np.repeat(base.X, 4, axis=0), rng.choice([-1.0, 1.0], size=48), np.ones(48))
    assert gradient_error(criterion, problem, Hyperparameters(2.0, 20.0, 0.5, [1.0, 1.0])) < 1e-6


@pytest.mark.parametrize("kind", [EPEvidence, EPLeaveOneOut])
@every_slack
def test_default_tolerance_is_enough_for_eight_digits(kind, slack: str) -> None:
    problem, h = PROBLEMS["twonorm"], Hyperparameters(2.0, 20.0, 0.5, np.full(20, 4.0))
    near = Hyperparameters.from_vector(h.to_vector() + 0.05)
    exact = kind(slack, tolerance=1e-12).evaluate(problem, h)
    for state in (None, kind(slack).evaluate(problem, near).state):
        ours = kind(slack).evaluate(problem, h, state)
        assert ours.value == pytest.approx(exact.value, abs=1e-9)
        np.testing.assert_allclose(ours.gradient, exact.gradient, atol=2e-8)


@every_slack
def test_evidence_is_that_of_the_posterior(slack: str) -> None:
    problem, h = weighted(PROBLEMS["blobs"]), Hyperparameters(1.4, 3.0, 0.2, [1.0, 2.0, 1.0])
    ours = EPEvidence(slack).evaluate(problem, h)
    same = posterior(problem.X, problem.y, h, slack, sample_weight=problem.weights)
    assert ours.value == pytest.approx(same.log_evidence / problem.weights.sum(), rel=1e-12)
    np.testing.assert_allclose(ours.gradient, same.gradient, rtol=1e-10)


@every_slack
def test_evidence_of_few_points_is_close_to_the_integral(slack: str) -> None:
    problem, h = few(3, weighted=True), Hyperparameters(1.3, 2.0, 0.4, [0.8, 1.5])
    exact = quadrature(problem, h, as_slack(slack)).log_evidence / problem.weights.sum()
    assert EPEvidence(slack).evaluate(problem, h).value == pytest.approx(exact, abs=3e-3)


@every_slack
def test_leave_one_out_is_what_it_says(slack: str) -> None:
    """Close to the predictions of posteriors that have not seen the point, one by one."""
    problem, h = blobs(30, 2), Hyperparameters(1.4, 1.5, 0.2, [1.0, 1.5])
    logs = []
    for i in range(30):
        others = np.flatnonzero(np.arange(30) != i)
        without = posterior(problem.X[others], problem.y[others], h, slack)
        logs.append(np.log(without.predict_proba(problem.X[[i]])[0, int(problem.y[i] > 0)]))
    ours = EPLeaveOneOut(slack).evaluate(problem, h)
    assert ours.value == pytest.approx(np.mean(logs), abs=0.02)
    result = run_ep(problem.dense_covariance(h), problem.y, as_slack(slack).weighted(h.C, problem.weights))
    each = leave_one_out(result.gaussian, as_slack(slack).weighted(h.C, problem.weights), problem)
    np.testing.assert_allclose(each.log_probability, logs, rtol=0.1, atol=0.02)


def test_leave_one_out_of_a_normalised_likelihood_is_its_own_normaliser() -> None:
    problem, h = blobs(20, 2), Hyperparameters(1.4, 1.5, 0.2, [1.0, 1.5])
    likelihood = as_likelihood("logistic").weighted(1.0, problem.weights)
    result = run_ep(problem.dense_covariance(h), problem.y, likelihood)
    ours = leave_one_out(result.gaussian, likelihood, problem).log_probability
    np.testing.assert_allclose(ours, result.moments.value, atol=1e-9)


@every_slack
def test_leave_one_out_of_coin_tosses(slack: str) -> None:
    ours = EPLeaveOneOut(slack).evaluate(PROBLEMS["blobs"], Hyperparameters(1e-9, 1.0, 0.1))
    assert ours.value == pytest.approx(np.log(0.5), abs=1e-6)


def test_weights_are_shares_of_the_mean() -> None:
    problem, h = weighted(PROBLEMS["blobs"]), Hyperparameters(1.4, 3.0, 0.2, [1.0, 2.0, 1.0])
    likelihood = as_slack("linear").weighted(h.C, problem.weights)
    result = run_ep(problem.dense_covariance(h), problem.y, likelihood)
    each = leave_one_out(result.gaussian, likelihood, problem).log_probability
    ours = EPLeaveOneOut("linear").evaluate(problem, h)
    assert ours.value == pytest.approx(np.average(each, weights=problem.weights), abs=1e-8)


@pytest.mark.parametrize("name", ["ep-evidence", "ep-loo"])
def test_state_is_checked(name: str) -> None:
    criterion = as_criterion(name)
    problem, h = PROBLEMS["blobs"], paper_start(3)
    state = criterion.evaluate(problem, h).state
    assert criterion.evaluate(problem, h, state).info["sweeps"] == 0
    for wrong in ("sites", criterion.evaluate(blobs(20, 3), h).state):
        with pytest.raises(InvalidInputError, match="state"):
            criterion.evaluate(problem, h, wrong)


def test_not_converged_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.inference.ep.run._PATIENCE", 0)
    monkeypatch.setattr("marginwise.inference.ep.run._PART", 0.0)  # sites that don't move
    evaluation = EPEvidence("linear").evaluate(PROBLEMS["blobs"], Hyperparameters(10.0, 50.0, 1.0))
    assert not evaluation.status.ok
    assert "expectation propagation stopped" in evaluation.status.message


def test_no_gradient_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the linearised fixed-point equations are singular there is none."""
    nowhere = lambda self, x, accuracy: np.full(len(x), np.nan)  # noqa: E731
    monkeypatch.setattr("marginwise.inference.ep.jacobian.SiteJacobian.solve_transposed", nowhere)
    evaluation = EPLeaveOneOut("linear").evaluate(PROBLEMS["blobs"], paper_start(3))
    assert not evaluation.status.ok
    assert evaluation.gradient is None
    assert np.isfinite(evaluation.value)
