"""How much memory a piece of work takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak_memory(work: Callable[[], object]) -> int:
    """Return the bytes that ``work`` takes at its most, after a first run that compiles."""
    work()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
