"""Plain text for terminals: aligned columns, and bars."""

from __future__ import annotations

from collections.abc import Sequence

from marginwise._characters import visible

#: Bars of none to seven eighths of a character.
EIGHTHS = " ▏▎▍▌▋▊▉"


def aligned(rows: Sequence[Sequence[str]], alignment: str) -> str:
    """Return rows of cells as lines; ``alignment`` has one of < and > for each column."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def bar(fraction: float, width: int = 24) -> str:
    """Return a bar that fills a fraction of ``width`` characters."""
    eighths = round(8 * width * min(max(fraction, 0.0), 1.0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def ranked(values: dict[str, float]) -> list[tuple[str, float]]:
    """Return names and values, the largest first."""
    return sorted(values.items(), key=lambda item: -item[1])
