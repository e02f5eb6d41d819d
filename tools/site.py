"""Look through a built site: links that lead nowhere, files of others that a page would load, links that leave it.

python tools/site.py build/docs

Links between pages, to anchors and to files must lead somewhere. Scripts, styles and pictures must lie in the site
itself, so that it can be read without a network. Links to other sites are listed, in external-links.txt, not followed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

#: Elements whose address is loaded with the page, and the attribute that holds it.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}

#: What a `link` element may name without loading it.
NAMED = {"canonical", "author", "license", "next", "prev", "index", "search", "help", "alternate"}


@dataclass
class Content(HTMLParser):
    """What a page links to, loads, and can be linked to by."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=lambda: {"", "top"})

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses and the anchors of an element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in LOADED and LOADED[tag] in values and not NAMED & set(values.get("rel", "").split()):
            self.loads.append(values[LOADED[tag]])


def read(page: Path) -> Content:
    """Return the content of a page."""
    content = Content()
    content.feed(page.read_text(encoding="utf-8"))
    return content


def is_external(address: str) -> bool:
    """Return whether an address has a scheme or a host."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def faults(site: Path) -> tuple[list[str], list[str]]:
    """Return what is wrong with the pages of a site, and the addresses outside that they link to."""
    found = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)  # templates of the theme
    pages = {path.resolve(): read(path) for path in found}
    wrong, external = [], set()
    for path, content in pages.items():
        here = path.relative_to(site.resolve())
        wrong += [f"{here} loads {address}" for address in content.loads if is_external(address)]
        inside = [address for address in content.links + content.loads if not is_external(address)]
        external |= {urldefrag(address).url for address in content.links if is_external(address)}
        for address in inside:
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{here} points to {address}: no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{here} points to {address}: no such anchor")
    return wrong, sorted(external)


def main(folder: str) -> int:
    """Print what is wrong, list what leads elsewhere, and return an exit code."""
    site = Path(folder)
    wrong, external = faults(site)
    site.joinpath("external-links.txt").write_text("".join(f"{address}\n" for address in external), encoding="utf-8")
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(f"{len(wrong)} faults; {len(external)} links to other sites are in external-links.txt, and were not followed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
