"""From a store to findings: the rows of trials, what their paths tell, and lines between their ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from marginwise._arrays import Array
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import VARIED_DATASETS, VARIED_METHODS
from marginwise.study.paper.optima import scan_optima
from marginwise.study.paper.votes import vote
from marginwise.study.record import Trace, TrialRow
from marginwise.study.report.data import StudyData
from marginwise.study.report.summary import Trials
from marginwise.study.store import Store

#: Percent of a path's evaluations after which its test error is reported: long before it ends.
EARLY = (2, 5, 10)

#: Columns of a path that facts are taken from.
_COLUMNS = {"score", "test_error", "evaluation"}

#: Criteria that are looked at along the paths of others.
_COMPANIONS = ("gacv", "span")


def gather(store: Store, *, pairs: int = 3, n_points: int = 21) -> Findings:
    """Return the trials of a study, scans between the ends of some of them, and what these say together."""
    data = StudyData(store)
    rows = []
    for row in store.rows():
        if row.status == "done":
            more = path_facts(store.trace(row))
            if (size := data.sizes(row)) is not None:
                more |= {"train_rows": float(size[1]), "test_rows": float(size[2])}
            row = replace(row, extra={**row.extra, **more})
        rows.append(row)
    trials, varied = parted(rows)
    own = {row.dataset: size for row in trials.rows if row.dataset not in paper.DATASETS and (size := data.sizes(row))}
    scans = scan_optima(trials, data.load, pairs=pairs, n_points=n_points)
    return Findings(trials, scans, vote(trials, data.load), own, varied, limits=data.limits(rows))


def parted(rows: Iterable[TrialRow]) -> tuple[Trials, Trials]:
    """Part trials in other settings, and on other draws of the data, from those of the study and of users."""
    study: list[TrialRow] = []
    varied: list[TrialRow] = []
    for row in rows:
        is_varied = row.method in VARIED_METHODS or row.dataset in VARIED_DATASETS
        (varied if is_varied else study).append(row)
    return Trials(study), Trials(varied)


def path_facts(trace: Trace | None) -> dict[str, float]:
    """Return what a path tells in a few numbers.

    They are Spearman's correlations of the criterion's score with the test error, and with its companion criterion; the
    test error after the first few percent of the evaluations; and of gradients the norm at the start and at the end
    relative to its peak, and where on the path that is.
    """
    if trace is None or not trace.keys() >= _COLUMNS:
        return {}
    facts = gradient_facts(trace)
    score, error, evaluation = (np.array(trace[name]) for name in ("score", "test_error", "evaluation"))
    known = np.isfinite(score) & np.isfinite(error)
    if known.sum() < 3:
        return facts
    score, error, evaluation = score[known], error[known], evaluation[known]
    places = np.searchsorted(evaluation, np.array(EARLY) / 100 * evaluation[-1], side="right")
    facts |= {
        f"error_after_{share}": float(error[max(place - 1, 0)]) for share, place in zip(EARLY, places, strict=True)
    }
    for name, other in (("error", error), *((name, trace[name]) for name in _COMPANIONS if name in trace)):
        if (found := _correlation(score, np.array(other)[known] if name != "error" else error)) is not None:
            facts[f"score_{name}_correlation"] = found
    return facts


def gradient_facts(trace: Trace) -> dict[str, float]:
    """Return the gradient's norm at the start and at the end relative to its peak, and where that is, from 0 to 1."""
    gradients = [np.array(values) for name, values in trace.items() if name.startswith("g_")]
    if not gradients or len(gradients[0]) < 3:
        return {}
    norms = np.sqrt(np.sum(np.square(gradients), axis=0))
    peak = int(norms.argmax())
    if not norms[peak] > 0:
        return {}
    first, last = (float(norms[place] / norms[peak]) for place in (0, -1))
    return {"first_gradient": first, "last_gradient": last, "peak_place": peak / (len(norms) - 1)}


def _correlation(one: Array, other: Array) -> float | None:
    """Return Spearman's rank correlation; None where one of the two does not change."""
    known = np.isfinite(one) & np.isfinite(other)
    ranks = _ranks(one[known]), _ranks(other[known])
    if known.sum() < 3 or any(np.ptp(rank) == 0 for rank in ranks):
        return None
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: Array) -> Array:
    """Return the ranks of values, equal ones sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
