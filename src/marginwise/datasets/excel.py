"""Sheets of Excel files (.xlsx) as rows of text, from where they are read like any other; openpyxl reads them."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

from marginwise._runtime.packages import require
from marginwise._wording import some
from marginwise.datasets.reading import largest_unpacked, wrong_file
from marginwise.errors import InvalidInputError

#: What Excel shows where a formula failed.
_ERRORS = frozenset(("#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"))

_ZIP = b"PK\x03\x04"


def is_excel(content: bytes) -> bool:
    """Return whether a file is an Excel workbook."""
    if not content.startswith(_ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def read_excel(path: Path, content: bytes, sheet: str | int | None) -> tuple[list[list[str]], list[int]]:
    """Return the cells of a sheet, by default the first, as they would be in a text file, and the number of each row.

    Empty rows, and columns that are empty to the right of the table, are left out. Formulas are what Excel last
    computed; those that failed are missing.
    """
    require("openpyxl", f"{path} is an Excel file, which needs", "marginwise[excel]")
    import openpyxl

    _check_size(path, content)
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        rows = [[_text(cell) for cell in row] for row in _chosen(path, book, sheet).iter_rows(values_only=True)]
    except (KeyError, ValueError, TypeError, SyntaxError, zipfile.BadZipFile) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise wrong_file(path, f"an undamaged Excel file ({error}); save it again") from None
    numbered = [(row, number) for number, row in enumerate(rows, 1) if any(row)]
    width = max((len(row) - next(k for k, cell in enumerate(reversed(row)) if cell) for row, _ in numbered), default=0)
    return [[*row[:width], *[""] * (width - len(row))] for row, _ in numbered], [number for _, number in numbered]


def _check_size(path: Path, content: bytes) -> None:
    """Refuse files that unpack to any amount of memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size, most = sum(part.file_size for part in archive.infolist()), largest_unpacked(content)
    if size > most:
        raise wrong_file(path, f"a workbook that unpacks to at most {most >> 20} MB, but it has {size >> 20} MB")


def _chosen(path: Path, book: Any, sheet: str | int | None) -> Any:
    names = [one.title for one in book.worksheets]
    if sheet is None:
        return book.worksheets[0]
    if str(sheet) in names:
        return book.worksheets[names.index(str(sheet))]
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
        return book.worksheets[int(sheet) - 1]
    raise InvalidInputError(
        "sheet", sheet, f"one of the sheets {some(map(repr, names))} of {path}, or its number from 1 to {len(names)}"
    )


def _text(cell: Any) -> str:
    """Return a cell as it would be written into a text file; numbers keep all their digits."""
    if cell is None or cell in _ERRORS:
        return ""
    if isinstance(cell, datetime.datetime):
        return cell.date().isoformat() if cell.time() == datetime.time() else cell.isoformat(" ")
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell).strip()
