"""Figures of a report's page."""

from __future__ import annotations

from typing import Any

from marginwise._characters import visible

#: Characters of a name in a figure.
_LONGEST_NAME = 30


def page_figure(height: float) -> Any:
    """Return an empty figure of the page's width; pyplot would keep it, and open a window on some systems."""
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, height))


def literal(name: str) -> str:
    """Return a name for a figure: no formula, whatever is in it, and not longer than there is room for."""
    name = visible(name)
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")
