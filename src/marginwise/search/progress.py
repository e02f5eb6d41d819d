"""Who hears of searches while they run: progress bars on terminals, lines of text elsewhere, scikit-learn's callbacks.

Searches and folds report to the fit that is under way, if there is one, and know nothing else of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TextIO

from marginwise.errors import MarginwiseError
from marginwise.search.trace import Callback, Record, Tuning

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


class SearchWatch(Protocol):
    """What is told of the searches of one call."""

    def on_record(self, record: Record) -> None:
        """Hear of one more evaluation."""

    def on_run(self, run: Tuning) -> None:
        """Hear of one more search that has ended."""


class SearchBar:
    """A progress bar for the searches of one call and the evaluations of the one under way."""

    def __init__(self, progress: Any, description: str, n_runs: int, max_evaluations: int | None) -> None:
        self._progress = progress
        self._runs = progress.add_task(f"{description}: searches", total=n_runs, value="")
        self._evaluations = progress.add_task("evaluations", total=max_evaluations, value="")

    def on_record(self, record: Record) -> None:
        """Show one more evaluation."""
        self._progress.update(self._evaluations, completed=record.index + 1)
        if record.step.accepted:
            self._progress.update(self._evaluations, value=f"{record.point.value:.6g}")

    def on_run(self, run: Tuning) -> None:
        """Show one more search that has ended."""
        self._progress.update(self._runs, advance=1, value=f"{run.value:.6g}")


class SearchInFit:
    """Searches that are a part of a whole fit, which shows them."""

    def __init__(self, fit: FitProgress) -> None:
        self._fit = fit
        fit.begin("search")

    def on_record(self, record: Record) -> None:
        """Show one more evaluation."""
        self._fit.evaluated(record.point.value)

    def on_run(self, run: Tuning) -> None:
        """Nothing is shown: the fit goes on."""


@contextmanager
def progress_bar(
    show: bool | None, description: str, *, n_runs: int, max_evaluations: int | None
) -> Iterator[SearchWatch | None]:
    """Yield a progress bar; None if ``show`` is False, or is None and there is no terminal or no rich.

    Within a whole fit that is shown there is no bar but the fit's.
    """
    fit = current_fit()
    if fit is not None:
        yield None if show is False else SearchInFit(fit)
        return
    with _progress(show, "{task.fields[value]}") as progress:
        yield None if progress is None else SearchBar(progress, description, n_runs, max_evaluations)


@contextmanager
def counter(show: bool | None, description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more of ``total`` tasks are done; drawn as :func:`progress_bar` is.

    Within a whole fit these are parts of the stage ``description``.
    """
    fit = current_fit()
    if fit is not None:
        fit.begin(description)
        done = 0

        def count(n: int) -> None:
            nonlocal done
            done += n
            fit.counted(done, total)

        yield count
        return
    with _progress(show) as progress:
        if progress is None:
            yield lambda n: None
        else:
            task = progress.add_task(description, total=total)
            yield lambda n: progress.advance(task, n)


@contextmanager
def _progress(show: bool | None, *texts: str) -> Iterator[Any]:
    """Yield rich's progress display, which vanishes from terminals at its end; None if there is none to be drawn."""
    if show is False or (show is None and not sys.stderr.isatty()):
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        if show:
            raise MarginwiseError("progress=True needs rich (pip install rich)") from None
        yield None
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    columns += [TextColumn(text) for text in texts]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=console.is_terminal) as progress:
        yield progress


def fit_task_callback(
    estimator: Any, context: Any, at: Callable[[Record], dict[str, Any] | None], **data: Any
) -> Callback:
    """Return a callback that passes each step on to the callbacks of a scikit-learn estimator.

    ``context`` is the ``sklearn.callback.CallbackContext`` of the estimator's fit (scikit-learn 1.9 or
    later), made with ``max_subtasks=None``. Each evaluation of a search is one of its tasks; the search ends when
    a callback asks for it. ``at`` returns the attributes of an estimator fitted there, if there can be one, and is
    called only when a callback asks for such an estimator. ``data`` are X, y and metadata of the fit.
    """

    def callback(record: Record) -> bool:
        task = context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=estimator, **data)
        attributes = {"reconstruction_attributes": lambda: at(record)}
        return bool(task.call_on_fit_task_end(estimator=estimator, **data, **attributes))

    return callback
