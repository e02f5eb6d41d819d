"""The losses by differences, and κ(C) to the last digits against decimal arithmetic."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise.errors import InvalidInputError
from marginwise.likelihoods import LINEAR, QUADRATIC, Slack, as_slack

#: Enough digits for the flat maximum just above C = 1, and exponents for exp(-2·10⁸).
PRECISE = Context(prec=70, Emin=-(10**9), Emax=10**9)

#: C over 16 decades, dense where the maximum leaves z = 0 (C = 1) and where one method takes over from another (1.02).
PENALTIES = sorted(
    {
        *np.logspace(-8, 8, 161).tolist(),
        *(1 + sign * 10**-power for power in np.linspace(0.5, 15.6, 60) for sign in (-1, 1)),
        *np.linspace(0.99, 1.06, 71).tolist(),
        *np.linspace(1.0199, 1.0201, 21).tolist(),
        *np.linspace(1, 40, 118).tolist(),
        *(np.nextafter(C, to) for C in (1.0, 1.02) for to in (0.0, 2.0)),
        1.0,
        300.0,
        350.0,
        372.0,
        400.0,
    }
)


def precise_kappa(C: float, power: int) -> tuple[float, float]:
    """Return ln κ(C) and its derivative in decimal arithmetic.

    κ⁻¹ = max_z Σ_± exp(-C l_p(±z)). For p = 1 the maximum is 1 + e^{-2C}, for z between -1 and 1. For p = 2 the z ≥ 0
    where the derivative changes its sign is found by bisection; u = 1 - z is iterated when it is tiny.
    """
    with localcontext(PRECISE):
        c = Decimal(C)
        if power == 1:
            decay = (-2 * c).exp()
            return float(-_log1p(decay)), float(2 * decay / (1 + decay))
        if C <= 1:
            return float(c / 2 - Decimal(2).ln()), 0.5
        if C < 2:
            low, high = Decimal("1e-12"), Decimal(1)
            for _ in range(200):
                z = (low + high) / 2
                # d/dz of the sum, over C exp(-C(1+z)²/2): (1-z) e^{2Cz} - (1+z)
                low, high = (z, high) if (1 - z) * (2 * c * z).exp() > 1 + z else (low, z)
            u = 1 - low
        else:
            u = Decimal(0)
            for _ in range(150):  # shrinks the error by 2Cu ≤ 0.17 each time
                u = 2 / (1 + (2 * c * (1 - u)).exp())
        other = (-2 * c * (1 - u)).exp()  # exp(-C l_2(-z)) over exp(-C l_2(z))
        # The derivative at fixed z is the whole one, because the derivative by z vanishes.
        slope = (u**2 / 2 + (2 - u) ** 2 / 2 * other) / (1 + other)
        return float(c * u**2 / 2 - _log1p(other)), float(slope)


def _log1p(x: Decimal) -> Decimal:
    """Return ln(1 + x) to at least 50 digits."""
    return (1 + x).ln() if x > Decimal("1e-20") else x - x**2 / 2 + x**3 / 3


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_kappa_to_twelve_digits(slack: Slack) -> None:
    for C in PENALTIES:
        value, derivative = precise_kappa(C, slack.power)
        assert slack.log_kappa(C) == pytest.approx(value, rel=1e-12, abs=1e-300), C
        assert slack.log_kappa_derivative(C) == pytest.approx(derivative, rel=1e-12, abs=1e-300), C


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_kappa_is_one_over_the_maximum(slack: Slack) -> None:
    """The definition below eq. (lh), over a grid of z."""
    z = np.linspace(-4, 4, 200_001)
    for C in (1e-8, 1e-3, 0.5, 0.999, 1.0, 1.001, 1.01, 1.019, 1.021, 1.1, 1.7, 3.0, 20.0, 500.0, 1e6):
        total = np.exp(-C * slack.loss(z)) + np.exp(-C * slack.loss(-z))
        assert math.exp(-slack.log_kappa(C)) == pytest.approx(total.max(), rel=1e-7), C
        assert math.exp(-slack.log_kappa(C)) >= total.max() * (1 - 1e-15)


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_the_two_probabilities_never_exceed_one(slack: Slack) -> None:
    z = np.linspace(-3, 3, 2001)
    for C in np.logspace(-3, 3, 61):
        total = np.exp(-C * slack.loss(z)) + np.exp(-C * slack.loss(-z))
        assert (math.exp(slack.log_kappa(C)) * total <= 1 + 1e-12).all()


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
@given(st.floats(-5, 4))
def test_derivative_of_kappa_by_differences(slack: Slack, log_C: float) -> None:
    C = math.exp(log_C)
    step = 1e-5 * C
    slope = (slack.log_kappa(C + step) - slack.log_kappa(C - step)) / (2 * step)
    assert slack.log_kappa_derivative(C) == pytest.approx(slope, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_kappa_is_smooth_and_increasing(slack: Slack) -> None:
    """κ grows from ½ to 1, its logarithm is concave up to rounding, and nothing jumps between the branches."""
    C = np.linspace(0.9, 1.1, 4001)
    values = np.array([slack.log_kappa(c) for c in C])
    slopes = np.array([slack.log_kappa_derivative(c) for c in C])
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose(np.diff(values) / np.diff(C), 0.5 * (slopes[1:] + slopes[:-1]), rtol=1e-4)
    assert (np.diff(slopes) < 1e-13).all()
    assert slack.log_kappa(1e-12) == pytest.approx(-math.log(2))
    assert slack.log_kappa(1e12) == 0.0


def test_loss_is_the_formula() -> None:
    margin = np.array([-2.0, 0.0, 0.5, 1.0, 1.5, 1e300])
    np.testing.assert_array_equal(LINEAR.loss(margin), [3, 1, 0.5, 0, 0, 0])
    np.testing.assert_array_equal(QUADRATIC.loss(margin), [4.5, 0.5, 0.125, 0, 0, 0])


@pytest.mark.parametrize("slack", [LINEAR, QUADRATIC], ids=lambda slack: slack.name)
def test_derivatives_of_the_loss_by_differences(slack: Slack, rng: np.random.Generator) -> None:
    margin = rng.uniform(-3, 3, size=2000)
    margin = margin[np.abs(margin - 1) > 1e-3]
    step = 1e-5
    slope = (slack.loss(margin + step) - slack.loss(margin - step)) / (2 * step)
    np.testing.assert_allclose(slack.derivative(margin), slope, atol=1e-9)
    curvature = (slack.derivative(margin + step) - slack.derivative(margin - step)) / (2 * step)
    np.testing.assert_allclose(slack.second_derivative(margin), curvature, atol=1e-9)


def test_the_kink_belongs_to_the_violated_side() -> None:
    """H(0) = 1 in eq. (hinge)."""
    kink = np.array([np.nextafter(1.0, 0), 1.0, np.nextafter(1.0, 2)])
    np.testing.assert_array_equal(LINEAR.derivative(kink), [-1, -1, 0])
    np.testing.assert_array_equal(LINEAR.second_derivative(kink), [0, 0, 0])
    np.testing.assert_allclose(QUADRATIC.derivative(kink), [0, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(QUADRATIC.second_derivative(kink), [1, 1, 0])


def test_slack_by_name() -> None:
    assert as_slack("linear") is LINEAR
    assert as_slack("quadratic") is QUADRATIC
    assert as_slack(QUADRATIC) is QUADRATIC
    for wrong in ("cubic", "LINEAR", None, 1):
        with pytest.raises(InvalidInputError, match=r"slack is .* one of 'linear', 'quadratic'"):
            as_slack(wrong)  # type: ignore[arg-type]
