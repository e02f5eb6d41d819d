"""What the documentation shows runs: the README, every page in docs/, every docstring example."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import marginwise
from marginwise.criteria import registry
from tiers import with_slow

ROOT = Path(__file__).parent.parent
#: Pages in docs/ that are made while the site is built are left to it.
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]
MODULES = [info.name for info in pkgutil.walk_packages(marginwise.__path__, "marginwise.")]


@pytest.mark.parametrize(
    "page",
    with_slow(PAGES, {ROOT / "docs" / f"{name}.md" for name in ("scale", "study", "searches", "tuned-svc")}),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """Blocks marked ``python`` run in order in one namespace; they may contain their own assertions."""
    monkeypatch.setattr(registry, "_CRITERIA", dict(registry._CRITERIA))  # pages register criteria
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(page), "exec", dont_inherit=True), namespace)


def test_the_ten_lines_print_what_the_readme_says(capsys):
    """Numbers may differ in the last digit that is shown: other machines round otherwise."""
    part = re.search(r"<!-- ten lines -->(.*?)<!-- end of ten lines -->", (ROOT / "README.md").read_text("utf-8"), re.S)
    code, said = (re.search(rf"^```{kind}\n(.*?)^```", part[1], re.M | re.S)[1] for kind in ("python", "text"))
    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "__docs__"})
    printed = capsys.readouterr().out
    number = r"\d+\.\d+"
    assert re.sub(number, "#", printed) == re.sub(number, "#", said)
    for shown, there in zip(re.findall(number, printed), re.findall(number, said), strict=True):
        assert abs(float(shown) - float(there)) < 2.5 * 10.0 ** -len(there.split(".")[1])


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_numbers_that_are_quoted_are_those_of_the_comparison(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_comparison = importlib.import_module("make_comparison")
    assert make_comparison.main(["--check"]) == 0, capsys.readouterr().out
    ranks = make_comparison.mean_ranks()
    assert sum(error for error, _ in ranks.values()) == pytest.approx(45)  # of nine, whatever the ties
    assert min(ranks, key=lambda name: ranks[name][1]) == "TunedSVC"
    changed = make_comparison.filled("a <!--n:problems-->3<!--/n--> b", make_comparison.numbers())
    assert changed == "a <!--n:problems-->15<!--/n--> b"


def test_public_names_are_all_there():
    for name in marginwise.__all__:
        assert getattr(marginwise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = marginwise.nonsense
