"""Mean and variance of latent functions at new rows, from the numbers that predictors hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise.covariance.local_gaussian import Part
from marginwise.covariance.partition import Partition
from marginwise.errors import Finding, InvalidInputError
from marginwise.export.graph import Value, fold, maximum, node, positions, repeat, where
from marginwise.export.kernels import cross, diagonal
from marginwise.export.points import Points
from marginwise.inference.prediction import _LEAST_SHARE, LatentPredictor, LocalPredictor, Predictor
from marginwise.multiclass.cell_predictor import CellClassPredictor


@singledispatch
def moments(predictor: Predictor, rows: Value) -> tuple[Value, Value]:
    """Return means, shape (n, K), and variances, shape (n, 1)."""
    found = Finding(f"predicts by {type(predictor).__name__}, which has no ONNX form")
    raise InvalidInputError("model", found, "a model that TunedSVC fitted")


@moments.register
def _(predictor: LatentPredictor, rows: Value) -> tuple[Value, Value]:
    k = cross(predictor.kernel, rows, Points.of(rows.graph, predictor.points))
    image = k @ predictor.gain
    is_square = predictor.gain.shape[1] == len(predictor.points)
    explained = (image * (k if is_square else image)).sum(1, keep=True)
    prior = diagonal(predictor.kernel, rows, predictor.points.shape[1])
    return k @ _matrix(predictor.coefficients), _at_least_rounding(prior - explained, prior)


@moments.register
def _(predictor: LocalPredictor, rows: Value) -> tuple[Value, Value]:
    """Block by block, as :meth:`LocalGaussian.moments_at`: only rows of one block meet the numbers of that block."""
    gaussian, kernel = predictor.gaussian, predictor.kernel
    covariance, graph = gaussian.prior, rows.graph
    inverse, _ = lapack.dtrtri(covariance.features.factor, lower=1)
    features = cross(kernel, rows, Points.of(graph, covariance.features.inducing)) @ inverse.T
    prior = diagonal(kernel, rows, covariance.features.inducing.shape[1])
    means = features @ _matrix(predictor.weights)
    known = (features * features).sum(1, keep=True)
    blocks = _Blocks(covariance.partition, gaussian.parts.blocks, covariance.to_blocks(_matrix(predictor.dual)))
    owners = block_numbers(covariance.partition, rows)
    spread = features @ gaussian.root.T
    present = node("Unique", owners)
    stored = {name: graph.constant(array) for name, array in blocks.arrays().items()}

    def of_block(number: Value, means: Value, variances: Value) -> tuple[Value, Value]:
        block = present.take(number)
        own = {name: array.take(block).cast(np.float64) for name, array in stored.items()}
        here = positions(owners.equals(block))
        k = cross(kernel, rows.take(here), Points(own["points"], blocks.points))
        left = k - features.take(here) @ own["features"].T
        rest = spread.take(here) - (left * own["tau"].T) @ own["J"]
        variance = (rest * rest).sum(1, keep=True) - (left @ own["gain"] * left).sum(1, keep=True)
        mean = left @ own["dual"]
        places = here.unsqueeze(1)
        return (
            node("ScatterND", means, places, means.take(here) + mean),
            node("ScatterND", variances, places, variances.take(here) + variance),
        )

    means, variances = repeat(of_block, node("Size", present), means, prior - known)
    return means, _at_least_rounding(variances, prior)


@moments.register
def _(predictor: CellClassPredictor, rows: Value) -> tuple[Value, Value]:
    """Cell by cell: each row meets the points of the cell that it falls into."""
    kernel, parts, graph = predictor.kernel, predictor.parts, rows.graph
    arrays = [(part.points, part.coefficients, part.gain) for part in parts]
    stored = [graph.constant(_filled_up(stack)) for stack in zip(*arrays, strict=True)]
    every, K = np.vstack([part.points for part in parts]), parts[0].coefficients.shape[1]
    owners = block_numbers(predictor.cells.partition, rows)
    present = node("Unique", owners)
    prior = diagonal(kernel, rows, every.shape[1])

    def of_cell(number: Value, means: Value, explained: Value) -> tuple[Value, Value]:
        cell = present.take(number)
        points, coefficients, gain = (array.take(cell) for array in stored)
        here = positions(owners.equals(cell))
        k = cross(kernel, rows.take(here), Points(points, every))
        places = here.unsqueeze(1)
        own = (k @ gain * k).sum(1, keep=True)
        return node("ScatterND", means, places, k @ coefficients), node("ScatterND", explained, places, own)

    zeros = prior - prior
    means, explained = repeat(of_cell, node("Size", present), zeros @ np.zeros((1, K)), zeros)
    return means, _at_least_rounding(prior - explained, prior)


def _filled_up(arrays: Sequence[Array]) -> Array:
    """Return matrices as a stack, small ones filled up with zeros: points at 0 whose coefficients are 0, too."""
    stack = np.zeros((len(arrays), *np.max([array.shape for array in arrays], axis=0)))
    for one, array in zip(stack, arrays, strict=True):
        one[: len(array), : array.shape[1]] = array
    return stack


class _Blocks:
    """The numbers of all blocks, one after the other, those of small ones filled up with what changes nothing."""

    def __init__(self, partition: Partition, parts: Sequence[Part], dual: Array) -> None:
        self._parts, self._n = parts, partition.n_blocks
        self._numbers = [int(partition.assign(part.block.X[:1])[0]) for part in parts]
        sizes = [len(part.block.X) for part in parts]
        self._most = max(sizes)
        self._duals = np.split(dual, np.cumsum(sizes)[:-1])
        self.points = np.vstack([part.block.X for part in parts])

    def arrays(self) -> dict[str, Array]:
        """Return rows, features, dual, the gain of what features leave open, τ and J, in their own precision."""
        own = [
            (part.block.X, part.block.V, dual, part.open.precision_gain(), part.open.tau[:, None], part.J)
            for part, dual in zip(self._parts, self._duals, strict=True)
        ]
        names = ("points", "features", "dual", "gain", "tau", "J")
        return {name: self._stacked([arrays[k] for arrays in own]) for k, name in enumerate(names)}

    def _stacked(self, arrays: list[Array]) -> Array:
        width = max(array.shape[1] for array in arrays)
        stack = np.zeros((self._n, self._most, width), dtype=arrays[0].dtype)
        for number, array in zip(self._numbers, arrays, strict=True):
            stack[number, : len(array), : array.shape[1]] = array
        return stack


def block_numbers(partition: Partition, rows: Value) -> Value:
    """Return the block that each row falls into, shape (n,): all rows go down the tree together, as deep as it is.

    Products with directions are added up input by input, as :meth:`Partition.assign` does: rows that lie on a threshold
    go the same way.
    """
    n_nodes, leaf = len(partition.thresholds), len(partition.thresholds) - 1
    if n_nodes == 0:
        return node("Expand", np.array(0), rows.n_rows)
    graph = rows.graph
    below, above = (
        np.append(_leaves_last(side, leaf), np.arange(n_nodes, 2 * n_nodes + 1)) for side in partition.children.T
    )
    start = node("Expand", 0.0, node("Concat", rows.n_rows, np.array([n_nodes]), axis=0))
    projected = fold(_plus_product, start, rows, graph.constant(partition.directions))
    thresholds = graph.constant(partition.thresholds)
    place = node("Expand", np.array(0), node("Concat", rows.n_rows, np.array([1]), axis=0))
    for _ in range(_depth(partition)):
        inner = node("Min", place, np.array(leaf))
        is_below = node("GatherElements", projected, inner, axis=1) <= thresholds.take(inner)
        place = where(is_below, graph.constant(below).take(place), graph.constant(above).take(place))
    return (place - n_nodes).squeeze(1)


def _leaves_last(children: Indices, leaf: int) -> Indices:
    """Return numbers of children, those of blocks after those of nodes."""
    return np.where(children < 0, leaf - children, children)


def _depth(partition: Partition) -> int:
    """Return the largest number of cuts on the way to a block; children come after their parents."""
    depths = np.ones(len(partition.thresholds), dtype=int)
    for parent, children in enumerate(partition.children):
        inner = children[children >= 0]
        depths[inner] = depths[parent] + 1
    return int(depths.max())


def _plus_product(total: Value, here: Value, there: Value) -> Value:
    return total + here.unsqueeze(1) * there


def _at_least_rounding(variance: Value, prior: Any) -> Value:
    return maximum(variance, prior * _LEAST_SHARE)


def _matrix(coefficients: Array) -> Array:
    return coefficients.reshape(len(coefficients), -1)
