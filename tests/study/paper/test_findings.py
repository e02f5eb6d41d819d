"""From a store to findings, and through files and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.findings import gather, path_facts, read_scans, write_scans
from marginwise.study.paper.optima import CRITERIA, Scan
from marginwise.study.record import TrialRow
from synthetic_study import paper_rows, paper_store


def test_a_store_becomes_findings(tmp_path):
    with paper_store(tmp_path / "study.sqlite") as store:
        findings = gather(store, pairs=1, n_points=3)
    assert len(findings.trials.rows) == len(paper_rows(most=2))
    assert len(findings.scans) == len(paper.DATASETS) * len(CRITERIA)
    walk = findings.trials.done("twonorm", "le1-walk")[0]
    assert walk.extra["score_error_correlation"] < -0.5
    assert findings.trials.test_size("twonorm") == 40  # as the settings kept with the store say
    assert "score_error_correlation" not in findings.trials.done("pima", "le1-walk")[0].extra


def test_failed_trials_are_kept_apart(tmp_path):
    failed = TrialRow(
        "crabs", "svm-cv", 0, 1, "failed", message="it broke", error_name="ValueError", fingerprint="small"
    )
    with paper_store(tmp_path / "study.sqlite", [failed]) as store:
        findings = gather(store)
    assert findings.trials.failed == [failed]
    assert findings.scans == []


def test_the_correlation_is_spearmans(rng):
    score, error = rng.normal(size=30), rng.integers(0, 5, size=30).astype(float)
    evaluations = [float(number) for number in range(1, 31)]
    found = path_facts({"score": score.tolist(), "test_error": error.tolist(), "evaluation": evaluations})
    assert found["score_error_correlation"] == pytest.approx(spearmanr(score, error).statistic)


def test_errors_long_before_the_end():
    path = {"evaluation": [1.0, 20.0, 50.0, 101.0, 1000.0], "test_error": [0.5, 0.4, 0.3, 0.2, 0.1], "score": [0.0] * 5}
    assert path_facts(path) == {"error_after_2": 0.4, "error_after_5": 0.3, "error_after_10": 0.3}


def test_paths_without_a_correlation():
    path = {"score": [1.0, 2.0, 3.0], "evaluation": [1.0, 2.0, 3.0]}
    assert path_facts(None) == {}
    assert path_facts(path) == {}
    assert "score_error_correlation" not in path_facts({**path, "test_error": [0.1] * 3})
    assert path_facts({**path, "score": [np.nan] * 3, "test_error": [0.1, 0.2, 0.3]}) == {}


def test_scans_through_a_file(tmp_path):
    scans = [Scan("crabs", "le1-walk", 3, 1, (2.0, 0.25, 0.5)), Scan("pima", "gacv-walk", 0, 2, (1.0, 0.0))]
    assert read_scans(write_scans(tmp_path / "scans.csv", scans)) == scans
