"""Work that takes a while: progress on terminals, and processes that leave Ctrl-C to the one that started them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def counted(items: Iterable[Item], total: int, unit: str, *, quiet: bool) -> Iterator[Item]:
    """Yield the items, and show on a terminal how many there were and how long the others will take."""
    if quiet or not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield from items
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=total)
        for item in items:
            progress.advance(task)
            yield item


def start_workers(n_jobs: int) -> None:
    """Start the processes of joblib deaf to Ctrl-C, which a terminal sends to all of them: only the command answers.

    A process inherits which signals are ignored; joblib keeps its processes for later calls.
    """
    from joblib import Parallel, delayed

    if n_jobs == 1:
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Parallel(n_jobs)(delayed(abs)(i) for i in range(2))
    finally:
        signal.signal(signal.SIGINT, previous)
