"""Probabilities of classes with an order from the moments of one latent function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr

from marginwise.multiclass.ordered_link import (
    _BOUNDS,
    OrderedLink,
    _lines,
    _penalised,
    _terms,
    fit_ordered_link,
)

RNG = np.random.default_rng(5)
N, K = 60, 4
MEAN = RNG.normal(size=(N, 1))
VARIANCE = RNG.uniform(0.1, 2.0, size=N)
WEIGHTS = RNG.uniform(0.5, 2.0, size=N)
ORDER = (2, 0, 3, 1)
LABELS = np.array(ORDER)[np.digitize(MEAN[:, 0] + RNG.normal(size=N), [-1.0, 0.2, 1.0])]
RANKS = np.argsort(ORDER)[LABELS]
LINK = OrderedLink((-1.0, 0.3, 1.5), 2.0, 4.0, 0.1, ORDER)
CENTRE = np.array([np.log(1.5), 0.0, -np.log1p(WEIGHTS.sum())])


def reached(mean, variance):
    """Return the cumulative probabilities of the formula, without the floor."""
    return ndtr((np.array(LINK.thresholds) - LINK.steepness * mean) / np.sqrt(1.0 + LINK.widening * variance)[:, None])


def test_probabilities_are_those_of_the_formula():
    p = np.diff(np.hstack([np.zeros((N, 1)), reached(MEAN, VARIANCE), np.ones((N, 1))]))
    got = np.exp(LINK.log_proba(MEAN, VARIANCE))
    np.testing.assert_allclose(got[:, list(ORDER)], 0.9 * p + 0.1 / K, rtol=1e-12)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-12)


def test_they_are_averages_over_the_latent_value():
    """With a widening of β² exactly; for any other that of ``blurring`` is the variance that is averaged over."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    for widening in (LINK.steepness**2, 0.7):
        link = OrderedLink(LINK.thresholds, LINK.steepness, widening, LINK.floor, ORDER)
        spread = np.sqrt(link.blurring(VARIANCE))[:, None]
        known = [np.exp(link.log_proba(MEAN + x * spread, np.zeros(N))) for x in nodes]
        np.testing.assert_allclose(
            np.tensordot(weights, known, axes=1), np.exp(link.log_proba(MEAN, VARIANCE)), atol=1e-8
        )
    np.testing.assert_allclose(LINK.blurring(VARIANCE), VARIANCE, rtol=1e-12)


@pytest.mark.parametrize("parameters", [(-1.0, 0.2, 1.0, 0.3, -0.2, -3.0), (-2.0, 0.2, 0.4, -0.5, 1.0, -1.0)])
def test_gradient_and_curvature_are_differences(parameters):
    parameters, h = np.array(parameters), 1e-5

    def height(x):
        return _penalised(x, _terms(x, MEAN[:, 0], VARIANCE, RANKS, WEIGHTS), CENTRE)

    here = height(parameters)
    sides = [(height(parameters + h * e), height(parameters - h * e)) for e in np.eye(K + 2)]
    np.testing.assert_allclose(here.slope, [(a.value - b.value) / (2 * h) for a, b in sides], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(here.curvature, [(a.slope - b.slope) / (2 * h) for a, b in sides], rtol=1e-6, atol=1e-6)


def test_the_optimum_is_that_of_a_search_by_scipy():
    fit = fit_ordered_link(MEAN, VARIANCE, LABELS, WEIGHTS, ORDER)

    def loss(x):
        if (np.diff(x[: K - 1]) <= 0.0).any():
            return 1e6
        return -_penalised(x, _terms(x, MEAN[:, 0], VARIANCE, RANKS, WEIGHTS), CENTRE).value

    assert -loss(fit.link.parameters) == pytest.approx(fit.value, rel=1e-12)
    start = np.array([-1.0, 0.0, 1.0, *CENTRE])
    best = minimize(loss, start, method="L-BFGS-B", bounds=[(None, None)] * (K - 1) + list(_BOUNDS))
    assert fit.value >= -best.fun - 1e-9


def test_derivatives_are_those_of_the_best_value():
    fit = fit_ordered_link(MEAN, VARIANCE, LABELS, WEIGHTS, ORDER)
    direction, along, h = RNG.normal(size=(N, 1)), RNG.normal(size=N), 1e-5

    def value(mean, variance):
        return fit_ordered_link(mean, variance, LABELS, WEIGHTS, ORDER, fit.link).value

    slope = (value(MEAN + h * direction, VARIANCE) - value(MEAN - h * direction, VARIANCE)) / (2 * h)
    assert slope == pytest.approx(float((fit.mean_bar * direction).sum()), rel=1e-6)
    slope = (value(MEAN, VARIANCE + h * along) - value(MEAN, VARIANCE - h * along)) / (2 * h)
    assert slope == pytest.approx(float(fit.variance_bar @ along), rel=1e-6)


def test_the_start_does_not_matter():
    one = fit_ordered_link(MEAN, VARIANCE, LABELS, WEIGHTS, ORDER).link
    other = fit_ordered_link(MEAN, VARIANCE, LABELS, WEIGHTS, ORDER, LINK).link
    np.testing.assert_allclose(one.parameters, other.parameters, atol=1e-6)


def test_the_other_way_round_is_the_mirror_image():
    one = fit_ordered_link(MEAN, VARIANCE, LABELS, WEIGHTS, ORDER).link
    other = fit_ordered_link(-MEAN, VARIANCE, LABELS, WEIGHTS, ORDER[::-1]).link
    np.testing.assert_allclose(one.thresholds, -np.array(other.thresholds)[::-1], atol=1e-7)
    np.testing.assert_allclose(one.log_proba(MEAN, VARIANCE), other.log_proba(-MEAN, VARIANCE), atol=1e-7)


def test_known_thresholds_are_found():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(4000, 1))
    labels = np.digitize(mean[:, 0] + 0.5 * rng.normal(size=4000), [-1.0, 0.0, 0.4])
    link = fit_ordered_link(mean, np.zeros(4000), labels, np.ones(4000), (0, 1, 2, 3)).link
    np.testing.assert_allclose(np.array(link.thresholds) / link.steepness, [-1.0, 0.0, 0.4], atol=0.05)
    assert 1.0 / link.steepness == pytest.approx(0.5, abs=0.05)


def test_a_class_without_examples_is_possible():
    kept = RANKS != 1
    link = fit_ordered_link(MEAN[kept], VARIANCE[kept], LABELS[kept], WEIGHTS[kept], ORDER).link
    p = np.exp(link.log_proba(MEAN, VARIANCE))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert 0.0 < p[:, ORDER[1]].mean() < 0.05


def test_lines_touch_the_log_odds_of_neighbours_at_thresholds():
    slopes, offsets = _lines(LINK.thresholds)
    np.testing.assert_allclose([slopes.sum(), offsets.sum()], 0.0, atol=1e-12)
    link = OrderedLink(LINK.thresholds, 1.0, 1.0, 1e-12, (0, 1, 2, 3))
    h = 1e-5
    for k, at in enumerate(LINK.thresholds):
        logs = link.log_proba(np.array([[at - h], [at], [at + h]]), np.zeros(3))
        odds = logs[:, k + 1] - logs[:, k]
        latent, _ = link.in_log_odds(np.array([[at - h], [at], [at + h]]), np.zeros(3))
        np.testing.assert_allclose(latent[:, k + 1] - latent[:, k], odds, atol=1e-8)
