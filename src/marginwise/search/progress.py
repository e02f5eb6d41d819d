"""Who hears of a search while it runs: a progress bar on terminals, and the callbacks of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from marginwise.errors import MarginwiseError
from marginwise.search.driver import Callback, Run
from marginwise.search.trace import Record


class Bar:
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


@contextmanager
def progress_bar(
    show: bool | None, description: str, *, n_runs: int, max_evaluations: int | None
) -> Iterator[Bar | None]:
    """Yield a progress bar; None if ``show`` is False, or is None and there is no terminal or no rich."""
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
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[value]}"), console=Console(stderr=True)) as progress:
        yield Bar(progress, description, n_runs, max_evaluations)


def fit_task_callback(estimator: Any, context: Any) -> Callback:
    """Return a callback that passes each step on to the callbacks of a scikit-learn estimator.

    ``context`` is the ``sklearn.callback.CallbackContext`` of the estimator's fit (scikit-learn 1.9 or
    later), made with ``max_subtasks=None``. Each evaluation of a search is one of its tasks, with the
    hyperparameters, value and acceptance as metadata; the search ends when a callback asks for it.
    """

    def callback(record: Record) -> bool:
        task = context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=estimator)
        metadata = {
            "hyperparameters": record.hyperparameters,
            "value": record.point.value,
            "accepted": record.step.accepted,
        }
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    return callback
