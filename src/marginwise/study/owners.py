"""Who works on a trial: a process that others can recognise, and tell whether it still lives."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A run of a study in one process.

    Attributes
    ----------
    host : str
        The machine since it was started, and the name space of its process numbers.
    pid, born : int, str
        Process number, and when the process was born: numbers are used again.
    token : str
        Tells the runs of one process apart.
    """

    host: str
    pid: int
    born: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def this_process(cls) -> Owner:
        """Return a new owner in this process."""
        return cls(_host(), os.getpid(), _birth(os.getpid()) or "")

    def lives(self) -> bool | None:
        """Say whether the process runs; None where that can't be seen from here."""
        if self.host != _host():
            return None
        birth = _birth(self.pid)
        if birth is not None:
            return birth == self.born
        return None if not _has_proc() else False


def _host() -> str:
    """Return the name of the machine, its boot and its process name space, as far as the system tells them."""
    boot = _read(Path("/proc/sys/kernel/random/boot_id"))
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()} {boot} {space}".strip()


def _birth(pid: int) -> str | None:
    """Return the time at which a process was born, in the system's ticks; None if there is none to be seen."""
    status = _read(Path(f"/proc/{pid}/stat"))
    fields = status.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    if len(fields) < 20 or fields[0] in "ZX":  # a dead process that nobody has waited for
        return None
    return fields[19]


def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
