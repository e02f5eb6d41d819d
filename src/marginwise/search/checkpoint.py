"""The memory of a search on disk: a search that is killed at any moment can be continued from it.

Each run has a log, one line of JSON for each evaluation with a checksum, written when all that followed from it is
settled; and, when the criterion has one, the state that its next evaluation is started from, in a file of its own. A
run is continued by being told the logged points again: it then proposes the same positions and draws the same
random numbers, so that it ends as if it had never stopped, to the last bit. Whatever is missing or damaged is computed
again. A log holds numbers, and states hold arrays: reading them runs nothing that is in them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.files import hold, sync, write_whole
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.search.base import Point
from marginwise.search.states import NotPlainError, from_bytes, to_bytes
from marginwise.search.trace import Record
from marginwise.status import CONVERGED, Status

Entry = dict[str, Any]

#: Seconds to wait for another process that has the log: one whose parent was killed ends within this time.
_PATIENCE = 5.0

#: States that are kept: if the last line is lost, the state of the one before is there.
_STATES = 2

#: What a line says of the state of an evaluation that left one which can't be written.
_NOT_KEPT = "not kept"


class Checkpoint:
    """The log of one run in a directory, which nobody else can open at the same time.

    Opening it reads what is there: ``entries``, in order. A last line that was cut off when the run was
    killed is dropped; so are all lines from one on that was damaged, with a warning. ``settings`` describe everything
    that the run depends on; a log with other settings is refused.
    """

    def __init__(self, directory: Path, run: int, settings: dict[str, Any]) -> None:
        self.entries: list[Entry] = []
        self._directory, self._path = directory, log_path(directory, run)
        self._kept: list[int] = []
        with self._explained():
            directory.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(self._path, "ab")  # noqa: SIM115  (closed by close)
        try:
            self._open(settings)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record, state: Any) -> None:
        """Add an evaluation; ``state`` is what it leaves to the next one, kept if the search moved there.

        The state is on the disk before the line, and older ones are deleted after: at every moment the state
        that belongs to the last complete line is there.
        """
        name = None
        with self._explained():
            if record.step.accepted and state is not None:
                name = self._keep(record.index, state)
            self._write(_to_entry(record, name))
            if record.step.accepted:
                self._kept = [*self._kept, record.index][-_STATES:]
                self._forget_states()

    def state(self, index: int) -> Any:
        """Return the state that evaluation ``index`` left, None if it left none; a KeyError if it must be made anew."""
        name = self.entries[index]["state"]
        if name is None:
            return None
        try:
            content = self._state_path(index).read_bytes()
            if _digest(content) == name:
                return from_bytes(content)
        except (OSError, NotPlainError):
            pass
        raise KeyError(index)

    def refuse(self, reason: str) -> InvalidInputError:
        """Return the error that says why this checkpoint cannot be continued."""
        return InvalidInputError(
            "checkpoint",
            str(self._path),
            f"a checkpoint of the same problem with the same settings ({reason})",
        )

    def close(self) -> None:
        """Close the log, so that others can open it."""
        self._file.close()

    def _open(self, settings: dict[str, Any]) -> None:
        with self._explained():
            free = hold(self._file, _PATIENCE)
        if not free:
            raise InvalidInputError(
                "checkpoint",
                str(self._path),
                "a checkpoint that no other process works on; wait until it has ended, or take another directory",
            )
        with self._explained():
            lines, size, bad = _complete_lines(self._path)
        if lines:
            self._check(lines[0], settings)
            self.entries = lines[1:]
            if not all(map(_is_entry, self.entries)):
                raise self.refuse("some line of it describes no evaluation")
        elif bad:
            raise self.refuse("this file is something else, or its first line was damaged")
        if bad:
            warnings.warn(
                f"{self._path} was damaged after {len(self.entries)} evaluations; those from there on are made again",
                stacklevel=2,
            )
        with self._explained():
            self._file.truncate(size)
            if not lines:
                self._write(settings)
        self._kept = [index for index, entry in enumerate(self.entries) if entry["accepted"]][-_STATES:]

    def _check(self, found: Entry, settings: dict[str, Any]) -> None:
        for key in sorted(found.keys() | settings.keys()):
            if found.get(key) != settings.get(key):
                raise self.refuse(f"{key} differs: {_short(found.get(key))} there, {_short(settings.get(key))} here")

    def _keep(self, index: int, state: Any) -> str:
        """Write a state and return its digest; a state with more than data in it is made anew where it is needed."""
        try:
            content = to_bytes(state)
        except NotPlainError:
            return _NOT_KEPT
        write_whole(self._state_path(index), content)
        return _digest(content)

    def _write(self, entry: Entry) -> None:
        self._file.write(signed_line(entry))
        sync(self._file)

    def _state_path(self, index: int) -> Path:
        return self._path.with_suffix(f".state-{index}")

    def _forget_states(self) -> None:
        kept = {self._state_path(index) for index in self._kept}
        for path in self._directory.glob(f"{self._path.stem}.state-*"):
            if path not in kept:
                path.unlink(missing_ok=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what a full disk or missing rights mean."""
        try:
            yield
        except OSError as error:
            raise MarginwiseError(
                f"the checkpoint {self._path} can't be read or written: {error.strerror or error}; what it holds is "
                "kept, and the same call goes on from it when that is mended"
            ) from None


def log_path(directory: Path, run: int) -> Path:
    """Return where the log of a run is."""
    return directory / f"run-{run}.jsonl"


def recorded_settings(directory: Path) -> dict[str, Any] | None:
    """Return the settings of the first run in a directory; None if there is none."""
    lines, _, _ = _complete_lines(log_path(directory, 0))
    return lines[0] if lines else None


def to_point(entry: Entry) -> Point:
    """Return the point that a line of the log describes, the same to the last bit."""
    failure = entry["failure"]
    return Point(
        position=np.array(entry["position"]),
        value=entry["value"],
        score=entry["score"],
        gradient=_vector(entry["gradient"]),
        noise=_vector(entry["noise"]),
        status=CONVERGED if failure is None else Status(False, failure),
    )


def signed_line(entry: Entry) -> bytes:
    """Return a line of the log; its last item is a checksum of the others."""
    text = json.dumps(entry)
    return f'{text[:-1]}, "check": "{_digest(text.encode())}"}}\n'.encode()


def _to_entry(record: Record, state: str | None) -> Entry:
    point = record.point
    return {
        "position": point.position.tolist(),
        "value": point.value,
        "score": point.score,
        "gradient": None if point.gradient is None else point.gradient.tolist(),
        "noise": None if point.noise is None else point.noise.tolist(),
        "failure": None if point.status.ok else point.status.message,
        "accepted": record.step.accepted,
        "errors": record.errors,
        "seconds": record.seconds,
        "state": state,
    }


def _is_entry(line: Entry) -> bool:
    """Say whether a line has all that :func:`_to_entry` writes."""
    return line.keys() == _FIELDS.keys() and all(holds(line[name], line) for name, holds in _FIELDS.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_numbers(value: Any, line: Entry) -> bool:
    """Say whether a value is a list of numbers, as many as the position has."""
    n = len(line["position"]) if isinstance(line["position"], list) else 0
    return isinstance(value, list) and len(value) == n and all(map(_is_number, value))


#: What the parts of an evaluation have to be.
_FIELDS: dict[str, Callable[[Any, Entry], bool]] = {
    "position": _are_numbers,
    "value": lambda value, _: _is_number(value),
    "score": lambda value, _: _is_number(value),
    "gradient": lambda value, line: value is None or _are_numbers(value, line),
    "noise": lambda value, line: value is None or _are_numbers(value, line),
    "failure": lambda value, _: value is None or isinstance(value, str),
    "accepted": lambda value, _: isinstance(value, bool),
    "errors": lambda value, _: isinstance(value, dict) and all(map(_is_number, value.values())),
    "seconds": lambda value, _: _is_number(value),
    "state": lambda value, _: value is None or isinstance(value, str),
}


def _vector(values: list[float] | None) -> Array | None:
    return None if values is None else np.array(values)


def _complete_lines(path: Path) -> tuple[list[Entry], int, bool]:
    """Return the lines of a log up to the first that is not whole, their length in bytes, and whether more follows.

    What is left of a line that was being written when the process was killed does not count: it has no end.
    """
    lines: list[Entry] = []
    size = 0
    if path.exists():
        with open(path, "rb") as file:
            for line in file:
                entry = _verified(line)
                if entry is None:
                    return lines, size, line.endswith(b"\n")
                lines.append(entry)
                size += len(line)
    return lines, size, False


def _verified(line: bytes) -> Entry | None:
    """Return what a line says, if it is as it was written."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    entry.pop("check", None)
    return entry if signed_line(entry) == line else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
