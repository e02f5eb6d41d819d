"""An HTML page: parts are added in reading order, then written as one file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from marginwise._characters import as_html
from marginwise.display.narrow import narrowed
from marginwise.display.svg import as_svg, inline_svg
from marginwise.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The text of an empty cell of a table; such cells come last in any order.
NOTHING = "—"

#: A cell with more characters than this is a text, and is given more room.
_WORDS = 40

#: Width of a phone in pixels: a wider table is shown there as a list, row by row.
_PHONE = 358

#: A page with at least this many sections begins with a list of them.
_SECTIONS_WITH_CONTENTS = 4

#: The page loads nothing from elsewhere, whatever is written into it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
        The text.
    value : float or None
        The number to sort by; by default the text.
    tone : str
        "good", "bad", "mixed" or empty.
    detail : str
        Smaller text below.
    """

    text: str
    value: float | None = None
    tone: str = ""
    detail: str = ""


Value = Cell | str | float | int | None


class Page:
    """One self-contained HTML page.

    >>> page = Page("Crabs", "How it went.")
    >>> page.table(["method", "error (%)"], [["span", 3.4], ["gacv", 10.9]], caption="Best errors")
    >>> "<caption>Best errors</caption>" in page.html()
    True
    """

    def __init__(self, title: str, lead: str = "") -> None:
        self.title, self.lead = title, lead
        self._parts: list[str] = []
        self._sections: list[tuple[str, str]] = []  # (anchor, text)
        self._anchors: set[str] = set()
        self._n_figures = 0
        self._pictures: list[tuple[str, Figure]] = []  # (stem of a file, figure)

    def heading(self, text: str, level: int = 2) -> None:
        """Begin a section; with level 3, a part of one."""
        if level not in (2, 3):
            raise InvalidInputError("level", level, "2 for a section or 3 for a part of one")
        anchor = self._anchor(text)
        if level == 2:
            self._sections.append((anchor, text))
        self._add(f'<h{level} id="{anchor}">{as_html(text)}</h{level}>')

    def text(self, paragraph: str) -> None:
        """Add a paragraph."""
        self._add(f"<p>{as_html(paragraph)}</p>")

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Add a few key numbers, each with its meaning."""
        items = [f"<div><dt>{as_html(meaning)}</dt><dd>{as_html(number)}</dd></div>" for number, meaning in facts]
        if items:
            self._add('<dl class="facts">', *items, "</dl>")

    def notes(self, messages: Iterable[str]) -> None:
        """Add a list of warnings, if there are any."""
        items = [f"<li>{as_html(message)}</li>" for message in messages]
        if items:
            self._add('<ul class="notes">', *items, "</ul>")

    def table(
        self, header: Sequence[str], rows: Iterable[Sequence[Value]], *, caption: str = "", note: str = ""
    ) -> None:
        """Add a table that can be sorted by clicking on column names. The first column names the rows."""
        body = [[as_cell(value) for value in row] for row in rows]
        for row in body:
            if len(row) != len(header):
                raise InvalidInputError(
                    "rows", [cell.text for cell in row], f"{len(header)} cells, one for each column"
                )
        numeric = [any(row[column].value is not None for row in body) and column > 0 for column in range(len(header))]
        kind = "sortable" if _width(header, body) <= _PHONE else "sortable stacked"
        label = as_html(caption or "Table")
        self._add(f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table class="{kind}">')
        if caption:
            self._add(f"<caption>{as_html(caption)}</caption>")
        names = "".join(
            f'<th scope="col"{_CLASS_NUMBER if is_number else ""}>{as_html(name)}</th>'
            for name, is_number in zip(header, numeric, strict=True)
        )
        self._add(f"<thead><tr>{names}</tr></thead>", "<tbody>")
        self._add(*(_row(row, header, numeric) for row in body))
        self._add("</tbody></table></div>")
        if note:
            self._add(f'<p class="note">{as_html(note)}</p>')

    def figure(self, figure: Figure | str, caption: str, alt: str) -> None:
        """Add a matplotlib figure or the text of an SVG; ``alt`` is the text alternative."""
        if not alt.strip():
            raise InvalidInputError("alt", alt, "a sentence that says what the figure shows")
        self._n_figures += 1
        name = f"figure-{self._n_figures}"
        narrow = None
        if not isinstance(figure, str):
            section = self._sections[-1][0].removeprefix("section-") if self._sections else "figure"
            self._pictures.append((f"{self._n_figures:02}-{section}", figure))
            narrow = narrowed(figure)
        shown = inline_svg(figure if isinstance(figure, str) else as_svg(figure), alt, name)
        if narrow is not None:  # a style sheet shows one of the two
            small = inline_svg(as_svg(narrow), alt, f"{name}-narrow")
            shown = f'<div class="wide">{shown}</div><div class="narrow">{small}</div>'
        self._add(f"<figure>{shown}<figcaption>{as_html(caption)}</figcaption></figure>")

    def html(self) -> str:
        """Return the page as text."""
        title, assets = as_html(self.title), files("marginwise.display")
        lead = f'<p class="lead">{as_html(self.lead)}</p>' if self.lead else ""
        return "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en"><head><meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                f"<title>{title}</title>",
                f"<style>\n{assets.joinpath('page.css').read_text(encoding='utf-8')}</style>",
                "</head><body><main>",
                f"<header><h1>{title}</h1>{lead}</header>",
                self._contents(),
                *self._parts,
                "</main>",
                f"<script>\n{assets.joinpath('sort.js').read_text(encoding='utf-8')}</script>",
                "</body></html>\n",
            ]
        )

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html(), encoding="utf-8")
        return path

    def write_pictures(self, folder: Path, suffix: str) -> list[Path]:
        """Write the figures into a folder in a format of matplotlib, and return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{stem}.{suffix}" for stem, _ in self._pictures]
        for file, (_, figure) in zip(files, self._pictures, strict=True):
            figure.savefig(file, dpi=200, facecolor="white", bbox_inches="tight")
        return files

    def _add(self, *parts: str) -> None:
        self._parts.extend(parts)

    def _contents(self) -> str:
        if len(self._sections) < _SECTIONS_WITH_CONTENTS:
            return ""
        links = "".join(f'<li><a href="#{anchor}">{as_html(text)}</a></li>' for anchor, text in self._sections)
        return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'

    def _anchor(self, text: str) -> str:
        """Return a unique id for a heading."""
        name = "section-" + (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "untitled")
        anchor, number = name, 1
        while anchor in self._anchors:
            number += 1
            anchor = f"{name}-{number}"
        self._anchors.add(anchor)
        return anchor


_CLASS_NUMBER = ' class="number"'


def as_cell(value: Value) -> Cell:
    """Return a value as a cell: numbers with four digits, what is missing as a dash."""
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell(NOTHING)
    if isinstance(value, (bool, str)):
        return Cell(str(value))
    number = float(value)  # also numpy's
    if math.isnan(number):
        return Cell(NOTHING)
    text = f"{value}" if isinstance(value, int) else f"{number:.4g}"
    return Cell(text.replace("-", "−"), number)


def _width(header: Sequence[str], body: Sequence[Sequence[Cell]]) -> float:
    """Return about how many pixels a table needs: letters of 7.5, and room next to each column; names may be broken."""
    columns = [
        [*name.split(), "", *(text for row in body for text in (row[place].text, row[place].detail))]
        for place, name in enumerate(header)
    ]
    return sum(7.5 * max(map(len, texts)) + 20 for texts in columns)


def _row(row: Sequence[Cell], header: Sequence[str], numeric: Sequence[bool]) -> str:
    cells = []
    for column, (cell, name, is_number) in enumerate(zip(row, header, numeric, strict=True)):
        words = "words" if len(cell.text) > _WORDS else ""
        classes = " ".join(name for name in ("number" if is_number else "", words, cell.tone) if name)
        attributes = f' class="{as_html(classes)}"' if classes else ""
        if cell.value is not None:
            attributes += f' data-value="{cell.value!r}"'
        elif cell.text == NOTHING:
            attributes += ' data-value=""'
        tag, scope = ("th", ' scope="row"') if column == 0 else ("td", f' data-label="{as_html(name)}"')
        detail = f"<small>{as_html(cell.detail)}</small>" if cell.detail else ""
        cells.append(f"<{tag}{scope}{attributes}>{as_html(cell.text)}{detail}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"
