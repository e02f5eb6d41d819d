"""Jobs in other processes, by joblib, so that Ctrl-C ends them all and is never lost, and none outlives this one.

A terminal sends Ctrl-C to all processes. Those that run jobs never hear it: the one that waits for them answers. When
that is killed, which nothing can answer, they end by themselves.

Joblib's executor and tracker are not part of its public interface; only this module uses them.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from numbers import Integral
from typing import Any

from joblib import Parallel, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.externals.loky.process_executor import ProcessPoolExecutor

from marginwise._runtime.interrupts import answer_at_once, answer_interrupts, hold_interrupts
from marginwise.errors import InvalidInputError

#: How often a process looks whether the one that started it still lives, in seconds.
_WATCH = 1.0

_HANDING_OVER = 0.1  # seconds; ended before a thread of its own has taken up the first jobs, joblib prints a KeyError


def check_n_jobs(n_jobs: object) -> None:
    """Raise if this is not a number of processes."""
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise InvalidInputError("n_jobs", n_jobs, "a number of processes, -1 for one on each core, or None")


def outcomes(parallel: Parallel, jobs: Iterable[Any]) -> Iterator[Any]:
    """Yield what joblib's ``delayed`` jobs return; ``parallel`` must return a generator. Ctrl-C ends all jobs."""
    elsewhere = effective_n_jobs(parallel.n_jobs) > 1  # those that run here have safe points, and need no trackers
    with hold_interrupts():
        with start_deaf() if elsewhere else nullcontext():
            results = parallel(jobs)
        try:
            with answer_at_once() if elsewhere else nullcontext():
                yield from results
        except GeneratorExit:
            raise
        except BaseException as error:
            time.sleep(_HANDING_OVER)
            results.throw(error)  # joblib ends its processes, if it has not done so yet
            raise


def job_runner(n_jobs: int | None, return_as: str = "generator") -> Parallel:
    """Return joblib's runner of ``delayed`` jobs, whose processes end when this one does."""
    return Parallel(n_jobs=n_jobs, return_as=return_as, initializer=_end_with, initargs=(os.getpid(),))


def process_pool(n_jobs: int) -> ProcessPoolExecutor:
    """Return an executor of processes that are deaf to Ctrl-C and end with this one."""
    return ProcessPoolExecutor(max_workers=n_jobs, initializer=_begin_process, initargs=(os.getpid(),))


def _begin_process(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with(parent)


def _end_with(parent: int) -> None:
    """End this process when the one that started it has ended, on systems where that can be seen."""
    if os.name != "posix" or os.getpid() == parent:
        return

    def watch() -> None:
        while os.getppid() == parent:  # an orphan has another parent
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def start_deaf() -> Iterator[None]:
    """Let processes that start within never hear Ctrl-C. This one still does, at the end at the latest."""
    if not hasattr(signal, "pthread_sigmask"):  # new processes inherit what is ignored, too
        with answer_interrupts(signal.SIG_IGN):
            yield
        return
    # Trackers let all signals through when they start, so they must be there before.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextmanager
def leave_no_processes(n_jobs: int | None) -> Iterator[None]:
    """End joblib's idle processes, which it keeps for later calls, when Ctrl-C gets through."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        if effective_n_jobs(n_jobs) > 1:
            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
        raise
