"""Rows to look at again have the numbers of the table, on the page and in what the command prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from cli_tables import write_csv
from held_out_models import Predicted
from known_flips import FLIPPED, flipped
from marginwise.display import Page
from marginwise.reporting.label_issues import add_label_issues
from marginwise.reporting.training import TrainingTable
from page_checks import CHROMIUM, beyond_the_edge, check_page, read


def test_the_page_has_both_lists_and_shows_names_as_text() -> None:
    page = Page("t")
    probability = np.array([[0.95, 0.05], [0.02, 0.98], [0.5, 0.5], [0.6, 0.4]])
    rows = np.array([1, 0, 3, 1, 2])
    model = Predicted(np.array(["<b>no</b>", "yes"]), probability, np.array([1, 0, 0, 1]), rows)
    add_label_issues(page, model, TrainingTable(np.empty((0, 0)), model.y, ()))
    html = page.html()
    check_page(html)
    assert "<b>" not in html
    texts = " ".join(read(html).texts)
    assert "against the label of 3 rows" in texts
    assert "Labels that may be wrong" in texts
    assert "<b>no</b> (95.0 %)" in texts
    assert "1, 4" in texts  # numbers of a row and its copy
    sure = Page("t")
    model = Predicted(np.array(["a", "b"]), np.array([[0.9, 0.1], [0.3, 0.7]]), np.arange(2), np.arange(2))
    add_label_issues(sure, model, TrainingTable(np.empty((0, 0)), model.y, ()))
    assert "No label is suspicious" in sure.html()


def test_the_command_tells_them(run, tmp_path: Path) -> None:
    X, codes = flipped(2)
    rows = [{"u": a, "v": b, "kind": "yes" if code else "no"} for (a, b), code in zip(X, codes, strict=True)]
    table = write_csv(tmp_path / "t.csv", rows)
    files = ["-m", tmp_path / "m.skops", "-r", tmp_path / "r.html"]
    code, out, _ = run("fit", table, "--ard", 0, *files, "--json", "--quiet")
    assert code == 0
    found = json.loads(out)
    assert sorted(doubt["rows"] for doubt in found["suspicious_labels"][:4]) == [[k + 1] for k in FLIPPED]
    assert len(found["uncertain_rows"]) == 10
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    check_page(page)
    assert "Labels that may be wrong" in page
    if CHROMIUM is not None:
        assert beyond_the_edge(tmp_path / "r.html") == "nothing"


def test_a_fit_that_left_no_row_out_says_what_to_do(run, tmp_path: Path) -> None:
    rows = [{"u": k, "v": k % 3, "kind": "rare" if k == 7 else "common"} for k in range(12)]
    table = write_csv(tmp_path / "t.csv", rows)
    code, _, errors = run("fit", table, "--ard", 1, "--no-files", "--quiet")
    assert code == 2
    assert "--ard is 1.0; expected auto or 0" in errors
    assert "rows left out" in errors
