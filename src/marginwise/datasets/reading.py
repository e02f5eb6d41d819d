"""Files as a grid of cells; what cannot be read is an error that says where and what to do."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._wording import numbered, some
from marginwise.errors import InvalidInputError
from marginwise.tables.reading import NUMBER, TEXT, Cells, as_objects
from marginwise.tables.text import is_missing, may_be_number, number

#: Columns that are all shown where one is to be chosen.
_FEW = 20

_GZIP = b"\x1f\x8b"

#: A compressed table unpacks to at most so many bytes, or so many times the bytes of its file.
_MOST_BYTES, _MOST_TIMES = 2**28, 50

#: The cells of a column as words, or, where the file says that they are numbers, as these (NaN if missing).
Column = tuple[str, ...] | npt.NDArray[Any]


@dataclass(frozen=True)
class Grid:
    """The cells of a table by column, blanks around them removed, and the line that each row begins on."""

    path: Path
    header: tuple[str, ...] | None
    columns: tuple[Column, ...]
    lines: Sequence[int]
    decimal: str = "."

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: x1, x2, … without a header."""
        return self.header or tuple(f"x{j}" for j in range(1, len(self.columns) + 1))

    def words(self, j: int) -> tuple[str, ...]:
        """Return a column as it is written; what is missing is empty."""
        column = self.columns[j]
        return column if isinstance(column, tuple) else tuple("" if x != x else str(x) for x in column.tolist())

    def cells(self, j: int) -> Cells:
        """Return a column as a schema reads it."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return Cells(NUMBER, column.astype(float))
        return Cells(TEXT, self.word_cells(j), decimal=self.decimal)

    def word_cells(self, j: int) -> npt.NDArray[Any]:
        """Return a column as it is written, None where it is missing."""
        return as_objects([None if is_missing(cell) else cell for cell in self.words(j)])

    def only(self, rows: Sequence[int]) -> Grid:
        """Return the grid with these rows alone."""
        columns = tuple(
            column[list(rows)] if isinstance(column, np.ndarray) else tuple(column[i] for i in rows)
            for column in self.columns
        )
        return replace(self, columns=columns, lines=tuple(self.lines[i] for i in rows))

    def with_missing(self, columns: Iterable[int], words: Iterable[str]) -> Grid:
        """Return the grid in which cells of some columns are missing that hold one of these words, or numbers."""
        said = {word.strip().casefold() for word in words}
        values = {value for word in said if (value := number(word, self.decimal)) is not None}
        if not said:
            return self
        known = set(columns)
        pairs = enumerate(self.columns)
        return replace(self, columns=tuple(self._without(c, said, values) if j in known else c for j, c in pairs))

    def _without(self, column: Column, words: set[str], values: set[float]) -> Column:
        if isinstance(column, np.ndarray):
            return np.where(np.isin(column, list(values)), np.nan, column)
        return tuple(
            "" if cell.casefold() in words or (values and number(cell, self.decimal) in values) else cell
            for cell in column
        )

    def numbers(self, j: int) -> Array | None:
        """Return a column of plain numbers, NaN where they are missing, or None if some cell holds something else."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return column.astype(float)
        values = [np.nan if is_missing(cell) else number(cell, self.decimal) for cell in column]
        return None if any(value is None for value in values) else np.array(values, dtype=float)

    def labels(self, j: int) -> tuple[str, ...]:
        """Return a column as it is written, but numbers with a decimal point."""
        cells = self.words(j)
        if self.decimal == "." or self.numbers(j) is None:
            return cells
        return tuple(cell.replace(self.decimal, ".") for cell in cells)

    def words_among_numbers(self, j: int) -> list[tuple[int, int]]:
        """Return the cells of a column that no column of numbers has."""
        return [(i, j) for i, cell in enumerate(self.words(j)) if not may_be_number(cell, self.decimal)]

    def is_identifier(self, j: int) -> bool:
        """Return whether a column names the rows: words or whole numbers, all there and no two the same."""
        numbers = self.numbers(j)
        if self.missing(j) or (numbers is not None and (numbers != np.floor(numbers)).any()):
            return False
        return len(set(self.words(j))) == len(self.lines)

    def missing(self, j: int) -> list[int]:
        """Return the rows in which the cell of a column is missing."""
        column = self.columns[j]
        if isinstance(column, np.ndarray):
            return np.flatnonzero(column != column).tolist()  # NaN alone differs from itself
        return [i for i, cell in enumerate(column) if is_missing(cell)]

    def index(self, argument: str, column: object) -> int:
        """Return the position of a column given by its name or its position (negative: from the end)."""
        if isinstance(column, str) and column in self.names:
            return self.names.index(column)
        if isinstance(column, str) and is_position(column):
            column = int(column)
        if isinstance(column, int) and not isinstance(column, bool):
            if -len(self.names) <= column < len(self.names):
                return column % len(self.names)
            allowed = f"a position from 0 to {len(self.names) - 1}, or a negative one that counts from the end"
        else:
            allowed = f"one of the columns {some(map(repr, self.names), _FEW)}{self._meant(column)}, or a position"
        raise InvalidInputError(argument, column, f"{allowed}, because {self.path} has {self._shape}")

    def _meant(self, column: object) -> str:
        """Return a question for the names that are most like one that is not there."""
        names = {name.casefold(): name for name in reversed(self.names)}
        close = get_close_matches(str(column).casefold(), list(names), n=2)
        return f" (did you mean {' or '.join(repr(names[name]) for name in close)}?)" if close else ""

    @property
    def _shape(self) -> str:
        count = numbered(len(self.names), "column")
        return count if self.header else f"{count} and was read without a header (header says whether it has one)"

    def places(self, cells: Iterable[tuple[int, int]]) -> str:
        """Return where (row, column) cells are, in the words of a message."""
        return some(f"row {self.lines[i]} column {self.names[j]!r}" for i, j in sorted(cells))


def repeated(names: Iterable[str]) -> str:
    """Return the names that occur more than once, as text for a message."""
    return some(repr(name) for name, count in Counter(names).items() if count > 1)


def wrong_file(path: Path, expected: str) -> InvalidInputError:
    """Return the error for a file that is not what was expected of it."""
    return InvalidInputError("path", str(path), expected)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed if it is in gzip format."""
    try:
        content = path.read_bytes()
        return _unpacked(path, content) if content.startswith(_GZIP) else content
    except FileNotFoundError:
        raise wrong_file(path, "an existing file; check the spelling and the folder") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise wrong_file(path, f"an undamaged gzip file ({error}); copy or compress it again") from None
    except OSError as error:
        raise wrong_file(path, f"a file that can be read ({error.strerror}); check its kind and rights") from None


def largest_unpacked(content: bytes) -> int:
    """Return to how many bytes a compressed file may unpack; tables are compressed to a tenth or so."""
    return max(_MOST_BYTES, _MOST_TIMES * len(content))


def _unpacked(path: Path, content: bytes) -> bytes:
    most = largest_unpacked(content)
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(most + 1)
    if len(unpacked) > most:
        raise wrong_file(
            path, f"a table, but it unpacks to more than {most >> 20} MB; if that is meant, decompress it first"
        )
    return unpacked


def is_position(column: str) -> bool:
    """Return whether a column may be given by its position."""
    return re.fullmatch(r"-?\d{1,9}", column) is not None
