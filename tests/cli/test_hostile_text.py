"""Names, labels and files with control characters, HTML and formulas in them: shown, and no more."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_tables import write_csv
from page_checks import check_page

ESCAPE = "\x1b[31m"
NAMES = [f"a{ESCAPE}", "b\x07", "<script>alert(1)</script>", "=1+1", "line\u2028two\u202e"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        row: dict[str, object] = {name: round(float(rng.normal()), 3) for name in NAMES}
        rows.append({"id": f"=row{i}", **row, "t\x1b": f"-x{ESCAPE}" if row[NAMES[0]] > 0 else "@<b>"})
    return write_csv(tmp_path / f"t{ESCAPE}.csv", rows)


@pytest.mark.slow
def test_a_hostile_table_is_fitted_and_reported(run, table: Path, tmp_path: Path) -> None:
    model, report = tmp_path / "m.skops", tmp_path / "r.html"
    code, out, err = run("fit", table, "--drop", "id", "--ard", 0, "-m", model, "-r", report)
    assert (code, "\x1b" in out + err) == (0, False)
    assert r"a\x1b[31m" in out
    page = report.read_text(encoding="utf-8")
    check_page(page)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    code, out, err = run("predict", model, table, "--proba")
    assert code == 0
    assert "\x1b" not in err
    header, *rows = csv.reader(out.splitlines())
    assert {row[0] for row in rows} == {f"'=row{i}" for i in range(40)}
    assert {row[header.index("prediction")] for row in rows} == {f"'-x{ESCAPE}", "'@<b>"}  # a file has them whole


def test_messages_are_plain(run, tmp_path: Path) -> None:
    code, out, err = run("fit", tmp_path / f"none{ESCAPE}.csv")
    assert (code, out, "\x1b" in err) == (2, "", False)
    assert err.count("\n") == 1
    code, out, err = run("predict", tmp_path / "m\n\x07.skops", tmp_path / "x.csv")
    assert (code, out, "\x07" in err, err.count("\n")) == (2, "", False, 1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_unicode(run, table: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/t\xff\xfe.csv")
    os.rename(table, odd)
    model, report = os.fsdecode(os.fsencode(tmp_path) + b"/m\xff"), tmp_path / "r.html"
    words = ["fit", odd, "--drop", "id", "--ard", 0, "-m", model, "-r", report]
    code, out, _ = run(*words)
    assert code == 0
    assert r"t\udcff\udcfe.csv: 40 rows" in out
    assert r"t\udcff" in report.read_text(encoding="utf-8")
    code, out, _ = run(*words, "--json", "--force")
    assert (code, r"t\udcff" in out) == (0, True)
    assert run("predict", model, odd)[0] == 0
