"""How many threads linear algebra uses: one limit for the whole process, which all who need it share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

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
        self._before: list[tuple[Any, int]] = []
        self.controller: ThreadpoolController | None = None

    def enter(self) -> ThreadpoolController:
        with self._lock:
            if self._users == 0 or self.controller is None:
                self.controller = ThreadpoolController()  # anew: libraries may have been loaded since
                self._before = _limited(self.controller, _PROCESS)
            self._users += 1
            return self.controller

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                _restore(self._before)

    def threads(self) -> int:
        with self._lock:
            if self._users:
                return 1
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
    if not when:
        yield
        return
    before = _limited(_limit.enter(), _THREAD)
    try:
        yield
    finally:
        _restore(before)
        _limit.leave()


def blas_threads() -> int:
    """Return the number of threads that BLAS may use at present."""
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
