"""A page for people: one HTML file with text, sortable tables and figures, complete without a network."""

from marginwise.display.page import Cell, Page
from marginwise.display.svg import INK, MUTED, SERIES, as_svg, figure_style

__all__ = ["INK", "MUTED", "SERIES", "Cell", "Page", "as_svg", "figure_style"]
