"""Moments of a normal density tilted by a slack likelihood t(f) = exp[-C l_p(f)], in closed form.

Put f = 1 + su for the cavity N(f; m, s²) and a = (1-m)/s. Beyond the margin, u > 0, the tilted density is
∝ exp(-u²/2 - au); inside it, w = -u > 0, it is ∝ exp(-w²/2 - (c-a)w) with c = Cs for linear slack, and
∝ exp(-w²/2λ² + aw) with λ⁻² = 1 + Cs² for quadratic slack. Both halves are truncated normals (``truncated``), so
that every moment is that of a mixture of two: with r the weight of the inner half, all sums below are sums of
positive terms and nothing cancels, however extreme m, s and C.
"""

from __future__ import annotations

import math

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled, compiled_part
from marginwise.likelihoods.truncated import half_line

Entries = tuple[float, float, float, float, float, float, float, float, float]

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)


@compiled_part
def tilted_slack(power: int, m: float, v: float, C: float) -> Entries:
    """Return ln Z = ln ∫ N(f; m, v) t(f) df and its derivatives, as the rows of ``base.Moments``."""
    s = math.sqrt(v)
    a = (1.0 - m) / s
    c, lost = C * s, C * v / (1.0 + C * v)
    if power == 1:
        b, scale, log_scale = c - a, 1.0, 0.0
    else:
        scale = 1.0 / math.sqrt(1.0 + C * v)
        b, log_scale = -a * scale, -0.5 * math.log1p(C * v)
    log_outer, D, V, K3, K4 = half_line(a)
    log_inner, mean, variance, skewness, fourth = half_line(b)
    log_odds = log_inner + log_scale - log_outer
    odds = math.exp(-abs(log_odds))
    rare, frequent = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    r, q = (rare, frequent) if log_odds < 0.0 else (frequent, rare)  # weights of the inner and of the outer half
    d = scale * mean
    U = scale * scale * variance
    U3 = scale * scale * scale * skewness
    U4 = scale * scale * scale * scale * fourth
    gap = D + d  # distance of the two means; they lie at +q2 and -q1 from the common one
    q1, q2 = q * gap, r * gap

    # With x the log-odds, ln Z = ln Z_outer + ln(1 + e^x) = ln Z_inner + ln(1 + e^-x), from the half that is more of a
    # normal density, and ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|). ln Φ comes from Φ's complement, which is small.
    if power == 1 and a >= 0.0 and b >= 0.0:
        log_half, log_rest = -0.5 * a * a - _LOG_SQRT_2PI + log_outer, log_odds
    else:
        log_half, log_rest = math.log1p(-0.5 * math.erfc(-_SQRT_HALF * (a if a < 0.0 else b))), log_odds
        if a >= 0.0:
            log_half += -c * (a - 0.5 * c) if power == 1 else log_scale - 0.5 * a * a * lost
            log_rest = -log_odds
    log_z = log_half + (log_rest if log_rest > 0.0 else 0.0) + math.log1p(odds)

    keep = q * V + r * U + r * q * gap * gap
    third = q * (K3 + 3.0 * V * q2) - r * (U3 + 3.0 * U * q1) + r * q * (r - q) * gap * gap * gap
    fourth_moment = q * (K4 + 3.0 * V * V + q2 * (4.0 * K3 + q2 * (6.0 * V + q2 * q2))) + r * (
        U4 + 3.0 * U * U + q1 * (4.0 * U3 + q1 * (6.0 * U + q1 * q1))
    )
    if power == 1:
        slope = C * r
        shrink = c * r * q * gap
        log_z_c = -s * r * d
        slope_c = r * (U + q * d * gap)
        curvature_c = -(r * (U3 + 2.0 * q1 * U + q * d * (U + q1 * q1)) - r * q * d * (V + q2 * q2)) / s
    else:
        slope = c * r * d
        shrink = r * lost * (1.0 + q * D * mean * lost / scale)
        loss = 0.5 * (d * d + U)  # mean of w²/2 in the inner half
        log_z_c = -v * r * loss
        slope_c = s * r * (d * U + 0.5 * U3 + q * loss * gap)
        curvature_c = -(
            r * (d * U3 + 2.0 * q1 * d * U + 0.5 * U4 + U * U + q1 * U3 + q * loss * (U + q1 * q1))
            - r * q * loss * (V + q2 * q2)
        )
    return (
        log_z,
        slope,
        shrink,
        keep,
        third / (s * v),
        (fourth_moment - 3.0 * keep * keep) / (v * v),
        log_z_c,
        slope_c,
        curvature_c,
    )


@compiled_part
def expected_slack(power: int, m: float, v: float, C: float) -> Entries:
    """Return E[-C l_p(f)] under N(f; m, v) and its derivatives, as the rows of ``base.Moments``."""
    s = math.sqrt(v)
    z = (1.0 - m) / s
    log_upper, mean, _, _, _ = half_line(-z)  # Φ(z)/φ(z), and the mean of s⁻¹(1-f) where it is positive
    phi = math.exp(-0.5 * z * z - _LOG_SQRT_2PI)
    upper = math.exp(log_upper - 0.5 * z * z - _LOG_SQRT_2PI) if z < 0.0 else 0.5 * math.erfc(-z * _SQRT_HALF)
    violation = s * upper * mean
    if power == 1:
        return (
            -C * violation,
            C * upper,
            C * s * phi,
            1.0,
            -C * z * phi / v,
            C * (1.0 - z * z) * phi / (s * v),
            -violation,
            upper,
            -phi / s,
        )
    loss = 0.5 * v * (upper + z * upper * mean)  # ½E[(1-f)₊²] = ½v[Φ(z) + z(zΦ(z) + φ(z))]
    return -C * loss, C * violation, C * v * upper, 1.0, C * phi / s, C * z * phi / v, -loss, violation, -upper


@compiled
def fill_tilted(power: int, f: Array, v: Array, C: float, weights: Array, out: Array) -> None:
    """Fill the rows of ``out`` with those of exp[-C w l_p] at the margins f; derivatives in C follow from Cw's."""
    for i in range(len(f)):
        entries = tilted_slack(power, f[i], v[i], C * weights[i])
        for k in range(9):
            out[k, i] = entries[k] if k < 6 else weights[i] * entries[k]


@compiled
def fill_expected(power: int, f: Array, v: Array, C: float, weights: Array, out: Array) -> None:
    """Fill the rows of ``out`` with those of E[-C w l_p] at the margins f."""
    for i in range(len(f)):
        entries = expected_slack(power, f[i], v[i], C * weights[i])
        for k in range(9):
            out[k, i] = entries[k] if k < 6 else weights[i] * entries[k]
