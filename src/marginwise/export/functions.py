"""Functions that ONNX lacks, or lacks in double precision: log-sum-exp, interpolation, the normal tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import erfcx

from marginwise._arrays import Array
from marginwise.export.graph import Operand, Value, exp, log, maximum, minimum, node, where

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

#: Degree of the polynomial for the normal tail: more changes no digit.
_DEGREE = 36


def log_softmax(x: Value) -> Value:
    """Return the logarithms of softmax over the columns."""
    return node("LogSoftmax", x, axis=1)


def log_sum_exp(x: Value, axis: int) -> Value:
    """Return ln Σ e^x along an axis."""
    largest = x.max(axis, keep=True)
    return log(exp(x - largest).sum(axis)) + largest.squeeze(axis)


def log_add_exp(x: Value, y: Operand) -> Value:
    """Return ln(e^x + e^y)."""
    return maximum(x, y) + log(1.0 + exp(-node("Abs", x - y)))


def log_expit(x: Value) -> Value:
    """Return ln 1/(1 + e^-x)."""
    return minimum(x, 0.0) - log(1.0 + exp(-node("Abs", x)))


def interpolate(x: Value, knots: Sequence[Array], values: Sequence[Array]) -> Value:
    """Return each column of x on straight lines between its own knots; beyond them with slope 1.

    The knots below are found by bisection, for all columns at once.
    """
    size = 2 ** math.ceil(math.log2(max(map(len, knots))))
    table, heights, slopes = np.full((len(knots), size), np.inf), *np.zeros((2, len(knots), size))
    for a, (t, y) in enumerate(zip(knots, values, strict=True)):
        table[a, : len(t)], heights[a, : len(t)] = t, y
        with np.errstate(divide="ignore", invalid="ignore"):  # of equal knots only the last is ever below a row
            slopes[a, : len(t) - 1] = np.diff(y) / np.diff(t)
    graph = x.graph
    ends = [np.array([t[end] for t in knots]) for end in (0, -1)]
    inside = minimum(maximum(x, ends[0]), ends[1])
    flat = graph.constant(table.ravel())
    place = graph.constant(np.arange(len(knots)) * size)
    step = size // 2
    while step > 0:
        place = where(inside >= flat.take(place + step), place + step, place)
        step //= 2
    line = graph.constant(slopes.ravel()).take(place) * (inside - flat.take(place))
    return graph.constant(heights.ravel()).take(place) + line + (x - inside)


def log_mills(x: Value) -> Value:
    """Return ln Φ(-x)/φ(x) for x ≥ 0, to rounding.

    With z = x/√2 and t = 2/(2 + z), ln[e^{z²} erfc(z)/t] is a smooth function of t from 0 to 1: a Chebyshev polynomial
    (Press et al. 2007, section 6.2.2), evaluated by Clenshaw's recurrence. The runtime's Erf is of single precision.
    """
    t = 2.0 / (2.0 + x * math.sqrt(0.5))
    first, *others = _tail_coefficients()
    y = 2.0 * t - 1.0
    twice = 2.0 * y
    before: Operand = 0.0
    last: Operand = others[-1]
    for coefficient in others[-2::-1]:
        before, last = last, twice * last - before + coefficient
    return 0.5 * math.log(0.5 * math.pi) + log(t) + (y * last - before + first)


def log_tail(x: Value, log_mills_of_size: Value) -> Value:
    """Return ln Φ(-|x|) from ln Φ(-|x|)/φ(x)."""
    return log_mills_of_size - 0.5 * x * x - _LOG_SQRT_2PI


def log_upper(x: Value, log_mills_of_size: Value) -> Value:
    """Return ln Φ(-x) from ln Φ(-|x|)/φ(x)."""
    tail = log_tail(x, log_mills_of_size)
    return where(x >= 0.0, tail, log(1.0 - exp(tail)))


@cache
def _tail_coefficients() -> tuple[float, ...]:
    """Return the coefficients of Chebyshev polynomials of 2t - 1 for ln[e^{z²} erfc(z)/t]."""

    def smooth(y: Any) -> Any:
        t = 0.5 * (y + 1.0)
        return np.log(erfcx(2.0 * (1.0 - t) / t) / t)

    return tuple(np.polynomial.chebyshev.chebinterpolate(smooth, _DEGREE).tolist())
