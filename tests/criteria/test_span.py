"""The span: its definition as a minimum, its limits, and the leave-one-out error that it estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from differences import repeated
from marginwise.criteria import as_criterion
from marginwise.criteria.leave_one_out import leave_out
from marginwise.criteria.span import Span, weighted_spans
from marginwise.criteria.training import DenseTrainedSVM, train
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import QUADRATIC
from marginwise.problem import as_problem
from zoo import blobs, random_hyperparameters

PROBLEM = blobs(40, 2, shift=0.8)
H = Hyperparameters(2.0, 1.5, 0.2, [0.9, 1.2])


def span_by_definition(trained: DenseTrainedSVM, i: int, eta: float) -> float:
    """Return S_i² = min_λ λᵀK^Cλ + η Σ_{j≠i} λ_j²/α_j over λ_i = -1, eq. (span_def) with its smoothing."""
    support = trained.solution.support
    place = int(np.flatnonzero(support == i)[0])
    K = trained.gram[np.ix_(support, support)] + np.diag(1.0 / trained.penalties[support])
    others = np.delete(np.arange(len(support)), place)
    A = K[np.ix_(others, others)] + eta * np.diag(1.0 / trained.solution.alpha[support[others]])
    free = np.linalg.solve(A, K[others, place])  # the minimum is at Aλ = K_i
    return float(K[place, place] - K[place, others] @ free)


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_definition(eta: float) -> None:
    trained = train(PROBLEM, H, QUADRATIC)
    spans = weighted_spans(trained, eta)
    assert spans is not None
    for value, i in zip(spans.values, trained.solution.support, strict=True):
        expected = trained.solution.alpha[i] * span_by_definition(trained, int(i), eta)
        assert value == pytest.approx(expected, rel=1e-9)


def test_smoothed_value_is_a_mean_of_sigmoids_over_all_points() -> None:
    """Points off the support count with α S² = 0: otherwise the value would jump when one leaves."""
    problem, h = blobs(60, 2, shift=1.5), Hyperparameters(20.0, 5.0, 0.2, [1.5, 1.5])
    trained = train(problem, h, QUADRATIC)
    assert len(trained.solution.support) < problem.n
    excess = -np.ones(problem.n)
    for i in trained.solution.support:
        excess[i] += trained.solution.alpha[i] * span_by_definition(trained, int(i), 0.7)
    value = Span(c1=4.0, c2=0.5, eta=0.7).evaluate(problem, h).value
    assert value == pytest.approx(np.mean(1 / (1 + np.exp(-4.0 * excess + 0.5))), rel=1e-10)


def test_no_smoothing_gives_the_raw_span() -> None:
    trained = train(PROBLEM, H, QUADRATIC)
    raw, nearly = weighted_spans(trained, 0.0), weighted_spans(trained, 1e-9)
    assert raw is not None
    assert nearly is not None
    np.testing.assert_allclose(nearly.values, raw.values, rtol=1e-6)
    sharp = Span(c1=1e6, eta=1e-9).evaluate(PROBLEM, H).value
    assert sharp == pytest.approx(as_criterion("raw-span").evaluate(PROBLEM, H).value, abs=1e-9)


def test_large_smoothing_gives_jaakkola_haussler() -> None:
    trained = train(PROBLEM, H, QUADRATIC)
    spans = weighted_spans(trained, 1e7)
    assert spans is not None
    support = trained.solution.support
    limit = trained.solution.alpha[support] * (H.k0 + H.koff + 1.0 / H.C)
    np.testing.assert_allclose(spans.values, limit, rtol=1e-5)
    sharp = Span(c1=1e6, eta=1e7).evaluate(PROBLEM, H).value
    bound = as_criterion("jaakkola-haussler", "quadratic").evaluate(PROBLEM, H).value
    assert sharp == pytest.approx(bound, abs=1e-9)
    soft = Span(c1=5.0, eta=1e7).evaluate(PROBLEM, H).value
    excess = np.full(PROBLEM.n, -1.0)
    excess[support] += limit
    assert soft == pytest.approx(np.mean(expit(5.0 * excess)), rel=1e-5)


def test_raw_span_is_exact_where_the_support_set_stays(rng: np.random.Generator) -> None:
    """y_iθ^i_i = 1 - α_i S_i² whenever leaving i out makes no other point enter or leave the support."""
    stayed = 0
    for h in [H, *(random_hyperparameters(rng, 2, spread=0.7) for _ in range(4))]:
        trained = train(PROBLEM, h, QUADRATIC)
        spans = weighted_spans(trained, 0.0)
        assert spans is not None
        support = trained.solution.support
        span = dict(zip(support, spans.values, strict=True))
        for left_out in leave_out(trained, support):
            i = left_out.point
            if set(np.flatnonzero(left_out.alpha)) == set(support) - {i}:
                assert PROBLEM.y[i] * left_out.latent == pytest.approx(1.0 - span[i], abs=1e-8)
                stayed += 1
    assert stayed > 20


@pytest.mark.parametrize("name", ["span", "raw-span"])
def test_a_weight_is_a_number_of_copies(name: str) -> None:
    copies, weights = repeated(blobs(20, 2, shift=0.4), 1 + np.arange(20) % 3)
    criterion = as_criterion(name)
    merged, weighted = criterion.evaluate(copies, H), criterion.evaluate(weights, H)
    assert merged.value == pytest.approx(weighted.value, rel=1e-10)
    if merged.gradient is not None:
        np.testing.assert_allclose(merged.gradient, weighted.gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_span_of_a_copy(eta: float) -> None:
    """The short cut for weights, against the definition on rows that are copies but a hair apart."""
    times = 1 + np.arange(12) % 3
    copies, weights = repeated(blobs(12, 2, shift=0.4), times)
    apart = as_problem(copies.X + 1e-7 * np.random.default_rng(0).normal(size=copies.X.shape), copies.y)
    trained = train(apart, H, QUADRATIC)
    assert trained.problem.n == times.sum()
    one, many = weighted_spans(train(weights, H, QUADRATIC), eta), weighted_spans(trained, eta)
    assert one is not None
    assert many is not None
    np.testing.assert_allclose(np.repeat(one.values, times), many.values, rtol=1e-5)


@pytest.mark.parametrize("wrong", [{"c1": 0.0}, {"eta": -1.0}, {"c2": np.inf}])
def test_smoothing_parameters_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Span(**wrong)  # type: ignore[arg-type]
