"""How far a Markov chain can be trusted: autocorrelation time, effective sample size, R-hat and standard errors.

A series has shape (time, chains): steps down, independent chains across. Chains share one target, so that their
autocovariances are pooled around the common mean; a chain that stays apart shows as a correlation without end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from marginwise._arrays import Array

#: Steps from which on a series is long enough for the variance of block means.
_LONG = 400


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean over a series, its standard error, and how many independent values the series is worth."""

    value: float
    standard_error: float
    effective_samples: float


def autocovariance(series: Array) -> Array:
    """Return the pooled autocovariance at lags 0 … time - 1, each lag's sum divided by the number of all values."""
    time = len(series)
    size = next_fast_len(2 * time, real=True)
    spectrum = rfft(series - series.mean(), size, axis=0)
    power = (spectrum * spectrum.conj()).real.sum(axis=1)
    return np.asarray(irfft(power, size)[:time] / series.size)


def autocorrelation_time(series: Array) -> float:
    """Return τ = 1 + 2 Σ_t ρ_t, not below 1: a chain that overshoots is less sure than it is favourable.

    The estimate is Geyer's initial monotone sequence (Geyer 1992), right for reversible chains. Where momenta outlive
    a step correlations may swing below zero and back; a long series is therefore also taken in blocks, the variance
    of whose means sees all of them, and the larger value is believed.
    """
    time = len(series)
    variance = float(series.var())
    if variance <= 0.0:
        return 1.0
    tau = _monotone_sequence(series)
    if time >= _LONG:
        length = math.isqrt(time)
        blocks = series[: length * (time // length)].reshape(-1, length, series.shape[1]).mean(axis=1)
        tau = max(tau, length * float(blocks.var()) / variance)
    return tau


def _monotone_sequence(series: Array) -> float:
    """Return Geyer's estimate.

    Sums of two neighbouring autocorrelations are positive and decrease for a reversible chain; they are summed until
    noise makes one negative.
    """
    covariance = autocovariance(series)
    rho = covariance / covariance[0]
    pairs = rho[: 2 * (len(rho) // 2)].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    positive = pairs[: ends[0]] if ends.size else pairs
    return max(1.0, 2.0 * float(np.minimum.accumulate(positive).sum()) - 1.0)


def split_rhat(series: Array) -> float:
    """Return the potential scale reduction of the half chains (Gelman et al. 2013, section 11.4); 1 is converged."""
    half = len(series) // 2
    if half < 2:
        return float("nan")
    chains = np.concatenate([series[:half], series[-half:]], axis=1)
    within = chains.var(axis=0, ddof=1).mean()
    between = chains.mean(axis=0).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))


def estimate_mean(series: Array, controls: Array | None = None) -> Estimate:
    """Return the mean of a series, with its variance reduced by control variates if there are any.

    ``controls`` has shape (q, time, chains) and expectation exactly 0. The coefficients are those of least squares:
    fixed ones can make the variance larger. The q degrees of freedom that they use are given back to the error.
    """
    residual, lost = series, 1
    if controls is not None and len(controls):
        Z = controls.reshape(len(controls), -1)
        lost += len(Z)
        if series.size <= 2 * lost:
            raise ValueError("there are too few values for this many control variates")
        centred = Z - Z.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        scale[scale == 0.0] = 1.0
        centred /= scale[:, None]
        target, products = centred @ (series.ravel() - series.mean()), centred @ centred.T
        if np.isfinite(products).all() and np.isfinite(target).all():  # those that overflow are of no use
            beta = np.linalg.lstsq(products, target, rcond=1e-10)[0] / scale
            residual = series - (beta @ Z).reshape(series.shape)
    size = residual.size
    variance = residual.var() * size / max(size - lost, 1)
    time = autocorrelation_time(residual)
    return Estimate(float(residual.mean()), float(np.sqrt(variance * time / size)), size / time)
