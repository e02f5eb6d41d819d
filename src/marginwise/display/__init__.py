"""Reports: texts, tables and figures on self-contained pages."""

from marginwise.display.document import Document, Facts, Notes, PagePart, Section
from marginwise.display.drawing import FORMATS, Drawing, dot_row
from marginwise.display.page import NOTHING, Cell, Page, Value
from marginwise.display.style import INK, MUTED, SERIES, figure_style
from marginwise.display.svg import as_svg
from marginwise.display.table import PageTable

__all__ = [
    "FORMATS",
    "INK",
    "MUTED",
    "NOTHING",
    "SERIES",
    "Cell",
    "Document",
    "Drawing",
    "Facts",
    "Notes",
    "Page",
    "PagePart",
    "PageTable",
    "Section",
    "Value",
    "as_svg",
    "dot_row",
    "figure_style",
]
