"""A report as data: sections of paragraphs, tables and figures, written as one page, as Markdown and as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from marginwise._characters import as_markdown
from marginwise.display.drawing import FORMATS
from marginwise.display.page import Page


class PagePart(Protocol):
    """A part of a report, shown on a page, as Markdown and, if it has any, as separate files."""

    def add_to(self, page: Page) -> None:
        """Show it on a page."""

    def markdown(self, figures: str = "") -> str:
        """Return it as Markdown; ``figures`` is what the paths of figures begin with."""

    def write(self, directory: Path, formats: Sequence[str]) -> None:
        """Write its files into tables/ or figures/ of a directory."""


class _NoFiles:
    """A part without files of its own."""

    def write(self, directory: Path, formats: Sequence[str]) -> None:
        """Write nothing."""


@dataclass(frozen=True)
class Text(_NoFiles):
    """A paragraph."""

    words: str

    def add_to(self, page: Page) -> None:
        """Show it on a page."""
        page.text(self.words)

    def markdown(self, figures: str = "") -> str:
        """Return it as Markdown."""
        return as_markdown(self.words)


@dataclass(frozen=True)
class Facts(_NoFiles):
    """A few key numbers with their meanings."""

    pairs: Sequence[tuple[str, str]]

    def add_to(self, page: Page) -> None:
        """Show them on a page."""
        page.facts(self.pairs)

    def markdown(self, figures: str = "") -> str:
        """Return them as a list."""
        return "\n".join(f"- **{as_markdown(number)}** {as_markdown(meaning)}" for number, meaning in self.pairs)


@dataclass(frozen=True)
class Notes(_NoFiles):
    """Warnings to the reader."""

    messages: Sequence[str]

    def add_to(self, page: Page) -> None:
        """Show them on a page."""
        page.notes(self.messages)

    def markdown(self, figures: str = "") -> str:
        """Return them as a quoted list."""
        return "\n".join(f"> - {as_markdown(message)}" for message in self.messages)


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it; a string is a paragraph."""

    title: str
    parts: list[PagePart | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[PagePart]:
        return (Text(part) if isinstance(part, str) else part for part in self.parts)


@dataclass(frozen=True)
class Document:
    """A title, a lead, and the sections in reading order."""

    title: str
    lead: str
    sections: Sequence[Section]

    def write(self, directory: Path, *, formats: Sequence[str] = FORMATS) -> Path:
        """Write index.html, report.md, tables/ and figures/ into a directory, and return the path of the page."""
        for folder in (directory, directory / "tables", directory / "figures"):
            folder.mkdir(parents=True, exist_ok=True)
        for section in self.sections:
            for part in section:
                part.write(directory, formats)
        (directory / "report.md").write_text(self.markdown(), encoding="utf-8")
        return self.page().write(directory / "index.html")

    def page(self) -> Page:
        """Return it as an HTML page."""
        page = Page(self.title, self.lead)
        for section in self.sections:
            page.heading(section.title)
            for part in section:
                part.add_to(page)
        return page

    def markdown(self, figures: str = "figures/") -> str:
        """Return it as Markdown; ``figures`` is what the paths of figures begin with."""
        lines = [f"# {as_markdown(self.title)}", as_markdown(self.lead)]
        for section in self.sections:
            lines.extend([f"## {as_markdown(section.title)}", *(part.markdown(figures) for part in section)])
        return "\n\n".join(line.strip("\n") for line in lines if line) + "\n"
