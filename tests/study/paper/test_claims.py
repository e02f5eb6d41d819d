"""The paper's claims: on rows with the paper's own statistics, and on rows that contradict it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import CLAIMS, FAILS, HOLDS, IN_PART, UNTESTED, Claim, errors, judged, searches
from marginwise.study.paper.claims.claim import listed, number
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.optima import CRITERIA, Scan
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows


def _claim(words: str) -> Claim:
    found = [claim for claim in CLAIMS if words in claim.statement]
    assert len(found) == 1, words
    return found[0]


def _verdict(words: str, findings: Findings) -> str:
    return _claim(words).judged(findings).verdict


@pytest.fixture(scope="module")
def published() -> Findings:
    return Findings(Trials(paper_rows()))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("much less variable", HOLDS),
        ("consistently lower", HOLDS),
        ("On Pima all simple criteria", HOLDS),
        ("On Pima both evidence", HOLDS),
        ("On WDBC the evidence", HOLDS),
        ("approximately the same test error", HOLDS),
        ("shallow minimum", IN_PART),  # no rise on Ringnorm in the paper's own table: 3.2 and 3.2
        ("True early stopping", HOLDS),
        ("40 and 80 steps", HOLDS),
        ("by far the greatest time", HOLDS),
        ("Combining the varied local optima", HOLDS),
    ],
)
def test_claims_on_the_papers_own_numbers(published, words, expected):
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
        ("approximately the same test error", {(d, "evidence-ascent"): 10.0 for d in paper.DATASETS}),
        ("a third of the LE1 trials", {("twonorm", "le1-walk"): -50.0}),
        ("not systematically better", {(d, "svm-variational"): 30.0 for d in paper.DATASETS}),
        ("The hunt is still on", {(d, "tuned-svc"): -4.0 for d in paper.DATASETS}),
    ],
)
def test_claims_fail_where_the_numbers_say_the_contrary(words, shift):
    assert _verdict(words, Findings(Trials(paper_rows(shift=shift)))) == FAILS


def test_without_trials_nothing_is_claimed():
    findings = Findings(Trials([]))
    assert {judgement.verdict for _, judgement in judged(findings)} == {UNTESTED}
    assert all(judgement.numbers.startswith(("no ", "fewer ")) for _, judgement in judged(findings))


def _scans(separate: bool) -> list[Scan]:
    dip = -1.0 if separate else 0.5
    return [Scan(d, m, 0, 1, (1.0, dip, 0.0)) for d in paper.DATASETS for m in CRITERIA]


def test_local_optima_need_a_barrier(published):
    for words in ("All simple criteria have multiple", "The exact evidence has local optima"):
        assert _verdict(words, Findings(published.trials, _scans(True))) == HOLDS
        assert _verdict(words, Findings(published.trials, _scans(False))) == FAILS
        assert _verdict(words, published) == UNTESTED
    mixed = [*_scans(True)[:15], *_scans(False)[15:]]
    assert _verdict("All simple criteria have multiple", Findings(published.trials, mixed)) == IN_PART


def test_spread_of_hyperparameters(published):
    assert _verdict("spread of the final hyperparameters", published) == HOLDS
    same = [replace(row, hyperparameters=(1.0 + 1e-3 * row.number,) * 8) for row in published.trials.rows]
    assert _verdict("spread of the final hyperparameters", Findings(Trials(same))) == FAILS


def test_correlation_needs_paths(published):
    words = "goes along with reducing the test error"
    assert _verdict(words, published) == UNTESTED
    for value, expected in ((-0.5, HOLDS), (0.5, FAILS)):
        rows = [replace(row, extra={**row.extra, "score_error_correlation": value}) for row in published.trials.rows]
        assert _verdict(words, Findings(Trials(rows))) == expected


def test_final_amplitudes_and_offsets(published):
    def with_ends(k0: dict[str, float], koff: float) -> Findings:
        rows = [replace(row, hyperparameters=(1.0, k0[row.dataset], koff, 1.0)) for row in published.trials.rows]
        return Findings(Trials(rows))

    as_told = {"twonorm": 180.0, "crabs": 170.0, "wdbc": 190.0, "pima": 3.0, "ringnorm": 5.0}
    assert _verdict("finds large k0", with_ends(as_told, 0.03)) == HOLDS
    assert "about 180" in _claim("finds large k0").judged(with_ends(as_told, 0.03)).numbers
    assert _verdict("tunes koff", with_ends(as_told, 0.03)) == HOLDS
    assert _verdict("tunes koff", with_ends(as_told, 3.0)) == FAILS
    assert _verdict("finds large k0", with_ends(dict.fromkeys(as_told, 1.0), 0.1)) == FAILS


def test_every_claim_has_its_rule_and_place():
    assert len(CLAIMS) == len(errors.CLAIMS) + len(searches.CLAIMS)
    assert len({claim.statement for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.rule and claim.section for claim in CLAIMS)


def test_words():
    assert number(195457.3) == "195,457"
    assert number(-0.0123) == "−0.012"
    assert listed([]) == "none"
    assert listed("abcdefg") == "a; b; c; d; e; and 2 more"
