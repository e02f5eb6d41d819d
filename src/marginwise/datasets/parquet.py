"""Parquet files as a grid of cells; pyarrow reads them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from marginwise.datasets.reading import Column, Grid, repeated, wrong_file
from marginwise.errors import MarginwiseError

_MAGIC = b"PAR1"

#: How pandas names the column in which it stores row names.
_ROW_NAMES = "__index_level_"


def is_parquet(content: bytes) -> bool:
    """Return whether a file is in Parquet format."""
    return content.startswith(_MAGIC)


def read_parquet(path: Path, content: bytes) -> Grid:
    """Return the cells of a Parquet file, without pandas' row names."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MarginwiseError(
            f"{path} is in Parquet format, which needs pyarrow (pip install 'marginwise[parquet]')"
        ) from None
    try:
        table = parquet.ParquetFile(io.BytesIO(content)).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise wrong_file(path, f"an undamaged Parquet file ({str(error).splitlines()[0]}); write it again") from None
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
