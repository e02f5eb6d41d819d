"""How far a study is and how long it will take, on terminals."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from marginwise.search.progress import clock
from marginwise.study.plan import Trial
from marginwise.study.record import TrialRow

#: Seconds between two lines where there is no bar.
_INTERVAL = 10.0


class Forecast:
    """How long trials take, from those that have ended."""

    def __init__(self, rows: Sequence[TrialRow] = ()) -> None:
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for row in rows:
            self.add(row)

    def add(self, row: TrialRow) -> None:
        """Learn from one more trial."""
        if row.status == "done":
            for key in ((row.dataset, row.method), (row.method,), ()):
                self._seconds[key].append(row.seconds)

    def seconds(self, trials: Sequence[Trial], workers: int) -> float | None:
        """Return how long these trials will take on so many workers; None as long as nothing is known.

        A cell takes what its trials have taken on average, a new cell what its method has taken, a new method what
        all have.
        """
        if () not in self._seconds:
            return None
        total = 0.0
        for trial in trials:
            keys = ((trial.dataset, trial.method), (trial.method,), ())
            known = next(self._seconds[key] for key in keys if key in self._seconds)
            total += sum(known) / len(known)
        return total / max(1, workers)


class Progress:
    """Nothing is shown; the others show what they are told."""

    def update(self, remaining: Sequence[Trial], in_work: int, workers: int) -> None:
        """Show how many trials are left, and how many of them are in work on so many workers."""

    def finished(self, row: TrialRow) -> None:
        """Hear of one more trial that has ended."""


class Lines(Progress):
    """A line now and then."""

    def __init__(self, stream: TextIO, total: int, rows: Sequence[TrialRow]) -> None:
        self._stream, self._total, self._forecast = stream, total, Forecast(rows)
        self._failed, self._last = 0, float("-inf")

    def update(self, remaining: Sequence[Trial], in_work: int, workers: int) -> None:
        now = time.monotonic()
        if now - self._last >= _INTERVAL or not remaining:
            self._last = now
            self._write(remaining, in_work, workers)

    def finished(self, row: TrialRow) -> None:
        self._forecast.add(row)
        self._failed += row.status == "failed"

    def _write(self, remaining: Sequence[Trial], in_work: int, workers: int) -> None:
        self._stream.write(self._text(remaining, in_work, workers) + "\n")
        self._stream.flush()

    def _text(self, remaining: Sequence[Trial], in_work: int, workers: int) -> str:
        done = self._total - len(remaining)
        failed = f", {self._failed} failed" if self._failed else ""
        left = clock(self._forecast.seconds(remaining, workers))
        return f"{done} of {self._total} trials{failed}, {in_work} in work, {left} left"


class TrialBar(Lines):
    """A bar of rich."""

    def __init__(self, bar: Any, total: int, rows: Sequence[TrialRow]) -> None:
        super().__init__(sys.stderr, total, rows)
        self._bar, self._task = bar, bar.add_task("", total=total)

    def update(self, remaining: Sequence[Trial], in_work: int, workers: int) -> None:
        text = self._text(remaining, in_work, workers)
        self._bar.update(self._task, completed=self._total - len(remaining), description=text)


@contextmanager
def show_progress(show: bool | None, trials: Sequence[Trial], rows: Sequence[TrialRow]) -> Iterator[Progress]:
    """Yield what shows progress: a bar on terminals if rich is there, else lines.

    Nothing is shown if ``show`` is False, or if it is None and there is no terminal.
    """
    if show is False or (show is None and not sys.stderr.isatty()):
        yield Progress()
        return
    mine = set(trials)
    known = [row for row in rows if row.trial in mine]
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        yield Lines(sys.stderr, len(trials), known)
        return
    if not sys.stderr.isatty():
        yield Lines(sys.stderr, len(trials), known)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        yield TrialBar(bar, len(trials), known)
