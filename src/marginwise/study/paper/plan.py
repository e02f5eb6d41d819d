"""The paper's study: its methods, the previous work in its tables and ours, at its counts or in miniature."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.study.data import benchmarks
from marginwise.study.paper.methods import PAPER_TRIALS, methods
from marginwise.study.plan import Effort, Plan

#: (data set, method): where the paper has another number of trials.
PAPER_EXCEPTIONS: Mapping[tuple[str, str], int] = {("crabs", "evidence-ascent"): 25}


def paper_plan() -> Plan:
    """Return everything at the paper's counts: its methods, the previous work in its tables, and ours.

    Returns
    -------
    Plan

    Examples
    --------
    >>> plan = paper_plan()
    >>> plan.count("crabs", "evidence-ascent"), plan.count("pima", "evidence-ascent")
    (25, 10)
    """
    return Plan("paper", benchmarks(), methods(), PAPER_TRIALS, PAPER_EXCEPTIONS)


def quick_plan() -> Plan:
    """Return a miniature of the same: all data sets and methods, fewer trials, rows and evaluations.

    Returns
    -------
    Plan

    Examples
    --------
    >>> quick_plan().effort.train_rows
    60
    """
    effort = Effort(
        train_rows=60,
        test_rows=500,
        walk_evaluations=300,
        ascent_evaluations=12,
        newton_evaluations=25,
        optima=3,
    )
    trials = {method: 2 if method.endswith(("walk", "ascent")) else 1 for method in PAPER_TRIALS}
    return Plan("quick", benchmarks(), methods(), trials, effort=effort)
