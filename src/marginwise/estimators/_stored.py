"""What an estimator keeps: as it was if a fit does not come to its end, and loadable by later versions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from marginwise._arrays import Array
from marginwise._runtime.interrupts import hold_interrupts, safe_point


class StoredEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that can be loaded from before it had all its parameters: those have their defaults then."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = inspect.signature(type(self)).parameters.values()
        super().__setstate__({parameter.name: parameter.default for parameter in parameters} | state)

    @property
    def _n_inputs(self) -> int:
        """The number of inputs that what was learnt is for."""
        raise NotImplementedError

    def _decisions(self, cells: Array) -> Array:
        """Return the decision values of cells, a column for two classes."""
        raise NotImplementedError

    def check_stored(self) -> None:
        """Raise if a fitted estimator, from a file that anybody may have changed, does not predict."""
        n = self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        if type(n) is not int or n != self._n_inputs or (names is not None and len(names) != n):
            raise ValueError(f"it is for {self._n_inputs} inputs, and says that it has {n}")
        values = np.asarray(self._decisions(np.zeros((1, n))))
        width = len(np.unique(self.classes_[self.classes_ == self.classes_]))
        if width < 2 or width != len(self.classes_):
            raise ValueError(f"its classes are {self.classes_}")
        if values.shape != (1, 1 if width == 2 else width):
            raise ValueError(f"it has {width} classes, and predicts {values.shape[1:]}")
        if not np.isfinite(values).all():
            raise ValueError("it predicts what is no number")


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
