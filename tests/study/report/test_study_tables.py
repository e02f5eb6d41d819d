"""Tables of any study: methods × data sets for what says how it is shown, and what failed."""

from __future__ import annotations

from marginwise.study import TrialRow
from marginwise.study.record import shown_columns
from marginwise.study.report import tables
from marginwise.study.report.summary import Trials


def test_methods_without_trials_are_left_out():
    trials = Trials([TrialRow("crabs", "mine", 0, 0, "done", test_error=0.02, seconds=1.5)])
    found = tables.methods(trials, {"crabs": "Crabs", "pima": "Pima"}, ["theirs", "mine"])
    assert [table.name for table in found] == ["methods-test-error", "methods-seconds"]
    assert [[row[0], row[1].text, row[2]] for row in found[0].rows] == [["mine", "2.0 (1)", None]]
    assert tables.methods(Trials([]), {"crabs": "Crabs"}, ["mine"]) == []


def test_every_shown_column_has_a_table():
    numbers = dict.fromkeys(shown_columns(), 0.25)
    found = tables.methods(Trials([TrialRow("a", "b", 0, 0, "done", **numbers)]), {"a": "A"}, ["b"])
    assert [table.title for table in found] == [f"All methods: {shown.title}" for shown in shown_columns().values()]


def test_failures_have_names():
    row = TrialRow("crabs", "tuned-svc", 4, 0, "failed", message="it broke", error_name="ValueError")
    assert tables.failures(Trials([row])).rows == [["crabs/tuned-svc/4", "ValueError", "it broke"]]
