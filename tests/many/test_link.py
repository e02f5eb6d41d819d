"""Class probabilities from the moments of the latent functions."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.many.link import SoftmaxLink, fit_link

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


def test_the_start_does_not_matter():
    one, other = (fit_link(MEAN, VARIANCE, LABELS, WEIGHTS, start).link for start in (None, SoftmaxLink(0.5, 3.0, 0.3)))
    np.testing.assert_allclose(one.logs, other.logs, atol=1e-4)


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
