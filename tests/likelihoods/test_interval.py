"""The probability of an interval under the normal law, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm

from marginwise.likelihoods.interval import BEYOND, interval, log_interval

LOW = np.array([-BEYOND, -3.0, -0.5, 0.2, 1.0, 4.0])
HIGH = np.array([-1.0, -2.0, 0.7, 0.3, BEYOND, 6.0])


def test_it_is_the_integral_of_the_density():
    expected = [quad(norm.pdf, max(low, -12.0), min(high, 12.0))[0] for low, high in zip(LOW, HIGH, strict=True)]
    np.testing.assert_allclose(np.exp(log_interval(LOW, HIGH)), expected, rtol=1e-7)


@pytest.mark.parametrize("far", [10.0, 40.0, 1e4])
def test_tails_keep_their_digits(far):
    """Far out an interval of length 1 is all of the tail beyond its beginning."""
    both = log_interval(np.array([far, -far - 1.0]), np.array([far + 1.0, -far]))
    np.testing.assert_allclose(both, log_ndtr(-far), rtol=1e-4 / far)


def test_an_interval_that_is_none_has_no_probability():
    assert log_interval(np.array([1.0, -1.0]), np.array([1.0, -2.0])).tolist() == [-np.inf, -np.inf]


def test_densities_at_the_ends_are_derivatives():
    h = 1e-6
    found = interval(LOW, HIGH)
    by_high = (log_interval(LOW, HIGH + h) - log_interval(LOW, HIGH - h)) / (2 * h)
    by_low = (log_interval(LOW + h, HIGH) - log_interval(LOW - h, HIGH)) / (2 * h)
    np.testing.assert_allclose(found.upper, by_high, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(-found.lower, by_low, rtol=1e-6, atol=1e-8)
