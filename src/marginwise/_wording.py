"""Parts of sentences: counted things, and lists that stay short."""

from __future__ import annotations

from collections.abc import Iterable

#: Items shown in a message about many; the rest are counted.
_SHOWN = 5


def numbered(n: int, noun: str) -> str:
    """Return a number of things.

    >>> numbered(1, "row"), numbered(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n} {noun}" if n == 1 else f"{n:,} {noun}s"


def some(items: Iterable[str], most: int = _SHOWN, mark: str = ", ") -> str:
    """Return all items if they are at most so many, otherwise the first few and the number of the others.

    ``mark`` is what stands between them.

    >>> some("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    listed = list(items)
    if len(listed) <= max(most, _SHOWN):
        return mark.join(listed)
    return mark.join(listed[:_SHOWN]) + f" and {len(listed) - _SHOWN} more"


def percent(fraction: float) -> str:
    """Return a fraction in percent."""
    return f"{100 * fraction:.1f} %"
