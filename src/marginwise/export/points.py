"""What kernels have in common as nodes: the points of a sum, matrices of one number, distances input by input."""

from __future__ import annotations

from typing import NamedTuple

from marginwise._arrays import Array
from marginwise.export.graph import Graph, Value, concat, fold, node


class Points(NamedTuple):
    """Points of a sum, shape (m, d), and all numbers that they may ever be, from which nodes are chosen."""

    value: Value
    all: Array

    @classmethod
    def of(cls, graph: Graph, array: Array) -> Points:
        """Return points that are always the same."""
        return cls(graph.constant(array), array)


def filled(number: float, rows: Value, points: Points) -> Value:
    """Return a matrix of the shape of K with the same number everywhere."""
    return node("Expand", number, concat([rows.n_rows, points.value.n_rows], axis=0))


def minus_half_squares(start: Value, a: Value, b: Value) -> Value:
    """Return a matrix less ½|a_i - b_j|², from differences: nothing cancels."""
    return fold(_minus_half_square, start, a, b)


def minus_distances(start: Value, a: Value, b: Value) -> Value:
    """Return a matrix less Σ|a_i - b_j|."""
    return fold(_minus_distance, start, a, b)


def _minus_half_square(total: Value, here: Value, there: Value) -> Value:
    difference = here.unsqueeze(1) - there
    return total - difference * difference * 0.5


def _minus_distance(total: Value, here: Value, there: Value) -> Value:
    return total - node("Abs", here.unsqueeze(1) - there)
