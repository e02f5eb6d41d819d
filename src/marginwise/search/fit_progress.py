"""How far a whole fit of several searches is: one bar on terminals, lines of text elsewhere.

Searches and folds report to the fit that is under way, if there is one, and know nothing else of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

#: Stages of a fit in order, and the share of its time that each takes about: with folds, and without.
STAGES = {"search": 0.3, "folds": 0.4, "last search": 0.2, "training": 0.1}
STAGES_WITHOUT_FOLDS = {"search": 0.9, "training": 0.1}

#: Evaluations after which a search is half done, about: how many it will need is not known.
_HALF = 15

#: Share of a fit before which there is no telling how long the rest takes.
_TOO_EARLY = 0.03

#: Seconds between two lines of the same stage.
_INTERVAL = 5.0

_FIT: ContextVar[FitProgress | None] = ContextVar("fit", default=None)


class FitProgress:
    """A fit of these stages under way; ``show`` is called with it whenever something has changed.

    Attributes
    ----------
    stage : str
        That it is in, empty before the first.
    detail : str
        What is done in it.
    fraction : float
        Share of the whole fit that is done, as far as can be told. It never falls.
    """

    def __init__(self, show: Callable[[FitProgress], None], stages: dict[str, float] = STAGES) -> None:
        self._show, self._stages = show, stages
        self._began = time.perf_counter()
        self._evaluations = 0
        self.stage, self.detail, self.fraction = "", "", 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take if it goes on like this; None as long as that cannot be told."""
        return self.elapsed * (1.0 / self.fraction - 1.0) if self.fraction >= _TOO_EARLY else None

    @property
    def text(self) -> str:
        """All of it in a line."""
        what = f"{self.stage}, {self.detail}" if self.detail else self.stage
        return f"{what}: {100 * self.fraction:.0f} %, {clock(self.elapsed)} gone, {clock(self.left)} left"

    def begin(self, stage: str) -> None:
        """Go on to a stage; a search after folds is the last one."""
        if stage == "search" and self.stage in ("folds", "last search"):
            stage = "last search"
        if stage != self.stage:
            self.stage, self.detail, self._evaluations = stage, "", 0
            self._reach(0.0)

    def evaluated(self, value: float) -> None:
        """Hear of one more evaluation of a search, and its value."""
        self._evaluations += 1
        self.detail = f"evaluation {self._evaluations}, {value:.6g}"
        self._reach(self._evaluations / (self._evaluations + _HALF))

    def counted(self, done: int, total: int) -> None:
        """Hear how many of the stage's parts are done."""
        self.detail = f"{done} of {total}"
        self._reach(done / total)

    def _reach(self, within: float) -> None:
        names, shares = list(self._stages), list(self._stages.values())
        place = names.index(self.stage)
        self.fraction = max(self.fraction, sum(shares[:place]) + shares[place] * within)
        self._show(self)


class _Lines:
    """A line for each stage, and now and then one in between."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._stage, self._last = stream, "", 0.0

    def __call__(self, fit: FitProgress) -> None:
        now = time.monotonic()
        if fit.stage != self._stage or now - self._last >= _INTERVAL:
            self._stage, self._last = fit.stage, now
            self.write(fit.text)

    def write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


def current_fit() -> FitProgress | None:
    """Return the fit under way."""
    return _FIT.get()


def stage(name: str) -> None:
    """Tell the fit under way, if there is one, that a stage begins."""
    fit = _FIT.get()
    if fit is not None:
        fit.begin(name)


@contextmanager
def whole_fit(show: bool | None, *, folds: bool = True) -> Iterator[None]:
    """Show how far what runs within is: a bar on terminals if rich is there, else lines on standard error.

    Nothing is shown if ``show`` is False, or if it is None and there is no terminal. ``folds`` says whether there will
    be any.
    """
    with _shown(show) as shown:
        token = _FIT.set(FitProgress(shown, STAGES if folds else STAGES_WITHOUT_FOLDS))
        try:
            yield
        finally:
            _FIT.reset(token)


@contextmanager
def _shown(show: bool | None) -> Iterator[Callable[[FitProgress], None]]:
    terminal = sys.stderr.isatty()
    if show is False or (show is None and not terminal):
        yield lambda fit: None
        return
    rich: Any = None
    if terminal:
        try:
            import rich.progress as rich
        except ImportError:
            rich = None
    if rich is None:
        began, lines = time.perf_counter(), _Lines(sys.stderr)
        yield lines
        lines.write(f"fitted in {clock(time.perf_counter() - began)}")
        return
    from rich.console import Console

    columns = (rich.BarColumn(), rich.TextColumn("{task.description}"))
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda fit: bar.update(task, completed=fit.fraction, description=fit.text)


def clock(seconds: float | None) -> str:
    """Return a time as h:mm:ss."""
    if seconds is None:
        return "unknown time"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
