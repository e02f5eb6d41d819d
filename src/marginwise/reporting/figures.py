"""Figures of a report's page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from marginwise._characters import visible
from marginwise.display.style import figure_style, require_matplotlib

#: Characters of a name in a figure.
_LONGEST_NAME = 30


def page_figure(height: float) -> Any:
    """Return an empty figure of the page's width; pyplot would keep it, and open a window on some systems."""
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, height))


@contextmanager
def page_style() -> Iterator[None]:
    """Draw in the style of pages, whose fonts have the characters that matplotlib's own lack."""
    with require_matplotlib("matplotlib").rc_context(figure_style()), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def literal(name: str) -> str:
    """Return a name for a figure: no formula, whatever is in it, and not longer than there is room for."""
    name = visible(name)
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")
