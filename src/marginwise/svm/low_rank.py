"""The SVM of a Gram matrix of low rank, VVᵀ + D: Newton's method in the m weights of the features, then a working set.

With u = Vᵀ(y∘α) the dual is solved by the minimum of ½|u|² + Σ_i φ_i(y_iv_iᵀu), φ_i(z) = min_e C_il_p(z + e) + e²/2D_i:
the slack penalty with its corner rounded off by what the features leave open. φ_i is convex and made of parabolas, so
that Newton's method takes the second derivative of the piece at hand (Mangasarian 2002; Keerthi & DeCoste 2005), each
step O(nm²). Where D_i is tiny the corner is sharp: D_i is brought down step by step, and even so a step of Newton's
method may pass no more than a few corners. Where that takes many steps, the working-set solver of the dual goes on from
there, and ends exactly. It still has to find little but the rows with 0 < α_i < C_i, which are few if D is tiny.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import RowCovariance
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.likelihoods.slack import Slack
from marginwise.svm.base import Solution, describe
from marginwise.svm.working_set import solve_working_set

#: Smallest D_i, in units of the prior variance, by whether features are of single precision: it shifts a margin by
#: D_iα_i, and rounding errors of a margin change α_i by their D_i-th part.
LEAST = {False: 1e-8, True: 1e-4}

#: The first D where D_i is smaller, in units of the prior variance or of 1/C, and the factor that brings it down.
_FIRST, _STEP = 0.03, 0.1

#: Change of the largest margin, relative to it, at which a minimum is found: the last one, by whether features are of
#: single precision, which makes the steps less exact but not the margins, and those on the way.
_EXACT, _ROUGH = {False: 1e-12, True: 1e-9}, 0.03

#: Newton steps at one level of D before the working set takes over: where the rows with 0 < α_i < C_i are at most
#: ``_FEW`` times the rank, so that their equations cost no more than some steps, and where they are more. If D is not
#: tiny 3 to 10 steps are enough. If it is, 10 settle nearly all other rows, and 100 may not settle the rest.
_FEW, _STEPS_OF_FEW, _MAX_STEPS = 4, 10, 100

#: Violation of the optimality conditions that counts as converged, in units of ``Solution.kkt_violation``.
_TOLERANCE = 1e-8


def solve_low_rank(
    gram: LowRankCovariance, y: Array, penalties: Array, slack: Slack, *, start: Solution | None = None
) -> Solution:
    """Train the SVM; labels ±1, penalties C_i. A solution near by is where it begins."""
    matrix = _WithResidual(gram)
    near = _newton(matrix, y, penalties, slack, start)
    if near.status.ok:
        return near
    exact = solve_working_set(matrix, y, penalties, slack, near, None)
    return replace(exact, iterations=near.iterations + exact.iterations)


class _WithResidual(RowCovariance):
    """VVᵀ + D."""

    def __init__(self, gram: LowRankCovariance) -> None:
        self.gram, self.residual = gram, positive_residual(gram)
        self.diagonal = gram.diagonal + self.residual

    def times(self, x: Array) -> Array:
        return self.gram.times(x) + (self.residual * x.T).T

    def block(self, rows: Indices) -> Array:
        V = self.gram.features_of(rows).astype(float)
        block = V @ V.T
        block[np.diag_indices_from(block)] += self.residual[rows]
        return block

    def function_at(self, X_new: Array, coefficients: Array) -> Array:
        return self.gram.function_at(X_new, coefficients)

    def combine(self, rows: Indices, coefficients: Array) -> tuple[Array, Array]:
        """The second is a bound: |v_iᵀv_j| ≤ |v_i||v_j|."""
        x = np.zeros(self.n)
        x[rows] = coefficients
        roots = np.sqrt(self.gram.diagonal)
        return self.times(x), roots * (roots @ np.abs(x)) + self.residual * np.abs(x)


def _newton(matrix: _WithResidual, y: Array, penalties: Array, slack: Slack, start: Solution | None) -> Solution:
    """Return the minimum, or what comes near to it in few steps."""
    gram, residual = matrix.gram, matrix.residual
    least = float(residual.min())
    level = max(1.0 / float(penalties.max()), gram.unit) * _FIRST
    if slack.smooth or start is not None:
        level = least
    u = np.zeros(gram.rank) if start is None else gram.project(y * start.alpha)
    iterations, ended, last = 0, True, False
    while ended and not last:
        level = max(level, least)
        last = level <= least
        accuracy = _EXACT[gram.single] if last else _ROUGH
        u, alpha, steps, ended = _minimise(gram, u, y, penalties, slack, np.maximum(residual, level), accuracy)
        iterations += steps
        level *= _STEP
    latent, size = matrix.combine(np.arange(gram.n), y * alpha)
    scale = 1.0 + float(size.max())
    return describe(latent, scale, y, penalties, slack, alpha, tolerance=_TOLERANCE, iterations=iterations)


def positive_residual(gram: LowRankCovariance) -> Array:
    """Return D, the residual or a small part of the mean prior variance."""
    return np.maximum(gram.residual, LEAST[gram.single] * gram.unit)


def _minimise(
    gram: LowRankCovariance, u: Array, y: Array, penalties: Array, slack: Slack, residual: Array, accuracy: float
) -> tuple[Array, Array, int, bool]:
    """Return what was reached from ``u``, α there, the number of steps, and whether no more are needed.

    That is so if the last one changed margins by no more than ``accuracy``, or if rounding leaves none that improves.
    """
    margin = y * gram.expand(u)
    slopes = slack.rounded_slopes(margin, penalties, residual)
    steps = 0
    while steps < (_MAX_STEPS if np.count_nonzero(slopes.curvature) > _FEW * gram.rank else _STEPS_OF_FEW):
        safe_point()
        A, pulled = gram.normal_equations(slopes.curvature, y * slopes.alpha)
        A[np.diag_indices_from(A)] += 1.0
        factor, failed = lapack.dpotrf(np.asfortranarray(A), lower=1, overwrite_a=1)
        if failed:
            return u, slopes.alpha, steps, True
        step = lapack.dpotrs(factor, pulled - u, lower=1)[0]
        change = y * gram.expand(step)
        if float(np.abs(change).max()) <= accuracy * (1.0 + float(np.abs(margin).max())):
            return u, slopes.alpha, steps, True
        length = _line_search(u, step, margin, change, penalties, slack, residual)
        if length == 0.0:
            return u, slopes.alpha, steps, True
        steps += 1
        u = u + length * step
        margin = margin + length * change
        slopes = slack.rounded_slopes(margin, penalties, residual)
    return u, slopes.alpha, steps, False


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
