"""What must hold for every page: well-formed, complete without a network, readable without eyes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

_VOID = {"meta", "br", "hr", "img", "link", "input"}

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is installed")

_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]


class _Reader(HTMLParser):
    """Keep the elements; complain where an end tag doesn't fit."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), list(self.open)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), list(self.open)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> without a beginning"
        assert self.open.pop() == tag, f"</{tag}> ends something else"

    def handle_data(self, data):
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.texts.append(data)


def read(html: str) -> _Reader:
    """Return the page's elements and texts; fail where tags are not balanced."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open, f"never ended: {reader.open}"
    return reader


def check_page(html: str) -> None:
    """Fail if the page is malformed, loads anything, repeats an id, or shows a picture without saying what it is."""
    reader = read(html)
    assert html.startswith("<!DOCTYPE html>")
    assert not re.search(r"https?://|//cdn|@import|url\((?!#)", html), "refers to something outside"
    ids = [attributes["id"] for _, attributes, _ in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes, around in reader.elements:
        if tag == "svg" and "svg" not in around:
            assert attributes["role"] == "img"
            assert attributes["aria-labelledby"] in ids
        if tag == "img":
            assert attributes.get("alt")
        if tag == "table":
            assert "div" in around  # in a box of its own, which scrolls on a phone
        for name in ("href", "src", "xlink:href"):
            target = attributes.get(name)
            assert target is None or target.startswith("data:") or target[1:] in ids, f"{name}={target}"
        style = " ".join(filter(None, (attributes.get("style"), attributes.get("clip-path"))))
        for target in re.findall(r"url\(#([^)]+)\)", style):
            assert target in ids
    assert any(attributes.get("name") == "viewport" for _, attributes, _ in reader.elements)
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def in_browser(page: Path, *, script: str = "", width: int = 1000, screenshot: Path | None = None) -> str:
    """Return the page's HTML after Chromium has shown it, and run ``script`` on it."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        shown = page
        if script:
            shown = Path(home) / "page.html"
            html = page.read_text(encoding="utf-8")
            shown.write_text(html.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        action = ["--dump-dom"] if screenshot is None else [f"--screenshot={screenshot}", "--hide-scrollbars"]
        command = [CHROMIUM, *_OPTIONS, f"--user-data-dir={home}/profile", f"--window-size={width},900", *action]
        done = subprocess.run([*command, shown.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


#: Tells the frame around it what is not to be seen without scrolling sideways, and which figures are shown.
_EDGE = """
const found = [];
for (const box of document.querySelectorAll(".scroll"))
  if (box.scrollWidth > box.clientWidth + 1) found.push(box.getAttribute("aria-label"));
for (const one of document.querySelectorAll("main *:not(svg *)"))
  if (one.getBoundingClientRect().right > innerWidth) found.push(one.tagName + " " + one.textContent.slice(0, 40));
parent.postMessage(found.join("; ") || "nothing", "*");
"""


def beyond_the_edge(page: Path, width: int = 390) -> str:
    """Return what of a page lies beyond the edge of a screen of this width; Chromium's own windows are wider."""
    with tempfile.TemporaryDirectory() as folder:
        inner, outer = Path(folder) / "inner.html", Path(folder) / "outer.html"
        html = page.read_text(encoding="utf-8")
        inner.write_text(html.replace("</body>", f"<script>{_EDGE}</script></body>"), encoding="utf-8")
        listen = "onmessage = event => document.body.setAttribute('data-found', event.data)"
        frame = f'<iframe src="inner.html" style="width:{width}px;height:2000px;border:0"></iframe>'
        outer.write_text(f"<!DOCTYPE html><body><script>{listen}</script>{frame}</body>", encoding="utf-8")
        shown = in_browser(outer)
    return next(attributes["data-found"] for tag, attributes, _ in read(shown).elements if tag == "body")
