"""What lets a later version of the library load a model of this one."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator


class StoredEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that can be loaded from before it had all its parameters: those have their defaults then."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = inspect.signature(type(self)).parameters.values()
        super().__setstate__({parameter.name: parameter.default for parameter in parameters} | state)
