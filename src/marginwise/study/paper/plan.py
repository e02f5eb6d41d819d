"""The paper's study at its counts or in miniature, what its results depend on, and a study of one's own, as plans."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.study.data import BenchmarkSource, Source, benchmarks
from marginwise.study.paper.methods import METHODS, VARIED, methods
from marginwise.study.paper.numbers import PREVIOUS_COLUMNS
from marginwise.study.paper.probes import GRADIENTS, NOISY, SIZED
from marginwise.study.paper.settings import (
    ASCENT,
    DELVE,
    DRAWN,
    EQUAL_SCALES,
    MAXIMISED,
    MORE_TRIALS,
    MORE_TRIALS_ON_WDBC,
    PAPER_TRIALS,
    WALK_NAMES,
    colour_draws,
    draws,
    nearest,
)
from marginwise.study.plan import Effort, Plan

#: (data set, method): where the paper has another number of trials.
PAPER_EXCEPTIONS: Mapping[tuple[str, str], int] = {("crabs", method): 25 for method in (ASCENT, nearest(ASCENT))}

#: Trials in a study of one's own, and its methods if none are named: those that end within seconds on a few hundred
#: rows. The walks and ascents of the paper take minutes.
OWN_TRIALS = 3
OWN_METHODS = tuple(name for name in METHODS if not any(slow in name for slow in ("-walk", "-ascent")))

#: Trials of a variant, enough to see what changes a mean by more than it varies; of walks and ascents on each draw of
#: Crabs that is even in colour alone.
_VARIED_TRIALS, _COLOUR_WALKS, _COLOUR_ASCENTS = 2, 5, 2


def paper_plan(data_dir: str | None = None) -> Plan:
    """Return everything at the paper's counts: its methods, the previous work in its tables, and ours.

    Parameters
    ----------
    data_dir : str, optional
        Folder with original files of the data sets; see :func:`~marginwise.load_benchmark`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> plan = paper_plan()
    >>> plan.count("crabs", "evidence-ascent"), plan.count("pima", "evidence-ascent")
    (25, 10)
    """
    return Plan("paper", benchmarks(data_dir=data_dir), methods(), PAPER_TRIALS, PAPER_EXCEPTIONS)


def quick_plan(data_dir: str | None = None) -> Plan:
    """Return a miniature of the same: all data sets and methods, fewer trials, rows and evaluations.

    Parameters
    ----------
    data_dir : str, optional
        Folder with original files of the data sets.

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
    trials = {method: 2 if method in {*WALK_NAMES, ASCENT} else 1 for method in PAPER_TRIALS}
    return Plan("quick", benchmarks(data_dir=data_dir), methods(), trials, effort=effort)


def own_plan(data_dir: str | None = None) -> Plan:
    """Return all rows, the usual searches and a few trials: what tables and criteria of one's own are added to.

    Parameters
    ----------
    data_dir : str, optional
        Folder with original files of the data sets.

    Returns
    -------
    Plan

    Examples
    --------
    >>> own_plan().effort.limits, own_plan().count("pima", "tuned-svc")
    ('', 3)
    """
    return Plan("own", benchmarks(data_dir=data_dir), methods(), OWN_TRIALS)


def sensitivity_plan(data_dir: str | None = None) -> Plan:
    """Return what the paper does not say, in several ways: settings of the searches, smoothing parameters and draws.

    Rows that it shares with :func:`paper_plan` are the same trials: both go into one store.

    Parameters
    ----------
    data_dir : str, optional
        Folder with the files of the DELVE archive, twonorm.csv.gz and ringnorm.csv.gz: the searches are run on them,
        too, as often as on the study's own draws.

    Returns
    -------
    Plan

    Examples
    --------
    >>> sensitivity_plan().count("pima", "le1-walk-bold")
    2
    """
    searches = [*map(nearest, WALK_NAMES), nearest(ASCENT)]
    on_draws = [*searches, *(column.method for column in PREVIOUS_COLUMNS)]
    every = {**VARIED, **{name: METHODS[name] for name in (*on_draws, MAXIMISED)}}
    counts = {(dataset, name): MORE_TRIALS.get(name, _VARIED_TRIALS) for dataset in benchmarks() for name in every}
    counts |= {("wdbc", name): count for name, count in MORE_TRIALS_ON_WDBC.items()}
    counts |= {(dataset, EQUAL_SCALES): int(dataset == "twonorm") for dataset in benchmarks()}
    counts |= {(dataset, name): 0 for dataset in benchmarks() for name in GRADIENTS}
    counts |= {(dataset, name): 1 for dataset in SIZED for name in GRADIENTS}
    counts |= {(dataset, MAXIMISED): 1 for dataset in NOISY}
    sources: dict[str, Source] = {**NOISY, **SIZED}
    for dataset in DRAWN:
        sources |= (own := draws(dataset))
        counts |= {(name, method): 1 for name in own for method in on_draws}
    sources |= (coloured := colour_draws())
    walked = {method: _COLOUR_ASCENTS if method == nearest(ASCENT) else _COLOUR_WALKS for method in searches}
    counts |= {(name, method): count for name in coloured for method, count in walked.items()}
    if data_dir is not None:
        sources |= (delve := {name: BenchmarkSource(dataset, data_dir=data_dir) for dataset, name in DELVE.items()})
        counts |= {(name, method): PAPER_TRIALS[method] for name in delve for method in searches}
    return Plan("sensitivity", {**benchmarks(), **sources}, every, 0, counts)
