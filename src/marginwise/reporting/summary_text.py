"""The summary of a fit as plain text, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marginwise._wording import percent
from marginwise.reporting.text import aligned, bar, ranked

if TYPE_CHECKING:
    from marginwise.reporting.summary import FitSummary

#: Inputs, and classes, that are shown; the report has all.
_TOP = 10


def summary_text(summary: FitSummary) -> str:
    """Return the summary as lines of text."""
    influences = _bars("influence: mean change of the probabilities when the column is shuffled", summary.influences)
    relevances = _bars("relevance: mean squared slope of the latent function, with sum 1", summary.relevances)
    members = _members(summary)
    return (
        f"{f'{summary.table}: ' if summary.table else ''}{summary.contents}\n\n"
        f"expected on {summary.expected_on}: {summary.expected}\n\n"
        f"{_order(summary)}"
        f"{_classes(summary)}"
        f"{summary.shape}\n\n"
        f"{influences}\n{relevances}\n"
        f"hyperparameters ({summary.criterion}, {summary.slack} slack, standardised inputs)\n"
        f"{aligned(members, '<' + '>' * (len(members[0]) - 1))}"
    )


def _order(summary: FitSummary) -> str:
    if not summary.order_facts:
        return ""
    facts = "".join(f"{value} {what}\n" for value, what in summary.order_facts)
    return f"order: {' < '.join(summary.class_order)}\n{facts}\n"


def _classes(summary: FitSummary) -> str:
    """Return how well the classes are told apart; of more than two, the hardest first."""
    scores = summary.scores
    if len(scores) <= 2:
        return f"{summary.told_apart[0].lower()}{summary.told_apart[1:].rstrip('.')}\n\n" if scores else ""
    hardest = sorted(scores.items(), key=lambda item: item[1].f1)
    rows = [
        [f"  {label}", str(s.rows), *map(_share, (s.recall, s.precision, s.f1)), f"{s.auc:.3f}"]
        for label, s in hardest[:_TOP]
    ]
    header = ["  class", "rows", "recall", "precision", "F1", "AUC"]
    title = "classes, the hardest first (recall: share of its rows found; precision: how many so named are)"
    return f"{title}\n{aligned([header, *rows], '<>>>>>')}{_more(len(hardest))}\n"


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _bars(title: str, values: dict[str, float]) -> str:
    order = ranked(values)
    largest = max(order[0][1], np.finfo(float).tiny)
    rows = [[f"  {name}", f"{value:.3f}", bar(value / largest)] for name, value in order[:_TOP]]
    return f"{title}\n{aligned(rows, '<><')}{_more(len(order))}"


def _more(number: int) -> str:
    return f"  and {number - _TOP} more\n" if number > _TOP else ""


def _members(summary: FitSummary) -> list[list[str]]:
    """Return a table of the models that are averaged, with its header."""
    rows = [
        [f"  {m.separates}", f"{m.weight:.2f}", f"{m.ard:g}", *(m.shown(name) for name in summary.names)]
        for m in summary.members
    ]
    return [["  classes", "weight", "ard", *summary.names], *rows]
