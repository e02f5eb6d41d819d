"""From a store to findings, and through files and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from marginwise import load_benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.study.judge import Judge
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets, all_methods
from marginwise.study.paper.findings import Findings, gather, gradient_facts, path_facts
from marginwise.study.paper.optima import CRITERIA, MajorityVote, Paired, Scan, pair, vote
from marginwise.study.paper.settings import NEAREST, PAPER_TRIALS, THOROUGH, nearest
from marginwise.study.record import TrialRow, read_rows, write_rows
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows, paper_store


def test_a_store_becomes_findings(tmp_path):
    with paper_store(tmp_path / "study.sqlite") as store:
        findings = gather(store, pairs=1, n_points=3)
    assert len(findings.trials.rows) == len(paper_rows(most=2))
    assert len(findings.scans) == len(findings.votes) == len(paper.DATASETS) * len(CRITERIA)
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


def test_paths_without_a_correlation():
    path = {"score": [1.0, 2.0, 3.0], "evaluation": [1.0, 2.0, 3.0]}
    assert path_facts(None) == {}
    assert path_facts(path) == {}
    assert "score_error_correlation" not in path_facts({**path, "test_error": [0.1] * 3})
    assert path_facts({**path, "score": [np.nan] * 3, "test_error": [0.1, 0.2, 0.3]}) == {}


def test_scans_through_a_file(tmp_path):
    scans = [Scan("crabs", "le1-walk", 3, 1, (2.0, 0.25, 0.5)), Scan("pima", "gacv-walk", 0, 2, (1.0, 0.0))]
    assert read_rows(write_rows(tmp_path / "scans.csv", scans, Scan), Scan) == scans
    assert read_rows(tmp_path / "none.csv", Scan) == []


def test_gradients_rise_and_fall():
    rising = {"g_C": [0.1, 0.3, 0.0, 0.0], "g_k0": [0.0, 0.4, 0.1, 0.0]}
    assert gradient_facts({**rising, "g_C": [0.1, 0.3, 0.0, 0.25]})["last_gradient"] == pytest.approx(0.5)
    assert gradient_facts(rising) == pytest.approx({"last_gradient": 0.0, "peak_place": 1 / 3})
    assert gradient_facts({"g_C": [0.0, 0.0, 0.0]}) == {}
    assert gradient_facts({"score": [1.0]}) == {}


def test_the_companion_along_a_walk():
    evaluations = [1.0, 2.0, 3.0, 4.0]
    path = {"score": evaluations, "evaluation": evaluations, "test_error": [0.4, 0.3, 0.2, 0.1]}
    found = path_facts({**path, "gacv": [0.4, np.nan, 0.5, 0.6]})
    assert (found["score_error_correlation"], found["score_gacv_correlation"]) == pytest.approx((-1.0, 1.0))
    less = path_facts({**path, "test_error": [np.nan, 0.3, 0.2, 0.1], "gacv": [9.0, 0.4, 0.5, 0.6]})
    assert less["score_gacv_correlation"] == pytest.approx(1.0)  # counted where the test error is known


def test_a_setting_takes_the_place_of_the_thorough_one():
    rows = paper_rows(shift={(d, nearest("gacv-walk")): 3.0 for d in paper.DATASETS}, most=3)
    varied = [replace(row, method="gacv-walk-loose", test_error=0.5) for row in rows if row.method == "gacv-walk"]
    draw = replace(varied[0], dataset="twonorm-draw-1", method=nearest("gacv-walk"))
    trials = Trials([*rows, *varied, draw])
    assert (all_datasets(trials), all_methods(trials)) == (paper.DATASETS, tuple(PAPER_TRIALS))  # neither is a user's
    assert not Findings(Trials(rows)).varied
    findings = Findings(trials, votes=[MajorityVote("pima", nearest("gacv-walk"), 3, 20.0, 19.0)])
    column = paper.COLUMNS[2]
    assert findings.varied
    near = findings.settings()[NEAREST]
    assert near.mean("pima", column) == pytest.approx(findings.mean("pima", column) + 3.0)
    assert near.votes[0].method == "gacv-walk"
    assert near.thorough().mean("pima", column) == findings.mean("pima", column)
    assert findings.in_setting("loose", THOROUGH).mean("pima", column) == 50.0
    assert findings.in_setting(THOROUGH, THOROUGH).mean("pima", column) == findings.mean("pima", column)


def test_votes(tmp_path):
    data = load_benchmark("crabs")
    good, bad = (1.0, 10.0, 0.1, 2.0, 2.0, 2.0, 2.0, 2.0), (1.0, 1e-3, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0)
    rows = [
        TrialRow("crabs", "gacv-walk", number, 0, "done", hyperparameters=end)
        for number, end in enumerate((good, good, bad))
    ]
    (found,) = vote(Trials(rows), lambda row: data)
    judge = Judge.of(data, as_slack("linear"))
    alone = [100 * judge.svm_error(Hyperparameters.from_values(end)) for end in (good, bad)]
    assert alone[0] < alone[1]
    assert (found.voters, found.together) == (3, pytest.approx(alone[0]))  # two of three
    assert found.single == pytest.approx((2 * alone[0] + alone[1]) / 3)
    assert found.gain > 0
    assert found.chosen == pytest.approx(alone[0])  # the good one errs least on either half
    (tie,) = vote(Trials([rows[0], rows[2]]), lambda row: data)
    assert tie.together == pytest.approx(tie.single)  # where they differ, half an error each
    assert vote(Trials(rows[:1]), lambda row: data) == vote(Trials(rows), lambda row: None) == []
    back = read_rows(write_rows(tmp_path / "votes.csv", [found, tie], MajorityVote), MajorityVote)
    assert [one.chosen for one in back] == pytest.approx([found.chosen, tie.chosen], rel=1e-5)
    assert [replace(one, single=0.0, together=0.0, chosen=0.0) for one in back] == [
        replace(one, single=0.0, together=0.0, chosen=0.0) for one in (found, tie)
    ]


def test_rows_are_paired(tmp_path):
    data = load_benchmark("crabs")
    end = (1.0, 10.0, 0.1, 2.0, 2.0, 2.0, 2.0, 2.0)
    judge = Judge.of(data, as_slack("linear"))
    wrong = tuple(np.flatnonzero(judge.margins(Hyperparameters.from_values(end)) <= 0).tolist())
    ascent = TrialRow("crabs", "evidence-ascent", 0, 0, "done", hyperparameters=end)
    same = TrialRow("crabs", "tuned-svc", 0, 0, "done", wrong=wrong)
    worse = replace(same, number=1, wrong=(*wrong, *(i for i in range(20) if i not in wrong)))
    found = {one.predicted: one for one in pair(Trials([ascent, same]), lambda row: data)}
    assert set(found) == {"posterior", "svm"}
    assert (found["svm"].difference, found["svm"].in_standard_errors) == (0.0, 0.0)
    (_, both) = pair(Trials([ascent, same, worse]), lambda row: data)
    more = len(worse.wrong) - len(wrong)
    apart = np.zeros(120)
    apart[:more] = 50.0  # one of two trials
    assert both.difference == pytest.approx(apart.mean())
    assert both.standard_error == pytest.approx(apart.std(ddof=1) / np.sqrt(120))
    (back,) = read_rows(write_rows(tmp_path / "pairs.csv", [both], Paired), Paired)
    assert (back.dataset, back.predicted) == (both.dataset, both.predicted)
    assert back.in_standard_errors == pytest.approx(both.in_standard_errors, rel=1e-4)
    assert pair(Trials([ascent, replace(same, wrong=None)]), lambda row: data) == []
