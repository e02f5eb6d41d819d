"""Kernels as nodes: K(a_i, b_j) for rows that are inputs and points that are constants, or those of a block.

No single number is multiplied to a matrix next to a product of matrices: onnxruntime would make one operator of both,
whose factor is of single precision. Amplitudes are logarithms in exponents instead.
"""

from __future__ import annotations

import math
from functools import reduce, singledispatch
from operator import add
from typing import Any, NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.errors import Finding, InvalidInputError
from marginwise.export.graph import Graph, Value, concat, exp, fold, maximum, minimum, node
from marginwise.export.stored import linear_weights
from marginwise.kernels import RBF, AdditiveLaplacian, Constant, Kernel, Laplacian, Linear, Precomputed
from marginwise.kernels.stationary import Stationary
from marginwise.kernels.sum import SumOfTerms

#: Largest size of a point in units of the length scale up to which squared distances are |a|² + |b|² - 2ab: what that
#: loses is then below 1e-10. Columns with larger ones are taken one by one.
_LARGE = 1e3

#: Range of points in units of the length scale up to which exponentials of distances are products.
_WIDE = 300.0


class Points(NamedTuple):
    """Points of a sum, shape (m, d), and all numbers that they may ever be, from which nodes are chosen."""

    value: Value
    all: Array

    @classmethod
    def of(cls, graph: Graph, array: Array) -> Points:
        """Return points that are always the same."""
        return cls(graph.constant(array), array)


def cross(kernel: Kernel, rows: Value, points: Points) -> Value:
    """Return K(a_i, b_j), shape (n, m)."""
    if not type(kernel).__module__.startswith("marginwise."):  # one that inherits may compute something else
        raise _unknown(kernel)
    return _cross(kernel, rows, points)


@singledispatch
def _cross(kernel: Kernel, rows: Value, points: Points) -> Value:
    raise _unknown(kernel)


@singledispatch
def diagonal(kernel: Kernel, rows: Value, width: int) -> Any:
    """Return K(a_i, a_i) of rows of so many inputs, a column, or a number where it is the same for all."""
    raise _unknown(kernel)


def _unknown(kernel: Kernel) -> InvalidInputError:
    found = Finding(f"has the kernel {type(kernel).__name__}, which has no ONNX form")
    return InvalidInputError("model", found, "a model with kernels of marginwise.kernels")


@_cross.register
def _(kernel: SumOfTerms, rows: Value, points: Points) -> Value:
    others = [term for term in kernel.terms if not isinstance(term, Constant)]
    if not others:
        return _filled(kernel.offset, rows, points)
    total = reduce(add, [cross(term, rows, points) for term in others])
    return total if kernel.offset == 0.0 else total + kernel.offset


@diagonal.register
def _(kernel: SumOfTerms, rows: Value, width: int) -> Any:
    return reduce(add, [diagonal(term, rows, width) for term in kernel.terms])


@_cross.register
def _(kernel: Constant, rows: Value, points: Points) -> Value:
    return _filled(kernel.koff, rows, points)


@diagonal.register
def _(kernel: Constant, rows: Value, width: int) -> Any:
    return kernel.koff


@_cross.register
def _(kernel: RBF, rows: Value, points: Points) -> Value:
    scales = kernel.lengths(points.all.shape[1])
    centre = points.all.mean(axis=0)
    a, b = (rows - centre) / scales, (points.value - centre) / scales
    large = (np.abs(points.all - centre) / scales).max(axis=0) > _LARGE
    exponent = minimum(_products(_columns(a, ~large), _columns(b, ~large)), 0.0) + math.log(kernel.k0)
    if large.any():
        exponent = fold(_minus_half_square, exponent, _columns(a, large), _columns(b, large))
    return exp(exponent)


@_cross.register
def _(kernel: Laplacian, rows: Value, points: Points) -> Value:
    scales = kernel.lengths(points.all.shape[1])
    start = _filled(math.log(kernel.k1), rows, points)
    return exp(fold(_minus_distance, start, rows / scales, points.value / scales))


@diagonal.register
def _(kernel: Stationary, rows: Value, width: int) -> Any:
    return kernel.amplitude


@_cross.register
def _(kernel: Linear, rows: Value, points: Points) -> Value:
    weights = linear_weights(kernel, points.all.shape[1])
    # a weight for each cell, because that of one input would be a single number
    return rows @ (points.value * node("Expand", weights, node("Shape", points.value))).T


@diagonal.register
def _(kernel: Linear, rows: Value, width: int) -> Any:
    return (rows * rows * linear_weights(kernel, width)).sum(1, keep=True)


@_cross.register
def _(kernel: AdditiveLaplacian, rows: Value, points: Points) -> Value:
    weights = kernel.column_weights(points.all.shape[1])
    inputs = [kernel.inputs_of(column) for column in range(len(weights))]
    widths = np.ptp(points.all, axis=0) / kernel.lam2
    quick = [column for column, own in enumerate(inputs) if len(own) == 1 and widths[own[0]] <= _WIDE]
    total = _filled(0.0, rows, points)
    if quick:
        total = _plus_products(total, kernel, rows, points, np.concatenate([inputs[column] for column in quick]))
    a, b = rows / kernel.lam2, points.value / kernel.lam2
    for column in sorted(set(range(len(weights))) - set(quick)):
        start = _filled(math.log(weights[column]), rows, points)
        total = total + exp(fold(_minus_distance, start, a.take(inputs[column], 1), b.take(inputs[column], 1)))
    return total


def _plus_products(total: Value, kernel: AdditiveLaplacian, rows: Value, points: Points, places: Indices) -> Value:
    """Return a sum, and exponentials of distances in single inputs: exp(-|s - t|) = min(e^s e^-t, e^-s e^t).

    As in ``kernels._column_loops``: no exponential for each pair. Rows far out of the range of the points stop where
    products still do not overflow, and exponentials are nothing.
    """
    low, high = points.all[:, places].min(axis=0), points.all[:, places].max(axis=0)
    middle = low + 0.5 * (high - low)
    s, t = ((x.take(places, 1) - middle) / kernel.lam2 for x in (rows, points.value))
    s = minimum(maximum(s, -2.0 * _WIDE), 2.0 * _WIDE)
    columns = places if kernel.columns is None else np.array(kernel.columns)[places]
    weights = kernel.column_weights(points.all.shape[1])[columns]
    return fold(_plus_smaller_product, total, exp(s), exp(-s), exp(t) * weights, exp(-t) * weights)


@diagonal.register
def _(kernel: AdditiveLaplacian, rows: Value, width: int) -> Any:
    return float(kernel.column_weights(width).sum())


@_cross.register
def _(kernel: Precomputed, rows: Value, points: Points) -> Value:
    chosen = kernel.cross(np.arange(len(kernel.matrix))[:, None].astype(float), points.all)
    return rows.graph.constant(chosen).take(_row_numbers(rows))


@diagonal.register
def _(kernel: Precomputed, rows: Value, width: int) -> Any:
    return rows.graph.constant(kernel.matrix.diagonal().copy()).take(_row_numbers(rows)).unsqueeze(1)


def _row_numbers(rows: Value) -> Value:
    return node("Round", rows.squeeze(1)).cast(np.int64)


def _filled(number: float, rows: Value, points: Points) -> Value:
    """Return a matrix of the shape of K with the same number everywhere."""
    return node("Expand", number, concat([rows.n_rows, points.value.n_rows], axis=0))


def _columns(x: Value, chosen: Any) -> Value:
    return x if chosen.all() else x.take(np.flatnonzero(chosen), 1)


def _products(a: Value, b: Value) -> Value:
    """Return a_i·b_j - ½|a_i|² - ½|b_j|², which is -½|a_i - b_j|², by one product of matrices."""
    half_a, half_b = ((x * x).sum(1, keep=True) * 0.5 for x in (a, b))
    left = concat([a, half_a, half_a * 0.0 + 1.0], axis=1)
    right = concat([b, half_b * 0.0 - 1.0, -half_b], axis=1)
    return left @ right.T


def _minus_half_square(total: Value, here: Value, there: Value) -> Value:
    difference = here.unsqueeze(1) - there
    return total - difference * difference * 0.5


def _minus_distance(total: Value, here: Value, there: Value) -> Value:
    return total - node("Abs", here.unsqueeze(1) - there)


def _plus_smaller_product(total: Value, up: Value, down: Value, up_there: Value, down_there: Value) -> Value:
    return total + minimum(up.unsqueeze(1) * down_there, down.unsqueeze(1) * up_there)
