"""The loop: budgets, callbacks, interruption, the choice of a search, and what a run reports."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import toys
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.problem import Problem
from marginwise.search import (
    Limits,
    NelderMead,
    Objective,
    QuasiNewton,
    RandomWalk,
    Record,
    Search,
    Space,
    Task,
    Tuning,
    drive,
)
from zoo import blobs

PROBLEM = blobs(20, 3)
SPACE = Space.around(paper_start(3))


def go(criterion: Criterion, search: Search[Any] | None = None, **options: Any) -> Tuning:
    options.setdefault("limits", Limits(max_evaluations=500))
    return drive(Task(Objective(criterion, PROBLEM, SPACE), search, **options))


def test_ends_when_the_evaluations_are_used_up() -> None:
    run = go(toys.Hill(), RandomWalk(), limits=Limits(max_evaluations=37))
    assert len(run.trace) == 37
    assert not run.status.ok
    assert run.status.message.startswith("the budget of 37 evaluations is used up")
    assert run.score > run.trace[0].point.score


def test_ends_when_the_time_is_used_up() -> None:
    run = go(toys.Hill(), RandomWalk(), limits=Limits(max_seconds=0.02))
    assert not run.status.ok
    assert "budget of 0.02 seconds" in run.status.message
    assert run.trace[-1].seconds >= 0.02 or run.trace[-2].seconds < 0.02


def test_a_deadline_that_has_passed_leaves_one_evaluation() -> None:
    late, early = (Limits(max_evaluations=20, deadline=time.monotonic() + seconds) for seconds in (-1.0, 100.0))
    assert late.is_late
    assert not early.is_late
    run = go(toys.Hill(), RandomWalk(), limits=late)
    assert len(run.trace) == 1
    assert "time is used up" in run.status.message
    assert len(go(toys.Hill(), RandomWalk(), limits=early).trace) == 20


def test_is_told_to_stop_from_outside() -> None:
    asked = iter([False] * 10 + [True])
    run = go(toys.Hill(), RandomWalk(), limits=Limits(stop=lambda: next(asked)))
    assert len(run.trace) == 10
    assert run.was_interrupted


def test_every_callback_sees_every_record_and_may_end_the_search() -> None:
    first: list[Record] = []
    second: list[Record] = []

    def stop(record: Record) -> bool:
        first.append(record)
        return record.index == 6

    run = go(toys.Hill(), RandomWalk(), callbacks=[stop, second.append])
    assert [record.index for record in first] == list(range(7))
    assert [record.index for record in second] == list(range(7))
    assert run.status.ok
    assert run.status.message.startswith("stopped by a callback")


class _Interrupted(Criterion):
    """A hill on which the user presses Ctrl-C during the tenth evaluation."""

    name, direction, smooth, equation = "toy-interrupted", "maximise", True, "toy"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        self.count += 1
        if self.count == 10:
            raise KeyboardInterrupt
        return Evaluation(*toys.hill(hyperparameters.to_vector()))


@pytest.mark.parametrize("search", [RandomWalk(), QuasiNewton(), NelderMead()], ids=lambda search: search.name)
def test_an_interruption_returns_the_best_so_far(search: Search[Any]) -> None:
    run = go(_Interrupted(), search)
    assert len(run.trace) == 9
    assert not run.status.ok
    assert "interrupted" in run.status.message
    assert run.score == max(record.point.score for record in run.trace.accepted)
    assert toys.hill(run.hyperparameters.to_vector())[0] == pytest.approx(run.value)


@pytest.mark.parametrize(
    ("toy", "expected"),
    [
        (toys.Hill, "no derivative is above"),
        (toys.Slope, "small compared with its peak"),
        (toys.Terraces, "points gained no more"),
    ],
)
def test_chooses_a_search_that_suits_the_criterion(toy: type[Criterion], expected: str) -> None:
    assert expected in go(toy()).status.message


class _Rough(Criterion):
    """Not smooth, though it gives a gradient: that of the terraces' hill."""

    name, direction, smooth, equation = "toy-rough", "maximise", False, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        value, gradient = toys.hill(hyperparameters.to_vector())
        return Evaluation(np.floor(20.0 * value) / 20.0, gradient)


def test_does_not_follow_gradients_of_a_criterion_that_is_not_smooth() -> None:
    run = go(_Rough())
    assert "points gained no more" in run.status.message  # the words of Nelder and Mead
    assert go(_Rough(), QuasiNewton()).trace.names == run.trace.names  # but does so when asked to


class _Counting(Criterion):
    """A hill that records whether it was asked for gradients, and gives them when it is."""

    name, direction, equation = "toy-counting", "maximise", "toy"

    def __init__(self, smooth: bool) -> None:
        super().__init__()
        self.smooth = smooth
        self.asked: list[bool] = []

    def evaluate(
        self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, *, with_gradient: bool = True
    ) -> Evaluation:
        self.asked.append(with_gradient)
        value, gradient = toys.hill(hyperparameters.to_vector())
        return Evaluation(value, gradient if with_gradient else None)


@pytest.mark.parametrize(
    ("search", "smooth", "expected"),
    [
        (RandomWalk(), True, False),
        (NelderMead(), True, False),
        (QuasiNewton(), False, True),
        (None, True, True),
        (None, False, False),
    ],
)
def test_gradients_are_asked_for_when_the_search_needs_them(
    search: Search[Any] | None, smooth: bool, expected: bool
) -> None:
    criterion = _Counting(smooth)
    run = go(criterion, search, limits=Limits(30))
    assert criterion.asked == [expected] * len(run.trace)


class _Dead(Criterion):
    name, direction, smooth, equation = "toy-dead", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        return Evaluation(np.nan, None)


def test_a_failure_at_the_start_is_the_result() -> None:
    for search in (None, QuasiNewton(), RandomWalk()):
        run = go(_Dead(), search)
        assert not run.status.ok
        assert "failed at the start: the value is nan" in run.status.message
        assert run.hyperparameters == run.start
        assert np.isnan(run.value)


class _Forgetful(Criterion):
    """A hill whose gradient is missing now and then."""

    name, direction, smooth, equation = "toy-forgetful", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        value, gradient = toys.hill(hyperparameters.to_vector())
        return Evaluation(value, None if int(1e3 * abs(value)) % 3 == 1 else gradient)


def test_a_point_without_what_the_search_needs_is_a_failure() -> None:
    run = go(_Forgetful(), QuasiNewton())
    assert run.trace.failures
    assert all("gave no gradient" in record.point.status.message for record in run.trace.failures)
    assert run.value == pytest.approx(0.0, abs=0.01)
    assert not go(_Forgetful(), RandomWalk()).trace.failures  # which needs none


def test_names_the_bounds_that_were_met() -> None:
    lower, upper = SPACE.lower.copy(), SPACE.upper.copy()
    upper[1] = SPACE.start[1] - 0.5 + 0.6
    lower[3] = SPACE.start[3] - 0.01
    walled = Space(SPACE.model, SPACE.origin, SPACE.free, lower, upper)
    run = drive(Task(Objective(toys.Valley(), PROBLEM, walled), limits=Limits(500)))
    position = run.trace.best().point.position  # type: ignore[union-attr]
    assert ("k0 is at its upper bound" in run.status.message) == (position[1] == upper[1])
    assert ("l_1 is at its lower bound" in run.status.message) == (position[3] == lower[3])
    assert position[1] == upper[1] or position[3] == lower[3]


class _Warm(Criterion):
    """A hill that records what its evaluations are started from, and leaves the position as its state."""

    name, direction, smooth, equation = "toy-warm", "maximise", True, "toy"

    def __init__(self) -> None:
        super().__init__()
        self.started_from: list[Any] = []

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        self.started_from.append(state)
        return Evaluation(*toys.hill(hyperparameters.to_vector()), state=hyperparameters)


def test_evaluations_are_started_from_the_point_that_the_search_is_at() -> None:
    criterion = _Warm()
    run = go(criterion, RandomWalk(), limits=Limits(60))
    expected: Any = None
    for record, state in zip(run.trace, criterion.started_from, strict=True):
        assert state == expected
        if record.step.accepted:
            expected = record.hyperparameters
