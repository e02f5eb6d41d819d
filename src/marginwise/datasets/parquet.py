"""Parquet files as a grid of cells; pyarrow reads them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from marginwise._runtime.packages import require
from marginwise.datasets.reading import Column, Grid, largest_unpacked, repeated, wrong_file
from marginwise.errors import InvalidInputError

_MAGIC = b"PAR1"

#: How pandas names the column in which it stores row names.
_ROW_NAMES = "__index_level_"


def is_parquet(content: bytes) -> bool:
    """Return whether a file is in Parquet format."""
    return content.startswith(_MAGIC)


def read_parquet(path: Path, content: bytes) -> Grid:
    """Return the cells of a Parquet file, without pandas' row names."""
    require("pyarrow", f"{path} is in Parquet format, which needs", "marginwise[parquet]")
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        _check_size(path, content, file.metadata)
        table = file.read()
        table.validate(full=True)
        return _grid(path, table)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
        if isinstance(error, InvalidInputError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise wrong_file(path, f"an undamaged Parquet file ({reason}); write it again") from None


def _check_size(path: Path, content: bytes, metadata: Any) -> None:
    """Refuse files that hold a few values very often: they may take any amount of memory."""
    size, most = 8 * metadata.num_rows * metadata.num_columns, largest_unpacked(content)
    if size > most:
        raise wrong_file(path, f"at most {most >> 20} MB of numbers for its size, but it has {size >> 20} MB")


def _grid(path: Path, table: Any) -> Grid:
    positions = [j for j, name in enumerate(table.column_names) if not name.startswith(_ROW_NAMES)]
    names = tuple(table.column_names[j] for j in positions)
    if not table.num_rows or not names:
        raise wrong_file(path, "a table with at least one row and column, but it is empty")
    if again := repeated(names):
        raise wrong_file(path, f"a different name for each column, but {again} is repeated")
    return Grid(path, names, tuple(_cells(table.column(j)) for j in positions), range(1, table.num_rows + 1))


def _cells(column: Any) -> Column:
    """Return numbers as they are, all else (words, truth values, dates, decimals) as it is written in text files."""
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return tuple("" if cell is None else str(cell).strip() for cell in column.to_pylist())
