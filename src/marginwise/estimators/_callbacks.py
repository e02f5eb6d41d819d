"""The callbacks of scikit-learn 1.9 and later; before, there are none and nothing is different."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from marginwise.search import Callback, Record
from marginwise.search.progress import fit_task_callback

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    if not TYPE_CHECKING:

        class CallbackSupportMixin:
            """No callbacks."""

        def with_callbacks(method):
            """Return the method."""
            return method


@contextmanager
def fit_task(
    estimator: Any, at: Callable[[Record], dict[str, Any] | None], **data: Any
) -> Iterator[tuple[Callback, ...]]:
    """Tell the estimator's callbacks that its fit begins and ends; yield what searches are to call meanwhile.

    ``at`` and ``data`` are those of ``marginwise.search.progress.fit_task_callback``.
    """
    if not getattr(estimator, "_skl_callbacks", ()):
        yield ()
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, **data)
    yield (fit_task_callback(estimator, context, at, **data),)
    context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={}, **data)


__all__ = ["CallbackSupportMixin", "fit_task", "with_callbacks"]
