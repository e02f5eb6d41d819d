"""Ctrl-C held back until a safe point: who answers, when, and what is restored."""

# ruff: noqa: PT012 (Ctrl-C is pressed within what it ends)

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from joblib import Parallel, delayed

import toys
from marginwise import TunedSVC
from marginwise._runtime.interrupts import answer_at_once, answered, hold_interrupts, safe_point
from marginwise._runtime.processes import outcomes, start_deaf
from marginwise.errors import InvalidInputError
from marginwise.tuning import tune
from tiers import first_quick
from zoo import blobs

PROBLEM = blobs(20, 3)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """Ctrl-C as it is in a terminal, and restored by every test."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    left = signal.signal(signal.SIGINT, previous)
    assert left is signal.default_int_handler


def test_it_waits_for_a_safe_point() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        press()
        passed.append("held")
        safe_point()
        passed.append("beyond")
    assert passed == ["held"]


def test_it_is_answered_at_the_end_at_the_latest_also_of_an_inner_hold() -> None:
    passed = []
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        with hold_interrupts():
            press()
        passed.append("inner")
    assert passed == ["inner"]


def test_errors_that_come_after_it_give_way_to_it() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, hold_interrupts():
        press()
        raise SystemError("a process was lost")
    assert isinstance(caught.value.__context__, SystemError)
    with pytest.raises(SystemError), hold_interrupts():
        raise SystemError("of another cause")


def test_an_answer_that_is_swallowed_is_given_again() -> None:
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        press()
        with suppress(KeyboardInterrupt):  # as a destructor does
            safe_point()
        safe_point()
        pytest.fail("it was lost")


def test_one_that_had_its_effect_is_not_answered_again() -> None:
    with hold_interrupts():
        press()
        try:
            safe_point()
        except KeyboardInterrupt:
            answered()
        safe_point()


def test_where_no_safe_point_comes_it_does_not_wait_long() -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        press()
        _spend(10.0)  # a loop without a body here would miss the hold's end in Python 3.13
    assert time.monotonic() < begun + 5


@pytest.mark.parametrize("module", first_quick(["numba.core.serialize", "threadpoolctl"]))
def test_it_is_never_raised_where_that_does_harm(module: str) -> None:
    """Numba calls functions of the first from compiled code, and makes a SystemError of exceptions in them."""
    space = {"__name__": module, "press": press, "linger": lambda: _spend(1.5)}
    exec("def called_back():\n    press()\n    linger()", space)
    passed = []
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        space["called_back"]()
        passed.append("called back")
        _spend(10.0)
    assert passed == ["called back"]


def _spend(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_no_late_signal_comes_after_the_end() -> None:
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt), hold_interrupts():
            press()
            safe_point()
    time.sleep(1.0)  # longer than anything waits


def test_while_waiting_for_others_it_is_answered_at_once() -> None:
    begun = time.monotonic()
    timer = threading.Timer(0.1, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt), hold_interrupts(), answer_at_once():
        time.sleep(10)
    assert time.monotonic() < begun + 5
    timer.join()


def test_a_handler_of_the_users_answers_in_its_own_way() -> None:
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with hold_interrupts():
        press()
        assert heard == []
        safe_point()
        assert heard == [signal.SIGINT]
    assert heard == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_where_it_is_ignored_it_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with hold_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        press()
        safe_point()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_leave_it_to_the_main_one() -> None:
    passed = []
    thread = threading.Thread(target=lambda: passed.append(safe_point()))
    with pytest.raises(KeyboardInterrupt), hold_interrupts():
        press()
        thread.start()
        thread.join()
        assert passed == [None]
        safe_point()


def test_other_threads_fit_as_ever() -> None:
    models = []
    thread = threading.Thread(target=lambda: models.append(TunedSVC(ard=0, random_state=0).fit(PROBLEM.X, PROBLEM.y)))
    thread.start()
    thread.join()
    assert models[0].predict(PROBLEM.X).shape == (20,)


def test_none_is_lost_while_processes_start() -> None:
    with pytest.raises(KeyboardInterrupt), hold_interrupts(), start_deaf():
        press()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with pytest.raises(KeyboardInterrupt):
        list(outcomes(Parallel(2, return_as="generator"), (_pressed(number) for number in range(2))))


def _pressed(number: int):
    """Return a job; the first is pressed upon while it is handed over, in the middle of joblib's work."""
    if number == 0:
        press()
    return delayed(time.sleep)(30)


def test_processes_never_hear_it() -> None:
    parallel = Parallel(2, return_as="generator")
    assert list(outcomes(parallel, [delayed(_is_deaf)() for _ in range(4)])) == [True] * 4


def _is_deaf() -> bool:
    press()
    time.sleep(0.1)
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())


class Pressing(toys.Hill):
    """A criterion during whose fifth evaluation Ctrl-C is pressed."""

    name = "toy-pressing"

    def __init__(self) -> None:
        super().__init__()
        self.evaluations = 0

    def evaluate(self, problem, hyperparameters, state=None, **options):
        self.evaluations += 1
        if self.evaluations == 5:
            press()
        return super().evaluate(problem, hyperparameters, state, **options)


def test_a_search_keeps_the_best_so_far_or_raises() -> None:
    tuning = tune(PROBLEM.X, PROBLEM.y, Pressing(), search="random-walk", restarts=2, random_state=0)
    assert [len(run.trace) for run in tuning.restarts] == [5, 0, 0]
    assert not tuning.status.ok
    assert tuning.status.message.startswith("interrupted")
    with pytest.raises(KeyboardInterrupt):
        tune(PROBLEM.X, PROBLEM.y, Pressing(), search="random-walk", random_state=0, on_interrupt="raise")
    with pytest.raises(InvalidInputError, match="on_interrupt is 'stop'; expected one of 'keep', 'raise'"):
        tune(PROBLEM.X, PROBLEM.y, toys.Hill(), on_interrupt="stop")  # type: ignore[arg-type]


def test_a_fit_that_fails_leaves_the_estimator_as_it_was() -> None:
    model = TunedSVC(ard=0, random_state=0).fit(PROBLEM.X, PROBLEM.y)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((4, 2), np.inf), [0, 1, 0, 1])
    assert vars(model) == before
    model.criterion = Pressing()
    before = vars(model).copy()
    with pytest.raises(KeyboardInterrupt):
        model.fit(PROBLEM.X[:, :2], PROBLEM.y)
    assert vars(model) == before
    assert model.predict(PROBLEM.X).shape == (20,)
