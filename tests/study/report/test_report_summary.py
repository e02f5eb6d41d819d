"""Samples of trials, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from marginwise.study import TrialRow
from marginwise.study.report.summary import Sample, Trials


def _row(number: int, error: float | None, status: str = "done", **more) -> TrialRow:
    return TrialRow("crabs", "le1-walk", number, 0, status, test_error=error, **more)


def test_a_sample_by_hand():
    sample = Sample((1.0, 2.0, 6.0))
    assert (sample.n, sample.mean, sample.median, sample.best, sample.worst) == (3, 3.0, 2.0, 1.0, 6.0)
    assert sample.sd == pytest.approx(7**0.5)
    assert Sample(()).mean is Sample(()).best is Sample(()).sd is None
    assert Sample((1.0,)).sd is None


def test_failed_trials_and_missing_numbers_do_not_count():
    trials = Trials([_row(0, 0.1), _row(1, None), _row(2, float("nan")), _row(3, None, "failed", error_name="E")])
    assert trials.sample("crabs", "le1-walk").values == (10.0,)
    assert [row.number for row in trials.failed] == [3]
    assert trials.sample("pima", "le1-walk").n == 0


def test_names_are_in_the_order_of_the_rows():
    rows = [TrialRow(d, m, 0, 0, "done") for d, m in (("b", "y"), ("b", "x"), ("a", "y"))]
    assert (Trials(rows).datasets, Trials(rows).methods) == (("b", "a"), ("y", "x"))
    assert Trials(rows).test_size("a") is None
