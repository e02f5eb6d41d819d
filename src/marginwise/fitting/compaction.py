"""An ensemble as sums over fewer points, with what it says of rows like those it was trained on kept.

A member's latent means are sums m(x) = Σ_i b_i K(x, z_i), its variance K(x, x) - k(x)ᵀWk(x) with k_i(x) = K(x, z_i).
Both are fitted again at some rows, the design, with fewer of the points z:

- which points: those that explain most of what is left of the means, a few at a time (orthogonal least squares: Chen,
  Cowan & Grant 1991), with errors counted as far as they show in probabilities;
- means: by weighted least squares at the design. With S the weights, A = K(design, points) and M = AᵀS²A = LLᵀ, the
  coefficients are M⁻¹AᵀS²m;
- variances: k(x) is replaced by its least-squares fit at the design, Tᵀ M⁻¹ a(x) with T = AᵀS²K(design, z) and a(x) the
  covariances with the points, so that W becomes M⁻¹TWTᵀM⁻¹. Of L⁻¹TWTᵀL⁻ᵀ = UΛUᵀ the leading eigenvectors give a factor
  of few columns, F = L⁻ᵀUΛ^½: the best one of its size in the mean over the design.

Where all points have to stay, W alone is made smaller. Local blocks have no one W: theirs is that of inducing inputs at
the points with the same sites (Rasmussen & Williams 2006, eq. 8.16 and section 8.3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.linalg import eigh, lapack, qr, solve_triangular

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.fitting.ensemble import Ensemble, same_expansion
from marginwise.fitting.members import Member
from marginwise.inference.prediction import LatentPredictor, LocalPredictor, Predictor
from marginwise.kernels.base import Kernel

#: Points that are chosen at a time, as a part of those chosen before.
_AT_ONCE = 1.0 / 12.0

#: Most candidates for points of a member.
_MOST_CANDIDATES = 1500

#: Points with more than this share of all candidates are not worth the error: then all stay, and means are exact.
_NEARLY_ALL = 0.9

#: Steps of means by which it is tried how much probabilities move, in units of their standard deviation.
_STEPS = 2.0 ** np.arange(-16.0, 2.0, 0.5)

#: Candidates of which less than this is new, in units of their squares, are the same as points already chosen.
_LEAST_NEW = 1e-10

#: Added to the diagonal of M, in units of its mean.
_RIDGE = 1e-12

#: Columns of the factor of W that are tried, in units of the number of points.
SHARES = (0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.06, 0.04, 0.03, 0.02)


@dataclass(frozen=True, eq=False)
class _Group:
    """Members with the same kernel and candidates: they share their points, and what is computed with them.

    Attributes
    ----------
    numbers : tuple of int
        Which members.
    predictors : tuple of Predictor
        Theirs.
    kernel : Kernel
    rows, candidates : arrays of shape (n, d) and (c, d)
        The design, and what points are chosen from, as the members see them.
    moments : list of pairs of arrays
        Latent means, in columns, and variances at the design.
    sensitivity : array of shape (n,)
        S: how much a probability moves with the latent means, see :func:`sensitivity`.
    """

    numbers: tuple[int, ...]
    predictors: tuple[Predictor, ...]
    kernel: Kernel
    rows: Array
    candidates: Array
    moments: list[tuple[Array, Array]]
    sensitivity: Array

    @cached_property
    def cross(self) -> Array:
        """S K(design, candidates)."""
        return self.sensitivity[:, None] * self.kernel.cross(self.rows, self.candidates)

    @cached_property
    def path(self) -> tuple[Indices, list[tuple[int, float]]]:
        """The candidates, those that explain most first; and after how many the largest error of a mean is what."""
        left = self.sensitivity[:, None] * np.hstack([mean for mean, _ in self.moments])
        rest = self.cross.copy()
        whole = np.einsum("ij,ij->j", rest, rest)
        order: list[int] = []
        levels = [(0, float(np.abs(left).max()))]
        while len(order) < len(whole):
            safe_point()
            new = np.einsum("ij,ij->j", rest, rest)
            new[order] = 0.0
            is_new = new > _LEAST_NEW * whole
            gain = np.einsum("ij,ij->i", rest.T @ left, rest.T @ left) / np.where(is_new, new, np.inf)
            best = np.argsort(-gain, kind="stable")[: max(1, int(_AT_ONCE * len(order)))]
            best = best[gain[best] > 0.0]
            if not len(best):
                break
            U, R, places = qr(rest[:, best], mode="economic", pivoting=True)
            kept = np.abs(R.diagonal()) > np.sqrt(_LEAST_NEW) * np.abs(R[0, 0])
            U, best = U[:, kept], best[places[kept]]
            rest -= U @ (U.T @ rest)
            left -= U @ (U.T @ left)
            order.extend(best.tolist())
            levels.append((len(order), float(np.abs(left).max())))
        return np.array(order, dtype=np.intp), levels

    def chosen(self, level: float) -> Indices | None:
        """Return the fewest candidates whose largest error of a mean is below a level; None if all points stay."""
        order, levels = self.path
        size = next((size for size, error in levels if error <= level), len(self.candidates))
        if isinstance(self.predictors[0], LatentPredictor):
            return None if size > _NEARLY_ALL * len(self.predictors[0].points) else order[: max(size, 1)]
        return order[: max(size, 1)]


@dataclass(frozen=True, eq=False)
class Compacted:
    """Members with the points of one level, and factors of W whose number of columns is still to be chosen."""

    ensemble: Ensemble
    fitted: dict[int, _Fitted]

    @property
    def is_whole(self) -> bool:
        """Whether all points have stayed in every member."""
        return all(one.is_whole for one in self.fitted.values())

    def at(self, share: float | None) -> Ensemble:
        """Return the ensemble with so many columns for W, in units of the points; None is with W itself."""
        members = tuple(self._member(number, member, share) for number, member in enumerate(self.ensemble.members))
        return replace(self.ensemble, members=members)

    def _member(self, number: int, member: Member, share: float | None) -> Member:
        return replace(
            member, few_points=self.fitted[number].predictor(share), stored=(), inducing=None, partition=None
        )


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A member with fewer points.

    Attributes
    ----------
    source : Predictor
        What it stands for.
    points, coefficients : arrays
        Its points, and those of its means.
    directions, values : arrays of shape (m, m) and (m,)
        L⁻ᵀU and Λ, largest first.
    explained, cross : arrays
        K(x, x) less the variance, and S K(x, points), at the design.
    sensitivity : array
        S.
    is_whole : bool
        Whether all points have stayed.
    """

    source: Predictor
    points: Array
    coefficients: Array
    directions: Array
    values: Array
    explained: Array
    cross: Array
    sensitivity: Array
    is_whole: bool

    def predictor(self, share: float | None) -> LatentPredictor:
        """Return the predictor with a factor of so many columns for W."""
        if share is None and self.is_whole:
            assert isinstance(self.source, LatentPredictor)
            return self.source.with_expansion(self.points, self.coefficients, self.source.gain)
        columns = len(self.points) if share is None else max(1, int(share * len(self.points)))
        F = self.directions[:, :columns] * np.sqrt(np.maximum(self.values[:columns], 0.0))
        # What the columns leave out is missing at every row: the rest makes up for it in the mean.
        image = np.einsum("ij,ij->i", self.cross @ F, self.cross @ F)  # times S²
        F *= np.sqrt((self.explained @ image) / (image @ (image / self.sensitivity**2)))
        return self.source.with_expansion(self.points, self.coefficients, F if columns < len(self.points) else F @ F.T)


class Compaction:
    """What is needed to make an ensemble of fewer points, for any level of error.

    Parameters
    ----------
    ensemble : Ensemble
    design : array of shape (n, d)
        Rows, as inputs, at which means and variances are fitted again.
    tolerance : float
        Differences of probabilities that matter: steep and flat parts of their curve are told apart by it.
    """

    def __init__(self, ensemble: Ensemble, design: Array, tolerance: float) -> None:
        self._ensemble = ensemble
        self._groups = [_group(ensemble, numbers, design, tolerance) for numbers in _alike(ensemble)]

    def at(self, level: float | None) -> Compacted:
        """Return the ensemble whose means are off by so much, in units of probabilities; None is not at all."""
        fitted: dict[int, _Fitted] = {}
        for group in self._groups:
            safe_point()
            fitted |= _fitted(group, None if level is None else group.chosen(level))
        return Compacted(self._ensemble, fitted)

    @property
    def n_numbers(self) -> int:
        """How many numbers a prediction is computed from at present."""
        return n_numbers(self._ensemble)

    @property
    def is_exact_possible(self) -> bool:
        """Whether means can stay as they are: sums over one set of points."""
        return all(isinstance(group.predictors[0], LatentPredictor) for group in self._groups)


def _alike(ensemble: Ensemble) -> list[tuple[int, ...]]:
    """Return the numbers of members that share kernel and points."""
    groups: list[list[int]] = []
    for number, one in enumerate(ensemble.latent_functions):
        before = [ensemble.latent_functions[group[0]] for group in groups]
        same = next((k for k, other in enumerate(before) if same_expansion(one, other)), None)
        if same is None:
            groups.append([number])
        else:
            groups[same].append(number)
    return [tuple(group) for group in groups]


def _group(ensemble: Ensemble, numbers: Sequence[int], design: Array, tolerance: float) -> _Group:
    members = [ensemble.members[number] for number in numbers]
    predictors = tuple(ensemble.latent_functions[number] for number in numbers)
    rows = members[0].inputs(design)
    moments, sensitivities = [], []
    for member, one in zip(members, predictors, strict=True):
        mean, variance = one.latent_mean_and_variance(rows)
        own = min(tolerance / member.weight, 0.5)
        sensitivities.append(tolerance / own * sensitivity(one, mean, variance, own))
        moments.append((mean.reshape(len(rows), -1), variance))
    first = predictors[0]
    every = first.points if isinstance(first, LatentPredictor) else members[0].inputs(ensemble.X)
    candidates = every[:: -(-len(every) // _MOST_CANDIDATES)]
    S = np.max(sensitivities, axis=0)
    return _Group(tuple(numbers), predictors, first.kernel, rows, candidates, moments, S)


def sensitivity(one: Predictor, mean: Array, variance: Array, tolerance: float) -> Array:
    """Return the tolerance in units of the largest step of each row's largest latent mean that moves nothing beyond it.

    That is the slope of the probability where it is steep; where it is flat, a step is counted from where it would no
    longer be.
    """
    direction = np.zeros_like(mean)
    if mean.ndim == 1:
        direction += 1.0
    else:
        direction[np.arange(len(mean)), mean.argmax(axis=1)] = 1.0
    steps = max(float(np.std(mean)), np.finfo(float).tiny) * _STEPS
    before, allowed = np.exp(one.log_proba_of(mean, variance)), np.full(len(mean), steps[0])
    within = np.ones(len(mean), dtype=bool)
    for step in steps:
        for side in (step, -step):
            moved = np.exp(one.log_proba_of(mean + side * direction, variance)) - before
            within &= np.abs(moved).max(axis=1) <= tolerance
        allowed[within] = step
    return tolerance / allowed


def _fitted(group: _Group, chosen: Indices | None) -> dict[int, _Fitted]:
    """Return the members of a group with these of its candidates as points, or with all of their points."""
    S, first = group.sensitivity, group.predictors[0]
    if chosen is None:
        assert isinstance(first, LatentPredictor)
        points, cross = first.points, S[:, None] * group.kernel.cross(group.rows, first.points)
    else:
        points, cross = group.candidates[chosen], group.cross[:, chosen]
    L = _factor(cross.T @ cross)
    prior = group.kernel.diagonal(group.rows)
    made = {}
    for number, one, (mean, variance) in zip(group.numbers, group.predictors, group.moments, strict=True):
        if chosen is None:
            assert isinstance(one, LatentPredictor)
            coefficients = one.coefficients
            inner = L.T @ one.gain @ L
        else:
            coefficients = lapack.dpotrs(L, cross.T @ (S[:, None] * mean), lower=1)[0]
            coefficients = coefficients.reshape(len(points), *_tail(one))
            inner = _inner(group, one, points, cross, L)
        values, vectors = eigh(inner, check_finite=False)
        directions = solve_triangular(L, vectors[:, ::-1], lower=True, trans="T", check_finite=False)
        explained = prior - variance
        made[number] = _Fitted(
            one, points, coefficients, directions, values[::-1], explained, cross, S, is_whole=chosen is None
        )
    return made


def _tail(one: Predictor) -> tuple[int, ...]:
    """Return what shape the coefficients of a point have."""
    parts = one.coefficients if isinstance(one, LatentPredictor) else one.weights  # type: ignore[attr-defined]
    return parts.shape[1:]


def _inner(group: _Group, one: Predictor, points: Array, cross: Array, L: Array) -> Array:
    """Return LᵀVL for the V that takes the place of W: V = M⁻¹TWTᵀM⁻¹, or that of inducing inputs at the points."""
    if isinstance(one, LatentPredictor):
        same = len(group.candidates) == len(one.points)
        whole = group.cross if same else group.sensitivity[:, None] * one.covariances(group.rows)
        half = solve_triangular(L, cross.T @ whole, lower=True, check_finite=False)
        return half @ one.gain @ half.T
    assert isinstance(one, LocalPredictor)
    inner = group.kernel.gram(points)
    own = _factor(inner)
    blocks = one.gaussian.parts.blocks
    seen = sum(_seen(part.block.X, part.open.tau, group.kernel, points) for part in blocks)
    Q = solve_triangular(own, L, lower=True, check_finite=False)
    half = solve_triangular(own, seen, lower=True, check_finite=False)
    A = np.eye(len(points)) + solve_triangular(own, half.T, lower=True, check_finite=False)
    return Q.T @ (Q - lapack.dpotrs(_factor(A), Q, lower=1)[0])


def _seen(X: Array, tau: Array, kernel: Kernel, points: Array) -> Array:
    """Return K(points, x)diag(τ)K(x, points) of some rows."""
    k = kernel.cross(X, points)
    return k.T @ (tau[:, None] * k)


def _factor(M: Array) -> Array:
    """Return L, lower triangular, LLᵀ = M but for a ridge that grows until there is one."""
    ridge = _RIDGE * float(np.trace(M)) / len(M)
    while True:
        shifted = np.asfortranarray(M)
        shifted = shifted.copy() if shifted is M else shifted
        shifted[np.diag_indices_from(shifted)] += ridge
        L, failed = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
        if not failed:
            return L
        ridge *= 10.0


def n_numbers(ensemble: Ensemble) -> int:
    """Return how many numbers a prediction is computed from."""
    return sum(map(_numbers_of, ensemble.predictors))


def _numbers_of(one: Predictor) -> int:
    if isinstance(one, LatentPredictor):
        return one.points.size + one.coefficients.size + one.gain.size
    assert isinstance(one, LocalPredictor)
    blocks = sum(part.block.X.size + 2 * part.J.size + len(part.J) ** 2 for part in one.gaussian.parts.blocks)
    return blocks + 2 * one.gaussian.root.size + one.dual.size


Try = TypeVar("Try")


def smallest(tries: Sequence[Try], accepted: Callable[[Try], bool]) -> Try | None:
    """Return the last of the tries, from safe to bold, that is accepted, by bisection; None if the first is not."""
    if not accepted(tries[0]):
        return None
    low, high = 0, len(tries)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if accepted(tries[middle]) else (low, middle)
    return tries[low]
