"""Plain text for terminals."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections.abc import Iterable

from marginwise._characters import visible
from marginwise.reporting.text import EIGHTHS

_PLAIN = str.maketrans({"█": "#", "±": "+-", "²": "^2", **dict.fromkeys(EIGHTHS.strip(), "")})


def listed(text: str) -> list[str]:
    """Return the names in a text, with commas between them; one that has a comma itself is in double quotes."""
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def option(flag: str, names: Iterable[str]) -> str:
    """Return an option with names, as it can be typed into a shell and :func:`listed` reads it.

    >>> option("--drop", ["sample id"]), option("--drop", ["a", "b"]), option("--missing-values", ["-"])
    ("--drop 'sample id'", '--drop a,b', '--missing-values=-')
    """
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"\r\n') else name for name in names]
    text = shlex.quote(",".join(quoted))
    return f"{flag}={text}" if text.startswith("-") else f"{flag} {text}"


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
