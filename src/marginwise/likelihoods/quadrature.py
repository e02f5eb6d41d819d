"""Moments of a normal density, tilted by a likelihood or not, for likelihoods that have none in closed form.

The range that matters is found first; it is cut where the log-likelihood bends, and Gauss–Legendre panels do the rest.
"""

from __future__ import annotations

import math

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled
from marginwise.likelihoods.slack import gap_of_loss, slack_force, slack_loss
from marginwise.likelihoods.tilted import Entries
from marginwise.likelihoods.truncated import half_line, log_ndtr, logistic

#: In compiled code a likelihood is a number. A normalised slack is the slack's power.
PROBIT, LOGISTIC = -1, -2

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_PANELS = 4
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

#: The density is followed down to exp(-_DEPTH) of its maximum, which is below the rounding of every moment.
_DEPTH = 42.0


@compiled
def log_likelihood(kind: int, f: float, C: float) -> tuple[float, float, float]:
    """Return ln t(f), its derivative with respect to f and with respect to C."""
    if kind == PROBIT:
        log_mills = half_line(-f)[0]
        return log_ndtr(f), math.exp(-log_mills), 0.0
    if kind == LOGISTIC:
        return -_softplus(-f), logistic(-f), 0.0
    # t(f)/[t(f) + t(-f)] for t = exp(-C l_p), with d = l_p(f) - l_p(-f)
    d = slack_loss(kind, 1.0 - f) - slack_loss(kind, 1.0 + f)
    slope = -slack_force(kind, 1.0 - f) - slack_force(kind, 1.0 + f)
    p_wrong = logistic(C * d)
    return -_softplus(C * d), -p_wrong * C * slope, -p_wrong * d


@compiled
def integrate(kind: int, m: float, v: float, C: float, w: float, tilted: bool) -> Entries:
    """Return the entries of ``base.Moments`` for t(f)^w under N(m, v).

    Tilted: ln Z and its derivatives. Not tilted: E[w ln t(f)] and its derivatives with respect to m. Both follow from
    joint cumulants of f and of w d ln t/df under the one density or the other, because ∂E[·]/∂m = Cov(·, f)/v.
    """
    w_tilt = w if tilted else 0.0
    cuts, n_cuts, top = _cuts(kind, m, v, C, w_tilt)
    mass = mean = value = slope = value_c = 0.0
    for second in range(2):
        if second:
            mean, value, slope, value_c = mean / mass, value / mass, slope / mass, value_c / mass
            variance = covariance = third = fourth = covariance_c = third_c = 0.0
        for k in range(n_cuts - 1):
            width = (cuts[k + 1] - cuts[k]) / _PANELS
            for panel in range(_PANELS):
                start = cuts[k] + panel * width
                for i in range(len(_NODES)):
                    x = start + 0.5 * width * (1.0 + _NODES[i])  # f - m
                    ll, gradient, by_c = log_likelihood(kind, m + x, C)
                    p = 0.5 * width * _WEIGHTS[i] * math.exp(w_tilt * ll - 0.5 * x * x / v - top)
                    if not second:
                        mass += p
                        mean += p * x
                        value += p * w * ll
                        slope += p * w * gradient
                        value_c += p * w * by_c
                    else:
                        p /= mass
                        e = x - mean
                        d, d_c = w * gradient - slope, w * by_c - value_c
                        variance += p * e * e
                        covariance += p * e * d
                        third += p * e * e * d
                        fourth += p * e * e * e * d
                        covariance_c += p * e * d_c
                        third_c += p * e * e * d_c
    if tilted:
        value = top + math.log(mass) - 0.5 * math.log(v) - _LOG_SQRT_2PI
    return (
        value,
        slope,
        -covariance,
        variance / v,
        third / (v * v),
        (fourth - 3.0 * variance * covariance) / (v * v * v),
        value_c,
        covariance_c / v,
        third_c / (v * v),
    )


@compiled
def _cuts(kind: int, m: float, v: float, C: float, w: float) -> tuple[Array, int, float]:
    """Return the ends of the pieces to integrate over, as f - m in order, their number, and the largest exponent.

    The exponent is w ln t(f) - (f - m)²/2v; as t grows with f, all its maxima are at f ≥ m.
    """
    near, far = 10.0 / C, 40.0 / C  # the sigmoid of Cf varies up to the first and is exponential up to the second
    if kind > 0:  # beyond the margin it is one of C l_p(-f)
        near = near if near < 1.0 else gap_of_loss(kind, near)
        far = far if far < 1.0 else gap_of_loss(kind, far)
    bends = np.array([-far, -near, -1.0, 0.0, 1.0, near, far])
    bends.sort()
    maxima, exponents = np.empty(len(bends) + 1), np.empty(len(bends) + 1)
    count, left = 0, m
    for piece in range(len(bends) + 1):
        right = bends[piece] if piece < len(bends) else max(m, bends[-1]) + 1.0
        if piece == len(bends):
            while w * log_likelihood(kind, right, C)[1] > (right - m) / v:
                right = m + 2.0 * (right - m)
        if right > left:
            f = _maximum(kind, left, right, m, v, C, w)
            maxima[count], exponents[count] = f, w * log_likelihood(kind, f, C)[0] - 0.5 * (f - m) ** 2 / v
            count, left = count + 1, right
    top = exponents[:count].max()
    matter = maxima[:count][exponents[:count] > top - _DEPTH]
    lowest, highest = matter.min(), matter.max()
    low = _crossing(kind, lowest, -1.0, m, v, C, w, top)
    high = _crossing(kind, highest, 1.0, m, v, C, w, top)
    cuts = np.empty(len(bends) + 4)
    cuts[0], count = low - m, 1
    inner = np.empty(len(bends) + 2)
    inner[:-2], inner[-2], inner[-1] = bends, lowest, highest
    inner.sort()
    for f in inner:
        if f - m > cuts[count - 1] and f < high:
            cuts[count] = f - m
            count += 1
    cuts[count] = high - m
    return cuts, count + 1, top


@compiled
def _maximum(kind: int, low: float, high: float, m: float, v: float, C: float, w: float) -> float:
    """Return where the exponent is largest in (low, high), inside which it is smooth."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        if w * log_likelihood(kind, middle, C)[1] > (middle - m) / v:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def _crossing(kind: int, start: float, direction: float, m: float, v: float, C: float, w: float, top: float) -> float:
    """Return a point beyond ``start`` where the exponent has fallen by about ``_DEPTH`` below its maximum."""
    step = math.sqrt(2.0 * _DEPTH * v)
    inner, outer = 0.0, step
    while _depth(kind, start + direction * outer, m, v, C, w, top) < _DEPTH:
        inner, outer = outer, 2.0 * outer
    for _ in range(60):
        middle = 0.5 * (inner + outer)
        depth = _depth(kind, start + direction * middle, m, v, C, w, top)
        inner, outer = (middle, outer) if depth < _DEPTH else (inner, middle)
        if outer - inner < 0.1 * outer:
            break
    return start + direction * outer


@compiled
def _depth(kind: int, f: float, m: float, v: float, C: float, w: float, top: float) -> float:
    return top - w * log_likelihood(kind, f, C)[0] + 0.5 * (f - m) ** 2 / v


@compiled
def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@compiled
def fill_by_quadrature(kind: int, f: Array, v: Array, C: float, weights: Array, tilted: bool, out: Array) -> None:
    """Fill the rows of ``out`` with the entries at the margins f."""
    for i in range(len(f)):
        if tilted and kind == PROBIT and weights[i] == 1.0:
            entries = _tilted_probit(f[i], v[i])
        else:
            entries = integrate(kind, f[i], v[i], C, weights[i], tilted)
        for k in range(9):
            out[k, i] = entries[k]


@compiled
def _tilted_probit(m: float, v: float) -> Entries:
    """Return the entries for Φ(f): Z = Φ(u), u = m/√(1+v) (Rasmussen & Williams 2006, eq. 3.82)."""
    root = math.sqrt(1.0 + v)
    u = m / root
    log_mills, mean, variance, third, fourth = half_line(-u)
    ratio = math.exp(-log_mills)  # φ(u)/Φ(u)
    keep = (1.0 + v * variance) / (1.0 + v)
    shrink = v / (1.0 + v) * ratio * mean
    return log_ndtr(u), ratio / root, shrink, keep, third / root**3, fourth / root**4, 0.0, 0.0, 0.0
