"""Functions that ONNX lacks, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit, log_ndtr, log_softmax, logsumexp

from marginwise.export import functions
from marginwise.export.graph import node
from marginwise.fitting.views import NormalScores
from onnx_values import evaluated

X = np.concatenate([np.linspace(-40.0, 40.0, 4001), [1e-300, 1e-8, 1e3, 1e6, 1e15, -1e3]])


def test_normal_tail_has_all_digits():
    """ln Φ(-x) from Mills' ratio, in the body and far into both tails; in units of its own size where that is large."""

    def upper(x):
        return functions.log_upper(x, functions.log_mills(node("Abs", x)))

    expected = log_ndtr(-X)
    error = np.abs(evaluated(upper, X) - expected) / np.maximum(1.0, np.abs(expected))
    assert error.max() < 1e-14


def test_normal_cdf_is_double():
    """The runtime's own Erf would leave 1e-8."""

    def upper(x):
        return node("Exp", functions.log_upper(x, functions.log_mills(node("Abs", x))))

    assert np.abs(evaluated(upper, X) - np.exp(log_ndtr(-X))).max() < 1e-15


def test_logarithms_of_sums():
    rows = np.random.default_rng(0).normal(0.0, 100.0, (50, 4))
    np.testing.assert_allclose(evaluated(functions.log_softmax, rows), log_softmax(rows, axis=1), atol=1e-13)
    total = evaluated(lambda x: functions.log_sum_exp(x, 1), rows)
    np.testing.assert_allclose(total, logsumexp(rows, axis=1), rtol=1e-15, atol=1e-15)
    pairs = evaluated(lambda x: functions.log_add_exp(x, -3.0), rows)
    np.testing.assert_allclose(pairs, np.logaddexp(rows, -3.0), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(evaluated(functions.log_expit, X), log_expit(X), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("sizes", [(1,), (2, 1), (200, 7, 2, 64)])
def test_straight_lines(sizes):
    """At knots, between them, beyond them, for columns with different numbers of knots."""
    rng = np.random.default_rng(1)
    knots = [np.sort(rng.normal(size=size)) for size in sizes]
    values = [np.sort(rng.normal(size=size)) for size in sizes]
    rows = rng.normal(0.0, 3.0, (300, len(sizes)))
    rows[: max(sizes)] = np.column_stack([np.resize(t, max(sizes)) for t in knots])
    got = evaluated(lambda x: functions.interpolate(x, knots, values), rows)
    np.testing.assert_allclose(got, NormalScores(tuple(knots), tuple(values))(rows), rtol=1e-13, atol=1e-13)


def test_lines_with_equal_knots_take_the_last():
    knots, values = [np.array([0.0, 1.0, 1.0, 2.0])], [np.array([0.0, 1.0, 3.0, 4.0])]
    rows = np.array([[0.5], [1.0], [1.5]])
    got = evaluated(lambda x: functions.interpolate(x, knots, values), rows)
    np.testing.assert_allclose(got[:, 0], np.interp(rows[:, 0], knots[0], values[0]))
