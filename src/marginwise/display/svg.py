"""Figures inside a page: matplotlib's SVG, with the page's own colours and without clashes between figures.

A figure drawn with :func:`figure_style` uses the colours named here. Inside a page each of them becomes a CSS variable,
so that the same figure is right on a light and on a dark background; a file of its own keeps the colours as they are.
"""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from marginwise.errors import InvalidInputError, MarginwiseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Text and axes, what should stand back, lines of a grid.
INK, MUTED, GRID = "#22252a", "#6b7078", "#dcdcd7"

#: Colours of series, told apart also by people who are colour-blind (after Okabe and Ito), dark enough for white paper.
SERIES = ("#2b66ad", "#c9601f", "#23825f", "#8b4a9c", "#a07d12", "#b5335b", "#2a8a99", "#5c5f66")

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


def figure_style() -> dict[str, Any]:
    """Return the settings for ``matplotlib.rc_context`` under which figures match the page."""
    try:
        from cycler import cycler
    except ImportError as error:
        raise MarginwiseError("Figures need matplotlib: pip install 'marginwise[plots]'") from error
    return {
        "axes.edgecolor": MUTED,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.6,
        "axes.prop_cycle": cycler(color=SERIES),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 9.5,
        "axes.labelsize": 9,
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.w_pad": 0.06,
        "figure.dpi": 150,
        "font.size": 9,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.3,
        "lines.markersize": 4,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "marginwise",
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "xtick.labelsize": 8,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "ytick.labelsize": 8,
    }


def as_svg(figure: Figure) -> str:
    """Return a matplotlib figure as SVG: text stays text, nothing in it depends on when it was made."""
    import matplotlib as mpl

    text = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "marginwise"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return text.getvalue()


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
    root.set("style", f"max-width:{width / 72:.4g}in;min-width:min(32rem,{width / 72:.4g}in)")  # a phone scrolls
    title = ElementTree.Element("title", {"id": f"{prefix}-title"})
    title.text = alternative
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
