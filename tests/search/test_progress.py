"""The progress bar and scikit-learn's callbacks."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import toys
from marginwise.errors import MarginwiseError
from marginwise.search import Record
from marginwise.search.progress import counter, fit_task_callback
from marginwise.search.trace import Tuning
from marginwise.tuning import tune
from zoo import blobs

P = blobs(20, 2)


def go(**options: Any) -> Tuning:
    return tune(P.X, P.y, toys.Hill(), search="random-walk", max_evaluations=20, **options)


def test_is_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    go(random_state=0)
    assert capfd.readouterr() == ("", "")


def test_draws_when_asked_and_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    plain, shown = go(random_state=0), go(random_state=0, progress=True, restarts=1)
    written = capfd.readouterr().err
    assert "toy-hill: searches" in written
    assert "2/2" in written
    assert "20/20" in written
    assert shown.restarts[0].hyperparameters == plain.hyperparameters


def test_draws_by_itself_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    go(random_state=0, progress=False)
    assert capfd.readouterr().err == ""
    go(random_state=0)
    assert "evaluations" in capfd.readouterr().err


def test_a_counter_is_drawn_as_searches_are(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for show, drawn in ((True, True), (None, False), (False, False)):
        with counter(show, "folds", 4) as count:
            count(3)
        assert ("3/4" in capfd.readouterr().err) == drawn


def test_does_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    go(random_state=0)
    with pytest.raises(MarginwiseError, match="needs rich"):
        go(random_state=0, progress=True)


def test_passes_steps_on_to_the_callbacks_of_an_estimator() -> None:
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")

    class Estimator(callback.CallbackSupportMixin, BaseEstimator):
        @callback.with_callbacks
        def fit(self, X: Any, y: Any) -> Any:
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
            callback = fit_task_callback(self, context, lambda record: {"record_": record}, X=X, y=y)
            self.tuning_ = go(random_state=0, callbacks=[callback])
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
            return self

    class Watcher:
        """Stops the search at its eighth evaluation."""

        def __init__(self) -> None:
            self.begun: list[tuple[str, int]] = []
            self.ended: list[Record] = []

        def setup(self, estimator: Any, context: Any) -> None:
            pass

        def teardown(self, estimator: Any, context: Any) -> None:
            pass

        def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
            self.begun.append((context.task_name, context.task_id))

        def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, fitted_estimator: Any = None) -> bool:
            assert X is P.X
            if context.task_name == "evaluation":
                self.ended.append(fitted_estimator.record_)
            return len(self.ended) == 8

    watcher = Watcher()
    estimator = Estimator().set_callbacks(watcher).fit(P.X, P.y)
    assert watcher.begun == [("fit", 0), *(("evaluation", k) for k in range(8))]
    assert len(estimator.tuning_.trace) == 8
    assert "stopped by a callback" in estimator.tuning_.status.message
    assert watcher.ended == list(estimator.tuning_.trace)
