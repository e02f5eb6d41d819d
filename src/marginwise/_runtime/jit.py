"""Compilation of numerical loops, in one place."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile at the first call, and keep the machine code on disk so that later processes start at once."""
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError as error:  # of Numba, for want of a directory that can be written
        if "no locator available" not in str(error):
            raise
        _warn_that_nothing_is_kept()
        return numba.njit(nogil=True, **options)(function)


@cache
def _warn_that_nothing_is_kept() -> None:
    if multiprocessing.parent_process() is None:  # the first process speaks for all
        warnings.warn(
            "neither the directory of marginwise nor the home directory can be written: each process compiles anew, "
            "which takes some seconds; set NUMBA_CACHE_DIR to a directory that can be written, and it is kept there",
            stacklevel=2,
        )


#: The same, free to reorder sums and to assume no NaN, so that loops use vector instructions. Infinities are kept.
compiled_vector = partial(compiled, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"})
