"""Files that commands write: looked at before any work is done for them, and there whole or not at all."""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from marginwise._characters import as_csv, visible
from marginwise.errors import InvalidInputError


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all commands with a result have."""
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--json", action="store_true", help="write the result to standard output as JSON")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress and no remarks on standard error")


def check_output(option: str, path: Path, *, force: bool, inputs: Sequence[str] = (), device: bool = True) -> None:
    """Say what keeps a file from being written, before any work is done for it.

    It must be none of the ``inputs``, whatever the user says, and a ``device`` such as /dev/stdout only where allowed.
    Rights, read-only disks and names that are too long show when a draft is begun as it will be later.
    """
    try:
        obstacle = _obstacle(path, force, inputs, device)
        if obstacle is None:
            with _draft(path) as draft:
                draft.touch()
    except OSError as error:
        obstacle = f"a place that can be written to, but it cannot ({error.strerror}); choose another"
    if obstacle is not None:
        raise InvalidInputError(option, str(path), obstacle)


def write_csv(columns: Mapping[str, Sequence[Any]], stream: TextIO) -> None:
    """Write columns as CSV; on a terminal nothing in them is obeyed."""
    writer = csv.writer(stream, lineterminator="\n")
    seen = visible if stream.isatty() else str
    for row in (columns, *zip(*columns.values(), strict=True)):
        writer.writerow([seen(str(as_csv(cell))) for cell in row])


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is there at the end takes the place of ``path`` in one step."""
    with _draft(path) as draft:
        yield draft
        if draft != path:
            os.replace(draft, path)


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Yield a file to write next to ``path``, or a device itself, such as /dev/stdout."""
    if path.exists() and not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".marginwise-") as folder:
        yield Path(folder) / "draft"


def _obstacle(path: Path, force: bool, inputs: Sequence[str], device: bool) -> str | None:
    """Return what is expected instead, if something is in the way."""
    if path.is_dir():
        return "a file, but it is a folder"
    if not path.parent.is_dir():
        nearest = next(folder for folder in path.parents if folder.exists())
        if nearest.is_dir():
            return f"a file in an existing folder; make {path.parent} first"
        return f"a file in a folder, but {nearest} is none"
    if path.is_file():
        if any(os.path.exists(other) and path.samefile(other) for other in inputs):
            return "another file than what is read; give another name"
        if not force:
            return "a new file, but it exists; give another name, or --force to replace it"
    elif path.exists() and not device:
        return "a plain file"
    return None
