"""Plain text for terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from marginwise._characters import visible

_EIGHTHS = " ▏▎▍▌▋▊▉"
_PLAIN = str.maketrans({"█": "#", "±": "+-", "²": "^2", **dict.fromkeys(_EIGHTHS.strip(), "")})


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
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def listed(text: str) -> list[str]:
    """Return the names in a text, with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def percent(fraction: float) -> str:
    """Return a fraction in percent."""
    return f"{100 * fraction:.1f} %"


def numbered(n: int, noun: str) -> str:
    """Return a number of things."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def printable(text: str, encoding: str | None) -> str:
    """Return the text with plain characters for those that a terminal of this encoding does not have, or would obey."""
    text = visible(text, keep="\n\t")
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text


def tell(text: str) -> None:
    """Write text to standard output."""
    sys.stdout.write(printable(text, sys.stdout.encoding))


def remark(text: str) -> None:
    """Write text to standard error."""
    sys.stderr.write(printable(text, sys.stderr.encoding))


def warn(messages: Iterable[str]) -> None:
    """Write warnings to standard error, one on a line."""
    for message in messages:
        remark(f"warning: {' '.join(message.split())}\n")
