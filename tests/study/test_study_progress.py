"""Progress of a study: what is forecast, and what is shown where."""

from __future__ import annotations

import io
import sys

from marginwise.study.plan import Trial
from marginwise.study.progress import Forecast, Lines, Progress, show_progress
from marginwise.study.record import TrialRow


def row(dataset, method, seconds, status="done"):
    return TrialRow(dataset, method, 0, 0, status, seconds=seconds)


def test_the_forecast_takes_the_nearest_that_is_known():
    forecast = Forecast()
    trials = [Trial("crabs", "svm-cv", 1), Trial("pima", "svm-cv", 0), Trial("pima", "ensemble", 0)]
    assert forecast.seconds(trials, 2) is None
    for known in (row("crabs", "svm-cv", 2.0), row("crabs", "svm-cv", 4.0), row("wdbc", "svm-cv", 9.0)):
        forecast.add(known)
    forecast.add(row("pima", "svm-cv", 1e6, "failed"))
    assert forecast.seconds(trials, 1) == 3.0 + 5.0 + 5.0
    assert forecast.seconds(trials, 2) == 6.5
    assert forecast.seconds([], 2) == 0.0


def test_lines_tell_how_far_it_is_and_how_long_it_takes():
    stream = io.StringIO()
    lines = Lines(stream, 4, [row("crabs", "svm-cv", 3600.0)])
    lines.update([Trial("crabs", "svm-cv", number) for number in (1, 2, 3)], 2, 2)
    lines.finished(row("crabs", "svm-cv", 0.0, "failed"))
    lines.update([Trial("crabs", "svm-cv", 3)], 1, 2)  # too soon for another line
    lines.update([], 0, 2)
    assert stream.getvalue().splitlines() == [
        "1 of 4 trials, 2 in work, 1:30:00 left",
        "4 of 4 trials, 1 failed, 0 in work, 0:00:00 left",
    ]


def test_nothing_is_shown_off_terminals(capsys):
    for show in (None, False):
        with show_progress(show, [], []) as progress:
            assert type(progress) is Progress
            progress.update([], 0, 1)
            progress.finished(row("crabs", "svm-cv", 1.0))
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_shown_on_terminals_and_lines_when_asked_for(monkeypatch, capsys):
    trials = [Trial("crabs", "svm-cv", 0)]
    with show_progress(True, trials, []) as progress:
        progress.update(trials, 1, 1)
    assert "0 of 1 trials, 1 in work, unknown time left" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with show_progress(None, trials, []) as progress:
        progress.finished(row("crabs", "svm-cv", 1.0))
        progress.update([], 0, 1)
    assert "1 of 1 trials" in capsys.readouterr().err
