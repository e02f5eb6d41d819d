"""A table as data: shown on a page, written as Markdown and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from marginwise._characters import as_csv, as_markdown
from marginwise.display.page import Cell, Page, Value, as_cell


@dataclass(frozen=True)
class PageTable:
    """A table to be shown, and the same numbers as plain records.

    Attributes
    ----------
    name : str
        Stem of its file.
    title, note : str
        Caption, and a note on how to read it.
    header, rows
        What is shown.
    records : list of dict
        The records written as CSV: one for each number, unrounded.
    """

    name: str
    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[Value]]
    records: Sequence[dict[str, object]] = field(default_factory=list)

    def add_to(self, page: Page) -> None:
        """Show it on a page."""
        page.table(self.header, self.rows, caption=self.title, note=self.note)

    def markdown(self, figures: str = "") -> str:
        """Return it as Markdown."""
        cells = [[as_cell(value) for value in row] for row in self.rows]
        sides = [
            "---:" if any(row[place].value is not None for row in cells) else "---" for place in range(len(self.header))
        ]
        lines: list[Sequence[Value]] = [self.header, ["---", *sides[1:]], *cells]
        text = "\n".join("| " + " | ".join(_plain(cell) for cell in line) + " |" for line in lines)
        return f"**{as_markdown(self.title)}**\n\n{text}\n\n{as_markdown(self.note)}\n"

    def write(self, directory: Path, formats: Sequence[str]) -> None:
        """Write it as CSV into tables/ of a directory."""
        self.write_csv(directory / "tables")

    def write_csv(self, directory: Path) -> Path:
        """Write the records as NAME.csv."""
        path = directory / f"{self.name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            names = dict.fromkeys(name for record in self.records for name in record)  # some have more than others
            writer = csv.DictWriter(file, list(names) or list(self.header))
            writer.writeheader()
            writer.writerows({name: as_csv(cell) for name, cell in record.items()} for record in self.records)
        return path


def signed(value: float | None) -> Value:
    """Return a difference as a cell."""
    return None if value is None else Cell(minus(f"{value:+.1f}") if round(value, 1) else "0.0", value)


def minus(text: str) -> str:
    """Return a number's text with a proper minus sign."""
    return text.replace("-", "−")


def _plain(value: Value) -> str:
    cell = as_cell(value)
    text = "<br>".join(as_markdown(" ".join(part.splitlines())) for part in (cell.text, cell.detail) if part)
    return text.replace("|", "\\|")
