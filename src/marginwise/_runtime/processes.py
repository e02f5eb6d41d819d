"""Jobs in other processes, by joblib, so that Ctrl-C ends them all and is never lost.

A terminal sends Ctrl-C to all processes. Those that run jobs never hear it: the one that waits for them answers.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from joblib import Parallel, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker as loky_tracker

from marginwise._runtime.interrupts import answer_at_once, answer_interrupts, hold_interrupts

_HANDING_OVER = 0.1  # seconds; ended before a thread of its own has taken up the first jobs, joblib prints a KeyError


def outcomes(parallel: Parallel, jobs: Iterable[Any]) -> Iterator[Any]:
    """Yield what joblib's ``delayed`` jobs return; ``parallel`` must return a generator. Ctrl-C ends all jobs."""
    with hold_interrupts():
        with start_deaf():
            results = parallel(jobs)
        try:
            if effective_n_jobs(parallel.n_jobs) == 1:  # the jobs run here, and have safe points
                yield from results
            else:
                with answer_at_once():
                    yield from results
        except GeneratorExit:
            raise
        except BaseException as error:
            time.sleep(_HANDING_OVER)
            results.throw(error)  # joblib ends its processes, if it has not done so yet
            raise


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
