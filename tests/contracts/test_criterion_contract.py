"""What every registered criterion promises, whichever it is."""

from __future__ import annotations

import numpy as np
import pytest

from differences import scaled
from marginwise.criteria import Evaluation, as_criterion, criterion_class, criterion_names
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS
from marginwise.problem import as_problem
from zoo import blobs, hard_problems

CASES = [(name, slack) for name in criterion_names() for slack in criterion_class(name).slacks]
HARD = {name: (problem, hyperparameters) for name, problem, hyperparameters in hard_problems()}

PROBLEM = blobs(40, 2, shift=0.8)
H = Hyperparameters(0.8, 1.3, 0.2, [0.9, 1.2])

every_criterion = pytest.mark.parametrize(("name", "slack"), CASES)


def assert_honest(evaluation: Evaluation, length: int) -> None:
    """A number is finite, or the status says why there is none; a NaN value is no silence if a gradient is."""
    gradient = evaluation.gradient
    if gradient is not None:
        assert gradient.shape == (length,)
        assert np.isfinite(gradient).all()
    if evaluation.status.ok:
        assert np.isfinite(evaluation.value) or (np.isnan(evaluation.value) and gradient is not None)
    else:
        assert len(evaluation.status.message) > 10
        assert not np.isinf(evaluation.value)


@pytest.mark.parametrize("name", criterion_names())
def test_says_what_it_is(name: str) -> None:
    criterion = criterion_class(name)
    assert criterion.name == name
    assert criterion.direction in ("maximise", "minimise")
    assert isinstance(criterion.smooth, bool)
    assert criterion.equation
    assert criterion.__doc__
    assert set(criterion.slacks) <= set(SLACKS)
    assert as_criterion(name).likelihood.name == criterion.slacks[0]
    assert as_criterion(name).sign == (1 if criterion.direction == "maximise" else -1)


@pytest.mark.parametrize("name", criterion_names())
def test_refuses_a_slack_it_is_not_for(name: str) -> None:
    for slack in set(SLACKS) - set(criterion_class(name).slacks):
        with pytest.raises(InvalidInputError, match=name):
            as_criterion(name, slack)
    with pytest.raises(InvalidInputError, match="slack is 'cubic'"):
        as_criterion(name, "cubic")


@every_criterion
def test_has_a_value_and_if_smooth_a_gradient(name: str, slack: str) -> None:
    criterion = as_criterion(name, slack)
    evaluation = criterion.evaluate(PROBLEM, H)
    assert evaluation.status.ok
    assert_honest(evaluation, 5)
    if criterion.smooth:
        assert evaluation.gradient is not None


@every_criterion
def test_the_value_is_the_same_without_the_gradient(name: str, slack: str) -> None:
    criterion = as_criterion(name, slack)
    weighted = as_problem(PROBLEM.X, PROBLEM.y, np.linspace(0.5, 3.0, PROBLEM.n))
    for problem in (PROBLEM, weighted):
        full, bare = criterion.evaluate(problem, H), criterion.evaluate(problem, H, with_gradient=False)
        np.testing.assert_allclose(bare.value, full.value, rtol=1e-12)
        assert bare.status.ok
        for warm in (full, bare):  # the states serve alike
            again = criterion.evaluate(problem, H, warm.state, with_gradient=False)
            np.testing.assert_allclose(again.value, full.value, rtol=1e-9)


@every_criterion
@pytest.mark.parametrize("hard", HARD)
def test_hard_problems_give_a_number_or_a_reason(name: str, slack: str, hard: str) -> None:
    problem, h = HARD[hard]
    criterion = as_criterion(name, slack)
    evaluation = criterion.evaluate(problem, h)
    assert_honest(evaluation, len(h.to_vector()))
    if evaluation.status.ok and criterion.smooth:
        assert evaluation.gradient is not None


@every_criterion
def test_state_saves_work_and_changes_nothing(name: str, slack: str) -> None:
    criterion = as_criterion(name, slack)
    near = Hyperparameters(0.85, 1.25, 0.21, [0.92, 1.15])
    state = criterion.evaluate(PROBLEM, near).state
    cold, warm = criterion.evaluate(PROBLEM, H), criterion.evaluate(PROBLEM, H, state)
    np.testing.assert_allclose(warm.value, cold.value, rtol=1e-6)
    if cold.gradient is not None:
        assert warm.gradient is not None
        np.testing.assert_allclose(warm.gradient, cold.gradient, rtol=1e-4, atol=1e-6)


@every_criterion
def test_scale_free_means_through_C_times_K_only(name: str, slack: str) -> None:
    criterion = as_criterion(name, slack)
    here, there = (criterion.evaluate(PROBLEM, scaled(H, factor)) for factor in (1.0, 7.0))
    if criterion.scale_free:
        np.testing.assert_allclose(there.value, here.value, rtol=1e-8)
        if here.gradient is not None:  # then moving C up and K down changes nothing
            assert here.gradient[0] == pytest.approx(here.gradient[1] + here.gradient[2], rel=1e-6)
    elif np.isfinite(here.value):
        assert abs(there.value - here.value) > 1e-3 * abs(here.value)


@every_criterion
def test_one_length_scale_stands_for_equal_ones(name: str, slack: str) -> None:
    criterion = as_criterion(name, slack)
    one = criterion.evaluate(PROBLEM, Hyperparameters(0.8, 1.3, 0.2, 1.1))
    each = criterion.evaluate(PROBLEM, Hyperparameters(0.8, 1.3, 0.2, [1.1, 1.1]))
    np.testing.assert_allclose(one.value, each.value, rtol=1e-8)
    if one.gradient is not None and each.gradient is not None:
        assert one.gradient.shape == (4,)
        assert each.gradient.shape == (5,)


@every_criterion
def test_leaves_its_arguments_alone(name: str, slack: str) -> None:
    problem = blobs(30, 2)
    before = [array.copy() for array in (problem.X, problem.y, problem.weights)]
    criterion = as_criterion(name, slack)
    state = criterion.evaluate(problem, H).state
    criterion.evaluate(problem, Hyperparameters(0.9, 1.0, 0.2, [1.0, 1.0]), state)
    for array, copy in zip((problem.X, problem.y, problem.weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)
