"""Criteria between two optima."""

from __future__ import annotations

import numpy as np
import pytest

import toys
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.search import LineScan
from marginwise.tuning import scan_line, tune
from zoo import blobs

P = blobs(20, 2)


def between(start: Hyperparameters, end: Hyperparameters, *toy: type) -> LineScan:
    return scan_line([each() for each in toy], P.X, P.y, start, end, n_points=11)


def test_is_straight_in_the_logarithms_and_evaluates_each_criterion() -> None:
    start, end = Hyperparameters(1, 2, 0.1, [1, 3]), Hyperparameters(4, 1, 0.2, [9, 3])
    line = between(start, end, toys.Hill, toys.Bowl)
    assert line.logs.shape == (11, 5)
    step = (end.to_vector() - start.to_vector()) / 10
    np.testing.assert_allclose(np.diff(line.logs, axis=0), np.tile(step, (10, 1)), atol=1e-12)
    for k, vector in enumerate(line.logs):
        assert line.values["toy-hill"][k] == toys.hill(np.log(np.exp(vector)))[0]
        assert line.values["toy-bowl"][k] == 2.0 - line.values["toy-hill"][k]
    assert line.fractions[[0, -1]].tolist() == [0.0, 1.0]


def test_local_optima_are_told_by_their_barrier() -> None:
    starts = [[1, 1, 0.1, 1, 1], [1, 1, 0.1, 8, 1]]
    ends = [tune(P.X, P.y, toys.Waves(), start=start).hyperparameters for start in starts]
    assert np.abs(ends[0].to_vector() - ends[1].to_vector()).max() > 0.5
    assert between(*ends, toys.Waves).barrier() > 0.1
    # On one hill the way between any two points never falls below the lower of them.
    assert between(*ends, toys.Hill).barrier() == 0.0
    assert between(*ends, toys.Hill, toys.Bowl).barrier("toy-bowl") == pytest.approx(0.0, abs=1e-12)


def test_one_length_scale_may_meet_many() -> None:
    line = between(Hyperparameters(1, 1, 0.1, 2), Hyperparameters(1, 1, 0.1, [1, 4]), toys.Hill)
    np.testing.assert_allclose(line.logs[0], np.log([1, 1, 0.1, 2, 2]))


def test_failures_are_gaps() -> None:
    c = toys.centre(5)
    start, end = c.copy(), c.copy()
    start[2] -= 1
    end[2] += 1
    line = between(Hyperparameters.from_vector(start), Hyperparameters.from_vector(end), toys.Cliff)
    assert np.isnan(line.values["toy-cliff"]).sum() == 5


def test_asks_which_criterion_is_meant() -> None:
    line = between(Hyperparameters(1, 1, 0.1, [1, 1]), Hyperparameters(1, 1, 0.1, [1, 4]), toys.Hill, toys.Bowl)
    with pytest.raises(InvalidInputError, match="toy-bowl"):
        line.barrier()
    with pytest.raises(InvalidInputError, match="n_points"):
        scan_line(toys.Hill(), P.X, P.y, Hyperparameters(), Hyperparameters(), n_points=1)
