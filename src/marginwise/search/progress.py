"""Who hears of a search while it runs: a progress bar on terminals, and the callbacks of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from marginwise.errors import MarginwiseError
from marginwise.search.driver import Callback, Run
from marginwise.search.fit_progress import FitProgress, current_fit
from marginwise.search.trace import Record


class SearchWatch(Protocol):
    """What is told of the searches of one call."""

    def on_record(self, record: Record) -> None:
        """Hear of one more evaluation."""

    def on_run(self, run: Run) -> None:
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

    def on_run(self, run: Run) -> None:
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

    def on_run(self, run: Run) -> None:
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
