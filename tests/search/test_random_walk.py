"""The greedy random walk: its steps, their sizes and its end."""

from __future__ import annotations

import numpy as np
import pytest

import toys
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.search import Limits, Objective, Point, RandomWalk, Space, Task, drive
from marginwise.search.random_walk import WalkState
from zoo import blobs

SPACE = Space.around(paper_start(3))


def point(position: np.ndarray, score: float) -> Point:
    return Point(position, score, score)


def walk(
    score: object, n: int, *, space: Space = SPACE, settings: RandomWalk | None = None, seed: int = 0
) -> tuple[WalkState, np.ndarray]:
    """Return the state after ``n`` steps on a score, and which steps were accepted."""
    search, rng = settings or RandomWalk(), np.random.default_rng(seed)
    state = search.init(space, point(space.start, score(space.start)))  # type: ignore[operator]
    accepted = []
    for _ in range(n):
        position = search.propose(state, rng)
        state, step = search.step(state, point(position, score(position)))  # type: ignore[operator]
        accepted.append(step.accepted)
    return state, np.array(accepted)


def test_moves_one_hyperparameter_at_a_time_and_if_and_only_if_better() -> None:
    search, rng = RandomWalk(), np.random.default_rng(1)
    state = search.init(SPACE, point(SPACE.start, 0.0))
    for k in range(40):
        position = search.propose(state, rng)
        assert np.flatnonzero(position != state.position).tolist() == [k % SPACE.size]
        score = state.score + [1.0, 0.0, -1.0][k % 3]
        after, step = search.step(state, point(position, score))
        assert step.accepted == (k % 3 == 0)
        np.testing.assert_array_equal(after.position, position if step.accepted else state.position)
        state = after


def test_steps_are_normal_in_C_and_in_the_logarithms_of_the_kernel() -> None:
    search, rng = RandomWalk(first_step=0.1), np.random.default_rng(2)
    start = search.init(Space.around(Hyperparameters(5, 2, 0.5, [1, 2, 3])), point(np.zeros(6), 0.0))
    for turn in (0, 1, 4):
        state = WalkState(start.space, start.space.start, 0.0, start.sizes, turn, (0.0,), start.tally)
        there = np.array([search.propose(state, rng)[turn] for _ in range(4000)])
        moved = np.exp(there) - 5.0 if turn == 0 else there - start.space.start[turn]
        assert moved.mean() == pytest.approx(0.0, abs=0.01)
        assert moved.std() == pytest.approx(0.1, rel=0.05)
        assert abs(((moved / moved.std()) ** 3).mean()) < 0.15  # symmetric in this scale


def test_half_the_steps_are_accepted_on_a_slope() -> None:
    wide = Space(SPACE.model, SPACE.origin, SPACE.free, SPACE.lower - 1e6, SPACE.upper + 1e6)
    state, accepted = walk(lambda position: position[1:].sum(), 6000, space=wide, settings=RandomWalk(largest_step=1.0))
    by_parameter = accepted.reshape(-1, SPACE.size)[:, 1:].mean(axis=0)
    np.testing.assert_allclose(by_parameter, 0.5, atol=0.06)
    assert (state.sizes <= 1.0).all()


def test_each_size_follows_its_own_distance() -> None:
    """Where all but one hyperparameter are at their optimum, the others' steps shrink and its own does not."""
    target = SPACE.start.copy()
    target[4] += 50.0
    wide = Space(SPACE.model, SPACE.origin, SPACE.free, SPACE.lower - 100, SPACE.upper + 100)
    state, _ = walk(lambda position: -((position - target) ** 2).sum(), 240, space=wide)
    others = np.delete(state.sizes, 4)
    assert state.sizes[4] > 10 * others.max()


def test_turns_inwards_on_a_bound() -> None:
    search, rng = RandomWalk(), np.random.default_rng(3)
    for bound, sign in ((SPACE.lower, 1), (SPACE.upper, -1)):
        for turn in range(SPACE.size):
            state = WalkState(
                SPACE, bound.copy(), 0.0, np.full(SPACE.size, 0.3), turn, (0.0,), np.zeros((2, SPACE.size))
            )
            for _ in range(20):
                assert sign * (search.propose(state, rng)[turn] - bound[turn]) > 0


def test_ends_when_steps_are_small_or_sweeps_gain_little() -> None:
    flat, _ = walk(lambda position: 0.0, 60 * SPACE.size)
    ended = RandomWalk().terminate(flat)
    assert ended is not None
    assert ended.ok
    assert "every step" in ended.message
    run = drive(Task(Objective(toys.Hill(), blobs(10, 3), SPACE), RandomWalk(), Limits(max_evaluations=5000)))
    assert run.status.ok
    assert run.value > -0.01


def test_the_step_sizes_are_in_the_trace() -> None:
    run = drive(Task(Objective(toys.Hill(), blobs(10, 3), SPACE), RandomWalk(), Limits(max_evaluations=50)))
    table = run.trace.to_arrays()
    assert np.isnan(table["rate_k0"][0])
    changed = np.diff(table["rate_k0"][1:]) != 0
    assert np.flatnonzero(changed).tolist() == list(range(0, 48, 6))  # when it was its turn: 2nd, 8th, …


def test_all_at_once_moves_everything_or_nothing() -> None:
    search, rng = RandomWalk(proposal="all"), np.random.default_rng(1)
    state = search.init(SPACE, point(SPACE.start, 0.0))
    for k in range(20):
        position = search.propose(state, rng)
        assert (position != state.position).all()
        after, step = search.step(state, point(position, state.score + [1.0, -1.0][k % 2]))
        assert step.accepted == (k % 2 == 0)
        np.testing.assert_allclose(after.sizes / state.sizes, 1.15 if step.accepted else 1 / 1.15)
        state = after


def test_all_at_once_needs_more_luck_where_hyperparameters_are_many() -> None:
    """On a bowl in many directions most joint steps lose, so that the walk ends further away."""
    space = Space.around(paper_start(30))
    target = space.start + 2.0
    ends = [
        walk(lambda p: -((p - target) ** 2).sum(), 1500, space=space, settings=RandomWalk(proposal=proposal))[0].score
        for proposal in ("each", "all")
    ]
    assert ends[0] > ends[1]


def test_the_proposal_is_named() -> None:
    with pytest.raises(InvalidInputError, match="proposal is 'some'"):
        RandomWalk(proposal="some")


@pytest.mark.parametrize(("gains", "change"), [((1, 1, 1), 2.0), ((1, 1, 0), 2.0), ((0, 0, 1), 0.5)])
def test_a_window_measures_the_rate_before_a_size_changes(gains: tuple[int, ...], change: float) -> None:
    """Each hyperparameter is tried once in a sweep; its size changes by the rate of three tries, not before."""
    search, rng = RandomWalk(window=3, factor=2.0), np.random.default_rng(0)
    state = search.init(SPACE, point(SPACE.start, 0.0))
    for sweep, gain in enumerate(gains):
        assert sweep < 3
        np.testing.assert_array_equal(state.sizes, search.first_step)
        for _ in range(SPACE.size):
            state, _ = search.step(state, point(search.propose(state, rng), state.score + gain))
    np.testing.assert_array_equal(state.sizes, change * search.first_step)
    with pytest.raises(InvalidInputError, match="window is 0"):
        RandomWalk(window=0)


def test_half_of_an_even_window_leaves_the_size_as_it_is() -> None:
    search, rng = RandomWalk(window=2), np.random.default_rng(0)
    state = search.init(SPACE, point(SPACE.start, 0.0))
    for gain in (1.0, 0.0):
        for _ in range(SPACE.size):
            state, _ = search.step(state, point(search.propose(state, rng), state.score + gain))
    np.testing.assert_array_equal(state.sizes, search.first_step)
