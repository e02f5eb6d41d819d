"""The losses by differences, and κ(C) to the last digits against decimal arithmetic."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginwise
from marginwise.errors import InvalidInputError
from marginwise.likelihoods import LINEAR, QUADRATIC, SLACKS, Slack, as_slack
from marginwise.likelihoods.slack import gap_of_loss, rounded_force, slack_force, slack_loss

every_slack = pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)

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


@every_slack
def test_kappa_to_twelve_digits(slack: Slack) -> None:
    for C in PENALTIES:
        value, derivative = precise_kappa(C, slack.power)
        assert slack.log_kappa(C) == pytest.approx(value, rel=1e-12, abs=1e-300), C
        assert slack.log_kappa_derivative(C) == pytest.approx(derivative, rel=1e-12, abs=1e-300), C


@every_slack
def test_kappa_is_one_over_the_maximum(slack: Slack) -> None:
    """The definition below eq. (lh), over a grid of z."""
    z = np.linspace(-4, 4, 200_001)
    for C in (1e-8, 1e-3, 0.5, 0.999, 1.0, 1.001, 1.01, 1.019, 1.021, 1.1, 1.7, 3.0, 20.0, 500.0, 1e6):
        total = np.exp(-C * slack.loss(z)) + np.exp(-C * slack.loss(-z))
        assert math.exp(-slack.log_kappa(C)) == pytest.approx(total.max(), rel=1e-7), C
        assert math.exp(-slack.log_kappa(C)) >= total.max() * (1 - 1e-15)


@every_slack
def test_the_two_probabilities_never_exceed_one(slack: Slack) -> None:
    z = np.linspace(-3, 3, 2001)
    for C in np.logspace(-3, 3, 61):
        total = np.exp(-C * slack.loss(z)) + np.exp(-C * slack.loss(-z))
        assert (math.exp(slack.log_kappa(C)) * total <= 1 + 1e-12).all()


@every_slack
@given(st.floats(-5, 4))
def test_derivative_of_kappa_by_differences(slack: Slack, log_C: float) -> None:
    C = math.exp(log_C)
    step = 1e-5 * C
    slope = (slack.log_kappa(C + step) - slack.log_kappa(C - step)) / (2 * step)
    assert slack.log_kappa_derivative(C) == pytest.approx(slope, rel=1e-4, abs=1e-9)


@every_slack
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


@every_slack
def test_derivatives_of_the_loss_by_differences(slack: Slack, rng: np.random.Generator) -> None:
    margin = rng.uniform(-3, 3, size=2000)
    margin = margin[np.abs(margin - 1) > 1e-3]
    step = 1e-5
    slope = (slack.loss(margin + step) - slack.loss(margin - step)) / (2 * step)
    np.testing.assert_allclose(slack.derivative(margin), slope, atol=1e-9)


def test_the_kink_belongs_to_the_violated_side() -> None:
    """H(0) = 1 in eq. (hinge)."""
    kink = np.array([np.nextafter(1.0, 0), 1.0, np.nextafter(1.0, 2)])
    np.testing.assert_array_equal(LINEAR.derivative(kink), [-1, -1, 0])
    np.testing.assert_allclose(QUADRATIC.derivative(kink), [0, 0, 0], atol=1e-15)


def test_slack_by_name() -> None:
    assert as_slack("linear") is LINEAR
    assert as_slack("quadratic") is QUADRATIC
    assert as_slack(QUADRATIC) is QUADRATIC
    for wrong in ("cubic", "LINEAR", None, 1):
        with pytest.raises(InvalidInputError, match=r"slack is .* one of 'linear', 'quadratic'"):
            as_slack(wrong)  # type: ignore[arg-type]


@every_slack
def test_compiled_scalars_are_those_of_the_arrays(slack: Slack, rng: np.random.Generator) -> None:
    margin = np.concatenate([rng.uniform(-3, 3, size=200), [1.0]])
    gap = 1.0 - margin
    np.testing.assert_array_equal([slack_loss(slack.power, one) for one in gap], slack.loss(margin))
    np.testing.assert_array_equal([slack_force(slack.power, one) for one in gap], -slack.derivative(margin))
    far = gap[np.abs(gap) > 1e-3]
    sharp = [rounded_force(slack.power, one, 1e3) for one in far]
    np.testing.assert_allclose(sharp, -slack.derivative(1.0 - far), atol=1e-15)
    for one in gap[gap > 0.0]:
        assert gap_of_loss(slack.power, slack_loss(slack.power, one)) == pytest.approx(one, rel=1e-14)


@every_slack
def test_the_dual_by_its_definition(slack: Slack) -> None:
    """α - ½ridge α² up to reach is the smallest α(1 - z) + C l_p(z) over z: what a dual variable gains."""
    penalties = np.array([0.3, 1.0, 7.0])
    z = np.linspace(-20.0, 1.0, 210_001)
    ridge, reach = slack.ridge(penalties), slack.reach(penalties)
    for C, r, top in zip(penalties, ridge, reach, strict=True):
        for alpha in (0.0, 0.2 * C, 0.99 * C, 1.01 * C, 3.0 * C):
            least = np.min(C * slack.loss(z) - alpha * (1.0 - z))
            if alpha <= top:
                assert least == pytest.approx(-0.5 * r * alpha**2, abs=1e-6)
            else:
                assert least < -0.1 * C  # falls without end


@every_slack
def test_rounded_slopes_by_brute_force(slack: Slack) -> None:
    """φ(z) = min_e C l_p(z + e) + e²/2D, over a grid of e; its slopes by differences."""
    C, width, e = 1.7, 0.4, np.linspace(-1.0, 4.0, 2_000_001)

    def rounded(z: float) -> float:
        return float(np.min(C * slack.loss(z + e) + e**2 / (2.0 * width)))

    for z in (-0.8, 0.2, 0.6, 0.9, 1.3):
        alpha, curvature = slack.rounded_slopes(np.array([z]), np.array([C]), np.array([width]))
        step = 1e-2  # pieces of parabolas: differences are exact, but for the grid
        below, at, above = rounded(z - step), rounded(z), rounded(z + step)
        assert alpha[0] == pytest.approx((below - above) / (2.0 * step), abs=1e-8)
        assert curvature[0] == pytest.approx((below - 2.0 * at + above) / step**2, abs=1e-6)


@every_slack
@pytest.mark.parametrize("exponent", [1.0, 2.0])
def test_root_curvature_by_differences(slack: Slack, exponent: float) -> None:
    alpha, penalties, step = np.array([0.3, 0.5, 1.2]), np.array([1.3, 1.7, 2.0]), 1e-6
    found = slack.root_curvature(alpha, penalties, 0.1, exponent)

    def root(alpha: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        return slack.root_curvature(alpha, penalties, 0.1, exponent).root

    by_alpha = (root(alpha + step, penalties) - root(alpha - step, penalties)) / (2 * step)
    by_log_C = (root(alpha, penalties * np.exp(step)) - root(alpha, penalties * np.exp(-step))) / (2 * step)
    np.testing.assert_allclose(found.by_alpha, by_alpha, rtol=1e-7)
    np.testing.assert_allclose(found.by_log_C, by_log_C, rtol=1e-7)


def test_root_curvature_is_the_papers() -> None:
    """Eqs. (lapnv) and (laplace_qu); L = 0 where the smoothing leaves nothing."""
    alpha, penalties = np.array([0.4, 1e-5]), np.array([1.0, 1.0])
    linear, quadratic = (slack.root_curvature(alpha, penalties, 0.1).root ** 2 for slack in (LINEAR, QUADRATIC))
    np.testing.assert_allclose(linear, 2 * np.pi * (alpha * (1 - alpha)) ** 2)
    np.testing.assert_allclose(quadratic, [np.exp(-0.25), 0.0])  # 1 - z = α/C
    assert QUADRATIC.root_curvature(alpha, penalties, 0.1).by_alpha[1] == 0.0
    squared = QUADRATIC.root_curvature(alpha, penalties, 0.1, 2.0).root[0] ** 2
    assert squared == pytest.approx(np.exp(-0.1 / 0.4**2))


def test_only_the_linear_slack_has_a_kink() -> None:
    assert QUADRATIC.smooth
    assert not LINEAR.smooth


def test_no_other_module_compares_slacks() -> None:
    """A third slack is to be written in one or two files."""
    package = Path(marginwise.__file__).parent
    wrong = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\bpower (==|!=|<|>)|slack\.name (==|!=)|quadratic =", path.read_text(encoding="utf-8"))
    ]
    assert sorted(wrong) == ["likelihoods/slack.py", "likelihoods/tilted.py"]
