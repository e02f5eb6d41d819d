"""The documentation as a site: every page is in its tree, and what `make docs` refuses. Most of it without Sphinx."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

#: What sphinx-gallery and autosummary write while the site is built.
MADE = ("examples/", "reference/names/")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = load(ROOT / "tools" / "site.py")


def assigned(name: str) -> object:
    """Return what docs/conf.py gives to a name, if it is written out there."""
    for node in ast.parse(DOCS.joinpath("conf.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return ast.literal_eval(node.value)
    raise AssertionError(f"conf.py has no {name}")


def entries(page: str) -> list[str]:
    """Return the pages in the toctrees of a page."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", DOCS.joinpath(f"{page}.md").read_text("utf-8"), re.M | re.S)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    folder = Path(page).parent
    return [(folder / name).as_posix() for name in names]


def reached(page: str) -> list[str]:
    """Return a page, and all that can be reached from it."""
    if page.startswith(MADE):
        return [page]
    return [page, *(name for entry in entries(page) for name in reached(entry))]


def test_every_page_is_once_in_the_tree() -> None:
    tree = reached("index")
    assert len(tree) == len(set(tree))
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    pages = {page for page in pages if not page.startswith(("gallery/", *MADE))}
    assert {page for page in tree if not page.startswith(MADE)} == pages


def test_no_page_has_a_name_that_sphinx_takes() -> None:
    """They are written over by the pages of the search and the index."""
    assert not {"search", "genindex", "py-modindex"} & {path.stem for path in DOCS.glob("*.md")}


def test_the_extra_brings_what_the_configuration_asks_for() -> None:
    extensions = assigned("extensions")
    assert isinstance(extensions, list)
    own = {path.stem for path in (DOCS / "_extensions").glob("*.py")}
    wanted = {str(name).split(".")[0] for name in extensions} - own | {str(assigned("html_theme"))}
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["docs"]
    named = {re.split(r"[>=\[ ]", requirement)[0].replace("-", "_") for requirement in extra}
    assert wanted <= named


def test_warnings_are_errors() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"sphinx .*--fail-on-warning .*--nitpicky", makefile)
    assert "tools/site.py build/docs" in makefile


PAGE = '<html><head><link rel="stylesheet" href="a.css"></head><body><h2 id="here">x</h2>{}</body></html>'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="other.html#there">x</a> <a href="#here">y</a> <a href="https://example.org/">z</a>', None),
        ('<a href="missing.html">x</a>', "missing.html: no such file"),
        ('<a href="other.html#nowhere">x</a>', "other.html#nowhere: no such anchor"),
        ('<img src="missing.svg">', "missing.svg: no such file"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css"),
    ],
)
def test_faults_of_a_site_are_found(body: str, fault: str | None, tmp_path: Path) -> None:
    tmp_path.joinpath("a.css").touch()
    tmp_path.joinpath("index.html").write_text(PAGE.format(body))
    tmp_path.joinpath("other.html").write_text(PAGE.format('<p id="there"></p>'))
    wrong, _ = site.faults(tmp_path)
    assert site.main(str(tmp_path)) == (fault is not None)
    if fault is None:
        assert wrong == []
        assert tmp_path.joinpath("external-links.txt").read_text() == "https://example.org/\n"
    else:
        (found,) = wrong
        assert fault in found


@pytest.mark.slow
def test_it_builds(full: bool, tmp_path: Path) -> None:
    if not full:
        pytest.skip("takes minutes: with --full, or make docs")
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed: pip install 'marginwise[docs]'")
    words = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    subprocess.run([sys.executable, "-m", "sphinx", *words, str(DOCS), str(tmp_path / "site")], check=True)
    assert site.faults(tmp_path / "site")[0] == []
