"""How many threads linear algebra uses: one limit for the whole process, which all who need it share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

#: Rows of square matrices below which a second thread of BLAS costs more than it gains. By ``benchmarks/threads.py
#: products`` with other jobs on the same two cores a Cholesky factorisation took 37 times the CPU seconds of one thread
#: with 1,500 rows, twice as many with 2,000, three times with 3,000 and 5,000, and longer by the clock, too.
#: On idle cores it has not been measured.
ONE_THREAD_ROWS = 5000

#: Libraries by whom a limit on their threads holds for: BLAS for the process, OpenMP for the calling thread alone.
_PROCESS, _THREAD = "blas", "openmp"


class _Limit:
    """One thread for BLAS, from the first who asks for it until the last has left.

    A limit that each thread sets and takes back by itself is wrong when they overlap: the second finds the first's
    limit, takes it for what was there before, and leaves it behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._alone = 0
        self._before: list[tuple[Any, int]] = []
        self.controller: ThreadpoolController | None = None

    def enter(self, alone: bool) -> ThreadpoolController:
        with self._lock:
            if self._users == 0 or self.controller is None:
                self.controller = ThreadpoolController()  # anew: libraries may have been loaded since
                self._before = _limited(self.controller, _PROCESS)
            self._users += 1
            self._alone += alone
            return self.controller

    def leave(self, alone: bool) -> None:
        with self._lock:
            self._users -= 1
            self._alone -= alone
            if self._users == 0:
                _restore(self._before)

    def threads(self) -> int:
        with self._lock:
            if self._alone:
                return 1
            if self._users:
                return max((threads for _, threads in self._before), default=1)
            if self.controller is None:
                self.controller = ThreadpoolController()
            return max((library.num_threads for library in _libraries(self.controller, _PROCESS)), default=1)


_limit = _Limit()


@contextmanager
def one_thread(when: bool = True) -> Iterator[None]:
    """Let BLAS use one thread, in the whole process, and OpenMP in this thread; if ``when`` is false, change nothing.

    The digits of a sum depend on the number of threads that add it up, so that what must not depend on the number of
    processes is computed with one. Calls may be nested, and overlap in several threads; after the last it is as before.
    """
    with _one_thread(when, alone=True):
        yield


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Let BLAS use one thread where square matrices of this many rows gain nothing by more.

    Blocks of rows, which do not wait for each other, may still be worked on by several, see ``worker_threads``.
    """
    with _one_thread(size < ONE_THREAD_ROWS, alone=False):
        yield


@contextmanager
def _one_thread(when: bool, *, alone: bool) -> Iterator[None]:
    if not when:
        yield
        return
    before = _limited(_limit.enter(alone), _THREAD)
    try:
        yield
    finally:
        _restore(before)
        _limit.leave(alone)


def worker_threads() -> int:
    """Return how many threads, each of which uses BLAS with one, may work on blocks of rows at present."""
    return _limit.threads()


def _libraries(controller: ThreadpoolController, kind: str) -> list[Any]:
    return list(controller.select(user_api=kind).lib_controllers)


def _limited(controller: ThreadpoolController, kind: str) -> list[tuple[Any, int]]:
    """Limit libraries to one thread; return them with what they had."""
    before = [(library, library.num_threads) for library in _libraries(controller, kind)]
    _restore([(library, 1) for library, _ in before])
    return before


def _restore(numbers: list[tuple[Any, int]]) -> None:
    """Set the numbers of threads of libraries.

    From 3.8 on, threadpoolctl lets only one thread set them, for a while, and does nothing for the others.
    """
    for library, threads in numbers:
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)
        library.set_num_threads(threads)
        if free is not None:
            free(force=True)
