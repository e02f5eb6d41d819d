"""Who answers Ctrl-C, and when.

A signal handler that raises does so wherever Python happens to be: in the middle of a clean-up, in a destructor or a
callback from C, which swallow the exception, or in the helper with which Numba wraps results, where it becomes a
SystemError. After a long compiled loop that helper is the first Python code to run, so that this is common.
Long computations therefore hold Ctrl-C back and answer it at safe points, where nothing is half done.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Seconds after which Ctrl-C no longer waits for a safe point (a criterion of the user's, a first compilation), and
#: between further attempts.
_PATIENCE, _AGAIN = 0.5, 0.05

#: Modules in which an exception at any moment does harm. Numba calls the first from compiled code and does not look at
#: how it ended: a SystemError. The next two are called back where exceptions are swallowed, and so is the fourth,
#: which, as the last, would not restore what it has set.
_UNSAFE = {
    *("numba.core.serialize", "weakref", "llvmlite.binding.executionengine"),
    *("threadpoolctl", "marginwise._runtime.threads"),
}


@contextmanager
def answer_interrupts(handler: Any) -> Iterator[None]:
    """Let ``handler`` answer Ctrl-C for a while, if this is the thread that hears it.

    A handler that was not installed from Python can't be put back, and stays.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous is None:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the next safe point, or the end; then the handler from before answers it.

    Errors that come after Ctrl-C, such as that of a process which it ended, give way to the answer. In threads that
    don't hear Ctrl-C, within another hold, and where Ctrl-C is ignored, nothing is different.
    """
    global _held
    previous = signal.getsignal(signal.SIGINT)
    if _held is not None or threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    held = _Held(previous)
    _held = held
    signal.signal(signal.SIGINT, held.on_signal)
    try:
        yield
    except BaseException as error:
        held.close()
        if held.is_due and error is not held.answer:
            held.give_answer(None)
        raise
    held.close()
    if held.is_due:
        held.give_answer(None)


def safe_point() -> None:
    """Answer Ctrl-C here if it was held back. Long computations call it between parts of less than a second."""
    held = _own()
    if held is not None and held.is_due:
        held.give_answer(None)


@contextmanager
def answer_at_once() -> Iterator[None]:
    """Answer Ctrl-C wherever it comes: for a while in which this process only waits for others."""
    held = _own()
    if held is None:
        yield
        return
    held.at_once = True
    try:
        safe_point()
        yield
    finally:
        held.at_once = False


def answered() -> None:
    """Note that Ctrl-C was handled, so that no later safe point handles it again."""
    held = _own()
    if held is not None:
        held.waiting, held.answer = False, None


class _Held:
    """Ctrl-C held back.

    Attributes
    ----------
    waiting : bool
        Whether it was pressed and is not answered yet.
    answer : BaseException or None
        What the handler from before has raised. While this is set and the computation goes on, something has
        swallowed it.
    at_once : bool
        Whether the next one is answered wherever it comes.
    """

    def __init__(self, handler: Any) -> None:
        self.waiting, self.at_once = False, False
        self.answer: BaseException | None = None
        self._handler, self._nudged, self._open = handler, False, True
        self._lock = threading.Lock()

    @property
    def is_due(self) -> bool:
        return self.waiting or self.answer is not None

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        nudged, self._nudged = self._nudged, False
        if nudged and not self.waiting:
            return  # answered in the meantime
        if (nudged or self.at_once) and not _is_unsafe(frame):
            self.give_answer(frame)
        elif not self.waiting:
            self.waiting = True
            _thread.start_new_thread(self._watch, ())  # takes no lock, which the interrupted code might hold

    def give_answer(self, frame: FrameType | None) -> None:
        """Let the handler from before answer; as a rule it raises."""
        self.waiting = self.at_once = False
        self.answer = None
        try:
            self._handler(signal.SIGINT, frame)
        except BaseException as answer:
            self.answer = answer
            raise

    def close(self) -> None:
        """Stop handling Ctrl-C, unless another handler was installed in the meantime."""
        global _held
        with self._lock:
            self._open = False
        _held = None
        if signal.getsignal(signal.SIGINT) == self.on_signal:
            signal.signal(signal.SIGINT, self._handler)  # first calls on_signal for what has come

    def _watch(self) -> None:
        """Ask for an answer when none was given for a while."""
        pause = _PATIENCE
        while True:
            time.sleep(pause)
            with self._lock:
                if not (self._open and self.waiting):
                    return
                self._nudged = True
                _thread.interrupt_main()
            pause = _AGAIN


#: What holds Ctrl-C back at present; only the main thread does.
_held: _Held | None = None


def _is_unsafe(frame: FrameType | None) -> bool:
    """Return whether one of the functions under way must not be left by an exception."""
    while frame is not None:
        if frame.f_globals.get("__name__") in _UNSAFE or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _own() -> _Held | None:
    """Return what holds Ctrl-C back, if this is the thread that hears it."""
    if _held is None or threading.current_thread() is not threading.main_thread():
        return None
    return _held
