"""Files that commands write: paths are checked before any work is done, and files are written whole or not at all."""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from marginwise._characters import as_csv, visible
from marginwise._runtime.packages import require
from marginwise.errors import InvalidInputError

#: How tables are written.
CSV, SEMICOLON, XLSX = FORMATS = ("csv", "csv-semicolon", "xlsx")

#: A number with a decimal point.
_FRACTION = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")


def add_output_arguments(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Add the options that all commands with a result have."""
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    if json:
        parser.add_argument("--json", action="store_true", help="write the result to standard output as JSON")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress bar and no remarks on standard error")


def check_output(option: str, path: Path, *, force: bool, inputs: Sequence[str] = (), device: bool = True) -> None:
    """Raise if a file cannot be written, before any work is done for it.

    It must not be one of the ``inputs``, even with ``force``; a ``device`` such as /dev/stdout is accepted only if
    allowed. Permissions, read-only disks and names that are too long are checked by beginning a draft.
    """
    try:
        obstacle = _obstacle(path, force, inputs, device)
        if obstacle is None:
            with _draft(path) as draft:
                draft.touch()
    except OSError as error:
        obstacle = f"a path that can be written to, but it cannot ({error.strerror}); choose another"
    if obstacle is not None:
        raise InvalidInputError(option, str(path), obstacle)


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option for the format of tables."""
    parser.add_argument(
        "--output-format",
        choices=FORMATS,
        help="csv-semicolon has semicolons and decimal commas, as Excel expects in German, French and many other "
        "languages; xlsx is an Excel file (default: chosen by the file name, otherwise csv)",
    )


def table_format(said: str | None, output: Path | None) -> str:
    """Return the format of a table: the one asked for, or that of the file's name."""
    chosen = said or (XLSX if output is not None and output.suffix.lower() == ".xlsx" else CSV)
    if chosen == XLSX:
        if output is None:
            raise InvalidInputError("--output-format", chosen, "a file for it (--output predictions.xlsx)")
        require("openpyxl", "Excel files need", "marginwise[excel]")
    return chosen


def write_result(output: Path | None, kind: str, columns: Mapping[str, Sequence[Any]], result: Any = None) -> None:
    """Write columns as a table, or a ``result`` as JSON in their place, to a file or to standard output."""
    with nullcontext() if output is None else written_whole(output) as path:
        if result is None:
            _write_table(columns, path, kind)
        elif path is None:
            sys.stdout.write(json.dumps(result) + "\n")
        else:
            path.write_text(json.dumps(result) + "\n", encoding="utf-8")


def _write_table(columns: Mapping[str, Sequence[Any]], path: Path | None, kind: str) -> None:
    if kind == XLSX:
        assert path is not None
        _write_xlsx(columns, path)
    elif path is None:
        write_csv(columns, sys.stdout, comma=kind == SEMICOLON)
    else:
        # Excel takes a text for UTF-8 if it begins with a byte order mark.
        encoding = "utf-8-sig" if kind == SEMICOLON else "utf-8"
        with path.open("w", newline="", encoding=encoding) as stream:
            write_csv(columns, stream, comma=kind == SEMICOLON)


def write_csv(columns: Mapping[str, Sequence[Any]], stream: TextIO, *, comma: bool = False) -> None:
    """Write columns as CSV, with decimal commas and semicolons if asked for; no control characters reach a terminal."""
    writer = csv.writer(stream, delimiter=";" if comma else ",", lineterminator="\r\n" if comma else "\n")
    seen = visible if stream.isatty() else str
    written = _with_comma if comma else as_csv
    for row in (columns, *zip(*columns.values(), strict=True)):
        writer.writerow([seen(str(written(cell))) for cell in row])


def _with_comma(cell: Any) -> object:
    """Return a number with a decimal comma, and all else as it is in any CSV file."""
    if isinstance(cell, float) or (isinstance(cell, str) and _FRACTION.fullmatch(cell)):
        return str(cell).replace(".", ",")
    return as_csv(cell)


def _write_xlsx(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns as the sheet of an Excel file: numbers as such, and no text as a formula."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    sheet.freeze_panes = "A2"
    for row in (columns, *zip(*columns.values(), strict=True)):
        cells = []
        for value in row:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            cells.append(WriteOnlyCell(sheet, value if is_number else visible(str(value))))
            cells[-1].data_type = "n" if is_number else "s"
        sheet.append(cells)
    book.save(path)


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
        return f"a file in a folder, but {nearest} is not a folder"
    if path.is_file():
        if any(os.path.exists(other) and path.samefile(other) for other in inputs):
            return "another file than what is read; give another name"
        if not force:
            return "a new file, but it exists; give another name, or --force to replace it"
    elif path.exists() and not device:
        return "a plain file"
    return None
