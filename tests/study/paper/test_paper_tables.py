"""Tables: what is shown is what is in the records, and both are what the rows say."""

from __future__ import annotations

import pytest

from marginwise.display import Cell
from marginwise.study.paper import tables
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.optima import Scan
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows


@pytest.fixture(scope="module")
def trials() -> Trials:
    return Trials(paper_rows(shift={("pima", "le1-walk"): 5.0, ("wdbc", "evidence-ascent"): -1.5}))


def test_misses_are_those_that_were_moved(trials):
    assert [(cell.dataset, cell.column.label) for cell in tables.missed(trials, 1)] == [
        ("pima", "LE1"),
        ("wdbc", "Evid grad"),
    ]
    assert [(cell.dataset, cell.column.label) for cell in tables.missed(trials, 2)] == [("pima", "LE1")]
    assert not tables.missed(Trials([]), 1)  # what was not run can't miss


def test_the_main_table_shows_ours_above_theirs(trials):
    table = tables.means(trials, "thorough")
    assert [len(row) for row in table.rows] == [8] * 5
    pima = table.rows[1][1]
    assert pima == Cell("35.3 ± 2.0 (25)", pytest.approx(35.3), "bad", "30.3 ± 2.0")
    assert table.rows[2][5].tone == ""  # within two, not within one
    assert table.rows[0][1].tone == "good"
    records = {(record["dataset"], record["column"]): record for record in table.records}
    assert records["pima", "LE1"]["difference"] == pytest.approx(5.0)
    assert records["pima", "LE1"]["within_2_sd"] is False


def test_cells_say_how_far_away(trials):
    rows = {row[0]: row for row in tables.cells(trials, "thorough").rows}
    assert len(rows) == 30
    assert rows["Pima, LE1"][-1].text == "2.5 sd away"
    assert rows["WDBC, Evid grad"][-1].text == "within 2 sd"
    assert rows["Ringnorm, LE2"][-1] == "not counted"
    assert rows["Pima, LE1"][3].text == "+5.0"
    assert rows["Crabs, LE1"][3].text == "0.0"
    assert rows["Pima, LE1"][4].value == pytest.approx(5.0 / (2 * 2.0**2 / 25) ** 0.5)


def test_times_are_ratios(trials):
    records = {(record["dataset"], record["column"]): record for record in tables.times(trials).records}
    assert records["twonorm", "Evid grad"]["factor"] == pytest.approx(7779 / 0.5)
    assert records["crabs", "SVM"]["ours"] == pytest.approx(0.002)
    assert tables.times(Trials([])).rows[0][1] == Cell("—", detail="0.81")


def test_previous_work_has_dashes_where_the_paper_has_none(trials):
    table = tables.previous(trials)
    assert table.rows[3][5] is table.rows[4][5] is None
    assert table.rows[0][1].text == "2.5 (3)"


def test_the_sets_have_the_sizes_of_the_paper():
    for record in tables.sizes().records:
        assert record["ours"] == record["published"]


def test_barriers_are_counted():
    scans = [Scan("crabs", "le1-walk", 0, 1, (0.0, -1.0, 0.0)), Scan("crabs", "le1-walk", 0, 2, (1.0, 0.5, 0.0))]
    shown = tables.barriers(Findings(Trials([]), scans), "thorough").rows[0]
    assert shown[1] == Cell("1 of 2", 1, detail="1")
    assert shown[2] is None
