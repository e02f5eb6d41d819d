"""The SVM of a Gram matrix of low rank, VVᵀ + D, in the m weights of the features.

With u = Vᵀ(y∘α) the dual is solved by the minimum of ½|u|² + Σ_i φ_i(y_iv_iᵀu), φ_i(z) = min_e C_il_p(z + e) + e²/2D_i:
the slack penalty with its corner rounded off by what the features leave open. φ_i is convex and made of parabolas, so
that Newton's method with the second derivative of the piece at hand ends at the exact minimum after finitely many
steps (Mangasarian 2002; Keerthi & DeCoste 2005), each O(nm²). Where D_i is tiny, it is brought down step by step.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array
from marginwise.covariance import LowRankCovariance
from marginwise.likelihoods import Slack
from marginwise.svm.contract import Solution, describe

#: Smallest D_i, in units of the prior variance, by whether features are of single precision: it shifts a margin by
#: D_iα_i, and rounding errors of a margin change α_i by their D_i-th part.
LEAST = {False: 1e-8, True: 1e-4}

#: Factor by which small D_i are brought down at a time.
_STEP = 0.03

#: Change of the largest margin, relative to it, at which a minimum is found: the last one, by whether features are of
#: single precision, and those on the way.
_EXACT, _ROUGH = {False: 1e-12, True: 1e-6}, 0.03

#: Newton steps at one level of D. Ordinary problems need 3 to 10.
_MAX_STEPS = 100

#: Violation of the optimality conditions that counts as converged, by whether features are of single precision.
_TOLERANCE = {False: 1e-8, True: 1e-6}


def solve_low_rank(
    gram: LowRankCovariance,
    y: Array,
    penalties: Array,
    slack: Slack,
    *,
    start: Solution | None = None,
    weights: Array | None = None,
) -> Solution:
    """Train the SVM; labels ±1, penalties C_i. It begins at a solution near by, or at weights of the features."""
    residual = positive_residual(gram)
    least = float(residual.min())
    level = max(1.0 / float(penalties.max()), gram.unit) * _STEP
    if slack.smooth or start is not None or weights is not None:
        level = least
    u = np.zeros(gram.rank) if weights is None else weights
    if start is not None:
        u = gram.project(y * start.alpha)
    iterations = 0
    while True:
        level = max(level, least)
        rounded = np.maximum(residual, level)
        last = level <= least
        u, alpha, steps = _minimise(gram, u, y, penalties, slack, rounded, _EXACT[gram.single] if last else _ROUGH)
        iterations += steps
        if last:
            break
        level *= _STEP
    latent = gram.expand(gram.project(y * alpha)) + residual * y * alpha
    roots = np.sqrt(gram.diagonal)  # |v_iᵀv_j| ≤ |v_i||v_j|
    size = float((roots * (roots @ alpha) + residual * alpha).max())
    return describe(
        latent, 1.0 + size, y, penalties, slack, alpha, tolerance=_TOLERANCE[gram.single], iterations=iterations
    )


def positive_residual(gram: LowRankCovariance) -> Array:
    """Return D, the residual or a small part of the mean prior variance."""
    return np.maximum(gram.residual, LEAST[gram.single] * gram.unit)


def _minimise(
    gram: LowRankCovariance, u: Array, y: Array, penalties: Array, slack: Slack, residual: Array, accuracy: float
) -> tuple[Array, Array, int]:
    """Return the minimum, α there, and the number of steps from ``u``, once a step changes margins by ``accuracy``."""
    margin = y * gram.expand(u)
    slopes = slack.rounded_slopes(margin, penalties, residual)
    for steps in range(_MAX_STEPS):
        A, pulled = gram.normal_equations(slopes.curvature, y * slopes.alpha)
        A[np.diag_indices_from(A)] += 1.0
        factor, failed = lapack.dpotrf(np.asfortranarray(A), lower=1, overwrite_a=1)
        if failed:
            break
        step = lapack.dpotrs(factor, pulled - u, lower=1)[0]
        change = y * gram.expand(step)
        if float(np.abs(change).max()) <= accuracy * (1.0 + float(np.abs(margin).max())):
            break
        length = _line_search(u, step, margin, change, penalties, slack, residual)
        if length == 0.0:
            break
        u = u + length * step
        margin = margin + length * change
        slopes = slack.rounded_slopes(margin, penalties, residual)
    return u, slopes.alpha, steps


def _line_search(
    u: Array, step: Array, margin: Array, change: Array, penalties: Array, slack: Slack, residual: Array
) -> float:
    """Return the length with the smallest objective along the step: where its slope, which only rises, is zero."""
    constant, rise = float(u @ step), float(step @ step)

    def slope(length: float) -> tuple[float, float]:
        alpha, curvature = slack.rounded_slopes(margin + length * change, penalties, residual)
        value = constant + length * rise - float(alpha @ change)
        return value, rise + float(curvature @ change**2)

    low, high, length = 0.0, np.inf, 1.0
    if slope(0.0)[0] >= 0.0:
        return 0.0
    smallest = 1e-10 * (abs(constant) + rise)
    for _ in range(60):
        value, second = slope(length)
        if abs(value) <= smallest:
            break
        low, high = (length, high) if value < 0.0 else (low, length)
        length -= value / second  # Newton's method, kept between the bounds by halving
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
        if high - low <= 1e-14 * high:
            break
    return length
