"""The paper's claims: on rows with the paper's own statistics, and on rows that contradict it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from marginwise.study.paper import measures
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import (
    ANSWERED,
    CLAIMS,
    FAILS,
    HOLDS,
    IN_PART,
    UNTESTED,
    Claim,
    held_in,
    judged,
    number,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.optima import CRITERIA, MajorityVote, Paired, Scan
from marginwise.study.paper.settings import (
    HMC,
    MAXIMISED,
    NEAREST_ASCENT,
    NEAREST_WALK,
    SCANNED_SMOOTHING,
    SMOOTHED,
    nearest,
)
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows, printed


def _claim(words: str) -> Claim:
    found = [claim for claim in CLAIMS if words in claim.statement]
    assert len(found) == 1, words
    return found[0]


def _verdict(words: str, findings: Findings) -> str:
    return _claim(words).judged(findings).verdict


def _as_printed() -> Findings:
    """Return trials whose means, standard deviations and best errors are those of the paper's tables 2 to 5."""
    rows = paper_rows()
    cells = {}
    for dataset in paper.DATASETS:
        for place, column in enumerate(paper.COLUMNS[:5]):
            n = paper.trials(dataset, column.method)
            cells[dataset, column.method] = printed(*paper.ERRORS[dataset][place], paper.BEST[dataset][place], n) / 100
    seconds = {
        (dataset, column.method): paper.SECONDS[dataset][place + 1]
        for dataset in paper.DATASETS
        for place, column in enumerate(paper.COLUMNS[:5])
    }

    def as_there(row: TrialRow) -> TrialRow:
        key = (row.dataset, row.method)
        if key not in cells:
            return row
        extra = {**row.extra, "step_seconds": seconds[key]}
        return replace(row, test_error=float(cells[key][row.number]), extra=extra)

    return Findings(Trials(as_there(row) for row in rows))


@pytest.fixture(scope="module")
def published() -> Findings:
    return _as_printed()


def test_the_printed_numbers_are_those_of_the_tables(published):
    wrong = {(d, column.label) for d in paper.DATASETS for column in paper.COLUMNS if paper.impossible(d, column)}
    assert wrong == {("ringnorm", "LE2")}
    for dataset in paper.DATASETS:
        for place, column in enumerate(paper.COLUMNS[:5]):
            sample = published.sample(dataset, column.method)
            assert sample.mean == pytest.approx(paper.ERRORS[dataset][place][0])
            assert sample.best == pytest.approx(paper.BEST[dataset][place])
            if (dataset, column.label) not in wrong:
                assert sample.sd == pytest.approx(paper.ERRORS[dataset][place][1], abs=0.05)  # as printed


def test_every_rule_that_the_papers_tables_decide_holds_of_them(published):
    decided = [claim for claim in CLAIMS if claim.in_tables]
    assert len(decided) == 9
    for claim in decided:
        assert claim.judged(published).verdict == HOLDS, (claim.statement, claim.judged(published).numbers)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a third of the LE1 trials", HOLDS),
        ("many trials end close", HOLDS),
        ("40 and 80 steps", HOLDS),
    ],
)
def test_claims_on_trials_as_the_paper_tells_of_them(published, words, expected):
    assert _verdict(words, published) == expected


def test_the_papers_own_counts_are_told(published):
    assert "Lower in 18 of 20 pairs" in _claim("consistently lower").judged(published).numbers
    assert "Smaller in 18 of 20 pairs" in _claim("much less variable").judged(published).numbers


@pytest.mark.parametrize(
    ("words", "shift"),
    [
        ("consistently lower", {(d, "evidence-ascent"): 40.0 for d in paper.DATASETS}),
        ("On Pima all simple criteria", {("pima", f"{name}-walk"): -20.0 for name in ("le1", "le2", "gacv", "span")}),
        ("On Pima both evidence", {("pima", f"{name}-walk"): -20.0 for name in ("le1", "le2")}),
        ("On WDBC the evidence", {("wdbc", f"{name}-walk"): 20.0 for name in ("le1", "le2")}),
        ("approximately the same test error", {(d, "evidence-ascent"): 30.0 for d in paper.DATASETS}),
        ("a third of the LE1 trials", {("twonorm", "le1-walk"): -50.0}),
        ("not systematically better", {(d, "svm-variational"): 30.0 for d in paper.DATASETS}),
    ],
)
def test_claims_fail_where_the_numbers_say_the_contrary(words, shift):
    assert _verdict(words, Findings(Trials(paper_rows(shift=shift)))) == FAILS


def test_without_trials_nothing_is_claimed():
    findings = Findings(Trials([]))
    assert {judgement.verdict for judgement in judged(findings).values()} == {UNTESTED}
    assert all(judgement.numbers.startswith(("no ", "fewer ")) for judgement in judged(findings).values())


def test_the_hunt_is_over_where_tuned_svc_is_worse_on_no_rows(published):
    def found(worse: int, method: str = "evidence-ascent") -> str:
        cells = list(product(paper.DATASETS, ("posterior", "svm")))
        pairs = [Paired(d, method, by, 3.0 if k < worse else -1.0, 1.0) for k, (d, by) in enumerate(cells)]
        return _verdict("The hunt is still on", replace(published, pairs=pairs))

    assert [found(0), found(1), found(3)] == [ANSWERED, IN_PART, HOLDS]
    assert found(0, nearest("evidence-ascent")) == UNTESTED  # ascents in another setting
    assert _verdict("The hunt is still on", published) == UNTESTED


def _scans(separate: bool) -> list[Scan]:
    dip = -1.0 if separate else 0.5
    return [Scan(d, m, 0, 1, (1.0, dip, 0.0)) for d in paper.DATASETS for m in CRITERIA]


def test_optima_are_judged_on_converged_ends(published):
    """Whatever the setting, the ends are those of the thorough walks: short walks end before they converge."""
    near = replace(published, scans=_scans(True)).in_setting(NEAREST_WALK, NEAREST_ASCENT)
    loose = [s if s.method in near_methods() else t for s, t in zip(_scans(False), _scans(True), strict=True)]
    for words in ("All simple criteria have multiple", "always deteriorated"):
        assert _verdict(words, near) == HOLDS
        assert _verdict(words, replace(published, scans=loose).in_setting(NEAREST_WALK, NEAREST_ASCENT)) == HOLDS


def near_methods() -> set[str]:
    return {nearest(column.method) for column in paper.SIMPLE}


def test_local_optima_need_a_barrier(published):
    for words in ("All simple criteria have multiple", "always deteriorated", "The exact evidence has local optima"):
        assert _verdict(words, replace(published, scans=_scans(True))) == HOLDS
        assert _verdict(words, replace(published, scans=_scans(False))) == FAILS
        assert _verdict(words, published) == UNTESTED
    some = [s if s.dataset in ("crabs", "pima") else t for s, t in zip(_scans(True), _scans(False), strict=True)]
    for words in ("All simple criteria have multiple", "The exact evidence has local optima"):
        assert _verdict(words, replace(published, scans=some)) == IN_PART
    assert _verdict("always deteriorated", replace(published, scans=some)) == FAILS


@pytest.mark.parametrize("separate", [True, False])
def test_no_verdict_without_all_of_its_cells(published, separate):
    """Ends in one cell, or in all but one, say nothing about "all criteria" or "five sets"."""
    for words in ("All simple criteria have multiple", "always deteriorated", "The exact evidence has local optima"):
        method = "evidence-ascent" if "evidence" in words else "gacv-walk"
        one = [scan for scan in _scans(separate) if (scan.dataset, scan.method) == ("pima", method)]
        others = [scan for scan in _scans(separate) if (scan.dataset, scan.method) != ("pima", method)]
        for scans in (one, others):
            assert _verdict(words, replace(published, scans=scans)) == UNTESTED
        numbers = _claim(words).judged(replace(published, scans=others)).numbers
        assert numbers == f"no two trials of {method} with the same data on Pima."
    votes = [MajorityVote(dataset, "le1-walk", 25, 5.0, 4.0) for dataset in paper.DATASETS]
    assert _verdict("Combining the varied local optima", replace(published, votes=votes)) == UNTESTED


def test_quasi_newton_ends_show_local_optima_of_the_evidence(published):
    scans = [replace(scan, scores=(1.0, -1.0, 0.0)) if scan.method == MAXIMISED else scan for scan in _scans(False)]
    assert _verdict("The exact evidence has local optima", replace(published, scans=scans)) == HOLDS


def test_votes_are_counted_by_cell(published):
    def found(gains: int) -> str:
        votes = [
            MajorityVote(dataset, column.method, 25, 5.0, 4.0 if place < gains else 6.0)
            for place, (dataset, column) in enumerate(product(paper.DATASETS, paper.SIMPLE))
        ]
        return _verdict("Combining the varied local optima", replace(published, votes=votes))

    assert [found(gains) for gains in (15, 11, 10)] == [HOLDS, IN_PART, FAILS]
    assert _verdict("Combining the varied local optima", published) == UNTESTED


def test_a_minimum_must_be_found_by_rows_that_do_not_judge_it(published):
    def stopped(gain: dict[str, float]) -> Findings:
        rows = [
            replace(row, early_error=row.test_error - gain[row.dataset] / 100) if "ascent" in row.method else row
            for row in published.trials.rows
        ]
        return Findings(Trials(rows))

    others = {dataset: 0.0 if dataset == "pima" else 0.2 for dataset in paper.DATASETS}
    assert _verdict("shallow minimum", stopped(others)) == HOLDS
    assert _verdict("shallow minimum", stopped(dict.fromkeys(others, 0.2))) == IN_PART  # on Pima, too
    assert _verdict("shallow minimum", stopped(dict.fromkeys(others, -0.2))) == FAILS
    assert _verdict("True early stopping", stopped(dict.fromkeys(others, 0.0))) == HOLDS
    assert _verdict("True early stopping", stopped(dict.fromkeys(others, -1.0))) == FAILS


def test_the_course_of_ascents(published):
    def courses(place: float, last: float) -> Findings:
        facts = {"peak_place": place, "last_gradient": last}
        return Findings(Trials(replace(row, extra={**row.extra, **facts}) for row in published.trials.rows))

    assert _verdict("rise to a peak", courses(0.3, 0.1)) == HOLDS
    assert _verdict("rise to a peak", courses(0.0, 0.1)) == FAILS
    assert _verdict("rise to a peak", courses(0.3, 0.9)) == FAILS


def test_determinism_is_judged_by_the_papers_sampler(published):
    ends = [row for row in published.trials.rows if row.method == "evidence-ascent" and row.number < 3]

    def repeated(noise: float, most: int = 3) -> Findings:
        rows = [row for row in published.trials.rows if row.method != HMC]
        rows += [
            replace(row, method=HMC, hyperparameters=tuple(np.full(len(row.hyperparameters), 1 + noise * row.number)))
            for row in ends
            if row.number < most
        ]
        return replace(published, trials=Trials(rows))

    words = "practically deterministic"
    assert (_verdict(words, repeated(1e-3)), _verdict(words, repeated(2.0))) == (HOLDS, FAILS)
    assert _verdict(words, repeated(1e-3, most=2)) == UNTESTED


def test_smoothing_needs_variations(published):
    beside = {name: one.walk for name, one in SMOOTHED.items()}
    beside |= {name: "span-walk-looser" for name in SCANNED_SMOOTHING if "c2" in name}

    def smoothed(shift: float) -> Findings:
        rows = [
            replace(row, method=name, test_error=row.test_error + shift)
            for name, method in beside.items()
            for row in published.trials.rows
            if row.method == method
        ]
        return replace(published, trials=Trials([*published.trials.rows, *rows]))

    words = "smoothing parameters"
    assert [_verdict(words, smoothed(shift)) for shift in (0.005, 0.2)] == [HOLDS, FAILS]
    assert _verdict(words, published) == UNTESTED


def test_settings_in_which_a_claim_holds(published):
    walked = [row for row in published.trials.rows if row.method in {column.method for column in paper.SIMPLE}]
    worse = [replace(row, method=f"{row.method}-bold", test_error=0.01) for row in walked]
    better = [replace(row, method=f"{row.method}-gentle", test_error=row.test_error + 0.01) for row in walked]
    found = held_in(replace(published, trials=Trials([*published.trials.rows, *worse, *better])))
    assert found[_claim("On Pima all simple criteria")] == (["walks gentle"], ["walks bold", "walks gentle"])
    assert found[_claim("not systematically better")] == ([], [])  # no walk bears on it


def test_spread_of_hyperparameters(published):
    assert _verdict("spread of the final hyperparameters", published) == HOLDS
    same = [replace(row, hyperparameters=(1.0 + 1e-3 * row.number,) * 8) for row in published.trials.rows]
    assert _verdict("spread of the final hyperparameters", Findings(Trials(same))) == FAILS


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        ("goes along with reducing the test error", "score_error_correlation"),
        ("reduces the GACV", "score_gacv_correlation"),
        ("span estimate have the same correlation", "score_span_correlation"),
    ],
)
def test_correlations_need_paths(published, words, fact):
    assert _verdict(words, published) == UNTESTED
    for value, expected in ((-0.5, HOLDS), (0.5, FAILS)):
        rows = [replace(row, extra={**row.extra, fact: value}) for row in published.trials.rows]
        assert _verdict(words, Findings(Trials(rows))) == expected


def test_large_amplitudes_by_criterion(published):
    def amplitudes(evidence: float, estimates: float) -> str:
        k0 = {"le1-walk": evidence, "le2-walk": evidence, "gacv-walk": estimates, "span-walk": estimates}
        rows = [replace(row, hyperparameters=(1.0, k0.get(row.method, 1.0), 0.1, 1.0)) for row in published.trials.rows]
        return _verdict("much less common with the error estimates", Findings(Trials(rows)))

    assert (amplitudes(1e3, 1.0), amplitudes(1.0, 1e3)) == (HOLDS, FAILS)


def test_final_amplitudes_and_offsets(published):
    def with_ends(k0: dict[str, float], koff: float) -> Findings:
        rows = [replace(row, hyperparameters=(1.0, k0[row.dataset], koff, 1.0)) for row in published.trials.rows]
        return Findings(Trials(rows))

    as_told = {"twonorm": 180.0, "crabs": 170.0, "wdbc": 190.0, "pima": 3.0, "ringnorm": 5.0}
    assert _verdict("finds large k0", with_ends(as_told, 0.03)) == HOLDS
    assert "over the paper's 180 1" in _claim("finds large k0").judged(with_ends(as_told, 0.03)).numbers
    assert _verdict("tunes koff", with_ends(as_told, 0.03)) == HOLDS
    assert _verdict("tunes koff", with_ends(as_told, 3.0)) == FAILS
    assert _verdict("finds large k0", with_ends({**as_told, "twonorm": 3000.0}, 0.03)) == IN_PART  # the order alone
    assert _verdict("finds large k0", with_ends(dict.fromkeys(as_told, 1.0), 0.1)) == FAILS


def test_every_claim_has_its_rule_and_measure():
    assert len(CLAIMS) == 29
    assert len({claim.statement for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.rule and claim.section and claim.short for claim in CLAIMS)
    assert all(callable(getattr(measures, claim.measure[0])) for claim in CLAIMS)
    assert all(claim.in_part < claim.holds or claim.nearly for claim in CLAIMS)  # in part is less


def test_words():
    assert number(195457.3) == "195,457"
    assert number(-0.0123) == "−0.012"
    assert number(99.7) == "100"
