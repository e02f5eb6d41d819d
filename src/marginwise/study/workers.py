"""Where trials run: in this process, in processes here, or on a Dask cluster. All take a function and give a future."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol, cast

from joblib import effective_n_jobs

from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.packages import require
from marginwise._runtime.processes import check_n_jobs, process_pool, start_deaf
from marginwise.errors import InvalidInputError, MarginwiseError, choose

BACKENDS = ("loky", "dask")


class Workers(Protocol):
    """Something that runs functions elsewhere."""

    def capacity(self) -> int:
        """Return how many functions can run at the same time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a function; its result comes through the future."""

    def restart(self) -> None:
        """Begin anew after a worker was killed."""

    def close(self, *, kill: bool = False) -> None:
        """End all workers; ``kill`` those that are at work."""


@contextmanager
def start_workers(backend: str, n_jobs: int, scheduler: str | None) -> Iterator[Workers]:
    """Yield workers, and end them when done; when an error gets through, at once."""
    workers = _make(backend, n_jobs, scheduler)
    try:
        yield workers
    except BaseException:
        workers.close(kill=True)
        raise
    workers.close()


def _make(backend: str, n_jobs: int, scheduler: str | None) -> Workers:
    if choose("backend", backend, BACKENDS) == "dask":
        return _Dask(scheduler)
    if scheduler is not None:
        raise InvalidInputError("scheduler", scheduler, "None, unless backend is 'dask'")
    check_n_jobs(n_jobs)
    count = effective_n_jobs(n_jobs)
    return _Here() if count == 1 else _Processes(count)


class _Here:
    """This process, one function after the other."""

    def capacity(self) -> int:
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))  # an error, or Ctrl-C, goes straight to the caller
        return future

    def restart(self) -> None: ...

    def close(self, *, kill: bool = False) -> None: ...


class _Processes:
    """Processes on this machine, by the executor that joblib brings along."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.restart()

    def capacity(self) -> int:
        return self._count

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        with hold_interrupts(), start_deaf():
            return self._executor.submit(function, *arguments)

    def restart(self) -> None:
        self._executor = process_pool(self._count)

    def close(self, *, kill: bool = False) -> None:
        self._executor.shutdown(wait=True, kill_workers=kill)


class _Dask:
    """A Dask cluster. It runs again elsewhere what a killed worker had begun."""

    def __init__(self, scheduler: str | None) -> None:
        require("distributed", "the backend 'dask' needs", "marginwise[dask]")
        import distributed

        if scheduler is None:
            raise InvalidInputError("scheduler", scheduler, "the address of a Dask scheduler, as tcp://HOST:8786")
        try:
            self._client: Any = cast(Any, distributed).Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise MarginwiseError(f"there is no Dask scheduler at {scheduler} ({error})") from None
        self._executor = self._client.get_executor(pure=False, retries=0)

    def capacity(self) -> int:
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def restart(self) -> None: ...

    def close(self, *, kill: bool = False) -> None:
        self._executor.shutdown(wait=not kill)
        self._client.close()
