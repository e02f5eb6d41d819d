"""A standard normal restricted to a half-line, with every digit kept in the tails.

With R(x) = ∫_0^∞ exp(-u²/2 - xu) du = Φ(-x)/φ(x), the Mills ratio, the density ∝ exp(-u²/2 - xu) on u > 0 has the
cumulants (-1)^k d^k ln R/dx^k: mean D = 1/R - x, variance V = 1 - D/R, and so on by differentiation.
"""

from __future__ import annotations

import math

from marginwise._runtime.jit import compiled, compiled_part

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG_SQRT_HALF_PI = 0.5 * math.log(0.5 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

#: From here on Laplace's continued fraction D = 1/(x + 2/(x + 3/(x + …))) is used: 1/R - x would cancel.
_TAIL = 3.0


@compiled_part
def logistic(x: float) -> float:
    """Return 1/(1 + e^{-x}), with the small values exact."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@compiled
def log_ndtr(x: float) -> float:
    """Return ln Φ(x)."""
    if x > -_TAIL:
        upper = 0.5 * math.erfc(x * _SQRT_HALF)
        return math.log1p(-upper) if x > 0.0 else math.log(0.5 * math.erfc(-x * _SQRT_HALF))
    return -0.5 * x * x - _LOG_SQRT_2PI + half_line(-x)[0]


@compiled
def half_line(x: float) -> tuple[float, float, float, float, float]:
    """Return ln R(x) and the first four cumulants of the density ∝ exp(-u²/2 - xu), u > 0."""
    if x >= _TAIL:
        # y_k = k/(x + y_{k+1}), D = y_1; the tail is closed by its fixed point, so that few terms are needed.
        depth = 10 + int(100.0 / x)
        third = 0.5 * (math.sqrt(x * x + 4.0 * (depth + 1)) - x)
        for k in range(depth, 2, -1):
            third = k / (x + third)
        second = 2.0 / (x + third)
        mean = 1.0 / (x + second)
        variance = mean * (second - mean)
        skewness = mean * mean * second * (third - second) * (x + mean)
        log_mills = -math.log(x + mean)
    else:
        if x > -_TAIL:
            log_mills = _LOG_SQRT_HALF_PI + 0.5 * x * x + math.log(math.erfc(x * _SQRT_HALF))
        else:
            log_mills = _LOG_SQRT_2PI + 0.5 * x * x + math.log1p(-0.5 * math.erfc(-x * _SQRT_HALF))
        inverse = math.exp(-log_mills)
        mean = inverse - x
        variance = 1.0 - mean * inverse
        skewness = inverse * ((x + 2.0 * mean) * mean - 1.0)
    # The fourth is -dκ₃/dx, far out its leading term, because there the others cancel.
    fourth = 2.0 * variance * (1.0 - variance) - (x + 2.0 * mean) * skewness if x <= 1e4 else 6.0 / (x * x * x * x)
    return log_mills, mean, variance, skewness, fourth
