"""A figure with its data, which it draws and writes to reproducible files."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marginwise._arrays import Array
from marginwise._characters import as_markdown
from marginwise.display.page import Page
from marginwise.display.style import figure_style, require_matplotlib
from marginwise.errors import choose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How figures are written.
FORMATS = ("svg", "png", "pdf")

#: Metadata that leave the time out, by format.
_TIMELESS: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}


def file_stem(text: str) -> str:
    """Return a text as the stem of a file: letters, digits, points and dashes."""
    return re.sub(r"[^\w.-]+", "-", text)


def dot_row(axes: Axes, place: float, values: Array, mean: float, colour: str) -> None:
    """Draw a row of a dot plot: single values pale, their mean dark."""
    axes.plot(values, np.full(len(values), place), "o", color=colour, alpha=0.25, markersize=3, markeredgewidth=0)
    axes.plot(mean, place, "o", color=colour, markersize=5)


class Drawing(ABC):
    """A figure with its data: what it is called, what it shows, and how it is drawn."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Stem of its files."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """The caption."""

    @property
    @abstractmethod
    def alt(self) -> str:
        """A text alternative: one sentence that says what the figure shows."""

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""

    @abstractmethod
    def draw(self, figure: Figure) -> None:
        """Draw into an empty figure."""

    @cached_property
    def figure(self) -> Figure:
        """It, as a matplotlib figure: laid out once, however often it is written."""
        mpl, figures = require_matplotlib("matplotlib"), require_matplotlib("matplotlib.figure")
        with mpl.rc_context(figure_style()):
            figure: Figure = figures.Figure(figsize=self.size)
            self.draw(figure)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        return figure

    def save(self, directory: Path, *, prefix: str = "", formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write it in these formats, and return the files. None of them holds the time it was made."""
        mpl = require_matplotlib("matplotlib")
        files: list[Path] = []
        with mpl.rc_context(figure_style()):
            for suffix in formats:
                files.append(directory / f"{prefix}{self.name}.{suffix}")
                self.figure.savefig(
                    files[-1], dpi=200, facecolor="white", metadata=_TIMELESS[choose("formats", suffix, FORMATS)]
                )
        return files

    def add_to(self, page: Page) -> None:
        """Show it on a page."""
        page.figure(self.figure, self.caption, self.alt)

    def markdown(self, figures: str = "") -> str:
        """Return a link to its SVG file, and the caption."""
        return f"![{as_markdown(self.alt)}]({figures}{self.name}.svg)\n\n{as_markdown(self.caption)}"

    def write(self, directory: Path, formats: Sequence[str]) -> None:
        """Write it into figures/ of a directory."""
        self.save(directory / "figures", formats=formats)
