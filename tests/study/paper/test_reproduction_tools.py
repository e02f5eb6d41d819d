"""What docs/ makes of a study: the numbers that pages quote, what is missing, and what a run changes."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from marginwise.study.paper import numbers as paper
from marginwise.study.paper import paper_plan, sensitivity_plan
from marginwise.study.paper.report import read_tables
from marginwise.study.record import write_rows
from synthetic_study import paper_rows, paper_store

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_numbers_that_pages_quote(module, tmp_path):
    rows = [row for row in paper_rows() if row.method == "evidence-ascent" and row.number < 4]
    gains = {"ep-ascent": 1.0, "ep-ascent-normalised": -0.5}
    rows += [
        replace(row, method=method, seconds=30.0, early_error=row.test_error - (gain + 0.1 * (-1) ** row.number) / 100)
        for row in rows
        for method, gain in gains.items()
    ]
    write_rows(tmp_path / "reproduction.csv", rows)
    found = module("study_numbers").numbers(tmp_path)
    n = 4 * len(paper.DATASETS)
    assert found["study trials"] == str(3 * n)
    assert found["study paper"] == f"{n * 2 / 60:.0f}"  # two seconds each
    assert found["study sensitivity"] == f"{2 * n * 30 / 60:.0f}"
    assert found["study both on two cores"] == f"{(n * 2 + 2 * n * 30) / 120:.0f}"
    error = 0.1 * (16 / 15) ** 0.5 / 16**0.5  # of 16 gains ± 0.1: four on each set but Pima
    assert found["study gain as it is"] == f"1.00 ± {error:.2f}"
    assert found["study gain normalised"] == f"−0.50 ± {error:.2f}"


def test_every_quoted_number_has_a_name(module):
    known = module("make_comparison").numbers()
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    quoted = set(re.findall(r"<!--n:(study [^>]*?)-->", text))
    assert quoted
    assert quoted <= known.keys()


def test_a_study_that_is_not_complete_makes_no_page(module, tmp_path, monkeypatch, capsys):
    make = module("make_reproduction")
    first, *_ = paper_rows(most=2)
    url = f"sqlite:///{tmp_path}/part.sqlite"
    with paper_store(tmp_path / "part.sqlite", [first]) as store:
        left = make.missing(store)
    whole = {*paper_plan().enumerate(), *sensitivity_plan("DIR").enumerate()}
    assert left.startswith(f"{len(whole) - 1} trials are missing")
    monkeypatch.setattr("sys.argv", ["make_reproduction.py", "--store", url, "--output", str(tmp_path)])
    with pytest.raises(SystemExit):
        make.main()
    assert "trials are missing" in capsys.readouterr().err
    assert not (tmp_path / "reproduction.csv").exists()


def test_a_run_is_compared_with_the_tables(module, tmp_path, capsys):
    rows = paper_rows(most=2)
    write_rows(tmp_path / "reproduction.csv", rows)
    assert [row.trial for row in read_tables(tmp_path).trials.rows] == [row.trial for row in rows]
    walks = [replace(row, seconds=1.0) for row in rows if row.method in ("le1-walk", "gacv-walk")]
    changed = [replace(row, test_error=0.9) if row.method == "gacv-walk" else row for row in walks]
    with paper_store(tmp_path / "run.sqlite", changed) as store:
        module("make_reproduction").compare(store, tmp_path)
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[1:]}
    assert lines["le1-walk"][1:3] == ["10", "10"]
    assert lines["gacv-walk"][1:3] == ["10", "0"]
    minutes = (2 * len(rows) / 60) / 2  # of two seconds each; now one
    assert lines["all"] == f"all {len(rows)} trials of the tables would take {minutes:.0f} minutes".split()
