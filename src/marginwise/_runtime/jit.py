"""Compilation of numerical loops: compiled code is cached on disk, so that it happens once on each machine."""

from __future__ import annotations

import hashlib
import linecache
import logging
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from marginwise._runtime.garbage import uncollected

_CONFIG: Any = numba.config  # which is read from the environment

#: Seconds of compilation that a user is told of.
_WORTH_TELLING = 0.5

#: All compiled functions, in the order in which they were declared.
FUNCTIONS: list[Any] = []


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile at the first call, and keep the machine code on disk so that later processes start at once."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    try:
        with _kept_in(cache_folder() / f"{function.__module__}-{_digest(function)}"):
            dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:  # of Numba, for want of a directory that can be written
        if "no locator available" not in str(error):
            raise
        _warn_that_nothing_is_kept()
        dispatcher = numba.njit(**options)(function)
    FUNCTIONS.append(dispatcher)
    return dispatcher


#: The same, free to reorder sums and to assume no NaN, so that loops use vector instructions. Infinities are kept.
compiled_vector = partial(compiled, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"})

#: A part of compiled functions that Python itself does not call: without the code to be called from there.
compiled_part = partial(compiled, no_cpython_wrapper=True)


def cache_folder() -> Path:
    """Return where compiled code is kept: a folder of the user's, which no reinstallation touches."""
    if _CONFIG.CACHE_DIR:  # NUMBA_CACHE_DIR
        return Path(_CONFIG.CACHE_DIR)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "marginwise"


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """Let Numba look here first; where it can't write, it goes on to the package and its own folder."""
    before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        _CONFIG.CACHE_DIR = before


#: What stands in the files of modules with compiled functions, and in those that they take compiled functions from.
_DIGESTS: dict[str, str] = {}


def _digest(function: Callable[..., Any]) -> str:
    """Return a number of all source that goes into a compiled function.

    Numba looks at the file of the function alone: after a change of another one, it would go on with old code.
    """
    module = function.__module__
    if module not in _DIGESTS:
        taken = {value.__module__ for value in function.__globals__.values() if any(value is one for one in FUNCTIONS)}
        source = linecache.getlines(function.__code__.co_filename, function.__globals__)  # from archives, too
        parts = [*source, *(_DIGESTS[name] for name in sorted(taken - {module}))]
        _DIGESTS[module] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return _DIGESTS[module]


@cache
def _warn_that_nothing_is_kept() -> None:
    if multiprocessing.parent_process() is None:  # the first process speaks for all
        warnings.warn(
            f"neither {cache_folder()} nor the directory of marginwise is writable: every process compiles again, "
            "which takes a few seconds; set NUMBA_CACHE_DIR to a writable directory to keep the compiled code",
            stacklevel=2,
        )


class _Compilations(event.Listener):
    """Adds up the time of compilations, during which no garbage is collected; parts of others are in their time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._under_way: list[ExitStack] = []  # of one thread: Numba lets only one compile

    def on_start(self, event: Any) -> None:
        self._under_way.append(scope := ExitStack())
        if len(self._under_way) == 1:
            scope.enter_context(uncollected())
            scope.callback(self._add_since, time.perf_counter())

    def on_end(self, event: Any) -> None:
        if self._under_way:  # one of somebody else's may have begun before marginwise was imported
            self._under_way.pop().close()

    def _add_since(self, start: float) -> None:
        self.seconds += time.perf_counter() - start


_compilations = _Compilations()
event.register("numba:compile", _compilations)  # type: ignore[no-untyped-call]


@contextmanager
def telling_of_compilation() -> Iterator[None]:
    """Log a line to the logger ``marginwise`` if compilation took noticeable time."""
    before = _compilations.seconds
    yield
    seconds = _compilations.seconds - before
    if seconds > _WORTH_TELLING and multiprocessing.parent_process() is None and FUNCTIONS[0].stats.cache_path:
        logging.getLogger("marginwise").warning(
            "marginwise compiled its loops for this machine, which took %.1f s; the next process finds them in %s",
            seconds,
            cache_folder(),
        )
