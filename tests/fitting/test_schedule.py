"""The numbers that pages and docstrings quote are those that a fit keeps to."""

from __future__ import annotations

import re
from pathlib import Path

from marginwise import TunedSVC
from marginwise.fitting.schedule import SCHEDULE, Schedule
from marginwise.fitting.screening import BOOSTED, SIZES

PAGE = (Path(__file__).parents[2] / "docs" / "default.md").read_text(encoding="utf-8")
#: The block of pseudocode, its lines joined.
FIT = re.sub(r"\s+", " ", PAGE[PAGE.index("```text") : PAGE.index("```\n\nEvery number")])
WORDS = {2: "two", 3: "three", 4: "four", 7: "seven", 8: "eight"}


def test_the_page_on_the_default_quotes_the_schedule() -> None:
    s = SCHEDULE
    quoted = [
        f"up to {s.exact_rows:,} rows: all of them; more: {s.wide_rows:,} random rows to tune on",
        f"with more than {s.exact_rows:,} rows also a curve for each column",
        f"with more than {s.additive_from} if the first search gains at least {s.additive_gain} in the mean",
        f"on at most {s.coarse_rows} rows, from {s.halve_from} rows on first on half",
        f"when {WORDS[s.no_gain_moves]} moves gain less than {s.no_gain}",
        f"folds {WORDS[s.n_folds]}, the same",
        f"up to {s.coarse_rows} rows each finds the one length scale anew",
        f"{WORDS[s.shared_fold_evaluations]} evaluations from the optimum of all rows",
        f"s = {s.spreads[0]}, then {s.spreads[1]:g}: on each fold {WORDS[s.fold_evaluations]} evaluations",
        f"on the first {WORDS[s.first_folds]} folds",
        f"with more than {s.coarse_rows} rows 1 comes first, {WORDS[s.many_fold_evaluations]} evaluations",
        f"square of 1 - correlation² at least {s.scored_from}); on each fold {WORDS[s.fold_evaluations]} evaluations",
        f"tuned on at most {s.auxiliary_rows} rows (with up to {s.exact_rows:,} rows in all)",
        f"{', '.join(map(str, SIZES))} and {BOOSTED} screened columns",
        f"members below 1/{1 / s.least_weight:g} are dropped",
        f"at most {s.last_evaluations} more evaluations on all rows ({s.many_last_evaluations} with more",
        f"{s.near_evaluations} evaluations on {s.near_rows:,} rows with s = {s.spreads[0]} and with s = 1,",
        f"{s.wide_evaluations} evaluations on {s.wide_rows:,} rows in blocks of {s.wide_local}",
        f"each search ends at a move that gains less than {s.small_gain:g} in the",
        f"the normal scores of the inputs, another {s.view_evaluations} evaluations",
        f"softmax up to {s.softmax_rows:,} rows",
        f"blocks of {s.usual_local} to {s.most_local:,} neighbouring rows ({s.most_local_classes:,} with more than two",
        f"with more than {s.exact_rows:,} rows, in the place of 2 to 4, without folds",
    ]
    assert [words for words in quoted if words not in FIT] == []
    assert s.screened_share == 0.5  # "where inputs outnumber half the rows"


def test_docstrings_quote_the_schedule() -> None:
    text = re.sub(r"\s+", " ", TunedSVC.__doc__ or "")
    s = SCHEDULE
    quoted = [
        f"tries 0 (one length scale for all inputs), {s.spreads[0]} and {s.spreads[1]:g}",
        f"at most {s.many_fold_evaluations} evaluations on a fold and {s.last_evaluations} on all rows",
        f"with more than {s.additive_from} rows, if the criterion gains by it, every column has a curve",
        f'"auto" up to {s.exact_rows} rows',
        f'"auto" is {s.wide_rows}, or {s.tuning_rows} where',
    ]
    assert [words for words in quoted if words not in text] == []


def test_every_threshold_is_documented() -> None:
    text = Schedule.__doc__ or ""
    assert [name for name in vars(SCHEDULE) if name not in text] == []
