"""What a table is read from: a grid of cells, or the matrix of a LIBSVM file, which has no names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marginwise.datasets.dialect import Dialect, read_sheet, read_text
from marginwise.datasets.excel import is_excel
from marginwise.datasets.parquet import is_parquet, read_parquet
from marginwise.datasets.reading import Grid, wrong_file
from marginwise.errors import InvalidInputError


def read_grid(file: Path, content: bytes, said: Dialect, names: Sequence[str]) -> Grid:
    """Return the cells of a CSV, Excel or Parquet file; ``names`` are some that a header would hold."""
    if is_excel(content):
        return read_sheet(file, content, said, names)
    if said.sheet is not None:
        raise InvalidInputError("sheet", said.sheet, f"nothing, because {file} is no Excel file")
    if is_parquet(content):
        if said.skip:
            raise InvalidInputError("skip", said.skip, f"0, because {file} is in Parquet format")
        return read_parquet(file, content)
    return read_text(file, content, said, names)


def groups_in(grid: Grid, column: int) -> tuple[str, ...]:
    """Return the group of each row."""
    without = [(i, column) for i in grid.missing(column)]
    if without:
        raise wrong_file(
            grid.path,
            f"a group for each row, but {len(without)} of its cells are missing: {grid.places(without)}; "
            "give a row that belongs to no other a group of its own",
        )
    return grid.words(column)


def require_unnamed(file: Path, **named: Any) -> None:
    """Raise if columns of a LIBSVM file are named."""
    for argument, value in named.items():
        if value not in (None, (), [], {}):
            wanted = f"nothing, because {file} is in LIBSVM format, which has no names"
            raise InvalidInputError(argument, value, wanted)
