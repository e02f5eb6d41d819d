"""Who answers Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def answer_interrupts(handler: Any) -> Iterator[None]:
    """Let ``handler`` answer Ctrl-C for a while, if this is the thread that hears it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Keep Ctrl-C waiting until the end; processes started meanwhile never hear it, and leave it to this one."""
    if not hasattr(signal, "pthread_sigmask"):  # where signals can't be held back, they are ignored
        with answer_interrupts(signal.SIG_IGN):
            yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
