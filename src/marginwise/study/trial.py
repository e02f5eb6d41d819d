"""One trial: all that it depends on, and its row."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from importlib.metadata import version
from typing import Any

from marginwise._runtime.threads import one_thread
from marginwise.criteria.base import Criterion
from marginwise.datasets.benchmarks import Benchmark
from marginwise.search.states import fingerprint
from marginwise.study.data import DESCRIBED, Source, load_data
from marginwise.study.plan import Effort, Method, Trial
from marginwise.study.record import Outcome, TrialRow

_LIBRARY = __name__.partition(".")[0]


@dataclass(frozen=True)
class TrialTask:
    """A trial with everything that its row follows from; it can be sent to any worker."""

    trial: Trial
    method: Method
    source: Source
    effort: Effort

    def run(self) -> TrialRow:
        """Run the trial with one thread; an error becomes a row that says so."""
        begun = time.thread_time()
        common: dict[str, Any] = {**asdict(self.trial), "seed": self.trial.seed, "versions": versions()}
        try:
            with one_thread():
                data = load_data(self.source, self.effort)
                found = self.method.run(data, self.trial, self.effort)
            settings = self.settings()
        except Exception as error:  # whatever it is: it has a name, is kept, and is tried again
            name, message = type(error).__name__, str(error)
            seconds = time.thread_time() - begun
            return TrialRow(status="failed", message=message, error_name=name, seconds=seconds, **common)
        return TrialRow(
            status="done",
            seconds=time.thread_time() - begun,
            fingerprint=digest(settings),
            **{column.name: getattr(found, column.name) for column in fields(Outcome)},
            **common,
        )

    def settings(self) -> dict[str, Any]:
        """Return all that the rows of its cell depend on, as plain values."""
        data = load_data(self.source, self.effort)
        code = {name: digest(text) for name, text in _own_code(self.method)}
        return {
            "marginwise": version("marginwise"),
            "data": fingerprint_of(data),
            "method": fingerprint(self.method),
            "effort": fingerprint(self.effort),
            **({"code": code} if code else {}),
        }

    def about(self) -> dict[str, Any]:
        """Return what else a reader wants to know of the cell: the sizes of its data, and where they are from."""
        data = load_data(self.source, self.effort)
        sizes = {"inputs": data.n_inputs, "training": len(data.y_train), "test": len(data.y_test)}
        name = type(self.source).__name__
        return {**sizes, "source": [name, vars(self.source)]} if name in DESCRIBED else sizes


def fingerprint_of(data: Benchmark) -> Any:
    """Return the data in a form that tells whether others are the same."""
    return fingerprint([data.X_train, data.y_train, data.X_test, data.y_test])


def digest(settings: Any) -> str:
    """Return the fingerprint of settings. Where a class of the library is defined is none: it may move."""
    return hashlib.sha256(json.dumps(without_places(settings), sort_keys=True).encode()).hexdigest()[:16]


def without_places(settings: Any) -> Any:
    """Return settings with classes of the library by their names, without the modules they are in."""
    if isinstance(settings, dict):
        return {key: without_places(value) for key, value in settings.items()}
    if isinstance(settings, list):
        return [without_places(value) for value in settings]
    if isinstance(settings, str) and settings.startswith(f"{_LIBRARY}."):
        return settings.rpartition(".")[2]
    return settings


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return in words where two settings differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted(before.keys() | now.keys())
        return [text for key in keys for text in differences(before.get(key), now.get(key), f"{place}{key} ")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [text for one, other in zip(before, now, strict=True) for text in differences(one, other, place)]
    return [] if before == now else [f"{place}was {before}, is {now}"]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    packages = ("marginwise", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _own_code(method: Method) -> Iterator[tuple[str, str]]:
    """Yield the modules of a user that a method is made of, and their sources: they change without a new version."""
    parts = [value for value in getattr(method, "__dict__", {}).values() if isinstance(value, Criterion)]
    for thing in (method, *parts):
        name = type(thing).__module__
        if name.partition(".")[0] != _LIBRARY:
            try:
                yield name, inspect.getsource(import_module(name))
            except (ImportError, OSError, TypeError):  # typed into an interpreter: nothing to compare
                continue
