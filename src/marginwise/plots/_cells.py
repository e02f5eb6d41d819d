"""Cells of a table in a picture: as text, as numbers, and where they stand on an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.plots._axes import label_text


def cell_text(cell: Any) -> str:
    """Return a cell as people write it."""
    if is_missing(cell):
        return "missing"
    return f"{cell:.4g}" if isinstance(cell, float | np.floating) else label_text(cell)


def is_missing(cell: Any) -> bool:
    """Return whether a cell is missing."""
    return cell is None or bool(np.ndim(cell) == 0 and cell != cell)


def as_numbers(cells: Any) -> Array | None:
    """Return cells as numbers, NaN where they are missing; None if they are words."""
    try:
        return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return None


def on_axis(cells: Any) -> tuple[Array, list[str]]:
    """Return where cells stand on an axis, and the words at 0, 1, … if they are not numbers."""
    numbers = as_numbers(cells)
    if numbers is not None:
        return numbers, []
    words = [cell_text(cell) for cell in cells]
    ticks = sorted(set(words))
    return np.array([ticks.index(word) for word in words], dtype=float), ticks
