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
    sign = -1 if name in ("gacv", "span") else 1
    assert scan.scores[1] == pytest.approx(sign * value, rel=1e-6)


def test_criteria_are_those_of_the_methods():
    for column in paper.SIMPLE:
        method = METHODS[column.method]
        assert CRITERIA[column.method] == (method.criterion, method.slack)


def test_pairs_are_different_and_the_same_each_time():
    rows = [row for row in paper_rows() if row.dataset == "crabs" and row.method == "gacv-walk"][:5]
    pairs = [[(scan.start, scan.end) for scan in scan_optima(Trials(rows), _load, pairs=7, n_points=2)] for _ in "ab"]
    assert pairs[0] == pairs[1]
    assert len(set(pairs[0])) == 7
    assert all(start < end for start, end in pairs[0])
    assert len(scan_optima(Trials(rows), _load, pairs=99, n_points=2)) == 10
    assert scan_optima(Trials(rows[:1]), _load) == []
    assert scan_optima(Trials([replace(row, hyperparameters=None) for row in rows]), _load) == []


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
