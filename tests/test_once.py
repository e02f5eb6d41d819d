"""What is computed once, however many threads ask for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from marginwise._runtime.once import computed_once


class Slow:
    def __init__(self) -> None:
        self.computed = 0

    @computed_once
    def value(self) -> object:
        self.computed += 1
        time.sleep(0.05)
        return object()

    @computed_once
    def twice(self) -> tuple[object, object]:
        return self.value, self.value

    @computed_once
    def failing(self) -> object:
        self.computed += 1
        raise ZeroDivisionError


def test_one_thread_computes_and_the_others_wait() -> None:
    slow, barrier = Slow(), threading.Barrier(8)

    def ask(_: int) -> object:
        barrier.wait()
        return slow.twice

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert slow.computed == 1
    assert all(one is found[0] for one in found)


def test_an_error_is_raised_again_and_leaves_no_lock_behind() -> None:
    slow = Slow()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            slow.failing  # noqa: B018
    assert slow.computed == 2
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: slow.value).result(10) is slow.value


def test_the_class_has_the_property_itself() -> None:
    assert isinstance(Slow.value, computed_once)
