"""What an estimator keeps: as it was if a fit does not come to its end, and loadable by later versions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from marginwise._runtime.interrupts import hold_interrupts, safe_point


class StoredEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that can be loaded from before it had all its parameters: those have their defaults then."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = inspect.signature(type(self)).parameters.values()
        super().__setstate__({parameter.name: parameter.default for parameter in parameters} | state)


@contextmanager
def as_before_unless_done(estimator: BaseEstimator) -> Iterator[None]:
    """Set all that a fit sets, or nothing of it: after an error or Ctrl-C the estimator is as it was before."""
    with hold_interrupts():
        before = vars(estimator).copy()
        try:
            yield
            safe_point()
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise
