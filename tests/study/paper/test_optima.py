"""Scans between the ends of searches: the pairs, the values, and what counts as separate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.criteria import evaluate
from marginwise.hyperparameters import Hyperparameters
from marginwise.study.data import BenchmarkSource, load_data
from marginwise.study.paper import METHODS
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.optima import CRITERIA, LEAST_BARRIER, Scan, scan_optima
from marginwise.study.report.summary import Trials
from synthetic_study import EFFORT, paper_rows


def _load(row):
    return load_data(BenchmarkSource(row.dataset), EFFORT)


@pytest.mark.parametrize("method", CRITERIA)
def test_a_scan_is_the_criterion_on_the_line(method):
    rows = [row for row in paper_rows() if row.dataset == "crabs" and row.method == method][:4]
    (scan,) = scan_optima(Trials(rows), _load, pairs=1, n_points=3)
    ends = {row.number: np.log(row.hyperparameters) for row in rows}
    middle = Hyperparameters.from_vector((ends[scan.start] + ends[scan.end]) / 2)
    name, slack = CRITERIA[method]
    data = load_data(BenchmarkSource("crabs"), EFFORT)
    value = evaluate(name, data.X_train, data.y_train, middle, slack).value
    sign = -1 if method in ("gacv-walk", "span-walk") else 1
    assert scan.scores[1] == pytest.approx(sign * value, rel=1e-6)


def test_criteria_are_those_of_the_methods():
    for column in paper.SIMPLE:
        method = METHODS[column.method]
        assert CRITERIA[column.method] == (method.criterion, method.slack)


def test_pairs_are_the_best_with_others_by_rank():
    rows = [row for row in paper_rows() if row.dataset == "crabs" and row.method == "gacv-walk"][:5]
    values = [0.3, 0.1, 0.5, 0.2, 0.4]  # an error estimate: 1 is best, then 3, 0, 4, 2
    rows = [replace(row, criterion_value=value) for row, value in zip(rows, values, strict=True)]
    scans = scan_optima(Trials(rows), _load, pairs=2, n_points=2)
    assert [(scan.start, scan.end) for scan in scans] == [(1, 3), (1, 2)]
    assert scan_optima(Trials(rows[:1]), _load) == []
    assert scan_optima(Trials([replace(row, criterion_value=None) for row in rows]), _load) == []


def test_only_trials_on_the_same_data_are_compared():
    rows = [row for row in paper_rows() if row.dataset == "crabs" and row.method == "gacv-walk"][:2]
    efforts = {0: EFFORT, 1: replace(EFFORT, train_rows=30)}
    assert scan_optima(Trials(rows), lambda row: load_data(BenchmarkSource("crabs"), efforts[row.number])) == []


def test_barriers():
    assert Scan("crabs", "le1-walk", 0, 1, (2.0, 0.5, 1.0)).barrier == 0.5
    assert not Scan("crabs", "le1-walk", 0, 1, (2.0, 1.5, 1.0)).separate
    assert not Scan("crabs", "le1-walk", 0, 1, (2.0, 1.0 - LEAST_BARRIER / 2, 1.0)).separate
    assert Scan("crabs", "le1-walk", 0, 1, (2.0, float("nan"), 0.5, 1.0)).separate
    assert not Scan("crabs", "le1-walk", 0, 1, (2.0, 0.5, float("nan"))).separate
    assert np.isnan(Scan("crabs", "le1-walk", 0, 1, (float("nan"),) * 2).barrier)


def test_a_record_brings_the_scan_back():
    scan = Scan("crabs", "le1-walk", 3, 1, (2.0, float("nan"), 0.5))
    record = {name: str(value) for name, value in scan.record().items()}
    back = Scan.from_record(record)
    assert replace(back, scores=()) == replace(scan, scores=())
    np.testing.assert_equal(back.scores, scan.scores)
