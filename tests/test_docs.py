"""What the documentation shows runs: the README, every page in docs/, every docstring example."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import marginwise

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Where a README that is shown elsewhere finds the files beside it.
SOURCES = "https://github.com/marginwise/marginwise/blob/main/"
MODULES = [info.name for info in pkgutil.walk_packages(marginwise.__path__, "marginwise.")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """Blocks marked ``python`` run in order in one namespace; they may contain their own assertions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if target.startswith(SOURCES):
            assert (ROOT / target.removeprefix(SOURCES)).exists(), f"{page.name} points to {target}"
        elif "://" not in target:
            assert page.name != "README.md", f"{target} leads nowhere from the package index"
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_public_names_are_all_there():
    for name in marginwise.__all__:
        assert getattr(marginwise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = marginwise.nonsense
