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
from marginwise.covariance.cells import CellFeatures, CellPrecision, Layout, Part
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.triangles import weighted_gram
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.kernels.base import Kernel
from marginwise.model import Model
from marginwise.multiclass.cell_predictor import CellClassPredictor
from marginwise.multiclass.link import SoftmaxLink, found_link, in_parts
from marginwise.multiclass.mode import (
    TOLERANCE,
    ModeSearch,
    State,
    before_gaussian,
    found,
    rough_curvature,
    softmax_sites,
)
from marginwise.multiclass.posterior import ClassPredictor, Moments, targets, without_examples
from marginwise.problem import Problem

#: The mode is looked for on every so many of the rows first, if these are as many for each feature of a row.
_STEP, _ROWS_EACH = 16, 50

#: Most rows of a block in memory.
_ROWS = 2**13


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
        theta = _times(part.features, self.mode[part.cell])
        return softmax_sites(theta, np.exp(log_softmax(theta, axis=1)), labels, weights)


class _Rows(NamedTuple):
    """The features of rows block by block, with labels and weights; ``order`` are the rows in this order."""

    blocks: Blocks
    columns: list[Array]
    order: Indices | None

    @classmethod
    def of(cls, problem: Problem, features: CellFeatures, step: int = 1) -> _Rows:
        """Return all rows, or every so many of them."""
        # labels have a type as small as may be, as they may have a long way to go
        columns = [problem.labels.astype(np.min_scalar_type(problem.n_classes)), problem.weights]
        rows: Blocks
        order = None
        if isinstance(problem.X, np.ndarray):
            order, rows = features.sorted_rows(problem.X, _ROWS)
            columns = [column[order] for column in columns]
        else:
            rows = as_blocks(problem.X)
        if step > 1:
            rows, columns = rows.thinned(step, columns)
        widest = max(len(own.inducing) for own in features.own)
        size = (4 if problem.single else 8) * widest + 16
        return cls(rows.keep(_with_features, size, features, problem.single), columns, order)

    def unsorted(self, values: Array) -> Array:
        """Return what is in the order of the blocks in that of the rows."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def sorted(self, values: Array) -> Array:
        """Return what is in the order of the rows in that of the blocks."""
        return values if self.order is None else values[self.order]


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """The latent functions of all classes given the labels.

    Attributes
    ----------
    problem, model
        What it is the posterior of.
    features : CellFeatures
        Of the model's kernel times ``scale``.
    rows : _Rows
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
    rows: _Rows
    sites: _Sites
    roots: tuple[Array, ...]
    means: tuple[Array, ...]
    unit: float
    scale: float

    @cached_property
    def left_out(self) -> Moments:
        """Moments of the latent values without one example, in the precision of the features."""
        examples = self.rows.sorted(np.maximum(1.0, self.problem.counted))
        dtype = np.dtype(np.float32 if self.problem.single else np.float64)
        roots = [root.astype(dtype, order="F") for root in self.roots]
        columns = [*self.rows.columns, examples]
        both = self.rows.blocks.rows(_left_out, self.sites, roots, list(self.means), dtype, columns=columns)
        both[:, :-1] += self.sites.offset.astype(dtype)
        both[:, -1] *= self.unit
        both = self.rows.unsorted(both)
        return Moments(both[:, :-1], both[:, -1])

    @property
    def row_sites(self) -> Sites:
        """Precision and η of each row: what the search for a mode near by can be started from."""
        columns = self.rows.columns
        both = self.rows.unsorted(self.rows.blocks.rows(_row_sites, self.sites, columns=columns))
        return Sites(both[:, 0], both[:, 1:])

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
        if self.features.cells is not None:
            units = self.scale, unit
            return CellClassPredictor.of(self.features, self.model.kernel, self.roots, self.means, units, offset)
        [own], [root], [mean] = self.features.own, self.roots, self.means
        half = own.dual(np.eye(len(root)) - root.T @ root)
        gain, coefficients = self.scale * own.dual(half.T), self.scale * own.dual(mean)
        return ClassPredictor(own.inducing, coefficients, gain, self.model.kernel, offset, unit)


def linear_least_squares(problem: Problem, model: Model) -> LinearPosterior:
    """Return the posterior by least squares."""
    features = _features(problem, model.kernel)
    offset = 2.0 * np.bincount(problem.labels, problem.weights, problem.n_classes) / problem.weights.sum()
    return _posterior(problem, model, features, _Rows.of(problem, features), _Sites(model.C, offset), (model.C, 1.0))


def linear_softmax(
    problem: Problem, model: Model, start: Sites | None = None, tolerance: float = TOLERANCE
) -> LinearPosterior:
    """Return the posterior around the mode of the softmax likelihood; of many rows, after a look at a part of them.

    ``start`` are sites near by, such as those of the same rows with other features: the search begins at their mean.
    """
    kernel = model.kernel.scaled(model.C)
    if kernel is None:
        raise InvalidInputError("kernel", model.kernel, "one with an amplitude, for the softmax likelihood")
    features, K, tolerance = _features(problem, kernel), problem.n_classes, before_gaussian(problem, tolerance)
    layout, rows = features.layout, _Rows.of(problem, features)
    position, warm = np.zeros((layout.total, K)), start is not None
    if start is not None:
        near = [rows.sorted(start.tau), rows.sorted(start.nu)]
        position = _weights(layout, rows.blocks.total(_of_sites, columns=near), K)[1]
    elif problem.n >= _STEP * _ROWS_EACH * (layout.shared + max(layout.sizes)):
        few = _Rows.of(problem, features, _STEP)
        position, warm = found(_WeightSearch(features, few, K), position, tolerance, warm=False).position, True
    mode = found(_WeightSearch(features, rows, K), position, tolerance, warm=warm).position
    sites = _Sites(model.C, np.zeros(K), _by_cells(layout, mode))
    return _posterior(problem, model, features, rows, sites, (1.0, model.C))


class _WeightSearch(ModeSearch):
    """Positions are the weights of the features, shape (all, K); known is the gradient of the likelihood."""

    combines_two = False

    def __init__(self, features: CellFeatures, rows: _Rows, n_classes: int) -> None:
        super().__init__(n_classes)
        self._layout, self._rows = features.layout, rows

    def state(self, position: Array, before: State | None = None) -> State:
        both = position if before is None else np.hstack([position, before.position])
        looks = self._rows.blocks.map(_look, _by_cells(self._layout, both), self.n_classes, columns=self._rows.columns)
        gradient = np.zeros_like(position)
        for look in looks:
            for cell, part in look.gradient.items():
                gradient[self._layout.places(cell)] += part
        loss = 0.5 * float(np.vdot(position, position)) - sum(look.value for look in looks)
        return State(position, loss, gradient, np.inf if before is None else max(look.moved for look in looks))

    def refresh(self, here: State) -> None:
        own = _by_cells(self._layout, here.position)
        normals = self._rows.blocks.total(_curvature, own, self.multiple, columns=self._rows.columns)
        self._precision = _checked(CellPrecision(self._layout, normals))

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


def _by_cells(layout: Layout, weights: Array) -> list[Array]:
    """Return those of all weights that the rows of each cell are linear in."""
    return [weights[layout.places(cell)] for cell in range(len(layout.sizes))]


def _checked(precision: CellPrecision) -> CellPrecision:
    if precision.failed:
        raise NotConvergedError("the Gram matrix is singular to rounding; shorter length scales or a smaller C help")
    return precision


#: Of the rows of some cells: the lower triangle of Fᵀdiag(τ)F, and Fᵀν.
_Sums = dict[int, tuple[Array, Array]]


def _weights(layout: Layout, sums: _Sums, n_classes: int) -> tuple[CellPrecision, Array]:
    """Return the precision of all weights, and their means."""
    precision = _checked(CellPrecision(layout, {cell: normal for cell, (normal, _) in sums.items()}))
    right = np.zeros((layout.total, n_classes))
    for cell, (_, part) in sums.items():
        right[layout.places(cell)] += part
    return precision, precision.solve(right)


def _posterior(
    problem: Problem,
    model: Model,
    features: CellFeatures,
    rows: _Rows,
    sites: _Sites,
    units: tuple[float, float],
) -> LinearPosterior:
    layout = features.layout
    sums = rows.blocks.total(_normal_equations, sites, columns=rows.columns)
    precision, mean = _weights(layout, sums, problem.n_classes)
    roots = tuple(precision.root(cell) for cell in range(len(layout.sizes)))
    return LinearPosterior(problem, model, features, rows, sites, roots, tuple(_by_cells(layout, mean)), *units)


def _with_features(X: Array, features: CellFeatures, single: bool) -> _Block:
    parts, left = [], features.kernel.diagonal(X)
    for part in features.at(X):
        left[part.rows] -= np.einsum("ij,ij->i", part.features, part.features)
        parts.append(part._replace(features=part.features.astype(np.float32)) if single else part)
    return _Block(parts, np.maximum(left, 0.0))


def _times(F: Array, weights: Array) -> Array:
    """Return Fu, the product in the precision of the features."""
    return (F @ weights.astype(F.dtype, copy=False)).astype(float, copy=False)


def _pulled(F: Array, values: Array) -> Array:
    """Return Fᵀx, the same way."""
    return F.T @ values.astype(F.dtype, copy=False)


def _look(block: _Block, both: Sequence[Array], n_classes: int, labels: Indices, weights: Array) -> _Look:
    """Look at the rows where the weights are the first columns of ``both``; the others are those before, if any."""
    value, gradient, moved = 0.0, {}, 0.0
    for part in block.parts:
        mine, w = labels[part.rows].astype(np.intp), weights[part.rows]
        rows = np.arange(len(mine))
        theta = _times(part.features, both[part.cell])
        logs = log_softmax(theta[:, :n_classes], axis=1)
        value += float(w @ logs[rows, mine])
        p = np.exp(logs)
        if theta.shape[1] > n_classes:
            before = np.exp(log_softmax(theta[:, n_classes:], axis=1))
            moved = max(moved, float(np.abs(p - before).max()))
        slope = -w[:, None] * p
        slope[rows, mine] += w
        gradient[part.cell] = _pulled(part.features, slope)
    return _Look(value, gradient, moved)


def _curvature(
    block: _Block, own: Sequence[Array], multiple: float, labels: Indices, weights: Array
) -> dict[int, Array]:
    """Return the normal matrices of cells with the curvature of the rows."""
    normals = {}
    for part in block.parts:
        p = np.exp(log_softmax(_times(part.features, own[part.cell]), axis=1))
        normals[part.cell] = weighted_gram(part.features, rough_curvature(p, weights[part.rows], multiple))
    return normals


def _of_sites(block: _Block, precision: Array, eta: Array) -> _Sums:
    return {
        part.cell: (weighted_gram(part.features, precision[part.rows]), _pulled(part.features, eta[part.rows]))
        for part in block.parts
    }


def _normal_equations(block: _Block, sites: _Sites, labels: Indices, weights: Array) -> _Sums:
    """Return the sums with these sites; what features leave open blurs them."""
    sums = {}
    for part in block.parts:
        precision, eta = sites.of(part, labels[part.rows].astype(np.intp), weights[part.rows])
        share = 1.0 / (1.0 + precision * block.open[part.rows])
        normal = weighted_gram(part.features, share * precision)
        sums[part.cell] = normal, _pulled(part.features, share[:, None] * eta)
    return sums


def _row_sites(block: _Block, sites: _Sites, labels: Indices, weights: Array) -> Array:
    both = np.empty((len(block.open), len(sites.offset) + 1))
    for part in block.parts:
        precision, eta = sites.of(part, labels[part.rows].astype(np.intp), weights[part.rows])
        both[part.rows] = np.column_stack([precision, eta])
    return both


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
        mean = _times(F, means[part.cell])
        tau = share * precision
        v = variance / (1.0 - tau * variance)
        cavity = mean - v[:, None] * (share[:, None] * eta - tau[:, None] * mean)
        staying = 1.0 - 1.0 / examples[part.rows]
        moments = without_examples(cavity, v + left, precision, eta, staying)
        both[part.rows] = np.column_stack(moments)
    return both
