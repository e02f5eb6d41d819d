"""Nelder and Mead's simplex: the same points in the same order as SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import toys
from marginwise.criteria.base import Criterion
from marginwise.hyperparameters import paper_start, random_start
from marginwise.search import Limits, NelderMead, Objective, Space, Task, drive
from zoo import blobs

PROBLEM = blobs(30, 3)


@pytest.mark.parametrize("toy", [toys.Hill, toys.Valley, toys.Terraces, toys.Product, toys.RegressionEvidence])
@pytest.mark.parametrize("seed", range(3))
def test_looks_where_scipy_looks(toy: type[Criterion], seed: int) -> None:
    space = Space.around(random_start(3, np.random.default_rng(seed)), fix_C=toy.scale_free)
    if seed == 1:  # walls close by
        space = Space(space.model, space.origin, space.free, space.start - 0.5, space.start + 0.3)
    objective = Objective(toy(), PROBLEM, space)
    seen: list[np.ndarray] = []

    def descent(position: np.ndarray) -> float:
        seen.append(position.copy())
        return -objective.evaluate(np.array(position))[0].score

    search = NelderMead()
    simplex = np.vstack([space.start, space.start + search.first_size * np.eye(space.size)])
    minimize(
        descent,
        space.start,
        method="Nelder-Mead",
        bounds=list(zip(space.lower, space.upper, strict=True)),
        options={
            "initial_simplex": simplex,
            "adaptive": True,
            "xatol": search.size_tolerance,
            "fatol": search.gain_tolerance,
            "maxfev": 400,
        },
    )
    run = drive(Task(objective, search, Limits(max_evaluations=400)))
    ours = np.array([record.point.position for record in run.trace])
    n = min(len(ours), len(seen))
    assert n > 50
    np.testing.assert_array_equal(ours[:n], np.array(seen[:n]))
    if toy is not toys.Terraces:  # where it ends by its own rule for jumps
        assert len(ours) == len(seen)


def test_the_path_only_improves() -> None:
    objective = Objective(toys.Valley(), PROBLEM, Space.around(paper_start(3)))
    run = drive(Task(objective, NelderMead(), Limits(1000)))
    scores = [record.point.score for record in run.trace.accepted]
    assert (np.diff(scores) > 0).all()
    assert run.score == max(record.point.score for record in run.trace)


def test_ends_when_nothing_is_gained_any_more() -> None:
    objective = Objective(toys.Terraces(), PROBLEM, Space.around(paper_start(3)))
    search = NelderMead(patience=2, size_tolerance=0.0)
    run = drive(Task(objective, search, Limits(5000)))
    assert run.status.ok
    assert "gained no more than" in run.status.message
