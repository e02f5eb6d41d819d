"""Class probabilities from the moments of the latent functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from marginwise.multiclass.link import _BOUNDS, SoftmaxLink, _terms, fit_link

RNG = np.random.default_rng(3)
N, K = 40, 4
LABELS = RNG.integers(K, size=N)
MEAN = RNG.normal(size=(N, K))
MEAN[np.arange(N), LABELS] += 1.0
VARIANCE = RNG.uniform(0.1, 2.0, size=N)
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)


def _penalised(link: SoftmaxLink, mean, variance) -> float:
    logs = link.log_proba(mean, variance)[np.arange(N), LABELS]
    centre = np.log([5.0, 0.3, 1.0 / (1.0 + WEIGHTS.sum())])
    return float(WEIGHTS @ logs - 0.5 * ((link.logs - centre) ** 2).sum())


def test_probabilities_are_those_of_the_formula():
    link = SoftmaxLink(2.0, 0.5, 0.1)
    scaled = 2.0 * MEAN / np.sqrt(1.0 + 0.5 * VARIANCE)[:, None]
    softmax = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    p = np.exp(link.log_proba(MEAN, VARIANCE))
    np.testing.assert_allclose(p, 0.9 * softmax + 0.1 / K, rtol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_probabilities_go_back_to_even_where_nothing_is_known():
    p = np.exp(SoftmaxLink(5.0, 0.3, 1e-3).log_proba(MEAN[:1], np.array([1e12])))
    np.testing.assert_allclose(p, 1.0 / K, rtol=1e-4)


def test_no_link_near_by_is_better():
    fit = fit_link(MEAN, VARIANCE, LABELS, WEIGHTS)
    assert fit.value == pytest.approx(_penalised(fit.link, MEAN, VARIANCE), rel=1e-12)
    for step in 0.02 * np.vstack([np.eye(3), -np.eye(3)]):
        near = SoftmaxLink(*np.exp(fit.link.logs + step))
        assert _penalised(near, MEAN, VARIANCE) < fit.value


@pytest.mark.parametrize("logs", [(1.2, -0.5, -4.0), (-1.0, 2.0, -0.9), (3.0, -6.0, -12.0)])
def test_gradient_and_curvature_are_differences(logs):
    logs, h = np.array(logs), 1e-5
    part = _terms(logs, MEAN, VARIANCE, LABELS, WEIGHTS)
    sides = [[_terms(logs + sign * h * e, MEAN, VARIANCE, LABELS, WEIGHTS) for sign in (1, -1)] for e in np.eye(3)]
    slopes = [(more.value - less.value) / (2 * h) for more, less in sides]
    np.testing.assert_allclose(part.by_logs, slopes, rtol=1e-6, atol=1e-6)
    curvature = [(more.by_logs - less.by_logs) / (2 * h) for more, less in sides]
    np.testing.assert_allclose(part.curvature, curvature, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_a_search_by_scipy(seed):
    """Of labels that are easy, hard, and by chance; some links end on a bound."""
    rng = np.random.default_rng(seed)
    n, n_classes = (30, 2) if seed % 2 else (60, 5)
    labels = rng.integers(n_classes, size=n)
    mean = (0.2, 1.0, 3.0)[seed % 3] * rng.normal(size=(n, n_classes))
    mean[np.arange(n), labels] += (0.0, 1.0, 4.0)[seed // 2]
    variance, weights = rng.uniform(0.01, 3.0, size=n), rng.uniform(0.5, 2.0, size=n)
    fit = fit_link(mean, variance, labels, weights)
    centre = np.log([5.0, 0.3, 1.0 / (1.0 + weights.sum())])

    def loss(logs):
        own = SoftmaxLink(*np.exp(logs)).log_proba(mean, variance)[np.arange(n), labels]
        return -float(weights @ own) + 0.5 * float(((logs - centre) ** 2).sum())

    assert -loss(fit.link.logs) == pytest.approx(fit.value, rel=1e-9)
    near = minimize(loss, fit.link.logs, method="L-BFGS-B", bounds=_BOUNDS, options={"ftol": 1e-15, "gtol": 1e-9})
    assert fit.value >= -near.fun - 1e-9
    start = minimize(loss, np.clip(centre, *np.transpose(_BOUNDS)), method="L-BFGS-B", bounds=_BOUNDS)
    assert fit.value >= -start.fun - 1e-6


def test_the_start_does_not_matter():
    one, other = (fit_link(MEAN, VARIANCE, LABELS, WEIGHTS, start).link for start in (None, SoftmaxLink(0.5, 3.0, 0.3)))
    np.testing.assert_allclose(one.logs, other.logs, atol=1e-7)


def test_derivatives_are_those_of_the_best_value():
    fit = fit_link(MEAN, VARIANCE, LABELS, WEIGHTS)
    direction, h = RNG.normal(size=(N, K)), 1e-5
    values = [fit_link(MEAN + sign * h * direction, VARIANCE, LABELS, WEIGHTS, fit.link).value for sign in (1, -1)]
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(float((fit.mean_bar * direction).sum()), rel=1e-6)
    along = RNG.normal(size=N)
    values = [fit_link(MEAN, VARIANCE + sign * h * along, LABELS, WEIGHTS, fit.link).value for sign in (1, -1)]
    assert (values[0] - values[1]) / (2 * h) == pytest.approx(float(fit.variance_bar @ along), rel=1e-6)


def test_labels_that_are_never_wrong_do_not_make_a_link_of_no_doubt():
    sure = np.full((30, 3), -1.0)
    labels = np.arange(30) % 3
    sure[np.arange(30), labels] = 1.0
    link = fit_link(sure, np.zeros(30), labels, np.ones(30)).link
    assert np.exp(link.log_proba(sure, np.zeros(30)).max()) < 1.0 - 1e-3
