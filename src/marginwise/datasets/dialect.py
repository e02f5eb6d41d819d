"""The dialect of delimited text: encoding, delimiter, decimal separator and header, detected if unambiguous.

If it is ambiguous, the error names the argument that decides.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from marginwise._wording import some
from marginwise.datasets.excel import read_excel
from marginwise.datasets.header import recognise_header
from marginwise.datasets.reading import Grid, repeated, wrong_file
from marginwise.errors import InvalidInputError, choose
from marginwise.tables.text import MISSING_AMONG_NUMBERS, may_be_number

if TYPE_CHECKING:
    from _csv import Reader

#: Rows that the delimiter is recognised from.
_SAMPLE = 50

#: What a text in these encodings begins with; the longest first, because one is the beginning of another.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

#: A number whose comma may part thousands as well as decimals.
_MAY_BE_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class Dialect:
    """The dialect of a text as far as it is given by the user; what is None is detected."""

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    skip: int = 0
    sheet: str | int | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InvalidInputError("delimiter", self.delimiter, "one character other than a quote or a line end")
        if self.decimal is not None:
            choose("decimal", self.decimal, ".,")
        if isinstance(self.skip, bool) or not isinstance(self.skip, int) or self.skip < 0:
            raise InvalidInputError("skip", self.skip, "how many lines stand above the table, 0 or more")


def read_text(path: Path, content: bytes, said: Dialect, names: Collection[str]) -> Grid:
    """Return the cells of delimited text; ``names`` are some that a header would hold, if there is one."""
    text = _decode(path, content, said.encoding)
    if said.skip:
        text = "".join(text.splitlines(keepends=True)[said.skip :])
    delimiter = said.delimiter or _recognise_delimiter(text, said.decimal)
    rows, lines = _rows(path, text, delimiter)
    _require_rows(path, rows)
    _require_equal_widths(path, rows, lines)
    decimal = said.decimal or _recognise_decimal(path, rows, delimiter)
    return _below_header(path, rows, [line + said.skip for line in lines], decimal, said.header, names)


def read_sheet(path: Path, content: bytes, said: Dialect, names: Collection[str]) -> Grid:
    """Return the cells of a sheet of an Excel file, in the same way."""
    rows, lines = read_excel(path, content, said.sheet)
    below = next((k for k, line in enumerate(lines) if line > said.skip), len(rows))
    rows, lines = rows[below:], lines[below:]
    _require_rows(path, rows)
    return _below_header(path, rows, lines, ".", said.header, names)


def _require_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        raise wrong_file(path, "a table with a header and at least one row, but it is empty")


def _below_header(
    path: Path,
    rows: list[list[str]],
    lines: list[int],
    decimal: str,
    has_header: bool | None,
    names: Collection[str],
) -> Grid:
    """Return rows as a grid, the first as its header if it is one."""
    if has_header is None:
        has_header = recognise_header(path, rows, decimal, names)
    header = tuple(cell or f"x{j}" for j, cell in enumerate(rows[0], 1)) if has_header else None
    if header is not None:
        rows, lines = rows[1:], lines[1:]
        if again := repeated(header):
            raise wrong_file(path, f"a different name for each column, but {again} is repeated")
    if not rows:
        raise wrong_file(path, "at least one row below the header")
    return Grid(path, header, tuple(zip(*rows, strict=True)), tuple(lines), decimal)


def _decode(path: Path, content: bytes, encoding: str | None) -> str:
    marked = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    used = encoding or marked or "utf-8"
    try:
        if marked and not codecs.lookup(used).name.startswith(marked):
            raise InvalidInputError("encoding", encoding, f"{marked}, because {path} begins with its byte order mark")
        text = content.decode(used).removeprefix("\ufeff")
    except LookupError:
        raise InvalidInputError("encoding", encoding, "a name that Python knows, such as utf-8 or cp1252") from None
    except UnicodeError as error:  # most know where
        raise _other_encoding(path, content, encoding, used, getattr(error, "start", 0)) from None
    if "\0" in text:  # no text holds it, and NumPy's strings cannot
        raise _other_encoding(path, content, encoding, used, content.find(b"\0"))
    return text


def _other_encoding(path: Path, content: bytes, said: str | None, used: str, wrong: int) -> InvalidInputError:
    """Return the error for bytes that the encoding does not have; if none was given, it shows what they may mean."""
    line = content.count(b"\n", 0, wrong) + 1
    if said is not None:
        return InvalidInputError("encoding", said, f"that of {path}, but line {line} holds other bytes")
    trouble = f"{path} is not {used.upper()}: line {line} holds other bytes"
    if content[wrong] == 0:
        return InvalidInputError("encoding", None, f"its name, if it is a table at all, because {trouble}")
    word = _word_around(content, wrong).decode("cp1252", "replace")
    return InvalidInputError(
        "encoding", None, f"its name, because {trouble}; by cp1252 (Western Windows) they would read {word!r}"
    )


def _word_around(content: bytes, position: int) -> bytes:
    """Return the letters about a byte, at most ten on each side; all that is not ASCII counts as one."""
    letters = rb"[0-9A-Za-z\x80-\xff]{0,10}"
    before = re.search(letters + rb"\Z", content[max(0, position - 10) : position])
    after = re.match(letters, content[position : position + 10])
    return (before[0] if before else b"") + (after[0] if after else b"")


def _rows(path: Path, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    rows, lines, line = [], [], 1
    reader = _reader(text, delimiter)
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                rows.append([cell.strip() for cell in row])
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise wrong_file(
            path, f"well-formed CSV, but row {line} is not ({error}); check its quotes, each must be closed"
        ) from None
    return rows, lines


def _reader(text: str, delimiter: str) -> Reader:
    if delimiter == " ":  # a blank before the end of a line parts nothing
        text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)


def _recognise_delimiter(text: str, decimal: str | None) -> str:
    """Return the delimiter that cuts the first rows into the same number of cells, more than one.

    Commas come after the others because they also occur inside their cells (decimal commas), and blanks last; where
    the decimal sign is said to be a comma, even blanks come before it.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    order = "\t;| ," if decimal == "," else "\t;|,"
    candidates = [c for c in order if c in first.strip()] or [" "]
    for candidate in candidates:
        try:
            rows = [row for row in itertools.islice(_reader(text, candidate), _SAMPLE) if row]
        except csv.Error:
            continue
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths != {1}:
            return candidate
    return max(candidates, key=first.count)


def _recognise_decimal(path: Path, rows: Sequence[Sequence[str]], delimiter: str) -> str:
    """Return the comma if numbers are written with it, none with a point, and it cannot part thousands everywhere.

    Where commas part the cells, a quoted one may as well part a list or thousands.
    """
    commas = list(_fractions(rows, ","))
    if not commas:
        return "."
    points = list(_fractions(rows, "."))
    if delimiter != "," and not points and not all(_MAY_BE_THOUSANDS.fullmatch(cell) for cell in commas):
        return ","
    written = some(map(repr, [commas[0], *points[:1]]))
    raise InvalidInputError("decimal", None, f"'.' or ',', because {path} has numbers written like {written}")


def _fractions(rows: Sequence[Sequence[str]], decimal: str) -> Iterator[str]:
    """Yield the cells with this decimal sign, of columns that hold nothing but numbers below the first row."""
    for column in zip(*(rows[1:] or rows), strict=True):
        cells = [cell for cell in column if decimal in cell and cell.casefold() not in MISSING_AMONG_NUMBERS]
        if cells and all(may_be_number(cell, decimal) for cell in column):
            yield from cells


def _require_equal_widths(path: Path, rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    width = len(rows[0])
    ragged = [f"row {line} has {len(row)}" for row, line in zip(rows, lines, strict=True) if len(row) != width]
    if ragged:
        raise wrong_file(
            path,
            f"{width} cells in each row as in the first, but {some(ragged)}; quote cells that hold the "
            "delimiter, or name the delimiter",
        )
