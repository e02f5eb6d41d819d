"""Criteria a hair on either side of a change of the support set: continuous, each side with its own slope."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from marginwise.criteria import Criterion, Evaluation, as_criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.problem import Problem
from marginwise.svm import Solution
from zoo import blobs

CRITERIA = [
    pytest.param(as_criterion(name, slack), id=f"{name}-{slack}")
    for name, slack in [
        ("laplace-evidence", "linear"),
        ("laplace-evidence", "quadratic"),
        ("kwok-evidence", "linear"),
        ("gacv", "linear"),
        ("span", "quadratic"),
        ("radius-margin", "linear"),
        ("radius-margin", "quadratic"),
    ]
]

PROBLEM = blobs(60, 2, shift=0.9)
START = np.log([1.0, 1.0, 0.2, 0.8, 1.1])
DIRECTION = np.array([0.6, 0.9, -0.2, 0.8, 0.5])

#: Distance from the change at which slopes are compared, and the half width of the bracket around the change.
HAIR, BRACKET = 1e-5, 1e-10


def along(criterion: Criterion, t: float, problem: Problem = PROBLEM) -> Evaluation:
    """Return the evaluation at parameter ``t`` of the line."""
    return criterion.evaluate(problem, Hyperparameters.from_vector(START + t * DIRECTION))


def support_set(state: Any) -> bytes:
    """Return which points are at zero, free and at the bound, in all solutions of a state."""
    solutions = [state] if isinstance(state, Solution) else state
    return b"|".join(part.tobytes() for s in solutions for part in (s.marginal, s.bound))


def changes(signature: Callable[[float], Any], count: int) -> list[float]:
    """Return the first places along the line where ``signature`` changes."""
    places: list[float] = []
    grid = np.linspace(0.0, 2.0, 101)
    for low, high in pairwise(grid):
        at_low = signature(low)
        if at_low == signature(high):
            continue
        while high - low > BRACKET:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if signature(middle) == at_low else (low, middle)
        places.append(0.5 * (low + high))
        if len(places) == count:
            break
    return places


def slope_error(criterion: Criterion, t: float) -> float:
    """Return the error of the slope along the line at ``t``, relative to the gradient."""
    gradient = along(criterion, t).gradient
    assert gradient is not None
    step = 0.5 * HAIR
    difference = (along(criterion, t + step).value - along(criterion, t - step).value) / (2 * step)
    return float(abs(difference - gradient @ DIRECTION) / np.abs(gradient).max())


@pytest.mark.parametrize("criterion", CRITERIA)
def test_value_is_continuous_and_slopes_right_on_both_sides(criterion: Criterion) -> None:
    def signature(t: float) -> bytes:
        return support_set(along(criterion, t).state)

    places = changes(signature, 6)
    assert len(places) == 6
    tested = 0
    for place in places:
        before, after = along(criterion, place - BRACKET), along(criterion, place + BRACKET)
        assert support_set(before.state) != support_set(after.state)
        assert abs(after.value - before.value) < 1e-7 * max(1.0, abs(before.value))
        for side in (-1, 1):
            # Another change may lie within the hair; then there is nothing to compare with.
            if signature(place + side * BRACKET) == signature(place + side * 2 * HAIR):
                assert slope_error(criterion, place + side * HAIR) < 1e-6
                tested += 1
    assert tested >= 8


def test_linear_slack_meets_both_kinds_of_change() -> None:
    """The line above leads points to the bound and points off it: neither case is left untested."""
    criterion = as_criterion("laplace-evidence", "linear")
    at_bound, off = set(), set()
    for place in changes(lambda t: support_set(along(criterion, t).state), 6):
        before, after = (along(criterion, place + side * BRACKET).state for side in (-1, 1))
        at_bound |= set(before.bound) ^ set(after.bound)
        off |= set(before.support) ^ set(after.support)
    assert at_bound
    assert off


def test_the_slope_jumps_where_the_support_set_changes() -> None:
    """α has a kink there, so a criterion that depends on α beyond the maximum's value has one too."""
    criterion = as_criterion("laplace-evidence", "linear")
    jumps = []
    for place in changes(lambda t: support_set(along(criterion, t).state), 6):
        before, after = (along(criterion, place + side * BRACKET).gradient for side in (-1, 1))
        jumps.append(np.abs(after - before).max() / np.abs(before).max())
    assert max(jumps) > 1e-2


def test_radius_margin_with_quadratic_slack_has_no_kink() -> None:
    """There Σα is twice the dual's maximum, and R² a maximum: both change to first order with K alone."""
    criterion = as_criterion("radius-margin", "quadratic")
    for place in changes(lambda t: support_set(along(criterion, t).state), 6):
        before, after = (along(criterion, place + side * BRACKET).gradient for side in (-1, 1))
        np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-7)


def test_gacv_jumps_by_C_times_K_where_a_margin_passes_minus_one() -> None:
    criterion = as_criterion("gacv")
    places = changes(lambda t: along(criterion, t).info["below_minus_one"], 2)
    assert places
    for place in places:
        before, after = along(criterion, place - BRACKET), along(criterion, place + BRACKET)
        h = Hyperparameters.from_vector(START + place * DIRECTION)
        change = after.info["below_minus_one"] - before.info["below_minus_one"]
        expected = change * h.C * (h.k0 + h.koff) / PROBLEM.n
        assert after.value - before.value == pytest.approx(expected, rel=1e-6)
        assert slope_error(criterion, place - HAIR) < 1e-6
        assert slope_error(criterion, place + HAIR) < 1e-6
