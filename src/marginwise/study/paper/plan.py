"""The paper's study: its methods, the previous work in its tables and ours, at its counts or in miniature; and what its
results depend on."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.study.data import BenchmarkSource, Source, benchmarks
from marginwise.study.paper.methods import METHODS, methods
from marginwise.study.paper.methods.ascent import AS_IN_PAPER, Ascent
from marginwise.study.paper.methods.variants import variants
from marginwise.study.paper.names import (
    ASCENT,
    DRAWN,
    EQUAL_SCALES,
    PAPER_TRIALS,
    REPEATED,
    SMOOTHED,
    WALK_NAMES,
    as_in_paper,
    draw_names,
)
from marginwise.study.paper.numbers import PREVIOUS_COLUMNS
from marginwise.study.plan import Effort, Plan

#: (data set, method): where the paper has another number of trials.
PAPER_EXCEPTIONS: Mapping[tuple[str, str], int] = {("crabs", method): 25 for method in (ASCENT, as_in_paper(ASCENT))}

#: Trials in a study of one's own, and its methods if none are named: those that end within seconds on a few hundred
#: rows. The walks and ascents of the paper take minutes.
OWN_TRIALS = 3
OWN_METHODS = tuple(name for name in METHODS if not any(slow in name for slow in ("-walk", "-ascent")))

#: Trials of a variant, enough to see what changes a mean by more than it varies; and of an ascent from one start.
_WALK_TRIALS, _SMOOTHING_TRIALS, _ASCENT_TRIALS, _REPEATS = 2, 2, 2, 3


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
        hmc_steps=300,
    )
    repeated = {*WALK_NAMES, ASCENT}
    trials = {method: 2 if method in repeated else 1 for method in PAPER_TRIALS}
    return Plan("quick", benchmarks(), methods(), trials, effort=effort)


def own_plan() -> Plan:
    """Return all rows, the usual searches and a few trials: what tables and criteria of one's own are added to.

    Returns
    -------
    Plan

    Examples
    --------
    >>> own_plan().effort.limits, own_plan().count("pima", "tuned-svc")
    ('', 3)
    """
    return Plan("own", benchmarks(), methods(), OWN_TRIALS)


def sensitivity_plan() -> Plan:
    """Return what the paper does not say, in several ways: settings of the searches, smoothing parameters and draws.

    Rows that it shares with :func:`paper_plan` are the same trials: both go into one store.

    Returns
    -------
    Plan

    Examples
    --------
    >>> sensitivity_plan().name
    'sensitivity'
    """
    changed = variants()
    repeats = {REPEATED: Ascent(AS_IN_PAPER, start="same")}
    equal = {EQUAL_SCALES: Ascent(AS_IN_PAPER, start="equal")}
    searches = [*map(as_in_paper, WALK_NAMES), as_in_paper(ASCENT)]
    on_draws = {name: METHODS[name] for name in (*searches, *(column.method for column in PREVIOUS_COLUMNS))}
    every = {**changed, **repeats, **equal, **on_draws}
    others: dict[str, Source] = {
        name: BenchmarkSource(dataset, number) for dataset in DRAWN for name, number in draw_names(dataset).items()
    }
    counts = {}
    for dataset in benchmarks():
        for name in every:
            walked = _SMOOTHING_TRIALS if name in SMOOTHED else _WALK_TRIALS
            counts[dataset, name] = _ASCENT_TRIALS if name.startswith(ASCENT) else walked
        counts |= {(dataset, EQUAL_SCALES): int(dataset == "twonorm"), (dataset, REPEATED): _REPEATS}
    for dataset in others:
        counts |= {(dataset, name): int(name in on_draws) for name in every}
    return Plan("sensitivity", {**benchmarks(), **others}, every, 0, counts)
