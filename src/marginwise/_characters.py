"""Foreign text made harmless in HTML, Markdown, CSV files and on terminals.

Names of columns, labels and files may contain anything: a terminal must not interpret them, a page must not run them,
and a spreadsheet must not compute them.
"""

from __future__ import annotations

import re
from html import escape

#: Control characters, those that turn the direction of writing or end lines, halves of pairs, and no characters at all.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")

#: What Markdown takes for more than text: HTML, links and pictures.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "[": "\\[", "]": "\\]"})

#: Spreadsheets compute cells that begin so (OWASP, "CSV injection"), unless they are numbers.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def visible(text: str, keep: str = "") -> str:
    """Return a text with escapes such as ``\\x1b`` for characters that can't be seen, but for those in ``keep``.

    >>> visible("red \\x1b[31m")
    'red \\\\x1b[31m'
    """
    return _INVISIBLE.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)


def as_html(text: str) -> str:
    """Return a text as HTML, also for attributes in quotes."""
    return escape(visible(text, keep="\n\t"))


def as_markdown(text: str) -> str:
    """Return a text as Markdown without HTML, links or pictures."""
    return visible(text, keep="\n\t").translate(_MARKUP)


def as_csv(cell: object) -> object:
    """Return a cell of a CSV file; a text that a spreadsheet would compute gets an apostrophe before it.

    >>> as_csv("=1+1"), as_csv("-1.5"), as_csv(-1.5)
    ("'=1+1", '-1.5', -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell) else cell


def from_csv(text: str) -> str:
    """Return what :func:`as_csv` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
