"""What is computed when it is first asked for, by one thread, while others wait for it."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class computed_once(cached_property[T]):  # noqa: N801  # is used like cached_property
    """A ``functools.cached_property`` that threads can ask at the same time: one computes, the others wait.

    From Python 3.12 on, ``cached_property`` itself lets each of them compute. The lock is kept with the instance, which
    must not store it: its ``__getstate__`` returns its fields.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with vars(instance).setdefault("_computing", threading.RLock()):
            return super().__get__(instance, owner)
