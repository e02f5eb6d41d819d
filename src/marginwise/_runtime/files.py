"""Files that survive whatever happens: written whole or not at all, and held by one process at a time."""

from __future__ import annotations

import errno
import os
import time
import uuid
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # no such locks on this system: see hold
    fcntl = None  # type: ignore[assignment]

#: What file systems without locks answer.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}

#: Seconds between attempts at a lock.
_AGAIN = 0.05


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is seen either whole or not at all, even if the machine stops half-way."""
    draft = path.with_name(f".{uuid.uuid4().hex}.draft")  # shorter than any name that is too long
    try:
        with open(draft, "xb") as file:
            file.write(content)
            sync(file)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def sync(file: IO[Any]) -> None:
    """Return when all that was written to a file is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def hold(file: IO[Any], patience: float) -> bool:
    """Hold an open file until it is closed; False if another process, or thread, holds it for ``patience`` seconds.

    The system ends the hold of a process that is killed. Where it has no such locks everybody holds everything.
    """
    if fcntl is None:
        return True
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_AGAIN)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return True
            raise
        else:
            return True
