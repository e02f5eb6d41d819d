"""Diagnostics against chains whose autocorrelation is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from marginwise.inference.sampling.diagnostics import (
    autocorrelation_time,
    autocovariance,
    estimate_mean,
    split_rhat,
    variance_of_mean,
)


def autoregressive(rho: float, steps: int, chains: int, seed: int = 0) -> np.ndarray:
    """Chains x_t = ρ x_{t-1} + noise with variance 1 and mean 0, started in equilibrium."""
    noise = np.random.default_rng(seed).normal(size=(steps, chains))
    noise[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0)


def test_autocovariance_is_the_sum_it_says() -> None:
    series = autoregressive(0.5, 30, 3)
    centred = series - series.mean()
    slow = [np.sum(centred[: 30 - k] * centred[k:]) / series.size for k in range(30)]
    np.testing.assert_allclose(autocovariance(series), slow, atol=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("steps", "chains"), [(20_000, 1), (400, 64)])
def test_autocorrelation_time_of_an_autoregression(rho: float, steps: int, chains: int) -> None:
    tau = autocorrelation_time(autoregressive(rho, steps, chains))
    assert tau == pytest.approx((1 + rho) / (1 - rho), rel=0.15)


def rms_z(chains: list[np.ndarray]) -> float:
    """Root mean square of the estimated means in their standard errors; the true means are 0."""
    estimates = [estimate_mean(chain) for chain in chains]
    return float(np.sqrt(np.mean([(e.value / e.standard_error) ** 2 for e in estimates])))


def test_swinging_correlations_are_not_cut_off() -> None:
    # The sum of a fast swing and a slow drift: the swing is negative long before the drift has died away.
    rng = np.random.default_rng(0)
    chains = []
    for _ in range(600):
        noise = rng.normal(size=(2, 4000, 1))
        swing = 2 * lfilter([1.0], [1.0, -0.6, 0.8], noise[0], axis=0)[:, 0]
        drift = lfilter([1.0], [1.0, -0.9], noise[1], axis=0)[:, 0]
        chains.append((swing + drift)[:, None])
    assert 0.85 < rms_z(chains) < 1.15  # Geyer's sequence has 1.9


@pytest.mark.parametrize(("steps", "summed"), [(20_000, 1), (20_000, 200)])
def test_a_long_weak_tail_of_correlations_is_in_the_error(steps: int, summed: int) -> None:
    # Correlations that begin at 0.03 and take 200 steps to fall are the most of τ = (1 + 0.03·399)/1.03 = 12.6. Some
    # steps summed into one, as for the length scales, leave the error of the mean as it is.
    chains = []
    for seed in range(300):
        noise = np.random.default_rng(seed).normal(size=(steps, 1))
        chain = noise + np.sqrt(0.03) * autoregressive(0.995, steps, 1, seed + 1000)
        chains.append(chain.reshape(-1, summed).mean(axis=1)[:, None])
    assert 0.85 < rms_z(chains) < 1.15  # Geyer's sequence has 1.7, with sums 1.1
    known = np.sqrt((1 + 0.03 * 399) / steps)
    assert np.median([estimate_mean(chain).standard_error for chain in chains]) == pytest.approx(known, rel=0.15)


def test_the_variance_of_a_mean_is_that_of_its_slowest_waves(rng: np.random.Generator) -> None:
    chain = rng.normal(size=50)
    waves = [np.sqrt(2 / 50) * np.cos(np.pi * k * (np.arange(50) + 0.5) / 50) for k in range(1, 9)]
    assert variance_of_mean(chain) == pytest.approx(sum((wave @ chain) ** 2 for wave in waves) / 6 / 50)
    assert variance_of_mean(chain + 7.0) == pytest.approx(variance_of_mean(chain))
    assert variance_of_mean(chain[:5]) == np.inf


def test_overshooting_chains_get_no_credit() -> None:
    assert autocorrelation_time(autoregressive(-0.7, 5000, 4)) == 1.0
    assert autocorrelation_time(np.ones((50, 4))) == 1.0


def test_a_chain_that_stays_apart_shows() -> None:
    series = autoregressive(0.3, 200, 8)
    assert split_rhat(series) < 1.02
    assert autocorrelation_time(series) < 3
    series[:, 0] += 5.0
    assert split_rhat(series) > 1.3
    assert autocorrelation_time(series) > 50


def test_a_trend_shows() -> None:
    series = autoregressive(0.3, 200, 8) + np.linspace(0, 3, 200)[:, None]
    assert split_rhat(series) > 1.1


def test_split_rhat_of_chains_without_spread() -> None:
    assert split_rhat(np.ones((10, 4))) == 1.0
    assert split_rhat(np.tile([0.0, 1.0], (10, 1))) == np.inf
    assert np.isnan(split_rhat(np.ones((3, 4))))


@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize(("steps", "chains"), [(32, 64), (2000, 1), (8, 8)])
def test_standard_errors_are_honest(rho: float, steps: int, chains: int) -> None:
    z = []
    for seed in range(300):
        estimate = estimate_mean(autoregressive(rho, steps, chains, seed))
        z.append(estimate.value / estimate.standard_error)
    # 300 values have an rms known to 4 %; 8 steps are too few to see all of the autocorrelation.
    assert 0.85 < np.sqrt(np.mean(np.square(z))) < (1.15 if steps > 8 or rho == 0 else 1.3)


def test_control_variates_take_away_what_they_explain(rng: np.random.Generator) -> None:
    controls = rng.normal(size=(3, 50, 20))
    noise = rng.normal(size=(50, 20))
    series = 2.0 + 5 * controls[0] - 3 * controls[2] + 0.1 * noise
    plain, controlled = estimate_mean(series), estimate_mean(series, controls)
    assert plain.standard_error == pytest.approx(np.sqrt(34 / 1000), rel=0.1)
    assert controlled.standard_error == pytest.approx(0.1 / np.sqrt(1000), rel=0.1)
    assert abs(controlled.value - 2.0) < 4 * controlled.standard_error
    least_squares = np.linalg.lstsq(
        np.column_stack([np.ones(1000), controls.reshape(3, -1).T]), series.ravel(), rcond=None
    )[0]
    assert controlled.value == pytest.approx(least_squares[0], abs=1e-10)


def test_useless_and_repeated_controls_do_no_harm(rng: np.random.Generator) -> None:
    series = rng.normal(size=(40, 10))
    useful = series + rng.normal(size=(40, 10))
    controls = np.stack([useful, useful, np.zeros((40, 10))])
    one, many = estimate_mean(series, controls[:1]), estimate_mean(series, controls)
    assert many.value == pytest.approx(one.value, abs=1e-6)
    assert many.standard_error == pytest.approx(one.standard_error, rel=0.01)


def test_controls_cost_degrees_of_freedom() -> None:
    # With 12 values and 4 useless controls, an error without the correction would be a third too small.
    z = []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        estimate = estimate_mean(rng.normal(size=(1, 12)), rng.normal(size=(4, 1, 12)))
        z.append(estimate.value / estimate.standard_error)
    assert np.sqrt(np.mean(np.square(z))) < 1.6
    with pytest.raises(ValueError, match="too few"):
        estimate_mean(np.zeros((1, 8)), np.zeros((4, 1, 8)))


def test_control_variates_that_overflow_are_left_out(rng: np.random.Generator) -> None:
    series, controls = rng.normal(size=(40, 4)), rng.normal(size=(2, 40, 4))
    controls[1, 0, 0] = np.inf
    with np.errstate(all="ignore"):
        estimate = estimate_mean(series, controls)
    assert estimate.value == pytest.approx(series.mean())
    assert np.isfinite(estimate.standard_error)
