"""Gradient ascent: the rules for its learning rates, noise, and its end."""

from __future__ import annotations

import numpy as np
import pytest

import toys
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start, random_start
from marginwise.search import GradientAscent, Limits, Objective, Point, Space, Task, drive
from marginwise.search.gradient_ascent import AscentState
from marginwise.status import CONVERGED, Status
from zoo import blobs, twonorm

SPACE = Space.around(paper_start(3))
BEFORE = np.array([1.0, -1.0, 0.5, 1.0, -1.0, 1.0])


def after(
    gradient: np.ndarray | None, *, noise: float = 0.0, status: Status = CONVERGED
) -> tuple[AscentState, AscentState, bool]:
    """Return the states before and after a move that ends with this gradient, and whether it was accepted."""
    search = GradientAscent()
    errors = np.full(6, noise)
    start = search.init(SPACE, Point(SPACE.start, np.nan, np.nan, BEFORE, errors))
    position = search.propose(start, np.random.default_rng(0))
    state, step = search.step(start, Point(position, np.nan, np.nan, gradient, errors, status))
    return start, state, step.accepted


def test_moves_along_the_gradient_in_logarithms() -> None:
    search = GradientAscent(first_move=0.2)
    state = search.init(SPACE, Point(SPACE.start, np.nan, np.nan, BEFORE))
    move = search.propose(state, np.random.default_rng(0)) - SPACE.start
    np.testing.assert_allclose(move, 0.2 * np.array([1, -1, 1, 1, -1, 1]))


def test_every_part_is_moved_as_far_at_first_however_small_its_derivatives() -> None:
    gradient = np.array([5.0, -1e-3, 0.0, 1e-6, -2e-6, 4e-6])
    search = GradientAscent(first_move=0.2)
    state = search.init(SPACE, Point(SPACE.start, np.nan, np.nan, gradient))
    move = search.propose(state, np.random.default_rng(0)) - SPACE.start
    np.testing.assert_allclose(move, [0.2, -0.2, 0, 0.05, -0.1, 0.2])


def test_raises_the_rates_of_derivatives_that_do_not_decline_quickly() -> None:
    start, state, accepted = after(BEFORE * [0.9, 0.3, 1.1, 0.9, 0.3, 0.5])
    assert accepted
    np.testing.assert_allclose(state.rates / start.rates, [1.5, 1, 1.5, 1.5, 1, 1])


def test_lowers_the_rate_of_a_derivative_that_changed_its_sign() -> None:
    start, state, accepted = after(BEFORE * [-0.3, 0.5, 0.5, 0.5, -0.2, 0.5])
    assert accepted
    np.testing.assert_allclose(state.rates / start.rates, [0.5, 1, 1, 1, 0.5, 1])


@pytest.mark.parametrize(
    "factors",
    [
        pytest.param([3.0, 1, 1, 1, 1, 1], id="a sharp rise"),
        pytest.param([-1.3, 1, 1, 1, 1, 1], id="a turn without decline"),
        pytest.param([1, 1, 1, 2.6, 2.6, 2.6], id="a sharp rise of the length scales"),
        pytest.param([1, 1, 1, -1.4, -1.4, -1.4], id="a turn of the length scales"),
    ],
)
def test_discards_a_move_that_went_too_far(factors: list[float]) -> None:
    start, state, accepted = after(BEFORE * factors)
    assert not accepted
    np.testing.assert_array_equal(state.position, SPACE.start)
    np.testing.assert_allclose(state.rates, 0.5 * start.rates)


def test_length_scales_are_judged_as_one_vector() -> None:
    """One length scale may turn and rise, as long as the vector of all does not turn by a right angle."""
    assert after(BEFORE * [1, 1, 1, 1.2, -1.3, 1.2])[2]
    # For C, which is judged by itself, the same change is too much.
    assert not after(BEFORE * [-1.5, 1, 1, 1, 1, 1])[2]


def test_noise_excuses_changes() -> None:
    assert not after(BEFORE * [-1.3, 1, 1, 1, 1, 1])[2]
    assert after(BEFORE * [-1.3, 1, 1, 1, 1, 1], noise=0.3)[2]


def test_discards_a_move_to_where_the_criterion_fails() -> None:
    start, state, accepted = after(None, status=Status(False, "no"))
    assert not accepted
    np.testing.assert_allclose(state.rates, 0.5 * start.rates)


def test_gives_up_when_the_gradient_does_not_decline() -> None:
    search = GradientAscent(patience=3)
    state = search.init(SPACE, Point(SPACE.start, np.nan, np.nan, BEFORE))
    failed = Point(SPACE.start, np.nan, np.nan, None, None, Status(False, "no"))
    for _ in range(3):
        assert search.terminate(state) is None
        state, _ = search.step(state, failed)
    ended = search.terminate(state)
    assert ended is not None
    assert not ended.ok


def test_ends_within_the_noise() -> None:
    run = drive(Task(Objective(toys.NoisySlope(), blobs(10, 3), SPACE), GradientAscent(), Limits(max_evaluations=500)))
    assert run.status.ok
    last = run.trace.accepted[-1].point
    peak = max(np.linalg.norm(record.point.gradient) for record in run.trace.accepted)
    noise = np.sqrt(6) * toys.NoisySlope.noise
    assert np.linalg.norm(last.gradient) ** 2 <= noise**2 + (0.04 * peak) ** 2
    _, true = toys.hill(run.hyperparameters.to_vector())
    assert np.linalg.norm(true) < 3 * noise + 0.04 * peak


def test_takes_some_tens_of_steps_from_the_papers_starts() -> None:
    """Section gradient_ascent: "typically between 40 and 80 steps" on a smooth evidence with 20 length scales."""
    problem = twonorm(100)
    for seed in range(3):
        start = random_start(20, np.random.default_rng(seed))
        objective = Objective(toys.RegressionEvidence(), problem, Space.around(start))
        run = drive(Task(objective, GradientAscent(), Limits(200)))
        assert run.status.ok, run.status.message
        assert 15 < len(run.trace) < 120
        gradients = np.array([record.point.gradient for record in run.trace.accepted])
        assert np.linalg.norm(gradients[-1]) < 0.05 * np.linalg.norm(gradients, axis=1).max()


def test_C_may_move_on_its_own_scale() -> None:
    search = GradientAscent(C_scale="linear", first_move=0.2)
    space = Space.around(Hyperparameters(4.0, 1.0, 0.1, [1.0, 1.0, 1.0]))
    gradient = np.array([2.0, -1.0, 0.5, 1.0, -1.0, 1.0])
    state = search.init(space, Point(space.start, np.nan, np.nan, gradient))
    assert state.gradient[0] == pytest.approx(2.0 / 4.0)  # ∂E/∂C = (∂E/∂ln C)/C
    there = search.propose(state, np.random.default_rng(0))
    assert np.exp(there[0]) == pytest.approx(4.2)
    np.testing.assert_allclose(there[1:] - space.start[1:], 0.2 * np.array([-1, 1, 1, -1, 1]))
    low = search.init(space, Point(space.start, np.nan, np.nan, -gradient))
    for _ in range(60):  # downwards it never leaves the box
        position = search.propose(low, np.random.default_rng(0))
        assert (position >= space.lower).all()
        low, _ = search.step(
            low, Point(position, np.nan, np.nan, -gradient * np.where(space.is_C, np.exp(position) / 4, 1))
        )
    with pytest.raises(InvalidInputError, match="C_scale is 'root'"):
        GradientAscent(C_scale="root")
