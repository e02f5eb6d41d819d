"""What every search must do on every criterion that it can use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import toys
from marginwise.criteria.base import Criterion
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import random_start
from marginwise.search import SEARCHES, Limits, Objective, Search, Task, drive
from zoo import blobs

PROBLEM = blobs(30, 3)
LIMITS = Limits(max_evaluations=4000)

#: How close to the optimum (criterion value) a search must come; the walk's steps shrink before it is quite
#: there.
REACH = {"quasi-newton": 1e-4, "gradient-ascent": 0.02, "nelder-mead": 1e-3, "random-walk": 0.02}

SINGLE_OPTIMUM = {"toy-hill": 0.0, "toy-bowl": 2.0, "toy-product": 0.0, "toy-hysteresis": 0.0, "toy-cliff": 0.0}


def objective(toy: type[Criterion], seed: int | None = None) -> Objective:
    start = None if seed is None else random_start(3, np.random.default_rng(seed))
    return toys.landscape(toy, PROBLEM, start)


PAIRS = [
    pytest.param(search, toy, id=f"{name}-{toy.name}")
    for name, search in SEARCHES.items()
    for toy in toys.TOYS
    if toys.suits(search, toy, PROBLEM)
]
UNSUITABLE = [
    pytest.param(search, toy, id=f"{name}-{toy.name}")
    for name, search in SEARCHES.items()
    for toy in toys.TOYS
    if not toys.suits(search, toy, PROBLEM)
]


@pytest.mark.parametrize(("search", "toy"), PAIRS)
def test_improves_converges_and_keeps_its_best(search: type[Search[Any]], toy: type[Criterion]) -> None:
    run = drive(Task(objective(toy), search(), LIMITS))  # of 40 seeds a random walk gives up early with one
    assert run.status.ok, run.status.message
    table = run.trace.to_arrays()
    assert table["accepted"][0]
    if np.isnan(table["value"][0]):  # only a gradient to go by
        gradients = np.array([record.point.gradient for record in run.trace.accepted])
        norms = np.linalg.norm(gradients, axis=1)
        assert norms[-1] < 0.05 * norms.max()
        assert run.hyperparameters == run.trace.accepted[-1].hyperparameters
    else:
        assert run.score > table["score"][0]
        assert run.score == np.nanmax(table["score"][table["accepted"]])
        assert run.value * toy("linear").sign == pytest.approx(run.score)
    if toy.name in SINGLE_OPTIMUM:
        assert run.value == pytest.approx(SINGLE_OPTIMUM[toy.name], abs=REACH[search.name])


@pytest.mark.parametrize(("search", "toy"), PAIRS)
def test_stays_within_bounds_and_within_budget(search: type[Search[Any]], toy: type[Criterion]) -> None:
    landscape = objective(toy, seed=3)
    space = landscape.space
    narrow = replace(space, lower=space.start - 0.3, upper=space.start + 0.2)
    walled = Objective(landscape.criterion, PROBLEM, narrow)
    run = drive(Task(walled, search(), Limits(max_evaluations=60), seed=2))
    assert len(run.trace) <= 60
    positions = np.array([record.point.position for record in run.trace])
    assert (positions >= narrow.lower).all()
    assert (positions <= narrow.upper).all()
    if len(run.trace) == 60 and not run.status.ok:
        assert "budget of 60 evaluations" in run.status.message


@pytest.mark.parametrize(("search", "toy"), PAIRS)
def test_is_a_function_of_its_arguments(search: type[Search[Any]], toy: type[Criterion]) -> None:
    runs = [drive(Task(objective(toy), search(), Limits(max_evaluations=80), seed=5)) for _ in range(2)]
    first, second = (run.trace.to_arrays() for run in runs)
    for name in first.keys() - {"seconds"}:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.parametrize(("search", "toy"), PAIRS)
def test_states_are_not_changed_in_place(search: type[Search[Any]], toy: type[Criterion]) -> None:
    """A state that was stepped on from is still the state it was: stepping again gives the same."""
    landscape, rng = objective(toy), np.random.default_rng(0)
    chosen: Search[Any] = search()
    point, _ = landscape.evaluate(landscape.space.start)
    state = chosen.init(landscape.space, point)
    for _ in range(25):
        if chosen.terminate(state) is not None:
            break
        position = chosen.propose(state, rng)
        before = position.copy()
        point, _ = landscape.evaluate(position)
        after, step = chosen.step(state, point)
        again, step_again = chosen.step(state, point)
        assert step.accepted == step_again.accepted
        seeds = np.random.default_rng(9), np.random.default_rng(9)
        np.testing.assert_array_equal(chosen.propose(after, seeds[0]), chosen.propose(again, seeds[1]))
        np.testing.assert_array_equal(position, before)
        state = after


@pytest.mark.parametrize(("search", "toy"), UNSUITABLE)
def test_refuses_a_criterion_it_cannot_use(search: type[Search[Any]], toy: type[Criterion]) -> None:
    with pytest.raises(InvalidInputError, match=r"search is .* for a criterion that gives no (value|gradient)"):
        drive(Task(objective(toy), search(), LIMITS))


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_steps_back_from_failures_and_says_so(search: type[Search[Any]]) -> None:
    run = drive(Task(objective(toys.Potholes), search(), LIMITS))
    failures = run.trace.failures
    assert failures
    assert not any(record.step.accepted for record in failures)
    assert f"failed at {len(failures)} of {len(run.trace)} points" in run.status.message
    assert run.score > 0.2 * run.trace[0].point.score  # most of the way from the start to 0
