"""One bar, or lines, over all searches and folds of a fit."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import toys
from marginwise.search import progress
from marginwise.search.progress import (
    STAGES,
    STAGES_WITHOUT_FOLDS,
    FitProgress,
    clock,
    counter,
    current_fit,
    stage,
    whole_fit,
)
from marginwise.search.trace import Tuning
from marginwise.tuning import tune
from zoo import blobs

P = blobs(20, 2)


def go(**options: Any) -> Tuning:
    return tune(P.X, P.y, toys.Hill(), search="random-walk", max_evaluations=20, random_state=0, **options)


def a_fit() -> None:
    """Go through all stages as a fit does."""
    go()
    with counter(None, "folds", 8) as count:
        count(2)
        go(progress=False)  # on a fold
        count(6)
    go()
    stage("training")


def test_the_shares_of_the_stages_are_a_whole() -> None:
    assert sum(STAGES.values()) == pytest.approx(1.0)
    assert sum(STAGES_WITHOUT_FOLDS.values()) == pytest.approx(1.0)


def test_searches_and_folds_are_parts_of_one_fit() -> None:
    seen: list[tuple[str, str, float]] = []
    fit = FitProgress(lambda fit: seen.append((fit.stage, fit.detail, fit.fraction)))
    token = progress._FIT.set(fit)
    try:
        a_fit()
    finally:
        progress._FIT.reset(token)
    stages = list(dict.fromkeys(name for name, _, _ in seen))
    assert stages == list(STAGES)
    for name, evaluations in (("search", 20), ("last search", 20)):
        assert sum(one == name and detail != "" for one, detail, _ in seen) == evaluations
    assert [detail for name, detail, _ in seen if name == "folds"] == ["", "2 of 8", "8 of 8"]
    fractions = [fraction for _, _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert fractions[-1] == pytest.approx(1.0 - STAGES["training"])
    quarter = next(fraction for _, detail, fraction in seen if detail == "2 of 8")
    assert quarter == pytest.approx(STAGES["search"] + 0.25 * STAGES["folds"])


def test_what_is_left_follows_from_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    fit = FitProgress(lambda fit: None)
    assert fit.left is None
    fit.begin("search")
    now[0] += 30.0
    assert "0:00:30 gone, unknown time left" in fit.text
    fit.begin("folds")
    fit.counted(1, 4)
    done = STAGES["search"] + STAGES["folds"] / 4
    assert fit.left == pytest.approx(30.0 * (1.0 - done) / done)
    assert fit.text.startswith("folds, 1 of 4: 40 %, 0:00:30 gone")


def test_lines_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with whole_fit(True):
        a_fit()
    written = capfd.readouterr().err.splitlines()
    assert [line.split(":")[0].split(",")[0] for line in written] == [*STAGES, "fitted in 0"]
    assert current_fit() is None


def test_without_folds_a_search_is_nearly_all(capfd: pytest.CaptureFixture[str]) -> None:
    with whole_fit(True, folds=False):
        go()
        go()
        stage("training")
    assert "training: 90 %" in capfd.readouterr().err


def test_lines_come_at_intervals(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    with whole_fit(True):
        go()
    assert "search, evaluation 20, " in capfd.readouterr().err


@pytest.mark.parametrize(("show", "terminal"), [(False, True), (False, False), (None, False)])
def test_nothing_where_nothing_is_asked_for(show, terminal, monkeypatch, capfd) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with whole_fit(show):
        a_fit()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("show", [None, True])
def test_one_bar_on_a_terminal(show, monkeypatch, capfd) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    with whole_fit(show):
        a_fit()
    written = capfd.readouterr().err
    assert "90 %" in written
    assert "searches" not in written  # the bar that a search draws by itself


def test_lines_on_a_terminal_without_rich(monkeypatch, capfd) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with whole_fit(None):
        a_fit()
    assert "fitted in" in capfd.readouterr().err


def test_an_error_ends_the_fit() -> None:
    with pytest.raises(ZeroDivisionError), whole_fit(False):
        raise ZeroDivisionError
    assert current_fit() is None


def test_clock() -> None:
    assert [clock(None), clock(59.6), clock(3661)] == ["unknown time", "0:01:00", "1:01:01"]
