"""The paper's study: its methods, the previous work in its tables and ours, at its counts or in miniature."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.study.data import benchmarks
from marginwise.study.paper.methods import methods
from marginwise.study.plan import Effort, Plan

#: Trials of each method in the paper's tables (25 walks, 10 ascents), and of ours: searches that start at random have
#: as many as the ascents, so that their spread can be compared; the others repeat what their folds or starts change.
PAPER_TRIALS: Mapping[str, int] = {
    "le1-walk": 25,
    "le2-walk": 25,
    "gacv-walk": 25,
    "span-walk": 25,
    "evidence-ascent": 10,
    "svm-cv": 5,
    "gp-laplace": 5,
    "gp-variational": 5,
    "svm-variational": 5,
    "gp-mean-field": 5,
    "le1-newton": 10,
    "le2-newton": 10,
    "gacv-newton": 10,
    "span-newton": 10,
    "ep-evidence-newton": 10,
    "ep-loo-newton": 10,
    "ep-loo-prior": 5,
    "tuned-svc": 5,
    "ensemble": 5,
}

#: (data set, method): where the paper has another number of trials.
PAPER_EXCEPTIONS: Mapping[tuple[str, str], int] = {("crabs", "evidence-ascent"): 25}


def paper_plan() -> Plan:
    """Return everything at the paper's counts: its methods, the previous work in its tables, and ours."""
    return Plan("paper", benchmarks(), methods(), PAPER_TRIALS, PAPER_EXCEPTIONS)


def quick_plan() -> Plan:
    """Return a miniature of the same: all data sets and methods, fewer trials, rows and evaluations."""
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
