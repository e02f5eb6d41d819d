"""Cells as inputs of a kernel, and gaps where training had none: rows filled in several ways, and averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Indices
from marginwise.estimators._encoding import Encoding
from marginwise.export.functions import log_sum_exp
from marginwise.export.graph import Value, concat, maximum, minimum, node, positions, where
from marginwise.export.stored import category_table
from marginwise.problem import FAR


@dataclass(frozen=True)
class Filled:
    """Cells without gaps but where training had them.

    Rows that are whole come first, then all copies of each of the others: a row is there once or as often as there are
    donors (:meth:`Encoding.filled`).

    Attributes
    ----------
    cells : Value
        Shape (n', n_columns).
    whole, gapped : Value
        Numbers of the rows that are whole, and of the others.
    n_donors : int
    """

    cells: Value
    whole: Value
    gapped: Value
    n_donors: int

    def averaged(self, values: Value, width: int, average: Callable[[Value], Value]) -> Value:
        """Return values of all rows in their order, from those of copies, shape (n', width).

        ``average`` is that over the second axis of three.
        """
        n_whole = self.whole.n_rows
        own = node("Slice", values, np.array([0]), n_whole, np.array([0]))
        copies = node("Slice", values, n_whole, np.array([np.iinfo(np.int64).max]), np.array([0]))
        means = average(copies.reshape(self.gapped.n_rows, self.n_donors, width))
        together = concat([own, means], axis=0)
        places = concat([self.whole, self.gapped], axis=0).unsqueeze(1)
        return node("ScatterND", together, places, together)


def filled(encoding: Encoding, cells: Value) -> Filled | None:
    """Return the cells with gaps filled; None where training had gaps in all columns, which then mean something."""
    fillable = (encoding.gap == 0.0) & (np.array(encoding.n_values) == 0)
    size = len(encoding.donors)
    if not (fillable.any() and size):
        return None
    gaps = node("IsNaN", cells) & fillable
    has_gaps = gaps.cast(np.float64).max(1) > 0.0
    whole, gapped = positions(~has_gaps), positions(has_gaps)
    once = np.zeros((1, size), dtype=np.int64)
    copies = (gapped.unsqueeze(1) + once).reshape(-1)
    donors = (gapped.unsqueeze(1) * np.array(0) + np.arange(size)).reshape(-1)
    owners = concat([whole, copies], axis=0)
    donor = concat([whole * np.array(0), donors], axis=0)
    given = cells.graph.constant(encoding.donors).take(donor)
    return Filled(where(gaps.take(owners), given, cells.take(owners)), whole, gapped, size)


def mean_of_logs(log_proba: Value) -> Value:
    """Return the logarithms of mean probabilities over the second axis of three, of a length that is known later."""
    size = node("Shape", log_proba, start=1, end=2).cast(np.float64)
    return log_sum_exp(log_proba, 1) - node("Log", size)


def mean(values: Value) -> Value:
    """Return the mean over the second axis of three."""
    return node("ReduceMean", values, [1], keepdims=0)


def encoded(encoding: Encoding, cells: Value) -> Value:
    """Return the inputs, as the encoding itself makes them of cells."""
    if encoding.columns is None:
        return _scaled(encoding, cells, np.arange(len(encoding.shares)))
    blocks = []
    for j, n in enumerate(encoding.n_values):
        own = cells.take(np.array([j]), 1)
        blocks.append(_number(encoding, j, own) if n == 0 else _category(encoding, j, own))
    return concat(blocks, axis=1)


def _scaled(encoding: Encoding, cells: Value, columns: Indices) -> Value:
    scaling = encoding.scaling
    scaled = (cells / scaling.unit[columns] - scaling.centre[columns]) / scaling.spread[columns]
    return minimum(maximum(scaled, -FAR), FAR)


def _number(encoding: Encoding, j: int, cells: Value) -> Value:
    """Return the input of a number, and that of its gaps if training had any."""
    scaled = _scaled(encoding, cells, np.array([j]))
    if encoding.gap[j] == 0.0:
        return scaled
    missing = node("IsNaN", cells)
    is_gap = missing.cast(np.float64) * encoding.gap[j]
    return concat([where(missing, encoding.centre[j], scaled), is_gap], axis=1)


def _category(encoding: Encoding, j: int, cells: Value) -> Value:
    """Return the inputs of a category, by the number of its value."""
    state = where(node("IsNaN", cells), float(encoding.n_values[j] + 1), cells).cast(np.int64)
    return cells.graph.constant(category_table(encoding, j)).take(state.squeeze(1))
