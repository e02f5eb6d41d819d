"""The memory of a search on disk: a search that is killed at any moment can be continued from it.

Each run has a log, one line of JSON for each evaluation, written when all that followed from it is settled;
and, when the criterion has one, the state that its next evaluation is started from, in a file of its own. A
run is continued by being told the logged points again: it then proposes the same positions and draws the same
random numbers, so that it ends as if it had never stopped, to the last bit.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import InvalidInputError
from marginwise.search.contract import Point
from marginwise.search.trace import Record
from marginwise.status import CONVERGED, Status

Entry = dict[str, Any]


class Checkpoint:
    """The log of one run in a directory.

    Opening it reads what is there: ``entries``, in order. A last line that was cut off when the run was
    killed is dropped. ``settings`` describe everything that the run depends on; a log with other settings is
    refused.
    """

    def __init__(self, directory: Path, run: int, settings: dict[str, Any]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.entries: list[Entry] = []
        self._directory, self._run = directory, run
        self._path = log_path(directory, run)
        lines, size = _complete_lines(self._path)
        if lines:
            self._check(lines[0], settings)
            self.entries = lines[1:]
        elif any(line.endswith(b"\n") for line in _raw_lines(self._path)):
            raise self.refuse("this file is something else")
        self._file: BinaryIO = open(self._path, "ab")  # noqa: SIM115  (closed by close)
        self._file.truncate(size)
        if not lines:
            self._write(settings)

    def append(self, record: Record, state: Any) -> None:
        """Add an evaluation; ``state`` is what it leaves to the next one, kept if the search moved there.

        The state is written before the line and the one before it deleted after: at every moment the state
        that belongs to the last complete line is there.
        """
        kept = record.step.accepted and state is not None
        if kept:
            _replace(self._state_path(record.index), pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL))
        self._write(_to_entry(record, kept))
        if record.step.accepted:
            self._forget_states(but=record.index)

    def state(self, index: int) -> Any:
        """Return the state that evaluation ``index`` left; None if it left none."""
        if not self.entries[index]["state"]:
            return None
        return pickle.loads(self._state_path(index).read_bytes())

    def refuse(self, reason: str) -> InvalidInputError:
        """Return the error that says why this checkpoint cannot be continued."""
        return InvalidInputError(
            "checkpoint",
            str(self._path),
            f"a checkpoint of the same problem with the same settings ({reason})",
        )

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def _check(self, found: Entry, settings: dict[str, Any]) -> None:
        for key in sorted(found.keys() | settings.keys()):
            if found.get(key) != settings.get(key):
                raise self.refuse(f"{key} differs: {_short(found.get(key))} there, {_short(settings.get(key))} here")

    def _write(self, entry: Entry) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    def _state_path(self, index: int) -> Path:
        return self._path.with_suffix(f".state-{index}")

    def _forget_states(self, but: int) -> None:
        for path in self._directory.glob(f"{self._path.stem}.state-*"):
            if path != self._state_path(but):
                path.unlink(missing_ok=True)


def log_path(directory: Path, run: int) -> Path:
    """Return where the log of a run is."""
    return directory / f"run-{run}.jsonl"


def recorded_settings(directory: Path) -> dict[str, Any] | None:
    """Return the settings of the first run in a directory; None if there is none."""
    lines, _ = _complete_lines(log_path(directory, 0))
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


def _to_entry(record: Record, has_state: bool) -> Entry:
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
        "state": has_state,
    }


def _vector(values: list[float] | None) -> Array | None:
    return None if values is None else np.array(values)


def _complete_lines(path: Path) -> tuple[list[Entry], int]:
    """Return the lines of a log that were written to their end, and their length in bytes."""
    lines, size = [], 0
    for line in _raw_lines(path):
        try:
            entry = json.loads(line)
        except ValueError:
            break
        if not line.endswith(b"\n") or not isinstance(entry, dict):
            break
        lines.append(entry)
        size += len(line)
    return lines, size


def _raw_lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with open(path, "rb") as file:
            yield from file


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is seen either whole or not at all."""
    draft = path.with_name(path.name + ".draft")
    draft.write_bytes(content)
    os.replace(draft, path)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
