"""Figures inside a page: matplotlib's SVG, with the page's own colours and without clashes between figures.

A figure in the style of :mod:`marginwise.display.style` has its colours. Inside a page each of them becomes a CSS
variable, so that the same figure is right on a light and on a dark background; a file keeps the colours as they are.
"""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from marginwise._characters import visible
from marginwise.display.style import GRID, INK, MUTED, SERIES
from marginwise.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colour in a figure → colour on the page; black and white are what matplotlib draws unless told otherwise.
_ON_PAGE = {
    INK: "var(--ink)",
    "#000000": "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    "#ffffff": "var(--paper)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, start=1)},
}

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_COLOURED = ("style", "fill", "stroke", "stop-color", "color")


def as_svg(figure: Figure) -> str:
    """Return a matplotlib figure as SVG: text stays text, nothing in it depends on when it was made."""
    import matplotlib as mpl

    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "marginwise"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return visible(text.getvalue(), keep="\n\r\t")  # XML has none of the others


def inline_svg(svg: str, alternative: str, prefix: str) -> str:
    """Return an SVG as part of an HTML page: a text alternative, the page's colours, ids that begin with ``prefix``."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise InvalidInputError("figure", svg[:40], f"a matplotlib figure or a well-formed SVG ({error})") from None
    if _local(root.tag) != "svg":
        raise InvalidInputError("figure", svg[:40], "a matplotlib figure or a text with an <svg> element")
    return _element(root, alternative, prefix)


def _element(root: ElementTree.Element, alternative: str, prefix: str) -> str:
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "title", "script"}:
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): _renamed(_local(name), value, prefix) for name, value in element.items()}
        if element.tag == "style" and element.text:  # its rules are for this figure, not for the whole page
            element.text = re.sub(r"(^|\}|,)\s*([^{},]+)", rf"\1#{prefix} \2", element.text.strip())
    width, height = _size(root)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.attrib.setdefault("viewBox", f"0 0 {width:g} {height:g}")
    root.attrib.update({"id": prefix, "role": "img", "aria-labelledby": f"{prefix}-title", "focusable": "false"})
    root.set("style", f"max-width:{width / 72:.4g}in")
    title = ElementTree.Element("title", {"id": f"{prefix}-title"})
    title.text = visible(alternative, keep="\n\t")
    root.insert(0, title)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _local(name: object) -> str:
    """Return a name without its namespace: inside HTML an SVG needs none."""
    return str(name).rsplit("}", 1)[-1]


def _renamed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    if name in _COLOURED:
        value = _COLOUR.sub(lambda found: _ON_PAGE.get(found[0].lower(), found[0]), value)
    return _REFERENCE.sub(rf"url(#{prefix}-\1)", value)


def _size(root: ElementTree.Element) -> tuple[float, float]:
    """Return width and height in points, as matplotlib writes them; without them, those of the view box."""
    box = [float(part) for part in re.split(r"[\s,]+", root.get("viewBox", "").strip()) if part]
    sizes = [re.match(r"[\d.]+", root.get(name, "")) for name in ("width", "height")]
    if all(sizes) and "%" not in root.get("width", ""):
        return float(sizes[0][0]), float(sizes[1][0])  # type: ignore[index]
    if len(box) == 4:
        return box[2], box[3]
    raise InvalidInputError("figure", escape(str(root.attrib)), "an SVG with width and height or a viewBox")
