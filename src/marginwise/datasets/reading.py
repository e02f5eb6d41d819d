"""Files as a grid of cells; what cannot be read is an error that says where and what to do."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError

if TYPE_CHECKING:
    from _csv import Reader

#: What a missing value is written as, in any mixture of capitals.
MISSING = frozenset({"", "na", "nan", "?", "null"})

#: Places shown in a message about many; the rest are counted.
_SHOWN = 5

#: Rows that the delimiter and the header are recognised from.
_SAMPLE = 50

_GZIP = b"\x1f\x8b"

#: The cells of a column as words, or, where the file says that they are numbers, as these (NaN if missing).
Column = tuple[str, ...] | npt.NDArray[Any]


@dataclass(frozen=True)
class Grid:
    """The cells of a table by column, blanks around them removed, and the line that each row begins on."""

    path: Path
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: Sequence[int]

    def words(self, j: int) -> tuple[str, ...]:
        """Return a column as it is written; what is missing is empty."""
        column = self.columns[j]
        return column if isinstance(column, tuple) else tuple("" if x != x else str(x) for x in column.tolist())

    def numbers(self, j: int) -> npt.NDArray[np.float64] | None:
        """Return a column as numbers, or None if some cell holds something else."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return column.astype(float)
        values = [number(cell) for cell in column]
        return None if any(value is None for value in values) else np.array(values, dtype=float)

    def missing(self, j: int) -> list[int]:
        """Return the rows in which the cell of a column is missing."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return np.flatnonzero(column != column).tolist()  # NaN alone differs from itself
        return [i for i, cell in enumerate(column) if cell.casefold() in MISSING]

    def index(self, argument: str, column: object) -> int:
        """Return the position of a column given by its name or its position (negative: from the end)."""
        if isinstance(column, str) and column in self.names:
            return self.names.index(column)
        if isinstance(column, str) and re.fullmatch(r"-?\d{1,9}", column):
            column = int(column)
        if isinstance(column, int) and not isinstance(column, bool):
            if -len(self.names) <= column < len(self.names):
                return column % len(self.names)
            allowed = f"a position from 0 to {len(self.names) - 1}, or a negative one that counts from the end"
        else:
            allowed = f"one of the columns {some(map(repr, self.names))}, or a position"
        raise InvalidInputError(argument, column, f"{allowed}, because {self.path} has {len(self.names)} columns")

    def places(self, cells: Iterable[tuple[int, int]]) -> str:
        """Return where (row, column) cells are, in the words of a message."""
        return some(f"row {self.lines[i]} column {self.names[j]!r}" for i, j in sorted(cells))


def some(items: Iterable[str]) -> str:
    """Return the first few items and the number of the others."""
    listed = list(items)
    rest = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def repeated(names: Iterable[str]) -> str:
    """Return the names that occur more than once, in the words of a message; nothing if there are none."""
    return some(repr(name) for name, count in Counter(names).items() if count > 1)


def wrong_file(path: Path, expected: str) -> InvalidInputError:
    """Return the error for a file that is not what was expected of it."""
    return InvalidInputError("path", str(path), expected)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is in gzip format."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except FileNotFoundError:
        raise wrong_file(path, "an existing file; check the spelling and the folder") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise wrong_file(path, f"an undamaged gzip file ({error}); copy or compress it again") from None
    except OSError as error:
        raise wrong_file(path, f"a file that can be read ({error.strerror}); check its kind and rights") from None


def read_grid(path: Path, content: bytes, *, header: bool | None, delimiter: str | None) -> Grid:
    """Return the cells of delimited text; ``None`` has the header or the delimiter recognised."""
    text = _decode(path, content)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InvalidInputError("delimiter", delimiter, "one character other than a quote or a line end")
    rows, lines = _rows(path, text, delimiter or _recognise_delimiter(text))
    if not rows:
        raise wrong_file(path, "a table with a header and at least one row, but it is empty")
    _require_equal_widths(path, rows, lines)
    if header is None:
        header = _has_header(rows)
    positions = range(1, len(rows[0]) + 1)
    names = [cell or f"x{j}" for j, cell in zip(positions, rows[0], strict=True)] if header else None
    if names is not None:
        rows, lines = rows[1:], lines[1:]
        if again := repeated(names):
            raise wrong_file(path, f"a different name for each column, but {again} is repeated")
    if not rows:
        raise wrong_file(path, "at least one row below the header")
    return Grid(path, tuple(names or (f"x{j}" for j in positions)), tuple(zip(*rows, strict=True)), tuple(lines))


def number(cell: str) -> float | None:
    """Return the number a cell holds, or None if it holds something else."""
    try:
        return None if "_" in cell else float(cell)  # float() would read 1_000 as a number
    except ValueError:
        return None


def _decode(path: Path, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
        wrong = content.find(b"\0")  # no text holds it, and NumPy's strings cannot
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong < 0:
        return text
    line = content.count(b"\n", 0, wrong) + 1
    raise wrong_file(
        path, f"text in UTF-8, but line {line} holds other bytes; save it as UTF-8, if it is a table at all"
    )


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


def _recognise_delimiter(text: str) -> str:
    """Return the delimiter that cuts the first rows into the same number of cells, more than one.

    Commas come after the others because they also occur inside their cells (decimal commas), and blanks last.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    candidates = [c for c in "\t;|," if c in first] or [" "]
    for candidate in candidates:
        try:
            rows = [row for row in itertools.islice(_reader(text, candidate), _SAMPLE) if row]
        except csv.Error:
            continue
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths != {1}:
            return candidate
    return max(candidates, key=first.count)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds names: a word above numbers, or words only."""
    first = rows[0]
    is_word = [number(cell) is None and cell.casefold() not in MISSING for cell in first]
    for word, column in zip(is_word, zip(*rows[1:_SAMPLE], strict=True), strict=False):
        present = [cell for cell in column if cell.casefold() not in MISSING]
        if word and present and all(number(cell) is not None for cell in present):
            return True
    return all(word or cell == "" for word, cell in zip(is_word, first, strict=True))


def _require_equal_widths(path: Path, rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    width = len(rows[0])
    ragged = [f"row {line} has {len(row)}" for row, line in zip(rows, lines, strict=True) if len(row) != width]
    if ragged:
        raise wrong_file(
            path,
            f"{width} cells in each row as in the first, but {some(ragged)}; quote cells that hold the "
            "delimiter, or name the delimiter",
        )
