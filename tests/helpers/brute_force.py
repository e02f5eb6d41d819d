"""Slow and obvious integrals over one latent value, which the moments of likelihoods are tested against."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr


class Integral(NamedTuple):
    """ln Z, and mean - m and the central moments of the tilted density in units of √v."""

    log_z: float
    shift: float
    variance: float
    third: float
    fourth: float
    mean_log_likelihood: float


def log_likelihood(name: str, f: np.ndarray, C: float) -> np.ndarray:
    """ln t(f), without κ(C)."""
    if name == "probit":
        return log_ndtr(f)
    if name == "logistic":
        return -np.logaddexp(0.0, -f)
    power = 1 if name.endswith("linear") else 2

    def penalty(z: np.ndarray) -> np.ndarray:
        return C * np.maximum(1.0 - z, 0.0) ** power / power

    return -np.logaddexp(0.0, penalty(f) - penalty(-f)) if name.startswith("normalised") else -penalty(f)


def integrate(name: str, m: float, v: float, C: float, w: float = 1.0, *, tilted: bool = True) -> Integral:
    """Integrate N(f; m, v) t(f)^w by Gauss–Legendre panels on a mesh refined around every place that can matter."""
    s = np.sqrt(v)
    steps = np.concatenate([[0.0], np.geomspace(1e-7, 1e7, 600)])
    steps = np.concatenate([-steps[::-1], steps])
    # f - m at the cavity, the margins, the middle, and the maxima of the exponent on either side of the margin
    pull = C * w * v
    centres = [0.0, 1.0 - m, -1.0 - m, -m, pull, 2.0 * pull, pull * (1.0 - m) / (1.0 + pull)]
    mesh = np.unique(np.concatenate([centre + min(s, 1.0) * steps for centre in centres]))
    mesh = mesh[np.abs(mesh) <= 60.0 * s + 2.0 * (abs(m) + 1.0) + 10.0 * pull]
    x, weight = np.polynomial.legendre.leggauss(5)
    half = 0.5 * np.diff(mesh)[:, None]
    offset = (0.5 * (mesh[1:] + mesh[:-1])[:, None] + half * x).ravel()
    f, u = m + offset, offset / s
    log_t = w * log_likelihood(name, f, C)
    log_p = np.log((half * weight).ravel()) + (log_t if tilted else 0.0) - 0.5 * u**2
    top = log_p.max()
    p = np.exp(log_p - top)
    total = p.sum()
    p /= total
    shift = p @ u
    e = u - shift
    variance = p @ e**2
    return Integral(
        float(top + np.log(total) - np.log(s) - 0.5 * np.log(2 * np.pi)),
        float(shift),
        float(variance),
        float(p @ e**3),
        float(p @ e**4 - 3 * variance**2),
        float(p @ log_t),
    )
