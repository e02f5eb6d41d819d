"""Means, spreads and differences in standard errors, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import Comparison, compare_best, compare_means, compare_previous
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Sample, Trials, counted_error
from synthetic_study import paper_rows


def _row(number: int, error: float | None, status: str = "done", **more) -> TrialRow:
    return TrialRow("crabs", "le1-walk", number, 0, status, test_error=error, **more)


def test_the_difference_of_means_in_standard_errors():
    trials = Trials([_row(0, 0.10), _row(1, 0.14)])
    cell = next(cell for cell in compare_means(trials) if (cell.dataset, cell.column.label) == ("crabs", "LE1"))
    assert cell.difference == pytest.approx(12.0 - 10.7)
    assert cell.standard_error == pytest.approx((8.0 / 2 + 2.1**2 / 25) ** 0.5)  # (4/√2)² = 8
    assert cell.in_standard_errors == pytest.approx(1.3 / (4 + 2.1**2 / 25) ** 0.5)
    assert cell.within(1)


def test_the_difference_of_counted_errors():
    trials = Trials([_row(0, 0.05)])
    cell = compare_best(trials)[0]
    se = ((0.05 * 0.95 + 0.059 * 0.941) / 120) ** 0.5 * 100
    assert cell.in_standard_errors == pytest.approx((5.0 - 5.9) / se)
    assert counted_error(50.0, 100) == pytest.approx(5.0)
    fewer = Trials([replace(_row(0, 0.05), extra={"test_rows": 30.0})])
    assert compare_best(fewer)[0].standard_error > cell.standard_error


def test_one_trial_has_no_standard_error_of_its_mean():
    cell = compare_means(Trials([_row(0, 0.1)]))[0]
    assert cell.standard_error is cell.in_standard_errors is None
    assert cell.within(1) is True


def test_within_counts_what_rounding_leaves_open():
    def cell(value: float) -> Comparison:
        return Comparison("crabs", paper.COLUMNS[0], 10.0, 2.0, Sample((value,)), value, None)

    assert cell(12.04).within(1)
    assert cell(12.06).within(1) is False
    assert cell(14.0).within(2)
    assert compare_means(Trials([]))[0].within(1) is None


def test_rows_with_the_papers_statistics_agree_everywhere():
    trials = Trials(paper_rows())
    for cell in compare_means(trials):
        assert cell.difference == pytest.approx(0.0, abs=1e-9)
        assert cell.within(1)
    assert len(compare_means(trials)) == len(compare_best(trials)) == 30
    assert len(compare_previous(trials)) == 23  # two dashes
    assert trials.seconds_per_step("pima", "evidence-ascent") == pytest.approx(0.5)
    assert trials.svm_seconds("pima") == pytest.approx(0.002)
