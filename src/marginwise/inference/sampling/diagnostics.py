"""How far a Markov chain can be trusted: autocorrelation time, effective sample size, R-hat and standard errors.

A series has shape (time, chains): steps down, independent chains across. Chains share one target, so that their
autocovariances are pooled around the common mean; a chain that stays apart shows as a correlation without end.

A chain that is alone has no other to tell how far its mean can be off. That of Hybrid Monte Carlo with one momentum
drawn anew at each step has correlations with a long tail, each far below the noise of its estimate and together as
large as all the others; a sum of estimated autocorrelations cuts them off. The chain's slowest waves contain them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct, irfft, next_fast_len, rfft

from marginwise._arrays import Array

#: Waves of a chain that is alone from which the error of its mean is found: few, so that the slowest correlations are
#: in all of them; the uncertainty of so few is made up for.
_WAVES = 8


@dataclass(frozen=True, eq=False)
class Estimate:
    """A mean over a series, its standard error, and how many independent values the series is worth.

    The mean divided by its standard error has variance 1 if its expectation is 0.
    """

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

    The estimate is Geyer's initial monotone sequence (Geyer 1992), right for reversible chains: sums of two
    neighbouring autocorrelations are positive and decrease; they are summed until noise makes one negative.
    """
    covariance = autocovariance(series)
    if covariance[0] <= 0.0:
        return 1.0
    rho = covariance / covariance[0]
    pairs = rho[: 2 * (len(rho) // 2)].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    positive = pairs[: ends[0]] if ends.size else pairs
    return max(1.0, 2.0 * float(np.minimum.accumulate(positive).sum()) - 1.0)


def variance_of_mean(chain: Array) -> float:
    """Return the variance of the mean of one chain, from its slowest waves.

    The orthonormal cosine coefficients of a chain at low frequencies are independent with the variance that √time times
    its mean has: the spectrum at 0. The average of the squares of the first K is the estimate, the mean divided by its
    root has Student's distribution with K degrees of freedom (Müller 2007; Lazarus, Lewis, Stock & Watson 2018), and
    the variance of that, K/(K - 2), is a factor here. Infinite for a chain that is too short.
    """
    time = len(chain)
    waves = min(_WAVES, time // 2)
    if waves <= 2:
        return math.inf
    coefficients = dct(chain, norm="ortho")[1 : 1 + waves]
    return float(coefficients @ coefficients) / (waves - 2) / time


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
    variance = float(residual.var()) * size / max(size - lost, 1)
    if residual.shape[1] == 1:
        of_mean = variance_of_mean(residual[:, 0]) * size / max(size - lost, 1)
    else:
        of_mean = variance * autocorrelation_time(residual) / size
    effective = variance / of_mean if of_mean > 0.0 else float(size)
    return Estimate(float(residual.mean()), math.sqrt(of_mean), effective)
