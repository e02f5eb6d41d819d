"""Expressions become graphs without anything twice."""

from __future__ import annotations

import numpy as np

from marginwise.export.graph import Graph, concat, exp, fold, node, nodes, positions, repeat, where
from onnx_values import evaluated


def test_equal_expressions_are_one_node():
    graph = Graph()
    x = graph.value("x")
    first, second = exp(x * 2.0) + 1.0, exp(x * 2.0) + 1.0
    assert first.name == second.name
    assert len(graph.nodes) == 3
    assert len(graph.initializers) == 2
    assert (x * 2).name != (x * 2.0).name  # a whole number is another constant


def test_loops_with_equal_bodies_are_one_node():
    graph = Graph()
    x, y = graph.value("x"), graph.value("y")
    for _ in range(2):
        fold(lambda total, here, there: total + here * there * 0.5, x, x, y)
    assert [one.op_type for one in graph.nodes] == ["Scan"]


def test_what_does_not_change_is_computed_before_the_loop():
    graph = Graph()
    x, y = graph.value("x"), graph.value("y")
    fold(lambda total, column: total + exp(y) * column, x, x)
    assert [one.op_type for one in graph.nodes] == ["Exp", "Scan"]


def test_operators_are_those_of_arrays():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))

    def of_values(x, y):
        product = (a[0] * x / y + 2.0 / x) @ (y - 0.5).T
        return where((x > 0.0) & ~(y >= 0.0) & (x <= 1.0), 7.0, 1.0 - product.take([0, 1, 2], 1) * -x.sum(1, keep=True))

    expected = (a[0] * a / b + 2.0 / a) @ (b - 0.5).T
    expected = np.where(
        (a > 0.0) & ~(b >= 0.0) & (a <= 1.0), 7.0, 1.0 - expected[:, :3] * -a.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(evaluated(of_values, a, b), expected, rtol=1e-13)


def test_folds_and_repetitions():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))

    def distances(x, y):
        start = node("Expand", 0.0, concat([x.n_rows, y.n_rows], axis=0))
        return fold(lambda total, here, there: total + node("Abs", here.unsqueeze(1) - there), start, x, y)

    np.testing.assert_allclose(evaluated(distances, a, b), np.abs(a[:, None] - b).sum(axis=2))

    def powers(x):
        (result,) = repeat(lambda k, state: (state * x + k.cast(np.float64),), x.graph.constant(np.array(3)), x)
        return result

    np.testing.assert_allclose(evaluated(powers, a), ((a * a + 0) * a + 1) * a + 2)


def test_positions_and_several_outputs():
    mask = np.array([True, False, True])
    assert evaluated(positions, mask).tolist() == [0, 2]
    numbers = np.array([3, 1, 3])
    assert evaluated(lambda x: nodes("Unique", x, outputs=2)[1], numbers).tolist() == [1, 0]
