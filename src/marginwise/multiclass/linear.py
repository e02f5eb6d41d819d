"""The latent functions of K classes where these are linear in few features: everything is a sum over blocks of rows.

With inducing inputs, shared and of cells, a latent value is f(x)·u_k, u_k ~ N(0, I), and what features leave open. So
least squares and the mode of the softmax likelihood are found among the weights u_k: a pass over the rows, wherever
these are, gives loss, gradient and curvature. What is said of a row without it follows from its own features. Labels
and weights go to the rows, and moments come back: no other number of a row is ever in the caller's memory.

The posterior is that of ``posterior.py`` with a covariance of low rank, for rows that are left out one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise.covariance.blocks import Blocks, as_blocks
from marginwise.covariance.cells import CellFeatures, CellPrecision, Part
from marginwise.covariance.triangles import weighted_gram
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.kernels.base import Kernel
from marginwise.model import Model
from marginwise.multiclass.cell_predictor import CellClassPredictor
from marginwise.multiclass.link import SoftmaxLink, found_link, in_parts
from marginwise.multiclass.mode import TOLERANCE, ModeSearch, State, found, rough_curvature, softmax_sites
from marginwise.multiclass.posterior import ClassPredictor, Moments, targets, without_examples
from marginwise.problem import Problem

#: The mode is looked for on every so many of the blocks first, if these have as many rows for each feature of a row.
_STEP, _ROWS_EACH = 16, 50

#: Rows of a block in memory where there are cells: each gives all of these a matrix.
_ROWS = 2**14


class _Block(NamedTuple):
    """The features of a block's rows by cells, and the variances that these leave open."""

    parts: list[Part]
    open: Array


class _Sites(NamedTuple):
    """How sites come from a row's label and weight.

    By least squares with the precision C of targets less an offset; or, with all weights at the mode of the softmax
    likelihood in the place of the offset, from the probabilities there.
    """

    C: float
    offset: Array
    mode: Sequence[Array] | None = None

    def of(self, part: Part, labels: Indices, weights: Array) -> tuple[Array, Array]:
        """Return the precision and η."""
        if self.mode is None:
            precision = self.C * weights
            return precision, precision[:, None] * targets(labels, self.offset)
        theta = (part.features @ self.mode[part.cell]).astype(float)
        return softmax_sites(theta, np.exp(log_softmax(theta, axis=1)), labels, weights)


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """The latent functions of all classes given the labels.

    Attributes
    ----------
    problem, model
        What it is the posterior of.
    features : CellFeatures
        Of the model's kernel times ``scale``.
    blocks : Blocks
        The rows' features.
    sites : _Sites
    roots : tuple of arrays of shape (m, m)
        Γ of each cell, lower triangular: ΓᵀΓ is the covariance of the weights that its rows are linear in.
    means : tuple of arrays of shape (m, K)
        Their means.
    unit, scale : float
        As in :class:`ClassPosterior`.
    """

    problem: Problem
    model: Model
    features: CellFeatures
    blocks: Blocks
    sites: _Sites
    roots: tuple[Array, ...]
    means: tuple[Array, ...]
    unit: float
    scale: float

    @cached_property
    def left_out(self) -> Moments:
        """Moments of the latent values without one example, in the precision of the features."""
        examples = np.maximum(1.0, self.problem.counted)
        columns = [*_columns(self.problem), examples]
        dtype = np.dtype(np.float32 if self.problem.single else np.float64)
        shared = self.sites, self._in_precision(self.roots), self._in_precision(self.means), dtype
        both = self.blocks.rows(_left_out, *shared, columns=columns)
        both[:, :-1] += self.sites.offset.astype(dtype)
        both[:, -1] *= self.unit
        return Moments(both[:, :-1], both[:, -1])

    def _in_precision(self, matrices: Sequence[Array]) -> list[Array]:
        return [M.astype(np.float32, order="F") if self.problem.single else M for M in matrices]

    def fitted_link(self) -> SoftmaxLink:
        """Return the link that suits the examples left out."""
        return found_link(*self.left_out, self.problem.labels, self.problem.weights)

    def log_left_out(self, link: SoftmaxLink) -> Array:
        """Return the log-probabilities of all classes for each row without one example, as precise as the moments."""
        mean, variance = self.left_out
        logs = np.empty_like(mean)
        for rows in in_parts(len(mean)):
            logs[rows] = link.log_proba(mean[rows].astype(float, copy=False), variance[rows])
        return logs

    @property
    def predictor(self) -> ClassPredictor | CellClassPredictor:
        """What predictions need."""
        offset, unit = self.sites.offset, self.scale * self.unit
        parts = []
        for own, root, mean in zip(self.features.own, self.roots, self.means, strict=True):
            half = own.dual(np.eye(len(root)) - root.T @ root)
            gain = self.scale * own.dual(half.T)
            coefficients = self.scale * own.dual(mean)
            parts.append(ClassPredictor(own.inducing, coefficients, gain, self.model.kernel, offset, unit))
        if self.features.cells is None:
            return parts[0]
        return CellClassPredictor.of(self.features, self.roots, self.scale, parts)


def linear_least_squares(problem: Problem, model: Model) -> LinearPosterior:
    """Return the posterior by least squares."""
    features = _features(problem, model.kernel)
    offset = 2.0 * np.bincount(problem.labels, problem.weights, problem.n_classes) / problem.weights.sum()
    return _posterior(problem, model, features, _blocks(problem, features), _Sites(model.C, offset), (model.C, 1.0))


def linear_softmax(problem: Problem, model: Model, tolerance: float = TOLERANCE) -> LinearPosterior:
    """Return the posterior around the mode of the softmax likelihood; of many rows, after a look at a part of them."""
    kernel = model.kernel.scaled(model.C)
    if kernel is None:
        raise InvalidInputError("kernel", model.kernel, "one with an amplitude, for the softmax likelihood")
    features = _features(problem, kernel)
    blocks, columns, K = _blocks(problem, features), _columns(problem), problem.n_classes
    start, warm = np.zeros((features.layout.total, K)), False
    widest = features.layout.shared + max(features.layout.sizes)
    if problem.n >= _STEP * _ROWS_EACH * widest and len(blocks.sizes) >= 2 * _STEP:
        parts = blocks.parts(columns)[::_STEP]
        some = [np.concatenate(column) for column in zip(*parts, strict=True)]
        start = found(_WeightSearch(features, blocks.thinned(_STEP), some, K), start, tolerance, warm=False).position
        warm = True
    mode = found(_WeightSearch(features, blocks, columns, K), start, tolerance, warm=warm).position
    sites = _Sites(model.C, np.zeros(K), _by_cells(features, mode))
    return _posterior(problem, model, features, blocks, sites, (1.0, model.C))


class _WeightSearch(ModeSearch):
    """Positions are the weights of the features, shape (all, K); known is the gradient of the likelihood."""

    combines_two = False

    def __init__(self, features: CellFeatures, blocks: Blocks, columns: Sequence[Array], n_classes: int) -> None:
        super().__init__(n_classes)
        self._features, self._blocks, self._columns = features, blocks, columns

    def state(self, position: Array, before: State | None = None) -> State:
        own = _by_cells(self._features, position)
        earlier = None if before is None else _by_cells(self._features, before.position)
        looks = self._blocks.map(_look, own, earlier, columns=self._columns)
        gradient = np.zeros_like(position)
        for look in looks:
            for cell, part in look.gradient.items():
                gradient[self._features.layout.places(cell)] += part
        loss = 0.5 * float(np.vdot(position, position)) - sum(look.value for look in looks)
        return State(position, loss, gradient, np.inf if before is None else max(look.moved for look in looks))

    def refresh(self, here: State) -> None:
        own = _by_cells(self._features, here.position)
        normals = self._blocks.total(_curvature, _widths(self._features), own, self.multiple, columns=self._columns)
        self._precision = _checked(CellPrecision(self._features.layout, normals))

    def step(self, here: State) -> Array:
        return self._precision.solve(here.known - here.position)

    def values(self, position: Array) -> Array:
        return position


class _Look(NamedTuple):
    """Of a block: the log-likelihood, its gradient by cells, and the largest change of a probability."""

    value: float
    gradient: dict[int, Array]
    moved: float


def _features(problem: Problem, kernel: Kernel) -> CellFeatures:
    assert problem.inducing is not None
    return CellFeatures(kernel, problem.inducing, problem.cells)


def _blocks(problem: Problem, features: CellFeatures) -> Blocks:
    rows, numbers = as_blocks(problem.X, None if features.cells is None else _ROWS), max(_widths(features))
    return rows.keep(_with_features, (4 if problem.single else 8) * numbers + 16, features, problem.single)


def _columns(problem: Problem) -> list[Array]:
    """Return the labels, in a type as small as may be, and the weights."""
    return [problem.labels.astype(np.min_scalar_type(problem.n_classes)), problem.weights]


def _widths(features: CellFeatures) -> list[int]:
    return [len(own.inducing) for own in features.own]


def _by_cells(features: CellFeatures, weights: Array) -> list[Array]:
    """Return those of all weights that the rows of each cell are linear in."""
    return [weights[features.layout.places(cell)] for cell in range(len(features.own))]


def _checked(precision: CellPrecision) -> CellPrecision:
    if precision.failed:
        raise NotConvergedError("the Gram matrix is singular to rounding; shorter length scales or a smaller C help")
    return precision


def _posterior(
    problem: Problem,
    model: Model,
    features: CellFeatures,
    blocks: Blocks,
    sites: _Sites,
    units: tuple[float, float],
) -> LinearPosterior:
    cells, layout = range(len(features.own)), features.layout
    sums = blocks.total(_normal_equations, _widths(features), sites, columns=_columns(problem))
    precision = _checked(CellPrecision(layout, sums[: len(cells)]))
    right = np.zeros((layout.total, problem.n_classes))
    for cell, part in zip(cells, sums[len(cells) :], strict=True):
        right[layout.places(cell)] += part
    means, roots = _by_cells(features, precision.solve(right)), tuple(precision.root(cell) for cell in cells)
    return LinearPosterior(problem, model, features, blocks, sites, roots, tuple(means), *units)


def _with_features(X: Array, features: CellFeatures, single: bool) -> _Block:
    parts, left = [], features.kernel.diagonal(X)
    for part in features.at(X):
        left[part.rows] -= np.einsum("ij,ij->i", part.features, part.features)
        parts.append(part._replace(features=part.features.astype(np.float32)) if single else part)
    return _Block(parts, np.maximum(left, 0.0))


def _look(
    block: _Block, own: Sequence[Array], before: Sequence[Array] | None, labels: Indices, weights: Array
) -> _Look:
    value, gradient, moved = 0.0, {}, 0.0
    for part in block.parts:
        F, mine, w = part.features, labels[part.rows].astype(np.intp), weights[part.rows]
        rows = np.arange(len(mine))
        logs = log_softmax(F @ own[part.cell], axis=1)
        value += float(w @ logs[rows, mine])
        p = np.exp(logs)
        if before is not None:
            moved = max(moved, float(np.abs(p - np.exp(log_softmax(F @ before[part.cell], axis=1))).max()))
        slope = -w[:, None] * p
        slope[rows, mine] += w
        gradient[part.cell] = F.T @ slope
    return _Look(value, gradient, moved)


def _curvature(
    block: _Block, widths: Sequence[int], own: Sequence[Array], multiple: float, labels: Indices, weights: Array
) -> tuple[Array, ...]:
    """Return the normal matrices of all cells with the curvature of the rows."""
    normals = _nothing(block, widths, 0)
    for part in block.parts:
        p = np.exp(log_softmax(part.features @ own[part.cell], axis=1))
        rough = rough_curvature(p, weights[part.rows], multiple)
        normals[part.cell] = weighted_gram(part.features, rough)
    return tuple(normals)


def _normal_equations(
    block: _Block, widths: Sequence[int], sites: _Sites, labels: Indices, weights: Array
) -> tuple[Array, ...]:
    """Return Fᵀdiag(τ)F of all cells, and Fᵀν; what features leave open blurs the sites."""
    normals, right = _nothing(block, widths, 0), _nothing(block, widths, len(sites.offset))
    for part in block.parts:
        precision, eta = sites.of(part, labels[part.rows].astype(np.intp), weights[part.rows])
        share = 1.0 / (1.0 + precision * block.open[part.rows])
        normals[part.cell] = weighted_gram(part.features, share * precision)
        right[part.cell] = part.features.T @ (share[:, None] * eta)
    return (*normals, *right)


def _nothing(block: _Block, widths: Sequence[int], n_columns: int) -> list[Array]:
    """Return a matrix of zeros for each cell: a square, or so many columns."""
    dtype = block.parts[0].features.dtype
    return [np.zeros((width, n_columns or width), dtype, order="F") for width in widths]


def _left_out(
    block: _Block,
    sites: _Sites,
    roots: Sequence[Array],
    means: Sequence[Array],
    dtype: np.dtype[Any],
    labels: Indices,
    weights: Array,
    examples: Array,
) -> Array:
    """Return means and the variance without one example, from the marginals: v = σ²/(1 - τσ²), m = μ - v(ν - τμ)."""
    both = np.empty((len(block.open), len(sites.offset) + 1), dtype)
    for part in block.parts:
        F, left = part.features, block.open[part.rows]
        precision, eta = sites.of(part, labels[part.rows].astype(np.intp), weights[part.rows])
        share = 1.0 / (1.0 + precision * left)
        image = get_blas_funcs("trmm", (F,))(1.0, roots[part.cell], F.T, lower=1)
        variance = np.einsum("ij,ij->j", image, image, dtype=float)
        mean = (F @ means[part.cell]).astype(float)
        tau = share * precision
        v = variance / (1.0 - tau * variance)
        cavity = mean - v[:, None] * (share[:, None] * eta - tau[:, None] * mean)
        staying = 1.0 - 1.0 / examples[part.rows]
        moments = without_examples(cavity, v + left, precision, eta, staying)
        both[part.rows] = np.column_stack(moments)
    return both
